//! `docs/sql.md` says what the code says.

use whyidle_tables::TABLES;

use crate::support::root;

const BEGIN: &str = "<!-- The reference below is made from the code. -->\n";
const END: &str = "<!-- End of the reference. -->";

/// The page.
pub(crate) fn page() -> String {
    std::fs::read_to_string(root().join("docs/sql.md")).unwrap()
}

/// The reference of all tables.
fn reference() -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let table = |table: &whyidle_tables::Table| {
        let rows: String = table
            .columns
            .iter()
            .map(|column| {
                let unit = if column.unit.is_empty() { String::new() } else { format!(", {}", column.unit) };
                format!("| `{}` | {}{unit} | {} |\n", column.name, column.kind.sql(), cell(column.doc))
            })
            .collect();
        format!("### {}\n\n{}\n\n| column | type | |\n| --- | --- | --- |\n{rows}", table.name, table.doc)
    };
    format!("\n{}\n", TABLES.iter().map(table).collect::<Vec<_>>().join("\n"))
}

/// With `INSTA_UPDATE=always`, as `make accept` sets it, the page is brought up to date instead.
#[test]
fn the_reference_is_that_of_the_code() {
    let page = page();
    let (before, rest) = page.split_once(BEGIN).expect("the reference begins");
    let (written, after) = rest.split_once(END).expect("the reference ends");
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        let new = format!("{before}{BEGIN}{}{END}{after}", reference());
        std::fs::write(root().join("docs/sql.md"), new).unwrap();
        return;
    }
    assert_eq!(written, reference());
}
