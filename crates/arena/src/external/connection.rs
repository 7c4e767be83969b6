//! A connection to a bot (or, for the bridge, to a server), with one thread per direction, because
//! reads and writes on a pipe have no deadline.
//!
//! Guarantees: a read never waits past its deadline, and returns only messages that arrived by then,
//! even if it runs late. A write never waits.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::POLL_INTERVAL;
use getaway::protocol::ClientFrame;

/// While this many messages are unread, no more are read from the bot, and a bot that continues to
/// write is eventually blocked.
const UNREAD_MESSAGES_MAX: usize = 256;
/// Maximum number of queued messages to the bot. Further messages are dropped.
const UNSENT_MESSAGES_MAX: usize = 64;
const CLOSE_TIME: Duration = Duration::from_millis(300);
/// Time limit for writing the queued messages before a socket is shut down.
const LAST_WRITE_TIME: Duration = Duration::from_millis(100);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    Message {
        text: String,
        /// The time at which the message's last byte arrived.
        arrived: Instant,
    },
    /// No complete message arrived before the deadline.
    Nothing,
    Closed,
    /// A message broke the rules of the transport; the text says how.
    Broken(String),
}

impl Received {
    /// Removes a byte order mark, with which .NET writers begin their first message.
    pub fn message(text: &str) -> Self {
        Self::Message { text: text.trim_start_matches('\u{feff}').to_owned(), arrived: Instant::now() }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    /// `None` once the connection is closed.
    to_bot: Option<SyncSender<String>>,
    writer: JoinHandle<()>,
    from_bot: Receiver<Received>,
    /// A message that arrived after the deadline of the last read.
    late: Option<Received>,
    /// The number of bytes of a line that has not ended; 0 for a socket.
    unfinished_bytes: Arc<AtomicUsize>,
    socket: Option<TcpStream>,
}

impl Connection {
    /// `write` gets each message to send, and `None` after the last. `read` waits for the next message.
    /// The thread of `read` ends after the first result that is not a message, or when it receives a
    /// message after the connection is dropped.
    pub fn new(
        mut write: impl FnMut(Option<&str>) -> io::Result<()> + Send + 'static,
        mut read: impl FnMut() -> Received + Send + 'static,
        socket: Option<TcpStream>,
    ) -> io::Result<Self> {
        let (to_bot, messages) = mpsc::sync_channel::<String>(UNSENT_MESSAGES_MAX);
        let (sender, from_bot) = mpsc::sync_channel(UNREAD_MESSAGES_MAX);
        let write_all = move || {
            let written = messages.iter().try_for_each(|message| write(Some(&message)));
            drop(written.and_then(|()| write(None)));
        };
        let read_all = move || {
            loop {
                let received = read();
                let is_last = !matches!(received, Received::Message { .. });
                if sender.send(received).is_err() || is_last {
                    return;
                }
            }
        };
        let writer = thread::Builder::new().spawn(write_all)?;
        thread::Builder::new().spawn(read_all)?;
        Ok(Self { to_bot: Some(to_bot), writer, from_bot, late: None, unfinished_bytes: Arc::default(), socket })
    }

    /// Connects to a program over its standard input and output, which must be pipes, with one
    /// message per line.
    pub fn over_pipes(child: &mut Child) -> io::Result<Self> {
        let mut input = child.stdin.take().expect("standard input is a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let write = move |message: Option<&str>| match message {
            Some(message) => input.write_all(format!("{message}\n").as_bytes()),
            None => Ok(()),
        };
        let unfinished_bytes = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&unfinished_bytes);
        let mut connection = Self::new(write, move || read_line(&mut output, &counter), None)?;
        connection.unfinished_bytes = unfinished_bytes;
        Ok(connection)
    }

    /// The number of bytes that have arrived of a line without an end.
    pub fn unfinished_bytes(&self) -> usize {
        self.unfinished_bytes.load(Ordering::Relaxed)
    }

    /// Sends a message without waiting. Drops the message if too many are unsent. Only
    /// [`Self::receive`] reports a lost connection.
    pub fn send(&mut self, message: String) {
        let _ = self.to_bot.as_ref().map(|to_bot| to_bot.try_send(message));
    }

