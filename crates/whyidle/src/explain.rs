//! `whyidle explain`: a cause's page.

use whyidle_diagnosis::Message;
use whyidle_report::{CAUSES, explain, list_causes};

use crate::near;
use crate::output::Output;
use crate::{REACHED, UNREADABLE};

pub(crate) fn run(cause: Option<&str>, output: &Output) -> u8 {
    let options = output.text_options(false);
    let Some(cause) = cause else {
        return output.data(&list_causes(&output.catalog, &options), REACHED);
    };
    if let Some(page) = explain(cause, &output.catalog, &options) {
        return output.data(&page, REACHED);
    }
    let error = Message::new("cli-unknown-cause").name("cause", cause);
    let near = nearest(cause);
    let hint = match near {
        Some(near) => Message::new("cli-did-you-mean").name("cause", near),
        None => Message::new("cli-list-causes"),
    };
    output.error(&error, Some(&hint));
    UNREADABLE
}

/// The known id most like `cause`, if one is like it at all.
pub(crate) fn nearest(cause: &str) -> Option<&'static str> {
    near::nearest(cause, CAUSES.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_cause_and_nonsense_finds_none() {
        assert_eq!(nearest("data.worker"), Some("data.workers"));
        assert_eq!(nearest("host_sync"), Some("host.sync"));
        assert_eq!(nearest("straggler"), Some("rank.straggler"));
        assert_eq!(nearest("xyzzy"), None);
    }
}
