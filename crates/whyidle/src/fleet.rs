//! `whyidle fleet`: the jobs of a cluster by wasted GPU time, from the metrics that Prometheus keeps.

use std::path::PathBuf;
use std::time::Duration;

use whyidle_diagnosis::Message;
use whyidle_diagnosis::fleet::{Answers, Question, rank};
use whyidle_observe::prometheus::{Access, AccessError, AskError, BearerToken, Prometheus, Reply};
use whyidle_readers::prometheus::{Answer, MOST_SERIES, NoAnswer, read};
use whyidle_report::{Document, FleetReport};

use crate::args::{Reporting, Showing};
use crate::output::Output;
use crate::page::Page;
use crate::values::{duration, span, whole};
use crate::{REACHED, REFUSED, UNREADABLE, document};

/// Where the token is where no file is named.
const TOKEN: &str = "WHYIDLE_PROMETHEUS_TOKEN";

/// Options of `fleet`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  whyidle fleet --prometheus http://localhost:9090\n  \
    whyidle fleet --prometheus https://prom.example --since 30d --match 'namespace=\"research\"'\n\n\
    Exit status: 0 jobs were ranked, 1 no metrics of whyidle, 2 bad usage or no answer.")]
pub(crate) struct FleetOptions {
    /// Address of the Prometheus that scrapes the agents
    #[arg(long, value_name = "URL")]
    pub(crate) prometheus: String,
    /// Look back this far: 90m, 12h, 7d, 4w
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = span)]
    pub(crate) since: Duration,
    /// Only series with these labels, as namespace="research",user!="ci"
    #[arg(long = "match", value_name = "SELECTOR")]
    pub(crate) matching: Option<String>,
    /// Show so many jobs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole::<u32>(1..=100_000))]
    pub(crate) limit: u32,
    /// A bearer token to show; else that in WHYIDLE_PROMETHEUS_TOKEN
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates to trust (PEM) [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// How long one answer may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) showing: Showing,
    #[command(flatten)]
    pub(crate) page: Reporting,
}

/// An error and its hint.
type Failed = (Message, Option<Message>);

pub(crate) fn run(options: &FleetOptions, output: &Output) -> u8 {
    let page = match Page::asked(&options.page, output) {
        Ok(page) => page,
        Err(status) => return status,
    };
    let report = match asked(options, output) {
        Ok(report) => report,
        Err((error, hint)) => {
            output.error(&error, hint.as_ref());
            return UNREADABLE;
        }
    };
    if report.fleet.jobs.is_empty() {
        let since = Message::new("job-hours").with("hours", hours(options.since));
        match report.fleet.cards {
            Some(_) => output.error(&Message::new("cli-fleet-no-jobs").message("span", since), None),
            None => {
                let error =
                    Message::new("cli-fleet-none").name("server", report.server).message("span", since);
                output.error(&error, Some(&Message::new("cli-fleet-none-hint")));
            }
        }
        return REFUSED;
    }
    document::show(&Document::Fleet(&report), page.as_ref(), options.showing, REACHED, output)
}

fn hours(span: Duration) -> whyidle_diagnosis::Arg {
    whyidle_diagnosis::Arg::Name((span.as_secs() as f64 / 3_600.0).to_string())
}

/// Asks all questions, of one point in time: that which the first answer is of.
fn asked(options: &FleetOptions, output: &Output) -> Result<FleetReport, Failed> {
    let access = Access {
        url: options.prometheus.clone(),
        token: token(options)?,
        roots: options.ca.clone(),
        timeout: options.timeout,
    };
    let server = Prometheus::new(&access).map_err(no_access)?;
    let name = options.prometheus.trim().trim_end_matches('/').to_owned();
    let mut answers = Answers::default();
    let mut at = None;
    for question in Question::ALL {
        let query = question.query(options.since, options.matching.as_deref());
        let reply = server.query(&query, at).map_err(|error| no_reply(error, &name))?;
        let Answer { samples, unusable, warnings } = answer(&reply, &name)?;
        for text in warnings {
            output.say(&Message::new("cli-fleet-warning").name("text", text));
        }
        at = at.or_else(|| samples.first().map(|sample| sample.at));
        answers.unusable += unusable;
        answers.samples[question as usize] = samples;
    }
    Ok(FleetReport {
        fleet: rank(&answers),
        server: name,
        since: options.since,
        matching: options.matching.clone(),
        limit: options.limit as usize,
    })
}

