//! A column of an Arrow file: the file format (Feather 2) or a stream, as `datasets` caches it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, RecordBatch as Described, root_as_message};
use whyidle_model::NoteCode;

use super::Chunk;
use super::columns::{Column, Gathered, guarded};
use super::field::Field;
use crate::error::ReadError;

/// Bytes of a batch of rows that is taken into memory, as it lies in the file, and of its description.
const LARGEST_BATCH: u64 = 1 << 31;
const LARGEST_HEADER: u64 = 1 << 26;
/// A byte stands for no more than this many, packed: a run of one byte in Zstandard, 128 KiB in four bytes.
const DENSEST: u64 = 1 << 15;

/// A column of texts.
struct Texts {
    file: File,
    decoder: StreamDecoder,
    /// Read and not decoded.
    buffer: Buffer,
    field: Field,
    /// The column of the batch that is handed out, and the next of its rows.
    column: Option<(ArrayRef, usize)>,
    row: u64,
    read: u64,
    is_over: bool,
}

/// Opens the column `field` of a file.
pub(super) fn open(path: &Path, mut file: File, field: &Field) -> Result<Box<dyn Column>, ReadError> {
    let failed = |error| ReadError::io(path, error);
    let mut magic = Vec::new();
    (&mut file).take(8).read_to_end(&mut magic).map_err(failed)?;
    // The file format is a stream between its magic and its footer.
    let start = if magic.starts_with(b"ARROW1") { 8 } else { 0 };
    file.seek(SeekFrom::Start(start)).map_err(failed)?;
    let mut texts = Texts {
        file,
        decoder: StreamDecoder::new(),
        buffer: Buffer::default(),
        field: field.clone(),
        column: None,
        row: 0,
        read: start,
        is_over: false,
    };
    let damaged = |reason: &str| ReadError::Columns { path: path.to_owned(), reason: reason.to_owned() };
    texts.batch().map_err(failed)?.map_err(|reason| damaged(&reason))?;
    let Some(schema) = texts.decoder.schema() else { return Err(damaged("no schema")) };
    let is_there = schema.fields().iter().any(|column| column.name() == &field.names()[0]);
    let is_text = texts.column.as_ref().is_none_or(|(column, _)| text_at(column, 0).is_some());
    if !is_there || !is_text {
        let columns = schema.fields().iter().map(|column| column.name().clone()).collect();
        return Err(ReadError::NoColumn { path: path.to_owned(), column: field.to_string(), columns });
    }
    Ok(Box::new(texts))
}

/// What a row of a column holds: `None` where it is no column of texts, `Some(None)` where there is none.
fn text_at(column: &ArrayRef, row: usize) -> Option<Option<&[u8]>> {
    let is_there = row < column.len() && column.is_valid(row);
    if let Some(texts) = column.as_string_opt::<i32>() {
        return Some(is_there.then(|| texts.value(row).as_bytes()));
    }
    if let Some(texts) = column.as_string_opt::<i64>() {
        return Some(is_there.then(|| texts.value(row).as_bytes()));
    }
    if let Some(texts) = column.as_string_view_opt() {
        return Some(is_there.then(|| texts.value(row).as_bytes()));
    }
    None
}

impl Texts {
    /// Decodes the next batch of rows; the inner error is the file's fault.
    fn batch(&mut self) -> io::Result<Result<(), String>> {
        guarded(|| self.decode()).unwrap_or_else(|| Ok(Err("it makes no sense".to_owned())))
    }

    fn decode(&mut self) -> io::Result<Result<(), String>> {
        loop {
            while !self.buffer.is_empty() {
                match self.decoder.decode(&mut self.buffer) {
                    Ok(Some(batch)) => {
                        match self.column_of(&batch) {
                            Some(column) => self.column = Some((column, 0)),
                            None => return Ok(Err("the column is missing".to_owned())),
                        }
                        return Ok(Ok(()));
                    }
                    Ok(None) => {}
                    Err(error) => return Ok(Err(error.to_string())),
                }
            }
            let bytes = match self.message()? {
                Ok(Some(bytes)) => bytes,
                Ok(None) => {
                    self.is_over = true;
                    return Ok(self.decoder.finish().map_err(|error| error.to_string()));
                }
                Err(reason) => return Ok(Err(reason.to_owned())),
            };
            self.buffer = Buffer::from_vec(bytes);
        }
    }

