//! A small HTTP server for pages and metrics: who may connect, how long that may take, and what it may cost. What is
//! answered is a [`Router`] of the caller's.
//!
//! * [`Listen`] – address, token, TLS, limits. Without a token only this machine itself is served.
//! * [`start`] – listens and serves in a thread of its own; [`Bound`] does the same on a runtime that is there already.
//!
//! A request passes, in this order: the limit of connections (`connections`), TLS, the time its head may take, the
//! name of the host that it asks for, the token (`guard`), and the time and size that it may take in all.

mod connections;
mod error;
mod guard;
mod listen;
mod stall;
mod tls;

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

pub use axum::Router;
use tokio::sync::watch;

pub use error::ListenError;
pub(crate) use listen::open_regular;
pub use listen::{Limits, Listen, TlsFiles, Token};

use guard::Guard;

/// What may be renewed while the server runs: the token and the certificate.
type Renewable = Arc<RwLock<Arc<Guard>>>;

fn current(guard: &Renewable) -> Arc<Guard> {
    Arc::clone(&guard.read().unwrap_or_else(PoisonError::into_inner))
}

/// A server that listens, and does not answer yet.
pub struct Bound {
    socket: TcpListener,
    guard: Renewable,
    limits: Limits,
}

impl Bound {
    /// Listens as told.
    ///
    /// # Errors
    /// Where others than this machine could connect without a token, a file cannot be used, or the address is not to be had.
    pub fn new(listen: &Listen) -> Result<Self, ListenError> {
        let guard = Guard::new(listen)?;
        let failed = |error: io::Error| ListenError::Address { address: listen.address, error };
        let socket = TcpListener::bind(listen.address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(Self { socket, guard: Arc::new(RwLock::new(Arc::new(guard))), limits: listen.limits })
    }

    /// Where it listens; with the port that the system chose where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// Answers with `router` until `shutdown`; then requests in progress are given a moment.
    ///
    /// # Errors
    /// Where the socket cannot be used on this runtime.
    pub async fn serve(self, router: Router, shutdown: impl Future<Output = ()>) -> io::Result<()> {
        let socket = tokio::net::TcpListener::from_std(self.socket)?;
        connections::serve(socket, router, self.guard, self.limits, shutdown).await;
        Ok(())
    }
}

/// What is answered to a client that says all of `said` and nothing more. For tests: no socket.
///
/// # Errors
/// As [`Bound::new`].
#[doc(hidden)]
pub fn conversation(listen: &Listen, router: Router, said: &[u8]) -> Result<Vec<u8>, ListenError> {
    let guard = Arc::new(Guard::new(listen)?);
    let failed = |error: io::Error| ListenError::Address { address: listen.address, error };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().max_blocking_threads(1).build();
    Ok(runtime.map_err(failed)?.block_on(connections::conversation(router, guard, listen.limits, said)))
}

/// Listens as told and answers with `router` until `shutdown`.
///
/// # Errors
/// As [`Bound::new`].
pub async fn serve(
    listen: &Listen,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ListenError> {
    let failed = |error| ListenError::Address { address: listen.address, error };
    Bound::new(listen)?.serve(router, shutdown).await.map_err(failed)
}

/// A server in a thread of its own; it ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    guard: Renewable,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Listens as told and answers with `router`, in one thread of its own.
///
/// # Errors
/// As [`Bound::new`].
pub fn start(listen: &Listen, router: Router) -> Result<Server, ListenError> {
    let failed = |error: io::Error| ListenError::Address { address: listen.address, error };
    let bound = Bound::new(listen)?;
    let address = bound.socket.local_addr().map_err(failed)?;
    let guard = Arc::clone(&bound.guard);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        // Handlers that read files do so beside the connections; more threads than this do not help them.
        .max_blocking_threads(4)
        .build()
        .map_err(failed)?;
    let (stop, mut stopped) = watch::channel(false);
    let until = async move {
        // The sender is gone: nobody could ask any more.
        let _ = stopped.wait_for(|stop| *stop).await;
    };
    let thread = std::thread::Builder::new()
        .name("http".to_owned())
        .spawn(move || {
            let _ = runtime.block_on(bound.serve(router, until));
            // A page that is being made is nobody's any more.
            runtime.shutdown_background();
        })
        .map_err(failed)?;
    Ok(Server { address, guard, stop, thread: Some(thread) })
}

impl Server {
    /// Where it listens; with the port that the system chose where port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token, names and certificate of `listen` hold for every connection from now on.
    ///
    /// # Errors
    /// Where others could then connect without a token, or a file cannot be used: what held before holds on.
    pub fn renew(&self, listen: &Listen) -> Result<(), ListenError> {
        let guard = Guard::new(&Listen { address: self.address, ..listen.clone() })?;
        *self.guard.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(guard);
        Ok(())
    }

    /// It still answers: its thread did not end.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
    }
}
