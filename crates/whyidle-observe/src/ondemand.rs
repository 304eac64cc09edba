//! Asks a running PyTorch for a trace. Its profiler (Kineto), where `KINETO_USE_DAEMON` is set, polls a
//! datagram socket for a configuration; this is the other end of that socket.
//!
//! A datagram is a header of 40 bytes – payload length as u64, then a type padded with NUL to 32 bytes – and
//! the payload, all little-endian. Types: `ctxt` (i32 gpu, i32 pid, i64 job; answered with an i32) and `req`
//! (i32 kind, i32 count, i64 job, then the process's own number and its ancestors'; answered with the text of
//! a configuration, empty for nothing to do). Every request is answered at once: a client waits 90 ms.

use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Scratch;

const HEADER: usize = 40;
/// The bit of a request that asks for activities.
const ACTIVITIES: i32 = 2;
/// Programs that are remembered: those of a whole node of 8 GPUs, with all their children, are fewer.
const MOST_CLIENTS: usize = 4_096;
/// The name that clients look for.
const NAME: &str = "dynolog";

/// What is wanted of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Optimizer steps.
    pub steps: u32,
    /// With Python stacks and shapes; dearer for the program.
    pub stacks: bool,
}

#[derive(Debug, Default)]
struct Client {
    polls: u64,
}

#[derive(Default)]
struct State {
    clients: HashMap<u32, Client>,
    pending: HashMap<u32, String>,
    delivered: HashMap<u32, Instant>,
}

/// The listening end of the socket, in a private folder that also takes the traces. Both are removed when it
/// is dropped.
pub struct Listener {
    dir: Scratch,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// Where the folder or the socket cannot be made.
    pub fn start() -> io::Result<Self> {
        // Newer versions of the profiler write below /tmp only.
        let dir = Scratch::new_in(Path::new("/tmp"))?;
        let socket = UnixDatagram::bind(dir.path().join(NAME))?;
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let state = Arc::new(Mutex::new(State::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let (state, stop) = (Arc::clone(&state), Arc::clone(&stop));
            std::thread::Builder::new()
                .name("listener".to_owned())
                .spawn(move || serve(&socket, &state, &stop))?
        };
        Ok(Self { dir, state, stop, thread: Some(thread) })
    }

    /// Environment of a program that is to poll this socket.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 4] {
        let dir = self.dir.path().display().to_string();
        [
            ("KINETO_USE_DAEMON", "1".to_owned()),
            ("KINETO_IPC_SOCKET_DIR", dir.clone()),
            ("KINETO_ONDEMAND_TRACE_DIR", dir),
            // The profiler's own chatter does not belong into the program's output.
            ("KINETO_LOG_LEVEL", "99".to_owned()),
        ]
    }

    /// Processes that poll.
    #[must_use]
    pub fn clients(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = lock(&self.state).clients.keys().copied().collect();
        pids.sort_unstable();
        pids
    }

    /// Asks process `pid` for a trace at its next poll.
    pub fn ask(&self, pid: u32, wanted: Wanted) {
        let config = configuration(&self.log_file(), wanted);
        lock(&self.state).pending.insert(pid, config);
    }

    /// Withdraws what was asked of `pid` and not yet delivered.
    pub(crate) fn withdraw(&self, pid: u32) {
        lock(&self.state).pending.remove(&pid);
    }

    /// The request reached `pid`: so long ago.
    #[must_use]
    pub fn delivered(&self, pid: u32) -> Option<Duration> {
        lock(&self.state).delivered.get(&pid).map(Instant::elapsed)
    }

    /// The trace of `pid`, once it is whole: it is written under another name and renamed.
    #[must_use]
    pub fn trace(&self, pid: u32) -> Option<PathBuf> {
        let path = self.dir.path().join(format!("trace_{pid}.json"));
        path.is_file().then_some(path)
    }

    fn log_file(&self) -> PathBuf {
        self.dir.path().join("trace.json")
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(socket: &UnixDatagram, state: &Mutex<State>, stop: &AtomicBool) {
    let mut buffer = vec![0; 4_096];
    while !stop.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let Some(answer) = answer(&buffer[..length], &mut lock(state)) else { continue };
        if let Some(path) = from.as_pathname() {
            // A client that is gone needs no answer.
            let _ = socket.send_to(&answer, path);
        }
    }
}

/// The answers to datagrams that come one after the other, with a trace asked of process 42. For tests: no socket.
#[doc(hidden)]
pub fn answers<'a>(datagrams: impl Iterator<Item = &'a [u8]>) -> Vec<Option<Vec<u8>>> {
    let mut state = State::default();
    let wanted = configuration(Path::new("/tmp/trace.json"), Wanted { steps: 3, stacks: false });
    state.pending.insert(42, wanted);
    datagrams.map(|datagram| answer(datagram, &mut state)).collect()
}

