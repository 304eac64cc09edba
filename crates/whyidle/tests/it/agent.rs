//! `whyidle agent` as it runs on a node: with real processes, a stand-in for NVML, and signals.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{root, run, whyidle};
use crate::watching::{eventually, kill, standin};

/// An agent that is ended with its test.
struct Agent {
    child: Child,
    port: u16,
}

impl Agent {
    /// Starts one on a port of its own; `folder` holds who holds memory of which GPU, and the ring.
    fn start(folder: &Path, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let ring = folder.join("ring").display().to_string();
        let mut command = whyidle(&["agent", "--listen", "127.0.0.1:0", "--ring", &ring]);
        command
            .args(more)
            .env("WHYIDLE_NVML", standin())
            .env("WHYIDLE_STANDIN_HOLDERS", folder.join("holders"));
        command.env(
            "WHYIDLE_STANDIN",
            root().join("crates/whyidle/tests/recordings/tok_heavy_workers2/nvml.csv"),
        );
        command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut words = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        words.read_line(&mut line).unwrap();
        let port = line.rsplit_once("127.0.0.1:").and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
        // What else it says is read, or it could not say it.
        std::thread::spawn(move || std::io::copy(&mut words, &mut std::io::sink()));
        Self { port: port.unwrap_or_else(|| panic!("{line}")), child }
    }

    fn get(&self, path: &str, more: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n").unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    fn metrics(&self) -> String {
        self.get("/metrics", "")
    }

    /// Ends it as a service manager does; its exit status.
    fn end(mut self) -> Option<i32> {
        kill(self.child.id(), "-TERM");
        self.child.wait().unwrap().code()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Programs that sleep; ended with their test.
struct Sleepers(Vec<Child>);

impl Sleepers {
    fn start(count: usize, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let start = |_| {
            let mut command = Command::new("sh");
            command
                .args(["-c", "read line"])
                .stdin(Stdio::piped())
                .args(arguments)
                .envs(variables.iter().copied());
            command.spawn().unwrap()
        };
        Self((0..count).map(start).collect())
    }

    fn holders(&self) -> String {
        self.0.iter().map(|child| format!("0 {} 1000000000\n", child.id())).collect()
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Replaces a file at once: it is read at any time.
fn put(path: &Path, text: &str) {
    let draft = path.with_extension("new");
    fs::write(&draft, text).unwrap();
    fs::rename(draft, path).unwrap();
}

#[test]
fn programs_are_found_labelled_and_forgotten_without_their_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let arguments =
        ["train", "--api-key", "hunter2-hunter2", "--url=https://me:hunter2-x@host/", "a\"\n\u{1b}[2J\\"];
    let variables = [
        ("SLURM_JOB_ID", "881\"} 1\nfake 2"),
        ("SLURM_PROCID", "3"),
        ("WANDB_API_KEY", "hunter2-env"),
        ("NCCL_DEBUG", "INFO"),
    ];
    let programs = Sleepers::start(2, &arguments, &variables);
    put(&dir.path().join("holders"), &programs.holders());
    let agent = Agent::start(dir.path(), &[], &[]);
    eventually("both are told of", || agent.metrics().matches("whyidle_run_info{").count() == 2);
    let text = agent.metrics();
    assert!(text.contains("job_id=\"881\\\"} 1fake 2\"") && text.contains("rank=\"3\""), "{text}");
    assert!(text.contains("--api-key [redacted] --url=https://[redacted]@host/"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains('\u{1b}') && !text.contains("\nfake"), "{text}");
    eventually("the GPU is counted", || agent.metrics().contains("whyidle_gpu_busy_seconds_total{gpu=\"0\""));
    let open = agent.get("/metrics", "Accept: application/openmetrics-text\r\n");
    assert!(open.contains("openmetrics-text; version=1.0.0") && open.contains("\n# EOF\n"), "{open}");
    assert!(agent.get("/healthz", "").starts_with("HTTP/1.1 200"));
    drop(programs);
    eventually("nothing is left of them", || !agent.metrics().contains("whyidle_run_"));
    assert_eq!(agent.end(), Some(0));

    let ring = dir.path().join("ring").display().to_string();
    let kept = walk(Path::new(&ring));
    assert!(kept.contains("recording.json") && !kept.contains("hunter2"), "{kept}");
    let listed = run(&["agent", "--ring", &ring, "--list"]);
    assert_eq!(listed.status, Some(0), "{}", listed.err);
    assert!(listed.out.contains("recordings of this node"), "{}", listed.out);
}

/// Names and contents of everything below a folder.
fn walk(dir: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        all.push_str(&format!("{}\n", entry.display()));
        if entry.is_dir() {
            all.push_str(&walk(&entry));
        } else {
            all.push_str(&String::from_utf8_lossy(&fs::read(&entry).unwrap()));
        }
    }
    all
}

#[test]
fn hundreds_of_programs_come_and_go_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let holders = dir.path().join("holders");
    let agent = Agent::start(dir.path(), &["--series", "300"], &[]);
    let mut series = 0;
    for _ in 0..2 {
        let programs = Sleepers::start(100, &["train"], &[]);
        put(&holders, &programs.holders());
        eventually("all are seen", || agent.metrics().contains("whyidle_agent_runs 100\n"));
        let text = agent.metrics();
        series = series.max(text.lines().filter(|line| line.starts_with("whyidle_")).count());
        drop(programs);
        eventually("all are gone", || agent.metrics().contains("whyidle_agent_runs 0\n"));
    }
    let text = agent.metrics();
    assert!(!text.contains("whyidle_run_") && series <= 300, "{series}: {text}");
    assert!(
        text.contains("whyidle_agent_series_dropped_total ") && !text.contains("dropped_total 0\n"),
        "{text}"
    );
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn a_driver_that_is_reset_is_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(dir.path(), &[], &[("WHYIDLE_STANDIN_ANSWERS", "4")]);
    let count = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()).unwrap_or(0.0)
    };
    eventually("it fails", || count(&agent.metrics(), "whyidle_agent_errors_total{kind=\"nvml\"}") >= 1.0);
    let busy = |text: &str| count(text, "whyidle_gpu_busy_seconds_total{gpu=\"0\"");
    let before = busy(&agent.metrics());
    eventually("it counts on", || busy(&agent.metrics()) > before);
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn an_agent_that_is_killed_leaves_a_readable_ring_and_the_next_goes_on_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let programs = Sleepers::start(1, &["train"], &[]);
    put(&dir.path().join("holders"), &programs.holders());
    let agent = Agent::start(dir.path(), &[], &[]);
    let ring = dir.path().join("ring");
    eventually("rows are on disk", || {
        let text = if ring.exists() { walk(&ring) } else { String::new() };
        text.lines().filter(|line| line.split(',').count() > 20).count() > 3
    });
    kill(agent.child.id(), "-KILL");
    drop(agent);
    let first =
        fs::read_dir(&ring).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let read = run(&["diagnose", &first.display().to_string()]);
    assert!(read.status.is_some_and(|status| status < 2), "{}", read.err);
    let (ring, name) =
        (ring.display().to_string(), first.file_name().unwrap().to_string_lossy().into_owned());
    for lang in ["en", "zh"] {
        let told = run(&["agent", "--ring", &ring, "--at", &name, "--lang", lang]);
        assert!(told.status.is_some_and(|status| status < 2), "{}", told.err);
    }
    assert_eq!(run(&["agent", "--ring", &ring, "--at", "2001-01-01T00:00"]).status, Some(1));
    assert_eq!(run(&["agent", "--ring", &ring, "--at", "soon"]).status, Some(2));
    // The lock went with the process.
    let next = Agent::start(dir.path(), &[], &[]);
    eventually("it is well", || next.get("/healthz", "").starts_with("HTTP/1.1 200"));
    let other = run(&["agent", "--listen", "127.0.0.1:0", "--ring", &ring]);
    assert_eq!(other.status, Some(2));
    assert!(other.err.contains("another agent writes into"), "{}", other.err);
    assert_eq!(next.end(), Some(0));
}

