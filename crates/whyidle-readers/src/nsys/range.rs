//! What the text of an NVTX range says.
//!
//! PyTorch's `emit_nvtx` (and `nsys profile --pytorch=autograd-nvtx`) writes operators as
//! `aten::mm, seq = 12, op_id = 34, sizes = [[8, 4], [4, 2]], input_op_ids = […]`, each part but the name only where it
//! is known (`torch/csrc/profiler/util.cpp`, `getNvtxStr`). NCCL and programs write plain names.

use whyidle_model::HostKind;

/// A range's text, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range<'a> {
    /// Name.
    pub(super) name: &'a str,
    /// An operator, or an annotation.
    pub(super) kind: HostKind,
    /// Autograd's sequence number; −1: not said.
    pub(super) sequence: i32,
    /// Shapes of the inputs as JSON without spaces; empty: not said.
    pub(super) dims: String,
}

/// Takes `text` apart.
pub(super) fn parse(text: &str) -> Range<'_> {
    let mut name = text;
    for key in [", seq = ", ", op_id = ", ", sizes = "] {
        name = name.find(key).map_or(name, |at| &name[..at]);
    }
    let sequence = value(text, ", seq = ").and_then(|number| number.parse().ok()).unwrap_or(-1);
    let dims = shapes(text).unwrap_or_default();
    let recorded = name.len() < text.len();
    let kind = if is_operator(name, recorded) { HostKind::Op } else { HostKind::Annotation };
    Range { name, kind, sequence, dims }
}

fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = &text[text.find(key)? + key.len()..];
    Some(&rest[..rest.find(',').unwrap_or(rest.len())])
}

/// The list of lists after `sizes`; nothing where it is cut short.
fn shapes(text: &str) -> Option<String> {
    const KEY: &str = ", sizes = ";
    let rest = &text[text.find(KEY)? + KEY.len()..];
    let mut depth = 0_i32;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            b'0'..=b'9' | b'-' | b',' | b' ' => {}
            _ => return None,
        }
        if depth <= 0 {
            return (depth == 0 && at > 0).then(|| rest[..=at].replace(' ', ""));
        }
    }
    None
}

/// An operator has a lower-case name space (`aten::mm`, `autograd::engine::evaluate_function: …`), or PyTorch recorded it
/// under a bare identifier (`detach_`, `AddmmBackward0`). Everything else is an annotation: `Optimizer.step#Adam.step`,
/// `FSDP::pre_forward (layer.0)`, `step 3`.
fn is_operator(name: &str, recorded: bool) -> bool {
    let word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    match name.split_once("::") {
        Some((space, _)) => word(space) && !space.bytes().any(|b| b.is_ascii_uppercase()),
        None => recorded && word(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_taken_apart() {
        let range =
            parse("aten::mm, seq = 12, op_id = 34, sizes = [[8, 4], [], [4, 2]], input_op_ids = [(1,0)]");
        assert_eq!(
            range,
            Range { name: "aten::mm", kind: HostKind::Op, sequence: 12, dims: "[[8,4],[],[4,2]]".to_owned() }
        );
        assert_eq!(parse("aten::view, op_id = 314290").name, "aten::view");
        assert_eq!(parse("detach_, op_id = 3").kind, HostKind::Op);
        assert_eq!(parse("aten::mm, sizes = [[8, 4").dims, "");
        assert_eq!(parse("aten::mm, sizes = ]").dims, "");
        assert_eq!(parse("aten::mm, seq = 99999999999").sequence, -1);
    }

    #[test]
    fn what_programs_write_is_an_annotation() {
        for text in [
            "step 3",
            "forward",
            "Optimizer.step#AdamW.step, op_id = 3",
            "FSDP::pre_forward (a.b), op_id = 4",
        ] {
            let range = parse(text);
            assert_eq!(range.kind, HostKind::Annotation, "{text}");
        }
        assert_eq!(parse("Optimizer.step#AdamW.step, op_id = 3").name, "Optimizer.step#AdamW.step");
        assert_eq!(parse("ncclAllReduce").kind, HostKind::Annotation);
    }
}
