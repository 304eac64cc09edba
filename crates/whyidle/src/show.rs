//! How a verdict, or the reason why there is none, reaches the user.

use whyidle_diagnosis::{NotUnderstood, Refusal, Verdict};
use whyidle_readers::ReadError;
use whyidle_report::{
    refusal_json, refusal_markdown, refusal_text, render_json, render_markdown, render_text,
};

use crate::args::{Format, Showing};
use crate::output::Output;
use crate::{REACHED, REFUSED, UNREADABLE};

/// Why there is no verdict.
pub(crate) enum NoVerdict {
    /// The input could not be read.
    Unread(ReadError),
    /// What was asked for is not understood.
    NotUnderstood(NotUnderstood),
    /// The evidence does not carry one.
    Refused(Box<Refusal>),
}

/// Prints what was reached, and returns its exit status.
pub(crate) fn show(reached: &Result<Verdict, NoVerdict>, showing: Showing, output: &Output) -> u8 {
    let Showing { format, verbose } = showing;
    match reached {
        Ok(verdict) => {
            let text = match format {
                Format::Text => render_text(verdict, &output.catalog, &output.text_options(verbose)),
                Format::Json => render_json(verdict, &output.catalog),
                Format::Md => render_markdown(verdict, &output.catalog),
            };
            output.data(&text, REACHED)
        }
        Err(NoVerdict::Refused(refusal)) => {
            let text = match format {
                Format::Text => refusal_text(refusal, &output.catalog, &output.text_options(verbose)),
                Format::Json => refusal_json(refusal, &output.catalog),
                Format::Md => refusal_markdown(refusal, &output.catalog),
            };
            output.data(&text, REFUSED)
        }
        Err(NoVerdict::Unread(error)) => {
            output.read_error(error);
            UNREADABLE
        }
        Err(NoVerdict::NotUnderstood(wrong)) => {
            output.error(&wrong.reason, Some(&wrong.hint));
            UNREADABLE
        }
    }
}
