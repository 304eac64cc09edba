//! The page's own scripts and styles, and the policy that lets it run nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The style of every page.
pub(crate) const STYLE: &str = include_str!("../../assets/report.css");
/// Language, theme, copying, figures in words: what every page needs.
pub(crate) const SCRIPT: &str = include_str!("../../assets/page.js");
/// The pictures that the page draws itself: the timeline, stacks.
pub(crate) const PICTURES: &str =
    concat!(include_str!("../../assets/timeline.js"), include_str!("../../assets/icicle.js"));
/// Line charts, by uPlot.
pub(crate) const CHARTS: &str = concat!(
    "/*! uPlot, Copyright (c) 2022 Leon Sorokin, MIT License, https://github.com/leeoniya/uPlot/blob/master/LICENSE */\n",
    include_str!("../../assets/uplot/uPlot.iife.min.js"),
    include_str!("../../assets/charts.js")
);
/// What a running program is told to come to.
pub(crate) const LIVE: &str = include_str!("../../assets/live.js");
/// The style of line charts.
pub(crate) const CHART_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");

/// `Content-Security-Policy` for a page with these scripts and styles: nothing else runs, and nothing is fetched but,
/// where it is `live`, from the server that it is from.
pub(crate) fn policy(scripts: &[&str], styles: &[&str], live: bool) -> String {
    let connect = if live { " connect-src 'self';" } else { "" };
    let sources = |texts: &[&str]| {
        let hashes: Vec<String> = texts.iter().map(|text| format!("'{}'", hash(text))).collect();
        if hashes.is_empty() { "'none'".to_owned() } else { hashes.join(" ") }
    };
    format!(
        "default-src 'none'; script-src {}; style-src {};{connect} img-src data:; base-uri 'none'; form-action 'none'",
        sources(scripts),
        sources(styles)
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_names_what_may_run_and_nothing_else() {
        // printf x | openssl dgst -sha256 -binary | base64
        let of_x = "'sha256-LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE='";
        let policy = policy(&["x"], &[], false);
        assert!(policy.starts_with("default-src 'none';"));
        assert!(policy.contains(&format!("script-src {of_x};")), "{policy}");
        assert!(policy.contains("style-src 'none';") && !policy.contains("unsafe"));
    }

    /// The element ends where its text says so, and a hash over the rest would not hold.
    #[test]
    fn no_script_and_no_style_ends_itself() {
        for text in [STYLE, SCRIPT, PICTURES, CHARTS, CHART_STYLE, LIVE] {
            assert!(!text.contains("</script") && !text.contains("</style") && !text.contains("<!--"));
            assert!(!text.contains("http:") || !text.contains("fetch("));
        }
    }
}
