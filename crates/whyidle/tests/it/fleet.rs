//! `fleet` on a server of this machine that answers what it is told to. On a real Prometheus: `tests/fleet/`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::support::{Run, whyidle};

/// What a request asks for, by the metric in its query: status, body.
type Answers = fn(&str) -> (u16, String);

/// A server that answers every request of a connection, and keeps what it was asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let kept = Arc::clone(&asked);
        // Ends with the tests.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || {
                    while let Some(request) = request(&mut stream) {
                        let (status, body) = answers(&request);
                        kept.lock().unwrap().push(request);
                        let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", body.len());
                        if stream.write_all((head + &body).as_bytes()).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self { address, asked }
    }

    fn fleet(&self, more: &[&str]) -> Run {
        let url = format!("http://{}", self.address);
        let mut command = whyidle(&[&["fleet", "--prometheus", &url], more].concat());
        command.env_remove("WHYIDLE_PROMETHEUS_TOKEN").output().unwrap().into()
    }
}

/// The next whole request of a connection.
fn request(stream: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            if body.len() >= length.and_then(|length| length.trim().parse().ok()).unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        let count = stream.read(&mut piece).ok().filter(|&count| count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
}

fn vector(series: &[(&str, f64)]) -> (u16, String) {
    let series: Vec<String> = series
        .iter()
        .map(|(labels, value)| format!(r#"{{"metric":{{{labels}}},"value":[1796048000.5,"{value}"]}}"#))
        .collect();
    let series = series.join(",");
    (200, format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}"#))
}

/// A job of somebody who tries what names can do.
fn hostile(request: &str) -> (u16, String) {
    let job = r#""job_id":"4711","user":"\u001b[2Jada","instance":"a""#;
    match request {
        text if text.contains("whyidle_run_gpu_seconds_total") => vector(&[(job, 7_200.0)]),
        text if text.contains("whyidle_run_idle_gpu_seconds_total") => {
            let waits = format!(r#"{job},"waiting_for":"\u202e<script>|`x`""#);
            vector(&[(&waits, 3_600.0)])
        }
        text if text.contains("whyidle_run_info") => {
            let info = format!(r#"{job},"command":"python a.py\n| x | \u0007""#);
            vector(&[(&info, 1.0)])
        }
        _ => vector(&[]),
    }
}

#[test]
fn all_questions_are_of_one_time_and_names_stay_text() {
    let server = Server::new(hostile);
    let found = server.fleet(&["--format", "json", "--since", "2h"]);
    assert_eq!((found.status, found.err.as_str()), (Some(0), ""));
    let document: Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(document["jobs"][0]["idle_gpu_ms"], 3_600_000);
    assert_eq!((&document["cards"], &document["at"]), (&Value::Null, &1_796_048_000_500_000_000_i64.into()));
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 7);
    assert!(!asked[0].contains("time=") && asked[1..].iter().all(|one| one.contains("time=1796048000.500")));
    assert!(
        asked.iter().all(|one| one.contains("%5B7200s%5D") && !one.to_lowercase().contains("authorization"))
    );
    for format in ["text", "md"] {
        let page = server.fleet(&["--format", format]).out;
        assert!(page.contains("4711") && page.contains("python a.py"), "{page}");
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!page.contains(bad), "{page:?}");
        assert!(format == "text" || !page.contains("<script"), "{page}");
    }
}

/// Every error says what is wrong, in both languages, on standard error, with a hint.
#[test]
fn answers_that_are_none_are_said_to_be_none() {
    let says = |text: &str| text.to_owned();
    let cases: [(Answers, i32, &str); 8] = [
        (|_| (401, "Unauthorized".to_owned()), 2, "does not let us in (HTTP status 401)"),
        (|_| (403, "{}".to_owned()), 2, "does not let us in (HTTP status 403)"),
        (|_| (302, String::new()), 2, "answered with HTTP status 302"),
        (|_| (502, "<html>bad gateway</html>".to_owned()), 2, "answered with HTTP status 502"),
        (|_| (200, "<html>log in</html>".to_owned()), 2, "did not answer as Prometheus does"),
        (
            |_| {
                (
                    503,
                    r#"{"status":"error","errorType":"timeout","error":"query timed out\u001b[1m"}"#
                        .to_owned(),
                )
            },
            2,
            "refused the query (timeout): query timed out",
        ),
        (|_| vector(&[]), 1, "has no metrics of whyidle in the last 168 h"),
        (
            |request| if request.contains("whyidle_gpu_info") { vector(&[("", 8.0)]) } else { vector(&[]) },
            1,
            "the agents saw no process that trains on a GPU",
        ),
    ];
    for (answers, status, said) in cases {
        let server = Server::new(answers);
        let english = server.fleet(&["--lang", "en"]);
        assert_eq!((english.status, english.out.as_str()), (Some(status), ""), "{said}");
        assert!(english.err.contains(&says(said)), "{said} is not in {}", english.err);
        assert!(!english.err.contains('\u{1b}'), "{:?}", english.err);
        assert!(english.err.contains("hint") || said.contains("no process"), "{}", english.err);
        let chinese = server.fleet(&["--lang", "zh"]);
        let is_chinese = chinese.err.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        assert!(
            chinese.status == Some(status) && is_chinese && !chinese.err.contains("cli-"),
            "{}",
            chinese.err
        );
    }
}

#[test]
fn warnings_are_passed_on_beside_the_answer() {
    let server = Server::new(|request| {
        let (status, body) = hostile(request);
        (
            status,
            body.replace(r#""status":"success","#, r#""status":"success","warnings":["a part is missing"],"#),
        )
    });
    let found = server.fleet(&[]);
    assert_eq!(found.status, Some(0));
    assert!(found.err.contains("Prometheus says: a part is missing"), "{}", found.err);
}

#[test]
fn the_token_is_shown_to_the_server_and_to_nobody_else() {
    let server = Server::new(hostile);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, "geheim\n").unwrap();
    let found = server.fleet(&["--token-file", file.to_str().unwrap()]);
    assert!(found.status == Some(0) && !(found.out + &found.err).contains("geheim"));
    let asked = server.asked.lock().unwrap().clone();
    assert!(asked.iter().all(|one| one.to_lowercase().contains("authorization: bearer geheim\r\n")));
    let mut command = whyidle(&["fleet", "--prometheus", "http://prometheus.invalid"]);
    let clear: Run = command.env("WHYIDLE_PROMETHEUS_TOKEN", "geheim").output().unwrap().into();
    assert!(clear.status == Some(2) && clear.err.contains("unencrypted") && !clear.err.contains("geheim"));
    std::fs::write(&file, "").unwrap();
    let none = server.fleet(&["--token-file", file.to_str().unwrap()]);
    assert!(none.status == Some(2) && none.err.contains("holds no token"), "{}", none.err);
}

#[test]
fn the_help_of_fleet_fits_a_screen() {
    let help: Run = whyidle(&["fleet", "-h"]).output().unwrap().into();
    assert!(help.status == Some(0) && help.out.lines().count() <= 40, "{}", help.out);
    assert!(help.out.lines().all(|line| line.chars().count() <= 100), "{}", help.out);
}
