//! Stacks with times, one JSON object a line. Three kinds of line, told apart by their members:
//!
//! * `{"stack": 3, "pid": 7, "parents": [1], "thread": "MainThread", "frames": [["f", "/a.py", 3], …]}` –
//!   stack number 3, said once, before it is used;
//! * `{"t": 1795971809.2368, "s": [[3, "R", 1], …]}` – what was seen at a time: stack, thread state, and 1 where the
//!   thread held the interpreter's lock (left out where it did not, or where nobody knows);
//! * `{"source": "/a.py", "line": 3, "text": "…"}` – the text of a source line.

use rustc_hash::FxHashMap;
use serde_json::Value;
use whyidle_model::{Frame, Seen, Stack, Stacks};

/// Stacks and the number of lines that made no sense.
pub(super) fn read(bytes: &[u8]) -> (Stacks, u64) {
    let (mut rows, mut stacks) = (Rows::default(), Stacks::default());
    bytes.split(|&b| b == b'\n').for_each(|line| rows.line(line, &mut stacks));
    (stacks, rows.dropped)
}

/// Reads stacks line by line.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Lines that made no sense.
    pub(super) dropped: u64,
    by_number: FxHashMap<u64, usize>,
}

impl Rows {
    pub(super) fn line(&mut self, line: &[u8], stacks: &mut Stacks) {
        if line.is_empty() {
            return;
        }
        let understood = serde_json::from_slice::<Value>(line).ok().and_then(|value| {
            if value.get("stack").is_some() {
                stack(&value, stacks, &mut self.by_number)
            } else if value.get("source").is_some() {
                source(&value, stacks)
            } else {
                sightings(&value, stacks, &self.by_number)
            }
        });
        self.dropped += u64::from(understood.is_none());
    }
}

fn stack(value: &Value, out: &mut Stacks, by_number: &mut FxHashMap<u64, usize>) -> Option<()> {
    let number = value.get("stack")?.as_u64()?;
    let pid = u32::try_from(value.get("pid")?.as_u64()?).ok()?;
    let parents = value.get("parents").and_then(Value::as_array).into_iter().flatten();
    let parents = parents.filter_map(|pid| u32::try_from(pid.as_u64()?).ok()).collect();
    let thread = out.names.intern(value.get("thread").and_then(Value::as_str).unwrap_or(""));
    let mut frames = Vec::new();
    for frame in value.get("frames")?.as_array()? {
        let function = out.names.intern(frame.get(0)?.as_str()?);
        let file = out.names.intern(frame.get(1).and_then(Value::as_str).unwrap_or(""));
        let line =
            frame.get(2).and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        frames.push(Frame { function, file, line });
    }
    out.stacks.push(Stack { pid, parents, thread, frames });
    by_number.insert(number, out.stacks.len() - 1);
    Some(())
}

fn sightings(value: &Value, out: &mut Stacks, by_number: &FxHashMap<u64, usize>) -> Option<()> {
    let t = value.get("t")?.as_f64().filter(|t| (0.0..9e9).contains(t))?;
    let t = (t * 1e6).round() as i64 * 1_000;
    for pair in value.get("s")?.as_array()? {
        let stack = *by_number.get(&pair.get(0)?.as_u64()?)?;
        let gil = pair.get(2).and_then(Value::as_u64) == Some(1);
        let state = pair.get(1).and_then(Value::as_str).and_then(|text| text.chars().next()).unwrap_or(' ');
        out.seen.push(Seen { t: Some(t), stack, count: 1, state, gil });
    }
    Some(())
}

fn source(value: &Value, out: &mut Stacks) -> Option<()> {
    let file = out.names.intern(value.get("source")?.as_str()?);
    let line = u32::try_from(value.get("line")?.as_u64()?).ok()?;
    out.source.insert((file, line), value.get("text")?.as_str()?.to_owned());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_sightings_and_source() {
        let text = b"{\"stack\":4,\"pid\":7,\"parents\":[],\"thread\":\"MainThread\",\"frames\":[[\"step\",\"/w/train.py\",157]]}\n\
            {\"t\":1795971809.2368,\"s\":[[4,\"R\",1]]}\n{\"source\":\"/w/train.py\",\"line\":157,\"text\":\"gc.collect()\"}\n\
            {\"t\":1.0,\"s\":[[9,\"R\"]]}\n{\"t\":1795971810.";
        let (stacks, dropped) = read(text);
        assert_eq!((stacks.stacks.len(), stacks.seen.len(), dropped), (1, 1, 2));
        assert!(stacks.seen[0].gil);
        assert_eq!(stacks.seen[0].t, Some(1_795_971_809_236_800_000));
        let frame = stacks.stacks[0].frames[0];
        assert_eq!(stacks.source.get(&(frame.file, 157)).map(String::as_str), Some("gc.collect()"));
    }
}
