//! Completions and the manual page, from the same definitions as the help.

use clap::CommandFactory;

use crate::args::Args;
use crate::output::Output;
use crate::{REACHED, UNREADABLE};

pub(crate) fn completions(shell: clap_complete::Shell, output: &Output) -> u8 {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "whyidle", &mut text);
    output.data(&String::from_utf8_lossy(&text), REACHED)
}

pub(crate) fn man(output: &Output) -> u8 {
    let mut text = Vec::new();
    match clap_mangen::Man::new(Args::command()).render(&mut text) {
        Ok(()) => output.data(&String::from_utf8_lossy(&text), REACHED),
        Err(_) => UNREADABLE,
    }
}
