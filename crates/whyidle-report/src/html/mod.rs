//! A verdict, or any other result, as one HTML file that needs nothing else: both languages, dark and light, on paper
//! and on a phone. It fetches nothing and runs only its own scripts ([`policy`]).
//!
//! * [`views`], [`ledger`], [`changes`], [`ranks`], [`tables`] – a verdict's parts in words; each figure is set by the
//!   functions that set it in text.
//! * [`data`] – what the scripts draw.
//! * [`document`] – results that are no verdict; [`pictures`], [`spans`], [`sweep`] – what they draw.
//! * [`blocks`] – the pages that are made of blocks.
//! * [`site`] – what `serve` shows beside.
//! * [`fields`] – every field of the verdict.
//! * [`Drawn`] – what is shown beyond the verdict; made above, from traces and samples.
//!
//! Templates are in `templates/`, scripts and styles in `assets/`, the words in `locales/*/html.ftl`.

mod blocks;
pub(crate) mod both;
mod changes;
mod colours;
mod data;
mod definitions;
pub(crate) mod document;
mod drawn;
mod fields;
mod ledger;
mod pictures;
pub(crate) mod policy;
mod ranks;
pub(crate) mod site;
mod spans;
mod sweep;
mod tables;
mod views;

use askama::Template;
use serde_json::{Value, json};

use both::{Both, Tongues};
pub use drawn::Drawn;

use crate::{Catalog, EvidenceReport, Lang, Reached};

/// What every page has.
pub(crate) struct Frame {
    pub(crate) lang: &'static str,
    pub(crate) title: String,
    pub(crate) policy: String,
    pub(crate) styles: Vec<&'static str>,
    pub(crate) scripts: Vec<&'static str>,
    /// What the scripts need, as JSON that stays data.
    pub(crate) data: String,
    pub(crate) command: String,
    pub(crate) version: &'static str,
}

/// What a page needs beside its words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    /// The timeline, stacks.
    pub(crate) pictures: bool,
    /// Line charts.
    pub(crate) charts: bool,
    /// Events of the server that it is from.
    pub(crate) live: bool,
}

impl Frame {
    /// The frame of a page with this title, these data and the command that makes it anew.
    pub(crate) fn new(
        tongues: &Tongues<'_>,
        lang: Lang,
        title: &Both,
        mut data: Value,
        command: &str,
        needs: Needs,
    ) -> Self {
        let lang = if Lang::OF_PAGES.contains(&lang) { lang } else { Lang::default() };
        let (mut scripts, mut styles) = (vec![policy::SCRIPT], vec![policy::STYLE]);
        if needs.pictures {
            scripts.push(policy::PICTURES);
        }
        if needs.charts {
            scripts.push(policy::CHARTS);
            styles.push(policy::CHART_STYLE);
        }
        if needs.live {
            scripts.push(policy::LIVE);
        }
        data["title"] = title.value();
        data["words"] = data::words(tongues);
        Self {
            lang: lang.tag(),
            title: if lang == Lang::Zh { title.zh.clone() } else { title.en.clone() },
            policy: policy::policy(&scripts, &styles, needs.live),
            styles,
            scripts,
            data: both::inert_json(&data),
            command: command.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// The page of what was reached. `catalogs` are the English and the Chinese one; `lang` is what it opens in,
/// English where it does not hold that.
#[must_use]
pub fn render_html(
    reached: Option<Reached<'_>>,
    evidence: &EvidenceReport,
    drawn: &Drawn,
    [en, zh]: [&Catalog; 2],
    lang: Lang,
) -> String {
    let tongues = Tongues { en, zh };
    match reached {
        Some(Reached::Verdict(verdict)) => {
            let page = views::Page::new(&tongues, verdict, evidence, drawn);
            let data = data::of_verdict(&tongues, verdict, evidence, drawn);
            let charts = data::has_charts(&data);
            let pictures = drawn.timeline.is_some() || !drawn.stacks.is_empty();
            let frame = Frame::new(
                &tongues,
                lang,
                &page.title,
                data,
                &drawn.command,
                Needs { pictures, charts, ..Needs::default() },
            );
            render(&VerdictPage { t: &tongues, f: &frame, p: &page })
        }
        other => {
            let refusal = match other {
                Some(Reached::Refused(refusal)) => Some(views::Refused::new(&tongues, refusal)),
                _ => None,
            };
            let title = match &refusal {
                Some(_) => tongues.word("report-no-verdict"),
                None => tongues.word("html-title-evidence"),
            };
            let data = data::of_evidence(&tongues, evidence);
            let charts = data::has_charts(&data);
            let frame = Frame::new(
                &tongues,
                lang,
                &title,
                data,
                &drawn.command,
                Needs { charts, ..Needs::default() },
            );
            let evidence = views::evidence_pages(&tongues, evidence);
            render(&OtherPage { t: &tongues, f: &frame, refusal: &refusal, evidence: &evidence })
        }
    }
}

/// A page; templates are checked when this is compiled and write into a `String`, so that nothing is left to fail.
pub(crate) fn render(page: &impl Template) -> String {
    page.render().unwrap_or_default()
}

#[derive(Template)]
#[template(path = "verdict.html")]
struct VerdictPage<'a> {
    t: &'a Tongues<'a>,
    f: &'a Frame,
    p: &'a views::Page,
}

#[derive(Template)]
#[template(path = "other.html")]
struct OtherPage<'a> {
    t: &'a Tongues<'a>,
    f: &'a Frame,
    refusal: &'a Option<views::Refused>,
    evidence: &'a [views::EvidencePage],
}

/// No data but what every page has.
pub(crate) fn no_data() -> Value {
    json!({})
}
