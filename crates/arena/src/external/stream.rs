//! Byte streams to and from a bot (or, for the bridge, a server), with arrival times.
//!
//! Guarantees: a read never waits past its deadline, and returns only bytes that arrived by then. A
//! reader that runs late can still read such bytes, but only about `MAX_CLIENT_FRAME_BYTES` per
//! deadline, so a flood cannot keep the reader busy. A write never waits.

use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::POLL_INTERVAL;
use getaway::protocol::MAX_CLIENT_FRAME_BYTES;

const CHUNK_BYTES_MAX: usize = 4096;
/// Maximum number of unread chunks. While the queue is full, no more bytes are read from the bot,
/// and a bot that continues to write is eventually blocked.
const UNREAD_CHUNKS_MAX: usize = 256;
const UNREAD_MESSAGES_MAX: usize = 64;
/// Time limit for writing the queued bytes before a connection is shut down.
const LAST_WRITE_TIME: Duration = Duration::from_millis(100);
const HEAD_END: &[u8; 4] = b"\r\n\r\n";

#[derive(Debug)]
struct Chunk {
    bytes: Vec<u8>,
    arrived: Instant,
}

/// A connection with one thread per direction, because reads and writes on a pipe have no deadline.
#[derive(Debug)]
pub(super) struct Stream {
    /// `None` only while the stream is dropped.
    to_bot: Option<SyncSender<Vec<u8>>>,
    writer: JoinHandle<()>,
    from_bot: Receiver<Chunk>,
    chunk: Chunk,
    read: usize,
    arrived: Instant,
    deadline: Instant,
    /// Number of bytes that may still be read after the deadline. The last chunk may exceed this
    /// number.
    late_bytes_left: usize,
    /// In the head of an HTTP message, the number of bytes of the empty line at its end that have been
    /// read. `None` after the head.
    head: Option<usize>,
    /// The TCP connection, if any. Dropping the stream shuts it down, which ends the threads.
    connection: Option<TcpStream>,
}

impl Stream {
    /// Creates a stream that writes to the bot's `input` and reads its `output`. The threads end at
    /// the latest when the stream is dropped and the bot's ends of `input` and `output` are closed.
    pub fn new(input: impl Write + Send + 'static, output: impl Read + Send + 'static) -> io::Result<Self> {
        let (to_bot, messages) = mpsc::sync_channel(UNREAD_MESSAGES_MAX);
        let (chunks, from_bot) = mpsc::sync_channel(UNREAD_CHUNKS_MAX);
        let writer = thread::Builder::new().spawn(move || write_messages(input, &messages))?;
        thread::Builder::new().spawn(move || read_chunks(output, &chunks))?;
        let now = Instant::now();
        let chunk = Chunk { bytes: Vec::new(), arrived: now };
        Ok(Self {
            to_bot: Some(to_bot),
            writer,
            from_bot,
            chunk,
            read: 0,
            arrived: now,
            deadline: now,
            late_bytes_left: 0,
            head: None,
            connection: None,
        })
    }

    pub fn over(connection: TcpStream) -> io::Result<Self> {
        connection.set_nodelay(true)?;
        let mut stream = Self::new(connection.try_clone()?, connection.try_clone()?)?;
        (stream.connection, stream.head) = (Some(connection), Some(0));
        Ok(stream)
    }

    /// Sets the deadline. Reads fail with [`ErrorKind::WouldBlock`] instead of waiting any longer.
    pub fn set_deadline(&mut self, deadline: Instant) {
        (self.deadline, self.late_bytes_left) = (deadline, MAX_CLIENT_FRAME_BYTES);
    }

    /// Ends the head of the HTTP message. Before that, reads end at the end of the head, because the
    /// library for websockets rejects a handshake that is read together with the next message.
    pub fn end_head(&mut self) {
        self.head = None;
    }

    pub fn arrived(&self) -> Instant {
        self.arrived
    }
}

impl BufRead for Stream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.read == self.chunk.bytes.len() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() && self.late_bytes_left == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            match self.from_bot.recv_timeout(left) {
                Ok(chunk) => {
                    if left.is_zero() {
                        self.late_bytes_left = self.late_bytes_left.saturating_sub(chunk.bytes.len());
                    }
                    (self.chunk, self.read) = (chunk, 0);
                }
                Err(RecvTimeoutError::Timeout) => return Err(ErrorKind::WouldBlock.into()),
                Err(RecvTimeoutError::Disconnected) => return Ok(&[]),
            }
        }
        if self.chunk.arrived > self.deadline {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(&self.chunk.bytes[self.read..])
    }

    fn consume(&mut self, count: usize) {
        self.read += count;
        self.arrived = self.chunk.arrived;
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut count = self.fill_buf()?.read(buffer)?;
        if let Some(matched) = &mut self.head {
            for (index, &byte) in buffer[..count].iter().enumerate() {
                *matched = if byte == HEAD_END[*matched] { *matched + 1 } else { usize::from(byte == HEAD_END[0]) };
                if *matched == HEAD_END.len() {
                    (*matched, count) = (0, index + 1);
                    break;
                }
            }
        }
        self.consume(count);
        Ok(count)
    }
}

