//! The short way gives the ids of the library's own, on whatever text; other tokenizers do not take it.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const GPT_4: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The tokenizer of `testdata/`, changed.
fn tokenizer(change: impl FnOnce(&mut Value)) -> Tokenizer {
    let mut file = serde_json::from_str(include_str!("../../testdata/byte_level.json")).unwrap();
    change(&mut file);
    Tokenizer::from_bytes(file.to_string()).unwrap()
}

fn split(pattern: &str, behavior: &str, invert: bool) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert})
}

fn byte_level(use_regex: bool, add_prefix_space: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex})
}

fn sequence(steps: &[Value]) -> Value {
    json!({"type": "Sequence", "pretokenizers": steps})
}

fn add(file: &mut Value, id: u32, content: &str, flags: &[&str]) {
    let mut token = json!({"id": id, "content": content});
    for flag in ["single_word", "lstrip", "rstrip", "normalized", "special"] {
        token[flag] = json!(flags.contains(&flag));
    }
    file["added_tokens"].as_array_mut().unwrap().push(token);
}

fn begins_with_a_token(file: &mut Value) {
    file["post_processor"] = json!({"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true},
        {"type": "TemplateProcessing",
         "single": [{"SpecialToken": {"id": "<|begin|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}],
         "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
         "special_tokens": {"<|begin|>": {"id": "<|begin|>", "ids": [900, 901], "tokens": ["<|begin|>", "<|begin"]},
                            "<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}},
    ]});
}

/// Tokenizers as models have them.
fn tokenizers() -> Vec<(&'static str, Tokenizer)> {
    let gpt_2 = tokenizer(|_| ());
    let llama_3 = tokenizer(|file| {
        file["pre_tokenizer"] = sequence(&[split(GPT_4, "Isolated", false), byte_level(false, false)]);
        file["model"]["ignore_merges"] = json!(true);
        for (id, content) in ["<|begin|>", "<|begin", "<|begin|>x"].into_iter().enumerate() {
            add(file, 900 + id as u32, content, &["special"]);
        }
        begins_with_a_token(file);
    });
    let qwen = tokenizer(|file| {
        let pattern = GPT_4.replace("{1,3}", "");
        file["pre_tokenizer"] = sequence(&[split(&pattern, "Isolated", false), byte_level(false, false)]);
        file["normalizer"] = json!({"type": "NFC"});
        add(file, 900, "<|begin|>", &["special"]);
        add(file, 901, "  ", &["normalized"]);
        add(file, 902, "tool", &["normalized"]);
    });
    let deepseek = tokenizer(|file| {
        file["pre_tokenizer"] = sequence(&[
            split(r"\p{N}{1,3}", "Isolated", false),
            split("[一-龥]+", "Isolated", true),
            split("[\r\n]", "Removed", false),
            byte_level(true, false),
        ]);
    });
    let only_matches = tokenizer(|file| {
        file["pre_tokenizer"] = sequence(&[split(GPT_4, "Removed", true), byte_level(false, false)]);
    });
    let whole = tokenizer(|file| file["pre_tokenizer"] = byte_level(false, false));
    let particular = tokenizer(|file| {
        add(file, 900, "<|begin|>", &["special", "lstrip", "rstrip"]);
        add(file, 901, "tool", &["normalized", "single_word"]);
        add(file, 902, "é", &["rstrip", "normalized"]);
    });
    vec![
        ("GPT-2", gpt_2),
        ("Llama 3", llama_3),
        ("Qwen", qwen),
        ("DeepSeek", deepseek),
        ("matches alone", only_matches),
        ("whole texts", whole),
        ("added tokens with flags", particular),
    ]
}

fn short(tokenizer: &Tokenizer, special: bool) -> Words {
    Words::of(tokenizer, special).expect("it is of the kind")
}

static ALL: LazyLock<Vec<(&str, Tokenizer, [Words; 2])>> = LazyLock::new(|| {
    let with_words = |(name, tokenizer): (&'static str, Tokenizer)| {
        let words = [false, true].map(|special| short(&tokenizer, special));
        (name, tokenizer, words)
    };
    tokenizers().into_iter().map(with_words).collect()
});

fn holds(text: &str) {
    for (name, tokenizer, words) in &*ALL {
        for (words, special) in words.iter().zip([false, true]) {
            let mut ids = Vec::new();
            if words.encode(tokenizer, text, &mut ids).unwrap() {
                let wanted = tokenizer.encode_fast(text, special).unwrap();
                assert_eq!(ids, wanted.get_ids(), "{name}, special {special}, {text:?}");
            } else {
                assert!(ids.is_empty() && *name == "Qwen" && !text.is_ascii(), "{name}, {text:?}");
            }
        }
    }
}

fn texts() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "the",
        " and",
        "naïve",
        "Straße",
        "数据加载",
        " 慢",
        "é",
        "e\u{301}",
        "\u{301}",
        "ſ",
        "K",
        "'s",
        "'S",
        "'LL",
        "'re",
        "'ſ",
        "'v",
        "don't",
        "12",
        "3.14159",
        "1,000,000",
        "٣٤",
        "½",
        "x86_64",
        " ",
        "  ",
        "   ",
        "\t",
        "\n",
        "\n\n",
        "\r\n",
        "\u{a0}",
        "\u{2028}",
        "\u{3000}",
        "\u{85}",
        "\0",
        "\u{b}",
        "\u{1c}",
        "...",
        "!?",
        " --",
        "{}",
        "👩\u{200d}🔬",
        "🙂",
        "مرحبا",
        "नमस्ते",
        "가나다",
        "ﬁ",
        "\u{200b}",
        "\u{feff}",
        "<|endoftext|>",
        "<|begin|>",
        "<|begin",
        "<|begin|>x",
        "<|end",
        "tool",
        "tools",
        "<",
        "|>",
        "a-word-of-more-than-fifteen-bytes",
        "AnIdentifierOfJustAboutThirtyBytes",
    ]);
    let part = prop_oneof![
        8 => known.prop_map(str::to_owned),
        2 => any::<char>().prop_map(String::from),
        1 => prop::collection::vec(any::<char>(), 1..8).prop_map(|chars| chars.into_iter().collect()),
        1 => (prop::sample::select(vec!['a', ' ', '\n', 'é', '数', '7', '-']), 1..200_usize)
            .prop_map(|(char, count)| char.to_string().repeat(count)),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn the_ids_are_the_librarys(text in texts()) {
        holds(&text);
    }
}

#[test]
fn long_words_and_words_seen_again_have_the_librarys_ids() {
    for text in
        ["", " ", "\n", "é", &"x".repeat(20_000), &" ".repeat(20_000), &"é".repeat(999), &"word ".repeat(999)]
    {
        holds(text);
        holds(text);
    }
}

#[test]
fn what_is_remembered_is_bounded_and_stays_true() {
    let (tokenizer, mut seen) = (tokenizer(|_| ()), Seen::default());
    let words = short(&tokenizer, false);
    let mut again = Vec::new();
    for number in 0..300_000_u32 {
        // Short and long ones, with one id and many.
        let word = if number % 2 == 0 { format!("w{number}") } else { format!("a-longer-word-{number}") };
        let ids = vec![number; 1 + number as usize % 5];
        seen.put(&word, &ids);
        again.clear();
        assert!(seen.get(&word, &mut again) && again == ids);
        assert!(seen.short.len() <= SHORT && seen.long.len() <= LONG && seen.ids.len() <= IDS);
    }
    seen.put(&"x".repeat(LONGEST + 1), &[1]);
    assert!(!seen.get(&"x".repeat(LONGEST + 1), &mut again));
    // Each text has words that no other has, more than are remembered.
    for number in 0..30_000 {
        let text = format!("a{number:x} b{number:x} c{number:x} !{number} ");
        let mut ids = Vec::new();
        assert!(words.encode(&tokenizer, &text, &mut ids).unwrap());
        if number % 100 == 0 {
            assert_eq!(ids, tokenizer.encode_fast(&*text, false).unwrap().get_ids());
        }
    }
}

#[test]
fn words_are_told_apart_as_numbers() {
    let mut numbers = std::collections::HashSet::new();
    for length in 1..16 {
        for at in 0..length {
            for byte in [0, 1, 0x80, 0xff] {
                let mut word = vec![b'w'; length];
                word[at] = byte;
                assert!(numbers.insert(packed(&word).unwrap()), "{word:?}");
            }
        }
    }
    assert_eq!((packed(b""), packed(&[0; 16])), (None, None));
}

#[test]
fn each_byte_has_the_librarys_character() {
    let all = tokenizers::pre_tokenizers::byte_level::ByteLevel::alphabet();
    let ours = alphabet();
    assert!(ours.iter().all(|char| all.contains(char)));
    assert_eq!((ours[0], ours[usize::from(b' ')], ours[0xad], ours[0xff]), ('Ā', 'Ġ', 'Ń', 'ÿ'));
}

#[test]
fn other_tokenizers_go_the_librarys_way() {
    let steps = |steps: &[Value]| sequence(steps);
    let others: [(&str, Value); 9] = [
        ("/model/dropout", json!(0.1)),
        ("/normalizer", json!({"type": "Lowercase"})),
        ("/normalizer", json!({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]})),
        ("/pre_tokenizer", Value::Null),
        ("/pre_tokenizer", byte_level(true, true)),
        ("/pre_tokenizer", json!({"type": "Whitespace"})),
        ("/pre_tokenizer", steps(&[byte_level(true, false), split("a", "Isolated", false)])),
        (
            "/pre_tokenizer",
            steps(&[json!({"type": "Digits", "individual_digits": true}), byte_level(true, false)]),
        ),
        ("/pre_tokenizer", steps(&[split("a", "MergedWithNext", false), byte_level(false, false)])),
    ];
    for (place, value) in others {
        let other = tokenizer(|file| *file.pointer_mut(place).unwrap() = value.clone());
        assert!(Words::of(&other, false).is_none(), "{place} {value}");
    }
    // NFC makes another text of an added token.
    let other = tokenizer(|file| {
        file["normalizer"] = json!({"type": "NFC"});
        add(file, 900, "e\u{301}", &["normalized"]);
    });
    assert!(Words::of(&other, false).is_none());
    // Twice the text.
    let other = tokenizer(|file| {
        let text = json!({"Sequence": {"id": "A", "type_id": 0}});
        file["post_processor"] = json!({"type": "TemplateProcessing", "single": [text, text], "pair": [text, text], "special_tokens": {}});
    });
    assert!(Words::of(&other, false).is_none());
    let word_level = tokenizer(|file| {
        file["model"] = json!({"type": "WordLevel", "vocab": {"<|endoftext|>": 0, "a": 1}, "unk_token": "a"});
    });
    assert!(Words::of(&word_level, false).is_none());
}