/// The answer to a datagram; `None` to one that makes no sense.
fn answer(datagram: &[u8], state: &mut State) -> Option<Vec<u8>> {
    let size = u64::from_le_bytes(datagram.get(..8)?.try_into().ok()?);
    let kind = datagram.get(8..HEADER)?.split(|&b| b == 0).next()?;
    let payload = datagram.get(HEADER..HEADER.checked_add(usize::try_from(size).ok()?)?)?;
    match kind {
        b"ctxt" => Some(framed("ctxt", &1_i32.to_le_bytes())),
        b"req" => {
            let number = |at: usize| Some(i32::from_le_bytes(payload.get(at..at + 4)?.try_into().ok()?));
            let (wants, count) = (number(0)?, number(4)?);
            let pids: Vec<u32> = (0..usize::try_from(count).ok()?.min(64))
                .map_while(|at| u32::try_from(number(16 + 4 * at)?).ok())
                .collect();
            let pid = *pids.first()?;
            let is_full = state.clients.len() >= MOST_CLIENTS && !state.clients.contains_key(&pid);
            if is_full {
                return None;
            }
            state.clients.entry(pid).or_default().polls += 1;
            let config = if wants & ACTIVITIES != 0 { state.pending.remove(&pid) } else { None };
            if config.is_some() {
                state.delivered.insert(pid, Instant::now());
            }
            Some(framed("req", config.unwrap_or_default().as_bytes()))
        }
        _ => None,
    }
}

fn framed(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u64).to_le_bytes().to_vec();
    out.extend_from_slice(kind.as_bytes());
    out.resize(HEADER, 0);
    out.extend_from_slice(payload);
    out
}

/// The text of a configuration: so many steps from the next one on, without a warm-up that would lengthen the
/// wait.
fn configuration(log_file: &Path, wanted: Wanted) -> String {
    let stacks = if wanted.stacks { "true" } else { "false" };
    let lines = [
        format!("ACTIVITIES_LOG_FILE={}", log_file.display()),
        "PROFILE_START_ITERATION=0".to_owned(),
        "PROFILE_START_ITERATION_ROUNDUP=1".to_owned(),
        "ACTIVITIES_WARMUP_ITERATIONS=1".to_owned(),
        // One step more than wanted: the first and the last are never whole.
        format!("ACTIVITIES_ITERATIONS={}", wanted.steps + 1),
        "ACTIVITIES_DURATION_MSECS=500".to_owned(),
        "PROFILE_REPORT_INPUT_SHAPES=true".to_owned(),
        format!("PROFILE_WITH_STACK={stacks}"),
    ];
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(wants: i32, pids: &[i32]) -> Vec<u8> {
        let mut payload = wants.to_le_bytes().to_vec();
        payload.extend((pids.len() as i32).to_le_bytes());
        payload.extend(0_i64.to_le_bytes());
        payload.extend(pids.iter().flat_map(|pid| pid.to_le_bytes()));
        framed("req", &payload)
    }

    #[test]
    fn a_request_is_answered_with_what_is_pending_for_its_process() {
        let mut state = State::default();
        assert_eq!(answer(&request(3, &[42, 7]), &mut state), Some(framed("req", b"")));
        state.pending.insert(42, "A=1\n".to_owned());
        // Busy: it does not ask for activities.
        assert_eq!(answer(&request(1, &[42, 7]), &mut state), Some(framed("req", b"")));
        assert_eq!(answer(&request(2, &[43]), &mut state), Some(framed("req", b"")));
        let found = answer(&request(2, &[42, 7]), &mut state).unwrap_or_default();
        assert_eq!((&found[..8], &found[HEADER..]), (&4_u64.to_le_bytes()[..], &b"A=1\n"[..]));
        assert!(state.delivered.contains_key(&42) && state.pending.is_empty());
        assert_eq!(state.clients[&42].polls, 3);
    }

    #[test]
    fn a_context_is_answered_with_a_count() {
        let mut payload = 0_i32.to_le_bytes().to_vec();
        payload.extend(7_i32.to_le_bytes());
        payload.extend(0_i64.to_le_bytes());
        let found = answer(&framed("ctxt", &payload), &mut State::default()).unwrap_or_default();
        assert_eq!(found, framed("ctxt", &1_i32.to_le_bytes()));
        assert_eq!(&found[8..12], b"ctxt");
    }

    #[test]
    fn nonsense_is_not_answered() {
        let mut state = State::default();
        let mut huge = framed("req", b"");
        huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        for datagram in [&b""[..], b"short", &[0; 40], &[255; 64], &huge, &framed("req", b"12")] {
            assert_eq!(answer(datagram, &mut state), None);
        }
        assert!(state.clients.is_empty());
    }

    #[test]
    fn no_more_programs_are_remembered_than_a_node_has() {
        let mut state = State::default();
        for pid in 1..=10_000 {
            answer(&request(2, &[pid]), &mut state);
        }
        assert_eq!(state.clients.len(), MOST_CLIENTS);
        assert!(
            answer(&request(2, &[1]), &mut state).is_some()
                && answer(&request(2, &[9_999]), &mut state).is_none()
        );
    }

    #[test]
    fn the_socket_answers_a_client_and_is_removed() -> io::Result<()> {
        let listener = Listener::start()?;
        let dir = listener.dir.path().to_owned();
        let client = UnixDatagram::bind(dir.join("dynoconfigclient1"))?;
        client.set_read_timeout(Some(Duration::from_secs(5)))?;
        listener.ask(42, Wanted { steps: 3, stacks: false });
        client.send_to(&request(3, &[42, 7]), dir.join(NAME))?;
        let mut buffer = [0; 4_096];
        let length = client.recv(&mut buffer)?;
        let text = String::from_utf8_lossy(&buffer[HEADER..length]).into_owned();
        assert!(text.contains("ACTIVITIES_ITERATIONS=4\n"), "{text}");
        // One `=` a line: the parser on the other side knows no more.
        assert!(text.lines().all(|line| line.matches('=').count() == 1), "{text}");
        assert_eq!(listener.clients(), [42]);
        assert!(listener.delivered(42).is_some() && listener.trace(42).is_none());
        drop(listener);
        assert!(!dir.exists());
        Ok(())
    }
}
