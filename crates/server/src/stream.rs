//! A TCP connection with deadlines.
//!
//! Guarantees: reads and writes never wait past the deadline, whatever the peer does; then they fail
//! with [`ErrorKind::WouldBlock`]. A reader that runs late can still read bytes that have arrived,
//! but only about [`UNREAD_BYTES_MAX`] per deadline, so a flood cannot keep it busy. A [`Waker`] ends
//! a waiting read.
//!
//! A thread per connection reads ahead, because the standard library cannot wait for a connection
//! and a waker at once, and its read timeouts are not exact on all platforms.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::limits::{CLOSE_TIMEOUT, READ_BUFFER_BYTES, READER_STACK_BYTES, UNREAD_BYTES_MAX};

pub(super) struct Stream {
    connection: Arc<TcpStream>,
    inbox: Arc<Inbox>,
    deadline: Instant,
    /// Number of bytes that may still be read after the deadline.
    late_bytes_left: usize,
}

#[derive(Default)]
struct Inbox {
    content: Mutex<Content>,
    changed: Condvar,
}

#[derive(Default)]
struct Content {
    bytes: VecDeque<u8>,
    is_woken: bool,
    /// True if the peer sends no more bytes, or if they would not be read.
    has_ended: bool,
}

/// Interrupts the waiting reads of a stream.
#[derive(Clone, Default)]
pub(super) struct Waker(Arc<Inbox>);

impl Waker {
    pub fn wake(&self) {
        self.0.change(|content| content.is_woken = true);
    }

    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Inbox {
    fn change(&self, change: impl FnOnce(&mut Content)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until the connection or its stream ends. Errors end the connection.
    fn fill_from(&self, mut connection: &TcpStream) {
        let mut buffer = [0; READ_BUFFER_BYTES];
        loop {
            let count = match connection.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.unwrap_or(0),
            };
            self.change(|content| {
                content.bytes.extend(&buffer[..count]);
                content.has_ended |= count == 0;
            });
            let is_full = |content: &mut Content| content.bytes.len() > UNREAD_BYTES_MAX && !content.has_ended;
            let content = self.changed.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
            if content.has_ended {
                return;
            }
        }
    }
}

impl Stream {
    pub fn over(connection: TcpStream) -> io::Result<Self> {
        // Disables Nagle's algorithm, which would delay ticks.
        connection.set_nodelay(true)?;
        let (connection, inbox) = (Arc::new(connection), Arc::new(Inbox::default()));
        let (source, filled) = (Arc::clone(&connection), Arc::clone(&inbox));
        thread::Builder::new().stack_size(READER_STACK_BYTES).spawn(move || filled.fill_from(&source))?;
        Ok(Self { connection, inbox, deadline: Instant::now(), late_bytes_left: 0 })
    }

    pub fn set_deadline(&mut self, deadline: Instant) {
        (self.deadline, self.late_bytes_left) = (deadline, UNREAD_BYTES_MAX);
    }

    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.inbox))
    }

    /// True if the peer sends no more bytes.
    pub fn has_ended(&self) -> bool {
        self.inbox.lock().has_ended
    }

    /// Tells the peer that no more bytes follow, and waits briefly for the peer to do the same. If a
    /// connection is closed with unread bytes, the peer may lose the last bytes that it was sent.
    pub fn finish(mut self) {
        self.set_deadline(Instant::now() + CLOSE_TIMEOUT);
        let _ = self.connection.shutdown(Shutdown::Write).and_then(|()| io::copy(&mut self, &mut io::sink()));
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let is_idle = |content: &mut Content| content.bytes.is_empty() && !content.is_woken && !content.has_ended;
        let waited = self.inbox.changed.wait_timeout_while(self.inbox.lock(), left, is_idle);
        let (mut content, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_too_late = left.is_zero() && self.late_bytes_left == 0;
        if is_too_late || content.bytes.is_empty() && !content.has_ended {
            content.is_woken = false;
            return Err(ErrorKind::WouldBlock.into());
        }
        self.inbox.changed.notify_all();
        let count = content.bytes.read(buffer)?;
        if left.is_zero() {
            self.late_bytes_left = self.late_bytes_left.saturating_sub(count);
        }
        Ok(count)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::WouldBlock.into());
            }
            self.connection.set_write_timeout(Some(left))?;
            match (&*self.connection).write(bytes) {
                Err(error)
                    if [ErrorKind::Interrupted, ErrorKind::TimedOut, ErrorKind::WouldBlock].contains(&error.kind()) => {
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.inbox.change(|content| content.has_ended = true);
        // Ends the thread's read. Ignores the error, because the connection may already be closed.
        let _ = self.connection.shutdown(Shutdown::Both);
    }
}
