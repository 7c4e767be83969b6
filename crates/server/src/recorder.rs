//! The recording of a game, written beside it.
//!
//! The promise: the game never waits for the disk, and what the disk takes is on it, line by line, in order. Whatever goes wrong ends the
//! recording with one note, and the game goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::limits::{MAX_RECORDING_BACKLOG_BYTES, MAX_RECORDING_BACKLOG_TICKS, RECORDING_END_TIME};
use getaway::game::Action;
use getaway::recording::{RecordingError, RecordingWriter};

/// A recording that is being written, in a thread where a slow disk disturbs nobody.
pub(super) struct Recorder {
    path: PathBuf,
    ticks: mpsc::Sender<Tick>,
    /// Bytes of states that wait for the disk.
    waiting_bytes: Arc<AtomicUsize>,
    thread: JoinHandle<Result<(), RecordingError>>,
}

/// A line to be.
struct Tick {
    frame: Utf8Bytes,
    actions: Vec<Action>,
}

impl Recorder {
    /// Begins a recording in a new file.
    ///
    /// # Errors
    /// A sentence, when the file cannot be made, or not soon.
    pub async fn start(path: PathBuf) -> Result<Self, String> {
        let target = path.clone();
        let created = spawn_blocking(move || RecordingWriter::create(target));
        match timeout(RECORDING_END_TIME, created).await {
            Ok(Ok(Ok(writer))) => Ok(Self::with(writer, path)),
            Ok(Ok(Err(error))) => Err(error.to_string()),
            Ok(Err(error)) => Err(format!("{}: cannot be written ({error})", path.display())),
            Err(_) => Err(format!("{}: cannot be written (the disk does not answer)", path.display())),
        }
    }

    fn with(writer: impl Sink, path: PathBuf) -> Self {
        let (ticks, queue) = mpsc::channel(MAX_RECORDING_BACKLOG_TICKS);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let waiting = Arc::clone(&waiting_bytes);
        let thread = spawn_blocking(move || write_all(writer, queue, &waiting));
        Self { path, ticks, waiting_bytes, thread }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands over a tick. What cannot be taken ends the recording: what was taken before is still written.
    pub fn write(&self, frame: Utf8Bytes, actions: Vec<Action>) -> Result<(), Lost> {
        let bytes = frame.as_str().len();
        if self.waiting_bytes.load(Ordering::Relaxed) + bytes > MAX_RECORDING_BACKLOG_BYTES {
            return Err(Lost::TooSlow);
        }
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.ticks.try_send(Tick { frame, actions }).map_err(|error| match error {
            TrySendError::Full(_) => Lost::TooSlow,
            TrySendError::Closed(_) => Lost::Failed,
        })
    }

    /// Waits, but not for long, until everything that was handed over is on the disk.
    ///
    /// # Errors
    /// A sentence: what the recording ended with.
    pub async fn finish(self) -> Result<(), String> {
        let Self { path, ticks, thread, .. } = self;
        drop(ticks);
        match timeout(RECORDING_END_TIME, thread).await {
            Ok(Ok(result)) => result.map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(format!("{}: cannot be written ({error})", path.display())),
            Err(_) => Err(too_slow(&path)),
        }
    }

    /// The sentence for a tick that was not taken. A disk that is too slow is not waited for.
    pub async fn give_up(self, lost: Lost) -> String {
        match lost {
            Lost::TooSlow => too_slow(&self.path),
            Lost::Failed => {
                let path = self.path.clone();
                self.finish().await.err().unwrap_or_else(|| too_slow(&path))
            }
        }
    }
}

fn too_slow(path: &Path) -> String {
    format!("{}: cannot be written (the disk is too slow)", path.display())
}

/// Why a tick was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Too much waits already.
    TooSlow,
    /// The disk has failed.
    Failed,
}

/// What takes the lines: a [`RecordingWriter`], or in tests something slower.
trait Sink: Send + 'static {
    fn write(&mut self, frame: &str, actions: &[Action]) -> Result<(), RecordingError>;
    fn finish(self) -> Result<(), RecordingError>;
}

impl Sink for RecordingWriter {
    fn write(&mut self, frame: &str, actions: &[Action]) -> Result<(), RecordingError> {
        Self::write(self, frame, actions)
    }

