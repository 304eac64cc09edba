//! `whyidle serve`: recordings, the history and running programs in the browser.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use whyidle_agent::http::{Limits, Listen, TlsFiles, Token, start};
use whyidle_agent::serve::{Listing, Page, Site, router};
use whyidle_diagnosis::Message;
use whyidle_experiment::history::History;
use whyidle_report::{Catalog, Lang, Shelved, Start, render_html, render_notice, render_start};

use crate::args::ServeOptions;
use crate::evidence;
use crate::listening::Listening;
use crate::output::{Output, in_words};
use crate::{REACHED, UNREADABLE, experiment, page};

/// A trace of a million events takes seconds to read, the largest minutes.
const SLOWEST: Duration = Duration::from_secs(300);
/// Entries of the history on the start page.
const ENTRIES: u32 = 50;
/// How often the wish to stop is looked for.
const LISTEN: Duration = Duration::from_millis(100);

pub(crate) fn run(options: &ServeOptions, output: &Output) -> u8 {
    match served(options, output) {
        Ok(status) | Err(status) => status,
    }
}

fn served(options: &ServeOptions, output: &Output) -> Result<u8, u8> {
    let unreadable = |reason: &std::io::Error| {
        let shown = options.dir.display().to_string();
        let error =
            Message::new("cli-serve-no-folder").name("path", shown).name("reason", reason.to_string());
        output.error(&error, None);
        UNREADABLE
    };
    if options.dir.metadata().map_err(|error| unreadable(&error))?.is_file() {
        let reason = options.dir.read_dir().err().unwrap_or_else(|| std::io::ErrorKind::NotADirectory.into());
        return Err(unreadable(&reason));
    }
    let (db, _) = experiment::places(&options.kept, output)?;
    let lang = output.catalog.lang();
    let site = Arc::new(Shown { db, lang });
    let pages = router(site, &options.dir).map_err(|error| unreadable(&error))?;
    let refused = |error: whyidle_agent::http::ListenError| {
        output.error(&error.message(), error.hint().as_ref());
        UNREADABLE
    };
    let listen = listen(&options.listening).map_err(refused)?;
    let server = start(&listen, pages).map_err(refused)?;
    crate::listening::warn(&listen, output);
    let scheme = if listen.tls.is_some() { "https" } else { "http" };
    let address = format!("{scheme}://{}/", server.address());
    output.say(&Message::new("cli-serve-at").name("address", &address));
    if options.open {
        page::open(&address, output);
    }
    let stop = stopping();
    while server.is_alive() && !stop() {
        std::thread::sleep(LISTEN);
    }
    Ok(REACHED)
}

/// Whether somebody wants it to end. Elsewhere than on Linux the system ends it.
#[cfg(target_os = "linux")]
fn stopping() -> impl Fn() -> bool {
    let interrupted = whyidle_observe::launch::interruption();
    move || interrupted.is_set()
}

#[cfg(not(target_os = "linux"))]
fn stopping() -> impl Fn() -> bool {
    || false
}

fn listen(options: &Listening) -> Result<Listen, whyidle_agent::http::ListenError> {
    let token = options.token_file.as_deref().map(Token::from_file).transpose()?;
    let tls = options.tls_cert.clone().zip(options.tls_key.clone());
    Ok(Listen {
        token,
        tls: tls.map(|(certificate, key)| TlsFiles { certificate, key }),
        names: options.name.clone(),
        limits: Limits { request: SLOWEST, ..Limits::default() },
        ..Listen::on(options.listen.unwrap_or(ADDRESS))
    })
}

/// Where it listens unless told otherwise.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7321);

/// What is shown.
struct Shown {
    db: PathBuf,
    lang: Lang,
}

impl Shown {
    /// Sets a page in both languages.
    fn set(&self, found: bool, render: impl FnOnce([&Catalog; 2], Lang) -> String) -> Page {
        let [en, zh] = Lang::OF_PAGES.map(Catalog::new);
        Page { html: render([&en, &zh], self.lang), found }
    }