    /// The next message, whole; `None` at the end. What it claims of its lengths is compared with what there is, before
    /// the library allocates it.
    fn message(&mut self) -> io::Result<Result<Option<Vec<u8>>, &'static str>> {
        const CUT: &str = "it ends within a batch of rows";
        if self.is_over {
            return Ok(Ok(None));
        }
        let mut bytes = Vec::new();
        let mut length = u32::MAX;
        // The length stands by itself in files from before 2020.
        while length == u32::MAX && bytes.len() < 8 {
            match self.take(4, &mut bytes)? {
                0 if bytes.is_empty() => return Ok(Ok(None)),
                4 => {}
                _ => return Ok(Err(CUT)),
            }
            let last = bytes.last_chunk().copied().unwrap_or_default();
            length = u32::from_le_bytes(last);
        }
        let header = u64::from(length);
        if header == 0 {
            // The stream's own end; in the file format a footer follows.
            self.is_over = true;
            return Ok(Ok(Some(bytes)));
        }
        let start = bytes.len();
        if header > LARGEST_HEADER || self.take(header, &mut bytes)? != header {
            return Ok(Err(CUT));
        }
        let body_at = bytes.len();
        let body = match root_as_message(&bytes[start..]).map(|message| u64::try_from(message.bodyLength())) {
            Ok(Ok(body)) if body <= LARGEST_BATCH => body,
            Ok(Ok(_)) => return Ok(Err("a batch of rows of more than 2 GiB")),
            _ => return Ok(Err("a description of rows makes no sense")),
        };
        if self.take(body, &mut bytes)? != body {
            return Ok(Err(CUT));
        }
        let Ok(message) = root_as_message(&bytes[start..body_at]) else {
            return Ok(Err("a description of rows makes no sense"));
        };
        let described = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                message.header_as_dictionary_batch().and_then(|batch| batch.data())
            }
            _ => None,
        };
        let is_sound = described.is_none_or(|described| lengths_are_sound(&described, &bytes[body_at..]));
        Ok(if is_sound { Ok(Some(bytes)) } else { Err("a length of packed rows makes no sense") })
    }

    /// Reads `count` more bytes; fewer at the end.
    fn take(&mut self, count: u64, into: &mut Vec<u8>) -> io::Result<u64> {
        let read = (&mut self.file).take(count).read_to_end(into)? as u64;
        self.read += read;
        Ok(read)
    }

    fn column_of(&self, batch: &RecordBatch) -> Option<ArrayRef> {
        let (first, rest) = self.field.names().split_first()?;
        let mut column = batch.column_by_name(first)?.clone();
        for name in rest {
            column = column.as_struct_opt()?.column_by_name(name)?.clone();
        }
        Some(column)
    }

    /// The next batch, if there is one and the file is whole.
    fn advance(&mut self, gathered: &mut Gathered) -> io::Result<bool> {
        self.column = None;
        if self.is_over {
            return Ok(false);
        }
        if self.batch()?.is_err() {
            gathered.notes.add(NoteCode::DamagedColumns, None);
            self.is_over = true;
        }
        Ok(self.column.is_some())
    }
}

impl Column for Texts {
    fn next(&mut self, size: usize) -> io::Result<Option<Chunk>> {
        let mut gathered = Gathered::default();
        while gathered.size() < size {
            match &mut self.column {
                Some((column, next)) if *next < column.len() => {
                    gathered.add(text_at(column, *next).flatten());
                    *next += 1;
                    self.row += 1;
                }
                _ => {
                    if !self.advance(&mut gathered)? {
                        break;
                    }
                }
            }
        }
        Ok(gathered.chunk(self.row))
    }

    fn skip_to(&mut self, row: u64) -> io::Result<()> {
        let mut left = row;
        let mut passed = Gathered::default();
        while left > 0 {
            match &mut self.column {
                Some((column, next)) if *next < column.len() => {
                    let step = left.min((column.len() - *next) as u64);
                    *next += step as usize;
                    left -= step;
                }
                _ => {
                    if !self.advance(&mut passed)? {
                        break;
                    }
                }
            }
        }
        self.row = row;
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.read
    }
}

/// Whether the packed buffers of a batch claim to unpack to what their bytes can.
fn lengths_are_sound(described: &Described<'_>, body: &[u8]) -> bool {
    if described.compression().is_none() {
        return true;
    }
    described.buffers().is_none_or(|buffers| {
        buffers.iter().all(|buffer| {
            let bounds = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
            let packed = bounds.and_then(|(at, length)| body.get(at..at.checked_add(length)?));
            packed.is_some_and(|packed| match packed.first_chunk().map(|claim| i64::from_le_bytes(*claim)) {
                // -1: it is not packed.
                None | Some(-1) => true,
                Some(claim) => u64::try_from(claim).is_ok_and(|claim| claim / DENSEST <= packed.len() as u64),
            })
        })
    })
}
