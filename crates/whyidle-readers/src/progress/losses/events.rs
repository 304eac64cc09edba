//! Event files of TensorBoard: records of TensorFlow's format – length, checksum, data, checksum – each of which holds an
//! `Event` in protobuf. Only the fields that scalars need are walked, in place: nothing is allocated on a length's word.
//!
//! `Event { 2: step, 5: Summary { 1: Value { 1: tag, 2: simple_value, 8: TensorProto } } }`, as
//! `tensorboard/compat/proto/{event,summary,tensor}.proto` have them.

use super::Series;

/// A record's head: length and its checksum.
const HEAD: usize = 12;
/// The checksum after its data.
const TAIL: usize = 4;
/// Types of a tensor's numbers.
const FLOAT: u64 = 1;
const DOUBLE: u64 = 2;

/// The bytes begin with a record.
pub(super) fn begins(bytes: &[u8]) -> bool {
    head(bytes).is_some()
}

/// Length of the data of the record at the start, if its checksum holds.
fn head(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(..8)?;
    let sum = u32::from_le_bytes(bytes.get(8..HEAD)?.try_into().ok()?);
    if masked(length) != sum {
        return None;
    }
    usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()
}

/// The losses of the records from byte `from` on.
pub(super) fn read(bytes: &[u8], from: usize, series: &mut Series<'_>) {
    let mut at = 0;
    while at < bytes.len() {
        let Some(length) = head(&bytes[at..]) else {
            // Nothing says where the next record begins.
            series.dropped += u64::from(bytes.len() - at >= HEAD);
            return;
        };
        let end = (at + HEAD).checked_add(length);
        let Some(data) = end.and_then(|end| bytes.get(at + HEAD..end)) else { return };
        let after = at + HEAD + length;
        // The last record may still be being written.
        let Some(sum) = bytes.get(after..after + TAIL) else { return };
        if at >= from {
            if sum == masked(data).to_le_bytes() {
                event(data, series);
            } else {
                series.dropped += 1;
            }
        }
        at = after + TAIL;
    }
}

fn event(data: &[u8], series: &mut Series<'_>) {
    // Fields come in any order: the step may be behind the summary.
    let mut step = 0.0;
    for (number, field) in Fields(data) {
        if let (2, Field::Number(value)) = (number, &field) {
            step = *value as i64 as f64;
        }
    }
    for (number, field) in Fields(data) {
        if let (5, Field::Bytes(summary)) = (number, field) {
            for (number, field) in Fields(summary) {
                if let (1, Field::Bytes(value)) = (number, field) {
                    scalar(value, step, series);
                }
            }
        }
    }
}

fn scalar(value: &[u8], step: f64, series: &mut Series<'_>) {
    let (mut tag, mut scalar) = ("", None);
    for (number, field) in Fields(value) {
        match (number, field) {
            (1, Field::Bytes(name)) => tag = std::str::from_utf8(name).unwrap_or(""),
            (2, Field::Fixed32(bits)) => scalar = Some(f64::from(f32::from_bits(bits))),
            (8, Field::Bytes(bytes)) => scalar = scalar.or_else(|| tensor(bytes)),
            _ => {}
        }
    }
    if let Some(scalar) = scalar {
        series.add(tag, Some(step), scalar);
    }
}

/// The number of a tensor that holds one: in `tensor_content` (4), `float_val` (5) or `double_val` (6).
fn tensor(bytes: &[u8]) -> Option<f64> {
    let (mut kind, mut found, mut count) = (0, None, 0);
    let float = |bytes: &[u8]| Some(f64::from(f32::from_le_bytes(bytes.try_into().ok()?)));
    let double = |bytes: &[u8]| Some(f64::from_le_bytes(bytes.try_into().ok()?));
    for (number, field) in Fields(bytes) {
        let one = match (number, field) {
            (1, Field::Number(value)) => {
                kind = value;
                continue;
            }
            (4, Field::Bytes(content)) if !content.is_empty() => match kind {
                FLOAT => float(content),
                DOUBLE => double(content),
                _ => None,
            },
            (5, Field::Bytes(packed)) => float(packed),
            (6, Field::Bytes(packed)) => double(packed),
            (5, Field::Fixed32(bits)) => Some(f64::from(f32::from_bits(bits))),
            (6, Field::Fixed64(bits)) => Some(f64::from_bits(bits)),
            _ => continue,
        };
        found = one;
        count += 1;
    }
    found.filter(|_| count == 1)
}

/// A field of a message.
enum Field<'a> {
    Number(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message with their numbers, up to the first that makes no sense.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Number(self.varint()?),
            1 => Field::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            _ => return None,
        };
        Some((key >> 3, field))
    }
}

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

/// CRC-32C, masked as TensorFlow masks it.
fn masked(bytes: &[u8]) -> u32 {
    let sum = !bytes.iter().fold(!0_u32, |sum, byte| TABLE[usize::from(sum as u8 ^ byte)] ^ (sum >> 8));
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), reflected, one byte at a time.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut sum, mut bit) = (at as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0x82f6_3b78 } else { sum >> 1 };
            bit += 1;
        }
        table[at] = sum;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        // RFC 3720, B.4, before masking.
        let bare = |bytes: &[u8]| masked(bytes).wrapping_sub(0xa282_ead8).rotate_left(15);
        assert_eq!(bare(&[0; 32]), 0x8a91_36aa);
        assert_eq!(bare(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(bare(b"123456789"), 0xe306_9283);
    }
}
