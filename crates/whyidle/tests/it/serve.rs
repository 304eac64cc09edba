//! `serve`: pages of what lies in a folder and of the history, on this machine alone unless a token is set.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use crate::support::{root, run, whyidle};

const HISTORY: &str = "crates/whyidle/tests/experiments/history.db";

/// A server on a free port; it ends with this.
pub(crate) struct Served(Child, String);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn serve(dir: &str, more: &[&str]) -> Served {
    let mut arguments = vec!["serve", dir, "--db", HISTORY, "--listen", "127.0.0.1:0"];
    arguments.extend(more);
    let mut child = whyidle(&arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.split_once("http://").and_then(|(_, rest)| rest.split_once('/'));
    let address = address.unwrap_or_else(|| panic!("it says {said}")).0.to_owned();
    Served(child, address)
}

impl Served {
    pub(crate) fn get(&self, path: &str, more: &str) -> String {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{more}\r\n", self.1).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

#[test]
fn what_lies_in_a_folder_and_in_the_history_has_a_page() {
    let served = serve("testdata", &[]);
    let start = served.get("/", "");
    for part in [
        "href=\"/recording/fed_small\"",
        "href=\"/recording/straggler_data\"",
        "href=\"/entry/70\"",
        "[faster together]",
        "正在运行",
    ] {
        assert!(start.contains(part), "{part} in\n{start}");
    }
    // The sentence is the one that is printed.
    let printed = run(&["diagnose", "testdata/fed_small"]).out;
    let sentence = printed.lines().find(|line| line.starts_with("  ")).unwrap().trim();
    let page = served.get("/recording/fed_small", "");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("id=\"timeline\""), "{}", &page[..300]);
    assert!(page.replace(['\n', '\r'], " ").contains(sentence.split(':').next().unwrap()), "{sentence}");
    assert!(page.contains("whyidle diagnose") && page.contains("testdata/fed_small"));
    assert!(served.get("/entry/70", "").contains("id=\"sweep-0\""));
    assert!(served.get("/entry/10", "").contains("class=\"better\""));
    assert!(served.get("/entry/4711", "").starts_with("HTTP/1.1 404"));
    // The server itself trains nothing.
    let own = served.0.id();
    assert!(served.get(&format!("/live/{own}"), "").starts_with("HTTP/1.1 404"));
    assert!(served.get(&format!("/live/{own}/events"), "").contains("\"end\""));
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let served = serve("testdata/fed_small", &[]);
    for path in ["/recording/../sync_item", "/recording/%2e%2e/sync_item", "/recording/..%2fsync_item"] {
        let answer = served.get(path, "");
        assert!(answer.starts_with("HTTP/1.1 4") && !answer.contains("id=\"timeline\""), "{path}: {answer}");
    }
    assert!(served.get("/recording/%2E", "").contains("id=\"timeline\""), "the folder itself");
}

#[test]
fn other_machines_need_a_token() {
    let open = run(&["serve", "testdata", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.status, Some(2), "{}", open.err);
    assert!(open.err.contains("no token is set") && open.err.contains("--token-file"), "{}", open.err);
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    std::fs::write(&token, "0123456789abcdef0123\n").unwrap();
    let served = serve("testdata", &["--token-file", token.to_str().unwrap()]);
    assert!(served.get("/", "").starts_with("HTTP/1.1 401"));
    assert!(served.get("/", "Authorization: Bearer 0123456789abcdef0123\r\n").starts_with("HTTP/1.1 200"));
    // A page elsewhere that gives this machine another name is not answered.
    let own = serve("testdata", &[]);
    let mut stream = TcpStream::connect(&own.1).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
}

#[test]
fn what_cannot_be_served_is_said() {
    let missing = run(&["serve", "testdata/not_there"]);
    assert_eq!(missing.status, Some(2));
    assert!(missing.err.contains("testdata/not_there cannot be served"), "{}", missing.err);
    let file = run(&["serve", "README.md"]);
    assert_eq!(file.status, Some(2), "{}", file.err);
    let served = serve("testdata", &[]);
    let taken = run(&["serve", "testdata", "--listen", &served.1]);
    assert_eq!(taken.status, Some(2));
    assert!(taken.err.contains("cannot listen") && taken.err.contains("another port"), "{}", taken.err);
    assert!(root().join(HISTORY).is_file());
}