fn token(options: &FleetOptions) -> Result<Option<BearerToken>, Failed> {
    if let Some(path) = &options.token_file {
        return BearerToken::read(path).map(Some).map_err(no_access);
    }
    let Some(text) = std::env::var_os(TOKEN).filter(|text| !text.is_empty()) else { return Ok(None) };
    let token = text.to_str().and_then(BearerToken::new);
    let none = || (Message::new("cli-fleet-env-token"), Some(Message::new("cli-fleet-token-hint")));
    token.map(Some).ok_or_else(none)
}

/// What a reply says, by its status and by its body.
fn answer(reply: &Reply, server: &str) -> Result<Answer, Failed> {
    let named = |id| Message::new(id).name("server", server);
    let status = |id| named(id).name("status", reply.status.to_string());
    match read(&reply.body) {
        // What a proxy puts before an error of its own is no answer.
        Ok(answer) if (200..300).contains(&reply.status) => Ok(answer),
        Err(NoAnswer::Refused { kind, text }) => {
            let error = Message::new("cli-fleet-refused").name("kind", kind.clone()).name("text", text);
            let hint = if kind == "bad_data" { "cli-fleet-refused-hint" } else { "cli-fleet-late-hint" };
            Err((error, Some(Message::new(hint))))
        }
        _ if [401, 403].contains(&reply.status) => {
            Err((status("cli-fleet-unauthorized"), Some(Message::new("cli-fleet-unauthorized-hint"))))
        }
        Err(NoAnswer::TooMany) => {
            let error = named("cli-fleet-many").count("count", MOST_SERIES);
            Err((error, Some(Message::new("cli-fleet-late-hint"))))
        }
        _ if !(200..300).contains(&reply.status) => {
            Err((status("cli-fleet-status"), Some(Message::new("cli-fleet-foreign-hint"))))
        }
        _ => Err((named("cli-fleet-foreign"), Some(Message::new("cli-fleet-foreign-hint")))),
    }
}

fn no_access(error: AccessError) -> Failed {
    let path = |id, path: PathBuf| Message::new(id).name("path", path.display().to_string());
    let (error, hint) = match error {
        AccessError::Address { url } => {
            (Message::new("cli-fleet-address").name("url", url), "cli-fleet-address-hint")
        }
        AccessError::Password => (Message::new("cli-fleet-password"), "cli-fleet-password-hint"),
        AccessError::Clear => (Message::new("cli-fleet-clear"), "cli-fleet-clear-hint"),
        AccessError::File { path: file, error } => {
            return (path("cli-fleet-file", file).name("reason", error.to_string()), None);
        }
        AccessError::NoToken { path: file } => (path("cli-fleet-no-token", file), "cli-fleet-token-hint"),
        AccessError::NoRoots { path: Some(file) } => {
            (path("cli-fleet-no-roots", file), "cli-fleet-roots-hint")
        }
        AccessError::NoRoots { path: None } => {
            (Message::new("cli-fleet-no-system-roots"), "cli-fleet-roots-hint")
        }
    };
    (error, Some(Message::new(hint)))
}

fn no_reply(error: AskError, server: &str) -> Failed {
    let named = |id| Message::new(id).name("server", server);
    let (error, hint) = match error {
        AskError::Unreachable { reason } => {
            (named("cli-fleet-unreachable").name("reason", reason), "cli-fleet-unreachable-hint")
        }
        AskError::Late => (named("cli-fleet-late"), "cli-fleet-late-hint"),
        AskError::Tls { reason } => (named("cli-fleet-tls").name("reason", reason), "cli-fleet-roots-hint"),
        AskError::Broken { reason } => {
            (named("cli-fleet-broken").name("reason", reason), "cli-fleet-foreign-hint")
        }
        AskError::TooLarge { most } => {
            let most = whyidle_diagnosis::Arg::Bytes(i64::try_from(most).unwrap_or(i64::MAX));
            (named("cli-fleet-large").with("most", most), "cli-fleet-late-hint")
        }
    };
    (error, Some(Message::new(hint)))
}
