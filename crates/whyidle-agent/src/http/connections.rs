//! Connections: how many, for how long, and who makes room for whom.
//!
//! Everything runs on the caller's runtime, one task for each connection. At the limit, the oldest connection that is
//! not being answered gives way: whoever holds hundreds of them open and says nothing keeps nobody else out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::guard::{Guard, plain, secured};
use super::stall::Stalling;
use super::{Limits, Renewable, current};

/// Bytes that the head of a request may have; of each connection so much may be held.
const LARGEST_HEAD: usize = 16 << 10;
/// Fields that the head of a request may have.
const MOST_FIELDS: usize = 64;
/// After a failure to accept – no file descriptors are left – the next attempt waits.
const AFTER_FAILURE: Duration = Duration::from_millis(50);
/// What requests in progress are given at the end.
const GRACE: Duration = Duration::from_secs(3);

/// A connection that lives.
struct Slot {
    task: AbortHandle,
    /// Requests of it that are being answered.
    busy: Arc<AtomicUsize>,
}

/// Answers until `shutdown`.
pub(super) async fn serve(
    socket: TcpListener,
    router: Router,
    guard: Renewable,
    limits: Limits,
    shutdown: impl Future<Output = ()>,
) {
    let router = router.layer(DefaultBodyLimit::max(limits.body));
    let (ending, ended) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let mut slots: Vec<Slot> = Vec::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = tasks.join_next() => continue,
            accepted = socket.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(AFTER_FAILURE).await;
            continue;
        };
        slots.retain(|slot| !slot.task.is_finished());
        if slots.len() >= limits.connections.max(1) && !make_room(&mut slots) {
            // Every one is being answered: this one is told to come again by being closed.
            continue;
        }
        let busy = Arc::new(AtomicUsize::new(0));
        let connection = Connection {
            router: router.clone(),
            guard: current(&guard),
            limits,
            busy: Arc::clone(&busy),
            ended: ended.clone(),
        };
        let task = tasks.spawn(connection.run(stream));
        slots.push(Slot { task, busy });
    }
    drop(socket);
    let _ = ending.send(true);
    let all = async { while tasks.join_next().await.is_some() {} };
    // Whoever is not done by then is cut off: the set ends its tasks when it is dropped.
    let _ = timeout(GRACE, all).await;
}

/// Ends the oldest connection without a request to answer; false where there is none.
fn make_room(slots: &mut Vec<Slot>) -> bool {
    let Some(at) = slots.iter().position(|slot| slot.busy.load(Ordering::Relaxed) == 0) else { return false };
    slots.remove(at).task.abort();
    true
}

/// Counts a request that is being answered, for as long as it lives.
struct Busy(Arc<AtomicUsize>);

impl Busy {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Connection {
    router: Router,
    guard: Arc<Guard>,
    limits: Limits,
    busy: Arc<AtomicUsize>,
    ended: watch::Receiver<bool>,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        // Answers are written whole: nothing is won by waiting for more to send.
        let _ = stream.set_nodelay(true);
        let stream = Stalling::new(stream, self.limits.stall);
        let Some(tls) = self.guard.tls.clone() else { return self.answer(stream).await };
        if let Ok(Ok(stream)) = timeout(self.limits.head, tls.accept(stream)).await {
            self.answer(stream).await;
        }
    }

    async fn answer(self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
        let Self { router, guard, limits, busy, mut ended } = self;
        let service = service_fn(move |request: Request<Incoming>| {
            let (router, guard, busy) = (router.clone(), Arc::clone(&guard), Busy::new(&busy));
            async move {
                let answer = one(request, router, &guard, limits).await;
                drop(busy);
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .max_buf_size(LARGEST_HEAD)
            .max_headers(MOST_FIELDS)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        // What goes wrong on a connection is its client's trouble: there is nobody to tell.
        let is_over = tokio::select! {
            _ = connection.as_mut() => true,
            _ = ended.wait_for(|ended| *ended) => false,
        };
        if !is_over {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// A connection whose client says all of `said` at once; what it is answered.
pub(super) async fn conversation(router: Router, guard: Arc<Guard>, limits: Limits, said: &[u8]) -> Vec<u8> {
    let (_ending, ended) = watch::channel(false);
    let heard = Arc::default();
    let stream = Said { rest: said.to_vec().into(), heard: Arc::clone(&heard) };
    let router = router.layer(DefaultBodyLimit::max(limits.body));
    let connection = Connection { router, guard, limits, busy: Arc::default(), ended };
    connection.answer(stream).await;
    std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The stream of a client that has said everything already.
struct Said {
    rest: VecDeque<u8>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for Said {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = into.remaining().min(self.rest.len());
        let bytes: Vec<u8> = self.rest.drain(..count).collect();
        into.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Said {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The answer to one request.
async fn one(request: Request<Incoming>, router: Router, guard: &Guard, limits: Limits) -> Response<Body> {
    if let Some(refused) = guard.refuses(&request) {
        return secured(refused);
    }
    let is_large = |length: &str| length.parse::<u64>().map_or(true, |length| length > limits.body as u64);
    let length = request.headers().get(axum::http::header::CONTENT_LENGTH);
    if length.is_some_and(|length| length.to_str().map_or(true, is_large)) {
        return secured(plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n"));
    }
    let answer = TowerToHyperService::new(router).call(request.map(Body::new));
    match timeout(limits.request, answer).await {
        Ok(Ok(answer)) => secured(answer),
        Ok(Err(never)) => match never {},
        Err(_) => secured(plain(StatusCode::SERVICE_UNAVAILABLE, "it took too long\n")),
    }
}
