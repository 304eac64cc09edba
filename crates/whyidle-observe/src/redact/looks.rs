//! Keys that are told by their looks, whatever their names.

use super::REDACTED;

/// Beginnings that issuers give their keys.
const ISSUED: [&str; 26] = [
    "hf_",
    "sk-",
    "sk_",
    "pk_live",
    "rk_live",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxs-",
    "xoxr-",
    "xoxe.",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "nvapi-",
    "dckr_pat_",
];
/// A run of letters and digits this long, with some of either, is nobody's name for a thing.
const LONG_RUN: usize = 28;
/// An issued key has at least so many characters.
const SHORTEST_ISSUED: usize = 12;

/// Keys that are told by their looks.
pub(super) fn shapes(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.+=~".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let length = rest[start..].find(|c: char| !is_part(c)).unwrap_or(rest.len() - start);
        let (head, after) = rest.split_at(start + length);
        out.push_str(&head[..start]);
        out.push_str(&looks(&head[start..]));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn looks(word: &str) -> String {
    if word.contains(REDACTED.trim_matches(['[', ']'])) {
        return word.to_owned();
    }
    // Within a word too, after any mark: `run-ghp_…`.
    let inside = |prefix: &&str| {
        word.match_indices(*prefix).map(|(at, _)| at).find(|at| {
            let rest = &word[*at..];
            !word[..*at].ends_with(|c: char| c.is_ascii_alphanumeric())
                && rest.len() >= SHORTEST_ISSUED
                && (*at == 0
                    || prefix.len() > 3
                    || rest[prefix.len()..]
                        .bytes()
                        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()))
        })
    };
    if let Some(at) = ISSUED.iter().filter_map(inside).min() {
        return format!("{}{REDACTED}", &word[..at]);
    }
    for part in word.split(['=', '.', '~']) {
        let issued = |prefix: &str| part.starts_with(prefix) && part.len() >= SHORTEST_ISSUED;
        let is_jwt = word.starts_with("eyJ") && word.contains('.');
        if ISSUED.iter().any(|prefix| issued(prefix)) || is_jwt {
            return match word.find(part).filter(|at| *at > 0 && !is_jwt) {
                Some(at) => format!("{}{REDACTED}", &word[..at]),
                None => REDACTED.to_owned(),
            };
        }
    }
    let mut out = String::new();
    let mut rest = word;
    while !rest.is_empty() {
        let run = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(run);
        let digits = piece.bytes().filter(u8::is_ascii_digit).count();
        let is_key = run >= LONG_RUN && digits >= 4 && run - digits >= 4;
        out.push_str(if is_key { REDACTED } else { piece });
        let next = after.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}
