//! A connection whose other side takes nothing is given up: an answer that nobody reads would be kept for ever.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose writes fail once none has gone on for a while.
pub(super) struct Stalling<T> {
    inner: T,
    patience: Duration,
    /// Runs while a write waits.
    waiting: Pin<Box<Sleep>>,
    is_waiting: bool,
}

impl<T> Stalling<T> {
    pub(super) fn new(inner: T, patience: Duration) -> Self {
        Self { inner, patience, waiting: Box::pin(sleep(patience)), is_waiting: false }
    }

    /// The result of a write, or that it has waited for too long.
    fn judge<R>(&mut self, result: Poll<io::Result<R>>, context: &mut Context<'_>) -> Poll<io::Result<R>> {
        if result.is_ready() {
            self.is_waiting = false;
            return result;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.waiting.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stalling<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stalling<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(result, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(context);
        self.judge(result, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judge(result, context)
    }
}
