//! A channel to a bot over the bot's standard input and output, with one message per line.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::process::Child;
use std::time::Instant;

use super::channel::{Channel, Received};
use super::stream::Stream;
use getaway::protocol::MAX_CLIENT_FRAME_BYTES;

#[derive(Debug)]
pub(super) struct PipeChannel {
    stream: Stream,
    line: Vec<u8>,
}

impl PipeChannel {
    /// Takes the standard input and output of `child`. Both must be pipes.
    pub fn new(child: &mut Child) -> io::Result<Self> {
        let input = child.stdin.take().expect("standard input is a pipe");
        let output = child.stdout.take().expect("standard output is a pipe");
        Ok(Self { stream: Stream::new(input, output)?, line: Vec::new() })
    }

    /// Discards all complete messages that have arrived. Returns false if the stream has ended or a
    /// line is too long.
    pub fn clear(&mut self) -> bool {
        let now = Instant::now();
        loop {
            match self.receive(now) {
                Received::Message { .. } => {}
                Received::Nothing => return true,
                Received::Closed | Received::Broken(_) => return false,
            }
        }
    }
}

impl Channel for PipeChannel {
    fn send(&mut self, message: &str) {
        // The message is dropped if too many messages are unread or the bot has closed its input.
        let _ = self.stream.write(format!("{message}\n").as_bytes());
    }

    fn receive(&mut self, deadline: Instant) -> Received {
        self.stream.set_deadline(deadline);
        loop {
            let room = MAX_CLIENT_FRAME_BYTES + 1 - self.line.len();
            match (&mut self.stream).take(room as u64).read_until(b'\n', &mut self.line) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Received::Nothing,
                Err(_) => return Received::Closed,
                Ok(_) if self.line.is_empty() => return Received::Closed,
                Ok(_) => {}
            }
            let line = std::mem::take(&mut self.line);
            if line.len() > MAX_CLIENT_FRAME_BYTES {
                return Received::Broken(format!("a line of more than {MAX_CLIENT_FRAME_BYTES} bytes"));
            }
            // Writers of .NET begin their first line with a byte order mark.
            let text = String::from_utf8_lossy(&line).trim_start_matches('\u{feff}').trim().to_owned();
            if !text.is_empty() {
                return Received::Message { text, arrived: self.stream.arrived() };
            }
        }
    }
}