impl Write for Stream {
    /// Queues the bytes. Fails with [`ErrorKind::WouldBlock`] if the queue is full, and with
    /// [`ErrorKind::BrokenPipe`] if an earlier write has failed.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.to_bot.as_ref().map(|to_bot| to_bot.try_send(bytes.to_vec())) {
            Some(Ok(())) => Ok(bytes.len()),
            Some(Err(TrySendError::Full(_))) => Err(ErrorKind::WouldBlock.into()),
            Some(Err(TrySendError::Disconnected(_))) | None => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        drop(self.to_bot.take());
        if let Some(connection) = &self.connection {
            // The last bytes can be the refusal of a handshake, which tells the bot what is wrong.
            let end = Instant::now() + LAST_WRITE_TIME;
            while !self.writer.is_finished() && Instant::now() < end {
                thread::sleep(POLL_INTERVAL);
            }
            // Ignores the error, because the connection may already be closed.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn write_messages(mut input: impl Write, messages: &Receiver<Vec<u8>>) {
    for message in messages {
        if input.write_all(&message).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

fn read_chunks(mut output: impl Read, chunks: &SyncSender<Chunk>) {
    let mut buffer = [0; CHUNK_BYTES_MAX];
    loop {
        match output.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A read error counts as a closed connection.
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let chunk = Chunk { bytes: buffer[..count].to_vec(), arrived: Instant::now() };
                if chunks.send(chunk).is_err() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_after_the_deadline_are_kept_for_the_next_one() {
        let (output, mut bot) = io::pipe().unwrap();
        let mut stream = Stream::new(io::sink(), output).unwrap();
        let before = Instant::now();
        bot.write_all(b"late").unwrap();
        stream.set_deadline(Instant::now() + Duration::from_secs(60));
        assert_eq!(stream.fill_buf().unwrap(), b"late");
        stream.set_deadline(before);
        assert_eq!(stream.fill_buf().unwrap_err().kind(), ErrorKind::WouldBlock);
        stream.set_deadline(Instant::now());
        assert_eq!(stream.fill_buf().unwrap(), b"late");
        stream.consume(4);
        assert!(stream.arrived() > before);
        drop(bot);
        stream.set_deadline(Instant::now() + Duration::from_secs(60));
        assert_eq!(stream.fill_buf().unwrap(), b"");
    }

    #[test]
    fn no_deadline_is_extended_by_bytes_that_drip_in() {
        let (output, mut bot) = io::pipe().unwrap();
        let mut stream = Stream::new(io::sink(), output).unwrap();
        thread::spawn(move || {
            while bot.write_all(b".").is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
        });
        stream.set_deadline(Instant::now() + Duration::from_millis(50));
        let error = io::copy(&mut stream, &mut io::sink()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert!(stream.arrived() <= stream.deadline);
    }

    #[test]
    fn reads_end_at_the_end_of_a_head() {
        let (output, mut bot) = io::pipe().unwrap();
        let mut stream = Stream::new(io::sink(), output).unwrap();
        stream.head = Some(0);
        bot.write_all(b"GET /\r\n\rA: b\r\r\n\r\n\x81first\r\n\r\nsecond").unwrap();
        drop(bot);
        stream.set_deadline(Instant::now() + Duration::from_secs(60));
        let mut buffer = [0; 99];
        let mut read = |stream: &mut Stream| {
            let count = stream.read(&mut buffer).unwrap();
            buffer[..count].to_vec()
        };
        assert!(read(&mut stream).ends_with(b"A: b\r\r\n\r\n"));
        stream.end_head();
        assert_eq!(read(&mut stream), b"\x81first\r\n\r\nsecond");
    }

    #[test]
    fn flood_does_not_keep_the_reader_busy_after_the_deadline() {
        let mut stream = Stream::new(io::sink(), io::repeat(b'.')).unwrap();
        stream.set_deadline(Instant::now() + Duration::from_secs(60));
        io::copy(&mut (&mut stream).take(1 << 21), &mut io::sink()).unwrap();
        // The queue now holds bytes that arrived before the next deadline.
        stream.set_deadline(Instant::now());
        let mut after = Vec::new();
        assert_eq!(stream.read_to_end(&mut after).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(after.len() <= MAX_CLIENT_FRAME_BYTES + CHUNK_BYTES_MAX, "{}", after.len());
    }
}
