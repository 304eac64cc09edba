//! Markdown's own marks: tables, code, and text that must not be taken for marks.

/// Text outside of code: what the program's names hold must not become markup. Stretches in
/// backticks are code already and stay as they are.
pub(super) fn prose(text: &str) -> String {
    let mut set = String::with_capacity(text.len());
    let mut in_code = false;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // Within a word an underscore is an underscore.
        let within_word = before.is_alphanumeric() && chars.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            '\n' => set.push(' '),
            '<' if !in_code => set.push_str("&lt;"),
            '*' if !in_code => set.push_str("\\*"),
            '_' if !in_code && !within_word => set.push_str("\\_"),
            other => {
                in_code ^= other == '`';
                set.push(other);
            }
        }
        before = c;
    }
    set
}

/// Text inside of an HTML element, where Markdown's own escapes do not hold.
pub(super) fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A name as code.
pub(super) fn code(name: &str) -> String {
    if name.contains('`') { format!("`` {name} ``") } else { format!("`{name}`") }
}

/// A block of code.
pub(super) fn code_block(language: &str, code: &str) -> String {
    format!("```{language}\n{}\n```", code.trim_end())
}

/// A table; `true` sets a column to the right.
pub(super) fn table(heads: &[(String, bool)], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let mut lines = vec![
        line(heads.iter().map(|(head, _)| cell(head)).collect()),
        line(heads.iter().map(|(_, right)| if *right { "--:" } else { ":--" }.to_owned()).collect()),
    ];
    lines.extend(rows.iter().map(|row| line(row.iter().map(|text| cell(text)).collect())));
    lines.join("\n")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_become_markup() {
        assert_eq!(prose("<lambda> at `a<b>` char*"), "&lt;lambda> at `a<b>` char\\*");
        assert_eq!(prose("num_workers __init__"), "num_workers \\_\\_init\\_\\_");
        assert_eq!(html("<lambda> & more"), "&lt;lambda&gt; &amp; more");
        assert_eq!(code("a`b"), "`` a`b ``");
    }

    #[test]
    fn bars_in_cells_are_escaped() {
        let heads = [("name".to_owned(), false), ("ms".to_owned(), true)];
        let set = table(&heads, &[vec!["a|b".to_owned(), "1".to_owned()]]);
        assert_eq!(set, "| name | ms |\n| :-- | --: |\n| a\\|b | 1 |");
    }
}