#[test]
fn settings_are_read_anew_on_sighup_and_slips_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (config, token) = (dir.path().join("agent.toml"), dir.path().join("token"));
    put(&token, "first-token-of-24-chars\n");
    put(&config, &format!("series = 60\ntoken_file = \"{}\"\n", token.display()));
    let agent = Agent::start(dir.path(), &["--config", &config.display().to_string()], &[]);
    let with = |token: &str| agent.get("/metrics", &format!("Authorization: Bearer {token}\r\n"));
    assert!(agent.metrics().starts_with("HTTP/1.1 401"));
    eventually("the first token holds", || with("first-token-of-24-chars").contains("series_limit 60\n"));
    put(&config, &format!("series = 70\ntoken_file = \"{}\"\n", token.display()));
    put(&token, "second-token-of-24-chars\n");
    kill(agent.child.id(), "-HUP");
    eventually("the second token holds", || with("second-token-of-24-chars").contains("series_limit 70\n"));
    assert!(with("first-token-of-24-chars").starts_with("HTTP/1.1 401"));
    put(&config, "series = 80\nodd = 1\n");
    kill(agent.child.id(), "-HUP");
    eventually("the slip is counted", || with("second-token-of-24-chars").contains("kind=\"settings\"} 1\n"));
    assert!(with("second-token-of-24-chars").contains("series_limit 70\n"));
    assert_eq!(agent.end(), Some(0));
}

#[test]
fn what_cannot_be_served_is_said_in_both_languages() {
    for (lang, words) in [("en", "can be reached from other machines"), ("zh", "其他机器可以访问")] {
        let open = run(&["agent", "--listen", "0.0.0.0:0", "--lang", lang]);
        assert_eq!(open.status, Some(2));
        assert!(open.err.contains(words) && open.err.contains("--token-file"), "{}", open.err);
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.toml").display().to_string();
    fs::write(&path, "series = 100\nseris = 3\n").unwrap();
    let odd = run(&["agent", "--config", &path]);
    assert_eq!(odd.status, Some(2));
    assert!(odd.err.contains("line 2") && odd.err.contains("seris"), "{}", odd.err);
    assert_eq!(run(&["agent", "--list"]).status, Some(2));
}

/// A recording that is played looks as its program did: what alerts and dashboards are tried with.
#[test]
fn a_recording_can_be_played_and_looked_back_at() {
    let dir = tempfile::tempdir().unwrap();
    let recording = root().join("crates/whyidle/tests/recordings/attached_workers").display().to_string();
    let agent = Agent::start(dir.path(), &["--replay", &recording, "--speed", "60"], &[]);
    let told = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with("whyidle_run_waiting_ratio") && line.contains("data.workers"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
    };
    eventually("it waits for its workers", || told(&agent.metrics()).is_some_and(|share| share > 0.6));
    assert_eq!(agent.end(), Some(0));
    let ring = dir.path().join("ring");
    let name =
        fs::read_dir(&ring).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let ring = ring.display().to_string();
    let at = run(&["agent", "--ring", &ring, "--at", &name.file_name().unwrap().to_string_lossy()]);
    assert_eq!(at.status, Some(0), "{}", at.err);
    assert!(at.out.contains("waits") && at.out.contains("for data"), "{}", at.out);
}
