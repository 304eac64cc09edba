//! The fast parser against the reference, on random events and on damaged ones.

use proptest::prelude::*;

use super::event::{Args, Event};
use super::fast::Fast;
use super::reference::{self, Parsed};
use crate::ParserChoice;
use crate::budget::Budget;
use crate::window::tests::with_tiny_window;

type Parts<'a> = (Event<'a>, Args<'a>, usize);

fn by_fast(bytes: &[u8]) -> Option<Parts<'_>> {
    let (mut event, mut args) = (Event::default(), Args::default());
    let mut parser = Fast::new();
    let used = parser.event(bytes, &mut event, &mut args)?;
    // What the parser remembers from the first time must make no difference.
    let (mut again, mut args_again) = (Event::default(), Args::default());
    assert_eq!(parser.event(bytes, &mut again, &mut args_again), Some(used));
    assert_eq!((again, args_again), (event, args));
    Some((event, args, used))
}

fn by_reference(bytes: &[u8]) -> Option<Parts<'_>> {
    match reference::event(bytes) {
        Parsed::Value((event, args), used) => Some((event, args, used)),
        Parsed::Incomplete | Parsed::Broken(_) => None,
    }
}

const EVENT_KEYS: &[&str] =
    &["ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "bp", "s", "args", "p\\u0068", "\u{540d}"];
const ARG_KEYS: &[&str] = &[
    "External id",
    "external id",
    "correlation",
    "device",
    "stream",
    "grid",
    "block",
    "bytes",
    "Input Dims",
    "Input type",
    "Input Strides",
    "Concrete Inputs",
    "Call stack",
    "Collective name",
    "In msg nelems",
    "Seq",
    "Rank",
    "Ev Idx",
    "est. achieved occupancy %",
    "wait_on_cuda_event_record_corr_id",
    "Device Id",
    "name",
    "",
];

fn blank() -> impl Strategy<Value = String> {
    prop_oneof![8 => Just(String::new()), 4 => Just(" ".to_owned()), 1 => "[ \t\r\n]{0,6}"]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        (0_u64..10_000_000_000_000_000, 0_u32..1000).prop_map(|(n, f)| format!("{n}.{f:03}")),
        (any::<f64>()).prop_filter_map("finite", |n| n.is_finite().then(|| format!("{n:?}"))),
        (0_u32..100, -400_i32..400).prop_map(|(n, e)| format!("{n}e{e}")),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?",
    ]
}

fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -!#-\\[\\]-~]{0,40}",
        "(ab|é|名|\\\\\"|\\\\\\\\|\\\\n|\\\\u00e9|\\\\/){0,12}",
        Just("void at::native::vectorized_elementwise_kernel<4, std::array<char*, 3ul> >(int)".to_owned()),
        Just("stream 7".to_owned()),
        "-?[0-9]{1,20}(\\.[0-9]{0,4})?",
    ]
    .prop_map(|text| format!("\"{text}\""))
}

fn scalar() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned);
    prop_oneof![3 => number(), 3 => string(), 1 => words]
}

fn object(
    keys: &'static [&'static str],
    values: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let member = (prop::sample::select(keys), values, [blank(), blank(), blank(), blank()]);
    (prop::collection::vec(member, 0..14), blank()).prop_map(|(members, inside)| {
        let members: Vec<_> = members
            .into_iter()
            .map(|(key, value, [a, b, c, d])| format!("{a}\"{key}\"{b}:{c}{value}{d}"))
            .collect();
        if members.is_empty() { format!("{{{inside}}}") } else { format!("{{{}}}", members.join(",")) }
    })
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            (prop::collection::vec((blank(), inner.clone()), 0..5), blank()).prop_map(|(items, end)| {
                let items: Vec<_> = items.into_iter().map(|(a, item)| format!("{a}{item}")).collect();
                format!("[{}{end}]", items.join(","))
            }),
            object(ARG_KEYS, inner),
        ]
    })
}

fn event() -> impl Strategy<Value = String> {
    let args = object(ARG_KEYS, value());
    let phase =
        prop::sample::select(vec!["\"X\"", "\"i\"", "\"M\"", "\"s\"", "\"f\""]).prop_map(str::to_owned);
    let members = prop_oneof![3 => scalar(), 2 => args, 1 => value(), 1 => phase];
    object(EVENT_KEYS, members)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_parsers_find_the_same_parts(event in event(), blank in blank()) {
        let text = format!("{event}{blank}, {{\"ph\": \"X\"}}      ");
        let reference = by_reference(text.as_bytes());
        prop_assert!(reference.is_some_and(|(.., used)| used == event.len()), "{}", event);
        match by_fast(text.as_bytes()) {
            Some(fast) => prop_assert_eq!(Some(fast), reference),
            None => prop_assert!(text.contains("p\\u0068"), "surprised by {}", event),
        }
    }

    #[test]
    fn what_the_fast_parser_accepts_the_reference_accepts(
        event in event(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 1..4),
    ) {
        let mut text = format!("{event}, {{\"ph\": \"X\"}}").into_bytes();
        for (place, byte, sort) in edits {
            let at = place.index(text.len());
            match sort {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
        }
        if let Some(fast) = by_fast(&text) {
            prop_assert_eq!(Some(fast), by_reference(&text));
        }
    }
}

#[test]
fn borders_of_buffers_make_no_difference() {
    let seeds: [&[u8]; 3] = [
        include_bytes!("../../tests/traces/current.json"),
        include_bytes!("../../tests/traces/of_2021.json"),
        br#"{"x": 12.50, "traceEvents": [{"ph": "X", "name": "a"b"}, 1.5e3, {"ph": "X", "cat": "kernel",
            "name": "\u00e9", "ts": 1.25, "dur": 10, "args": {"x": nan}}, oops, {"ph": "i"}], "with_stack": 1} "#,
    ];
    for seed in seeds {
        let whole = with_tiny_window(seed, 1 << 20, 16, |window| {
            super::read(window, ParserChoice::Reference, Budget::default())
        });
        let whole = whole.expect("readable");
        for (chunk, headroom) in
            (1..40).map(|n| (n, 40 - n)).chain((50..2_000).step_by(131).map(|n| (n, n / 3)))
        {
            for parser in [ParserChoice::Auto, ParserChoice::Reference] {
                let parts = with_tiny_window(seed, chunk, headroom, |window| {
                    super::read(window, parser, Budget::default())
                });
                assert!(parts.is_ok_and(|parts| parts == whole), "chunk {chunk}, {parser:?}");
            }
        }
    }
}