    fn notice(&self, what: &Message, hint: Option<&Message>) -> Page {
        self.set(false, |catalogs, lang| render_notice(what, hint, catalogs, lang))
    }

    /// Output that says nothing of progress.
    fn output(&self) -> Output {
        Output::plain(Some(self.lang.tag()))
    }

    /// The history; `None` where nothing was kept yet, else why it cannot be read.
    fn history(&self) -> Result<Option<History>, Message> {
        if !self.db.exists() {
            return Ok(None);
        }
        History::open_to_read(&self.db).map(Some).map_err(|error| experiment::reason_of(&error))
    }

    /// Its newest entries.
    fn entries(&self) -> Result<Vec<whyidle_experiment::history::Row>, Message> {
        let wrong = |error| experiment::reason_of(&error);
        self.history()?.map_or(Ok(Vec::new()), |history| history.list(None, ENTRIES).map_err(wrong))
    }
}

impl Site for Shown {
    fn start(&self, listing: &Listing) -> Page {
        let shelved = |one: &whyidle_agent::serve::Found| Shelved {
            link: link(&one.path),
            name: one.path.clone(),
            kind: one.kind.id(),
            bytes: one.bytes,
            written: one.written,
        };
        let start = Start {
            root: listing.root.display().to_string(),
            programs: programs(),
            recordings: listing.found.iter().map(shelved).collect(),
            more: listing.more,
            entries: self.entries(),
        };
        self.set(true, |catalogs, lang| render_start(&start, catalogs, lang))
    }

    fn recording(&self, path: &Path) -> Page {
        let output = self.output();
        let words = ["whyidle", "diagnose", &path.display().to_string(), "-o", "report.html"];
        let command = whyidle_experiment::result::typed(&words.map(str::to_owned));
        match evidence::answer(&[path.to_owned()], None, true, &output) {
            Ok(mut answer) => {
                answer.drawn.command = command;
                match answer.shown_as() {
                    Ok(reached) => self.set(true, |catalogs, lang| {
                        render_html(reached, &answer.evidence, &answer.drawn, catalogs, lang)
                    }),
                    Err(why) => self.notice(&why, None),
                }
            }
            Err(error) => {
                let hint = error.hint().map(|hint| Message::new(hint.message()));
                self.notice(&in_words(&error), hint.as_ref())
            }
        }
    }

    fn entry(&self, id: i64) -> Page {
        let command = format!("whyidle history show {id} -o report.html");
        let history = match self.history() {
            Ok(Some(history)) => history,
            Ok(None) => return self.nothing(),
            Err(why) => return self.notice(&why, None),
        };
        let entry = match history.entry(id) {
            Ok(Some(entry)) => entry,
            Ok(None) => return self.nothing(),
            Err(error) => return self.notice(&experiment::reason_of(&error), None),
        };
        let runs = experiment::runs_of(&history, id);
        self.set(true, |catalogs, lang| {
            experiment::entry_page(&entry, id, &runs.unwrap_or_default(), &command, catalogs, lang)
        })
    }

    fn nothing(&self) -> Page {
        self.notice(&Message::new("html-site-not-found"), None)
    }

    fn busy(&self, most: usize) -> Page {
        let hint = Message::new("html-site-busy-hint");
        self.notice(&Message::new("html-site-busy").count("count", most), Some(&hint))
    }

    #[cfg(target_os = "linux")]
    fn live(&self, pid: u32) -> Page {
        match live::command(pid) {
            Ok(command) => {
                self.set(true, |catalogs, lang| whyidle_report::render_live(pid, &command, catalogs, lang))
            }
            Err(why) => self.notice(&why, None),
        }
    }

    #[cfg(target_os = "linux")]
    fn watch(&self, pid: u32, tell: &mut dyn FnMut(String) -> bool) {
        live::watch(pid, tell);
    }

    #[cfg(not(target_os = "linux"))]
    fn live(&self, _: u32) -> Page {
        self.notice(&Message::new("cli-live-only-linux"), None)
    }

