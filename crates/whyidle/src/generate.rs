//! Completions and the manual page, from the same definitions as the help, in the language of the output.

use std::io::{self, Write};

use whyidle_report::Lang;

use crate::help;
use crate::output::Output;
use crate::{REACHED, UNREADABLE};

pub(crate) fn completions(shell: clap_complete::Shell, output: &Output) -> u8 {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut help::command(output.catalog.lang()), "whyidle", &mut text);
    output.data(&String::from_utf8_lossy(&text), REACHED)
}

pub(crate) fn man(output: &Output) -> u8 {
    let mut text = Vec::new();
    match write_man(&mut text, output.catalog.lang()) {
        Ok(()) => output.data(&String::from_utf8_lossy(&text), REACHED),
        Err(_) => UNREADABLE,
    }
}

/// The program's page, then each command's synopsis and options under its name.
fn write_man(text: &mut Vec<u8>, lang: Lang) -> io::Result<()> {
    let program = help::command(lang);
    clap_mangen::Man::new(program.clone()).render(text)?;
    for command in program.get_subcommands() {
        let page = clap_mangen::Man::new(command.clone());
        writeln!(text, ".SH COMMAND {}", command.get_name().to_uppercase())?;
        let mut sections = Vec::new();
        page.render_synopsis_section(&mut sections)?;
        page.render_description_section(&mut sections)?;
        page.render_options_section(&mut sections)?;
        // Sections of a command are parts of one section of the page.
        text.extend_from_slice(String::from_utf8_lossy(&sections).replace(".SH ", ".SS ").as_bytes());
    }
    Ok(())
}
