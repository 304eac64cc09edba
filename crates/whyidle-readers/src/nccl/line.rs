//! One line: who says what.

/// A line of NCCL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The host.
    pub(super) host: &'a str,
    /// The process.
    pub(super) pid: u32,
    /// It warns.
    pub(super) is_warning: bool,
    /// What is said.
    pub(super) text: &'a str,
}

/// `host:pid:tid [dev] NCCL INFO text`, with whatever a launcher or a time stamp put before it; a warning has its place
/// in the source there too (`misc/socket.cc:57`).
pub(super) fn split(line: &str) -> Option<Line<'_>> {
    let (before, text, is_warning) = match (line.split_once(" NCCL WARN "), line.split_once(" NCCL INFO ")) {
        (Some((before, text)), _) => (before, text, true),
        (None, Some((before, text))) => (before, text, false),
        (None, None) => return None,
    };
    let (host, pid) = before.split_whitespace().rev().find_map(|word| {
        let mut parts = word.rsplitn(3, ':');
        let (_, pid, host) = (parts.next()?.parse::<u32>().ok()?, parts.next()?.parse().ok()?, parts.next()?);
        (!host.is_empty()).then_some((host, pid))
    })?;
    Some(Line { host, pid, is_warning, text: text.trim() })
}

/// The word after a key: `2` of `… nranks 2 cudaDev …`.
pub(super) fn word_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|&word| word == key)?;
    words.next()
}

/// `NCCL_P2P_DISABLE set by environment to 1`: name and value.
pub(super) fn setting(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once(" set by environment to ")?;
    let name = name.trim();
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (name.starts_with("NCCL_") && name.chars().all(plain)).then(|| (name, value.trim().trim_end_matches('.')))
}