    #[cfg(not(target_os = "linux"))]
    fn watch(&self, _: u32, _: &mut dyn FnMut(String) -> bool) {}
}

/// A path as it stands in an address.
fn link(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let set = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    // Browsers take a lone dot out of an address.
    if path == "." { "%2E".to_owned() } else { path.bytes().map(set).collect() }
}

#[cfg(target_os = "linux")]
fn programs() -> Option<Vec<(u32, String)>> {
    let programs = whyidle_observe::tree::training_programs();
    let one = |program: &whyidle_observe::tree::Member| (program.pid, shown_command(&program.command));
    Some(programs.iter().map(one).collect())
}

/// A command for a page: without its secrets, and not too long.
#[cfg(target_os = "linux")]
fn shown_command(command: &[String]) -> String {
    crate::list::shortened(&whyidle_observe::redact::command(command).join(" "))
}

#[cfg(not(target_os = "linux"))]
fn programs() -> Option<Vec<(u32, String)>> {
    None
}

/// Programs while they run.
#[cfg(target_os = "linux")]
mod live {
    use std::time::{Duration, Instant};

    use whyidle_diagnosis::Message;
    use whyidle_observe::Options;
    use whyidle_observe::tree::Tree;
    use whyidle_report::{Catalog, Lang, live_end, live_event};
    use whyidle_tui::Judge;
    use whyidle_tui::source::{Live, Source, Status, extent};

    use crate::top::AsDiagnosed;

    /// How often it is judged.
    const EVERY: Duration = Duration::from_secs(2);
    /// What is judged: the last stretch of samples, ns.
    const WINDOW_NS: i64 = 60_000_000_000;
    /// How often samples are taken in.
    const POLL: Duration = Duration::from_millis(200);

    /// What the program is, for the head of its page; else why it cannot be watched.
    pub(super) fn command(pid: u32) -> Result<String, Message> {
        let tree = Tree::of(&[pid]);
        let named = |id| Message::new(id).name("pid", pid.to_string());
        if !tree.members.iter().any(|member| member.pid == pid) {
            return Err(named("cli-live-no-process"));
        }
        let driver = tree.drivers().next().ok_or_else(|| named("cli-live-no-training"))?;
        Ok(super::shown_command(&driver.command))
    }

    pub(super) fn watch(pid: u32, tell: &mut dyn FnMut(String) -> bool) {
        let [en, zh] = Lang::OF_PAGES.map(Catalog::new);
        let catalogs = [&en, &zh];
        if let Err(why) = command(pid) {
            tell(live_end(&why, catalogs));
            return;
        }
        let broken = || live_end(&Message::new("html-live-broken"), catalogs);
        let Ok(mut source) = Live::watch(&[pid], Options { gpus: Vec::new(), stacks: true }) else {
            tell(broken());
            return;
        };
        let mut judged = Instant::now();
        loop {
            std::thread::sleep(POLL);
            source.poll(POLL);
            match source.status() {
                Status::Ended => {
                    tell(live_end(&Message::new("html-live-ended"), catalogs));
                    return;
                }
                Status::Broken => {
                    tell(broken());
                    return;
                }
                _ if judged.elapsed() < EVERY => continue,
                _ => judged = Instant::now(),
            }
            let now = source.now();
            let shown = source.samples().between(now.saturating_sub(WINDOW_NS), now.saturating_add(1));
            let seen_s = extent(&shown).map_or(0.0, |(from, until)| (until - from) as f64 / 1e9);
            let verdict = AsDiagnosed.judge(&shown, source.recorded(), None).verdict;
            if !tell(live_event(verdict.as_ref().map_err(|refusal| &**refusal), seen_s, catalogs)) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::link;

    #[test]
    fn links_hold_any_name() {
        assert_eq!(link("runs/4 2/a#b?c%d.json"), "runs/4%202/a%23b%3Fc%25d.json");
        assert_eq!((&*link("."), &*link("训练")), ("%2E", "%E8%AE%AD%E7%BB%83"));
    }
}