    fn finish(self) -> Result<(), RecordingError> {
        Self::finish(self)
    }
}

/// Writes until the game ends or the disk fails; then the queue closes, which the game notices.
fn write_all(
    mut sink: impl Sink,
    mut queue: mpsc::Receiver<Tick>,
    waiting: &AtomicUsize,
) -> Result<(), RecordingError> {
    while let Some(Tick { frame, actions }) = queue.blocking_recv() {
        sink.write(&frame, &actions)?;
        waiting.fetch_sub(frame.as_str().len(), Ordering::Relaxed);
    }
    sink.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::{Duration, Instant};

    use super::*;

    /// A disk that takes a line for each word that it is sent.
    struct SlowDisk {
        words: Receiver<()>,
        lines: Arc<Mutex<Vec<String>>>,
    }

    impl Sink for SlowDisk {
        fn write(&mut self, frame: &str, _: &[Action]) -> Result<(), RecordingError> {
            // Without anybody to send words the disk is a quick one.
            let _ = self.words.recv();
            self.lines.lock().unwrap().push(frame.to_owned());
            Ok(())
        }

        fn finish(self) -> Result<(), RecordingError> {
            Ok(())
        }
    }

    fn on_slow_disk() -> (Recorder, Sender<()>, Arc<Mutex<Vec<String>>>) {
        let (sender, words) = channel();
        let lines = Arc::default();
        let disk = SlowDisk { words, lines: Arc::clone(&lines) };
        (Recorder::with(disk, "game.jsonl".into()), sender, lines)
    }

    #[tokio::test]
    async fn a_slow_disk_keeps_nobody_waiting_and_loses_nothing() {
        let (recorder, words, lines) = on_slow_disk();
        let start = Instant::now();
        for tick in 0..2000 {
            recorder.write(format!("{tick}").into(), Vec::new()).unwrap();
        }
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        assert!(lines.lock().unwrap().is_empty());
        drop(words);
        recorder.finish().await.unwrap();
        assert!(lines.lock().unwrap().iter().map(String::as_str).eq((0..2000).map(|tick| tick.to_string())));
    }

    /// Waits until everything that was handed over has been written.
    async fn drain(recorder: Recorder) {
        let Recorder { ticks, thread, .. } = recorder;
        drop(ticks);
        thread.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn what_waits_for_the_disk_is_bounded() {
        let (recorder, words, lines) = on_slow_disk();
        let quarter = Utf8Bytes::from("x".repeat(MAX_RECORDING_BACKLOG_BYTES / 4));
        for _ in 0..4 {
            assert_eq!(recorder.write(quarter.clone(), Vec::new()), Ok(()), "just enough");
        }
        assert_eq!(recorder.write("y".into(), Vec::new()), Err(Lost::TooSlow), "a byte too much");
        drop(words);
        drain(recorder).await;
        assert_eq!(lines.lock().unwrap().len(), 4, "what was taken is written");

        let (recorder, words, lines) = on_slow_disk();
        // One is taken out of the queue at once or a little later.
        let taken = (0..).take_while(|_| recorder.write("z".into(), Vec::new()).is_ok()).count();
        assert!((MAX_RECORDING_BACKLOG_TICKS..=MAX_RECORDING_BACKLOG_TICKS + 1).contains(&taken), "{taken}");
        drop(words);
        drain(recorder).await;
        assert_eq!(lines.lock().unwrap().len(), taken);
    }

    #[tokio::test]
    async fn a_disk_that_never_answers_keeps_nobody_waiting_for_long() {
        let sentence = "game.jsonl: cannot be written (the disk is too slow)";
        let (recorder, mid_game, _) = on_slow_disk();
        let start = Instant::now();
        assert_eq!(recorder.give_up(Lost::TooSlow).await, sentence);
        assert!(start.elapsed() < RECORDING_END_TIME, "in the middle of a game not at all");
        let (recorder, at_the_end, _) = on_slow_disk();
        recorder.write("x".into(), Vec::new()).unwrap();
        let start = Instant::now();
        assert_eq!(recorder.finish().await.unwrap_err(), sentence);
        assert!((RECORDING_END_TIME..3 * RECORDING_END_TIME).contains(&start.elapsed()), "{:?}", start.elapsed());
        drop((mid_game, at_the_end));
    }
}
