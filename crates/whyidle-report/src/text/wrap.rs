//! Breaking prose into lines, for Latin and Chinese text alike: Chinese may break between
//! any two characters, but no line starts with a closing mark or ends with an opening one,
//! and a figure stays with its unit.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const CLOSING: &str = "，。；：、！？）】》」』”’…,.;:!?)]}%";
const OPENING: &str = "（【《「『“‘([{";
const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "%", "B", "KiB", "MiB", "GiB"];

/// Text that is never broken, unless it is wider than a line.
struct Atom {
    text: String,
    space_before: bool,
}

/// `text` in lines of at most `first` columns for the first and `rest` for the others.
/// A newline in `text` is kept.
#[must_use]
pub fn wrap(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let first = if lines.is_empty() { first } else { rest };
        fill(&atoms(paragraph), first.max(2), rest.max(2), &mut lines);
    }
    lines
}

/// Items in lines of at most `width` columns, with dots between those of a line. An item
/// is broken only where it is wider than a line.
pub(super) fn packed(items: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if line.width() + 3 + item.width() <= width => {
                line.push_str(" · ");
                line.push_str(item);
            }
            _ => lines.extend(wrap(item, width, width)),
        }
    }
    lines
}

fn fill(atoms: &[Atom], first: usize, rest: usize, lines: &mut Vec<String>) {
    let mut line = String::new();
    let mut room = first;
    for atom in atoms {
        let gap = usize::from(atom.space_before && !line.is_empty());
        if line.width() + gap + atom.text.width() <= room {
            if gap == 1 {
                line.push(' ');
            }
            line.push_str(&atom.text);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            room = rest;
        }
        for c in atom.text.chars() {
            if line.width() + c.width().unwrap_or(0) > room {
                lines.push(std::mem::take(&mut line));
                room = rest;
            }
            line.push(c);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
}

fn atoms(paragraph: &str) -> Vec<Atom> {
    let mut atoms: Vec<Atom> = Vec::new();
    let mut space_before = false;
    for c in paragraph.chars() {
        if c.is_whitespace() {
            space_before = true;
            continue;
        }
        match atoms.last_mut() {
            Some(last) if !space_before && joins(&last.text, c) => last.text.push(c),
            _ => atoms.push(Atom { text: c.to_string(), space_before }),
        }
        space_before = false;
    }
    with_units_joined(atoms)
}

/// True if `c` may not be parted from the atom before it.
fn joins(before: &str, c: char) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    CLOSING.contains(c)
        || OPENING.contains(last)
        || (!is_wide(last) && !is_wide(c) && !OPENING.contains(c))
        || (!is_wide(last) && OPENING.contains(c) && c.is_ascii())
}

fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

fn with_units_joined(atoms: Vec<Atom>) -> Vec<Atom> {
    let mut joined: Vec<Atom> = Vec::with_capacity(atoms.len());
    for atom in atoms {
        let bare = atom.text.trim_end_matches(|c| c != '%' && CLOSING.contains(c));
        match joined.last_mut() {
            Some(last) if UNITS.contains(&bare) && last.text.ends_with(|c: char| c.is_ascii_digit()) => {
                last.text.push(' ');
                last.text.push_str(&atom.text);
            }
            _ => joined.push(atom),
        }
    }
    joined
}

/// `text` within `width` columns, its middle left out if it is longer: both ends of a
/// kernel's or a file's name tell it apart from others.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(keep) = width.checked_sub(1) else { return String::new() };
    let tail_room = keep / 3;
    let head = taken(text.chars(), keep - tail_room);
    let tail: String = taken(text.chars().rev(), tail_room).chars().rev().collect();
    format!("{head}…{tail}")
}

fn taken(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_text_breaks_at_spaces_and_keeps_units() {
        assert_eq!(wrap("each 188 ms step", 9, 9), ["each", "188 ms", "step"]);
        assert_eq!(wrap("saves 70 %, at most", 8, 20), ["saves", "70 %, at most"]);
        assert_eq!(wrap("aten::convolution", 8, 8), ["aten::co", "nvolutio", "n"]);
        assert_eq!(wrap("a\nb", 8, 8), ["a", "b"]);
    }

    #[test]
    fn chinese_text_breaks_between_characters_but_not_at_marks() {
        assert_eq!(wrap("供不上数据，等待", 10, 10), ["供不上数", "据，等待"]);
        assert_eq!(wrap("加到 12 个 worker（见下）", 12, 12), ["加到 12 个", "worker（见", "下）"]);
        assert_eq!(wrap("每步 188 ms：有效", 9, 12), ["每步", "188 ms：有效"]);
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        let text = "每步 188 ms：GPU 有效工作 55 ms，等数据 131 ms —— 2 个 DataLoader worker 供不上。";
        for width in 10..60 {
            for line in wrap(text, width, width) {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn items_stay_whole() {
        let items = ["matmul 36 ms", "softmax 2 ms", "other 1 ms"].map(str::to_owned);
        assert_eq!(packed(&items, 30), ["matmul 36 ms · softmax 2 ms", "other 1 ms"]);
        assert_eq!(packed(&items, 40), ["matmul 36 ms · softmax 2 ms · other 1 ms"]);
        assert_eq!(packed(&items[..1], 9), ["matmul", "36 ms"]);
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shortened("short", 10), "short");
        let kernel = shortened("void at::native::vectorized_elementwise_kernel<4, float>", 20);
        assert_eq!(kernel.width(), 20);
        assert!(kernel.starts_with("void at::") && kernel.ends_with("float>"));
    }
}