    /// Waits until `deadline` for a complete message.
    pub fn receive(&mut self, deadline: Instant) -> Received {
        let left = deadline.saturating_duration_since(Instant::now());
        let received = match self.late.take() {
            Some(received) => received,
            None => match self.from_bot.recv_timeout(left) {
                Ok(received) => received,
                Err(RecvTimeoutError::Timeout) => return Received::Nothing,
                Err(RecvTimeoutError::Disconnected) => return Received::Closed,
            },
        };
        if matches!(received, Received::Message { arrived, .. } if arrived > deadline) {
            self.late = Some(received);
            return Received::Nothing;
        }
        received
    }

    /// Discards all messages that have arrived. Returns false if the connection has ended.
    pub fn clear(&mut self) -> bool {
        let now = Instant::now();
        loop {
            match self.receive(now) {
                Received::Message { .. } => {}
                end => return end == Received::Nothing,
            }
        }
    }

    /// Sends the last messages, and waits briefly for the other side to close the connection.
    pub fn close(mut self, is_stopped: &dyn Fn() -> bool) {
        let deadline = Instant::now() + CLOSE_TIME;
        drop(self.to_bot.take());
        while !is_stopped() && Instant::now() < deadline {
            if matches!(self.receive(Instant::now() + POLL_INTERVAL), Received::Closed | Received::Broken(_)) {
                return;
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.to_bot.take());
        if let Some(socket) = &self.socket {
            let end = Instant::now() + LAST_WRITE_TIME;
            while !self.writer.is_finished() && Instant::now() < end {
                thread::sleep(POLL_INTERVAL);
            }
            // Ends the threads. Ignores the error, because the connection may already be closed.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn read_line(output: &mut impl BufRead, unfinished_bytes: &AtomicUsize) -> Received {
    let mut line = Vec::new();
    loop {
        unfinished_bytes.store(line.len(), Ordering::Relaxed);
        let Ok(bytes) = output.fill_buf() else { return Received::Closed };
        let (is_closed, end) = (bytes.is_empty(), bytes.iter().position(|&byte| byte == b'\n'));
        let taken = end.map_or(bytes.len(), |end| end + 1);
        line.extend_from_slice(&bytes[..taken]);
        output.consume(taken);
        if line.len() > ClientFrame::MAX_BYTES {
            return Received::Broken(format!("a line of more than {} bytes", ClientFrame::MAX_BYTES));
        }
        if end.is_none() && !is_closed {
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}');
        if text.contains('\0') {
            return Received::Broken("a line with a zero byte, as in UTF-16: expected UTF-8".to_owned());
        }
        if !text.is_empty() {
            unfinished_bytes.store(0, Ordering::Relaxed);
            return Received::message(text);
        }
        if is_closed {
            return Received::Closed;
        }
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn connection(output: impl Read + Send + 'static) -> Connection {
        let mut output = BufReader::new(output);
        Connection::new(|_| Ok(()), move || read_line(&mut output, &AtomicUsize::new(0)), None).unwrap()
    }

    #[test]
    fn message_after_the_deadline_is_kept_for_the_next_one() {
        let (output, mut bot) = io::pipe().unwrap();
        let mut connection = connection(output);
        let before = Instant::now();
        bot.write_all(b"late\n").unwrap();
        thread::sleep(Duration::from_millis(50));
        assert_eq!(connection.receive(before), Received::Nothing);
        let Received::Message { text, arrived } = connection.receive(Instant::now()) else { panic!("no message") };
        assert!(text == "late" && arrived > before);
        drop(bot);
        assert_eq!(connection.receive(Instant::now() + Duration::from_secs(60)), Received::Closed);
    }

    #[test]
    fn no_deadline_is_extended_by_bytes_that_drip_in() {
        let (output, mut bot) = io::pipe().unwrap();
        let mut connection = connection(output);
        thread::spawn(move || {
            while bot.write_all(b".").is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
        });
        assert_eq!(connection.receive(Instant::now() + Duration::from_millis(50)), Received::Nothing);
    }

    #[test]
    fn flood_fills_the_queue_and_no_more() {
        let mut connection = connection(io::Cursor::new(b"flood\n".repeat(10 * UNREAD_MESSAGES_MAX)));
        thread::sleep(Duration::from_millis(50));
        let now = Instant::now();
        let messages = (0..).take_while(|_| connection.receive(now) != Received::Nothing).count();
        assert!(messages <= UNREAD_MESSAGES_MAX + 2, "{messages}");
    }
}
