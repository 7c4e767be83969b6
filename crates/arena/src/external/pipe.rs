//! A bot that reads messages from standard input and writes commands to standard output, one per
//! line.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Instant;

use super::channel::{Channel, Received};
use getaway::protocol::MAX_CLIENT_FRAME_BYTES;

/// Maximum number of messages that a bot has not read yet; further ones are dropped, and the bot
/// falls silent.
const UNREAD_MESSAGES_MAX: usize = 64;
/// Maximum number of lines from a bot that have not been read yet; a bot that writes faster is
/// blocked.
const UNREAD_LINES_MAX: usize = 256;

/// The two pipes, each with a thread, because reads and writes have no time limit.
#[derive(Debug)]
pub(super) struct PipeChannel {
    to_bot: SyncSender<String>,
    from_bot: Receiver<Received>,
}

impl PipeChannel {
    pub fn new(input: ChildStdin, output: ChildStdout) -> Self {
        let (to_bot, messages) = mpsc::sync_channel(UNREAD_MESSAGES_MAX);
        let (lines, from_bot) = mpsc::sync_channel(UNREAD_LINES_MAX);
        // Both threads end with the bot, whose pipes they wait for, or with this channel.
        thread::spawn(move || write_lines(input, &messages));
        thread::spawn(move || read_lines(output, &lines));
        Self { to_bot, from_bot }
    }

    /// Discards the messages that have arrived.
    pub fn clear(&mut self) {
        while let Ok(Received::Message(_)) = self.from_bot.try_recv() {}
    }
}

impl Channel for PipeChannel {
    fn send(&mut self, message: &str) {
        // If the queue is full, the bot does not read, and will be found silent.
        let _ = self.to_bot.try_send(message.to_owned());
    }

    fn receive(&mut self, deadline: Instant) -> Received {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.from_bot.recv_timeout(left) {
            Ok(received) => received,
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
        }
    }
}

fn write_lines(mut input: ChildStdin, messages: &Receiver<String>) {
    for mut message in messages {
        message.push('\n');
        if input.write_all(message.as_bytes()).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

/// Reads lines up to the limit of a frame; blank lines are skipped.
fn read_lines(output: ChildStdout, lines: &SyncSender<Received>) {
    let mut output = BufReader::new(output);
    while let Some(received) = read_line(&mut output).transpose() {
        let received = received.unwrap_or_else(|error| Received::Broken(error.to_string()));
        let is_end = !matches!(received, Received::Message(_));
        if lines.send(received).is_err() || is_end {
            return;
        }
    }
}

fn read_line(output: &mut impl BufRead) -> io::Result<Option<Received>> {
    loop {
        let mut bytes = Vec::new();
        output.take(MAX_CLIENT_FRAME_BYTES as u64 + 1).read_until(b'\n', &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.len() > MAX_CLIENT_FRAME_BYTES {
            return Ok(Some(Received::Broken(format!("a line of more than {MAX_CLIENT_FRAME_BYTES} bytes"))));
        }
        let line = String::from_utf8_lossy(&bytes).trim().to_owned();
        if !line.is_empty() {
            return Ok(Some(Received::Message(line)));
        }
    }
}
