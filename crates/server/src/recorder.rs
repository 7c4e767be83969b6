//! Records a game in a separate thread, so that ticks do not wait for the disk. Ticks are written
//! in order, one per line. An error ends the recording with one note, and the game continues.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::thread;

use tungstenite::Utf8Bytes;

use super::limits::{MAX_RECORDING_BACKLOG_BYTES, MAX_RECORDING_BACKLOG_TICKS, RECORDING_TIMEOUT};
use getaway::files::Existing;
use getaway::game::Action;
use getaway::recording::{RecordingError, RecordingWriter, TickNotes};

const TOO_SLOW: &str = "the disk is too slow";

pub(super) struct Recorder {
    path: PathBuf,
    ticks: SyncSender<Tick>,
    queued_bytes: Arc<AtomicUsize>,
    written: Receiver<Result<(), RecordingError>>,
}

struct Tick {
    frame: Utf8Bytes,
    actions: Vec<Action>,
    notes: TickNotes,
}

impl Recorder {
    /// Starts a recording. Fails if the file cannot be created in time.
    pub fn start(path: PathBuf, existing: Existing) -> Result<Self, String> {
        let target = path.clone();
        let created = on_thread(move || RecordingWriter::open(target, existing));
        let writer = result_of(&created, &path, "the disk does not respond")?;
        Ok(Self::with(writer, path))
    }

    fn with(writer: impl Sink, path: PathBuf) -> Self {
        let (ticks, queue) = sync_channel(MAX_RECORDING_BACKLOG_TICKS);
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let queued = Arc::clone(&queued_bytes);
        let written = on_thread(move || write_all(writer, queue, &queued));
        Self { path, ticks, queued_bytes, written }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Queues a tick. Fails if the queue is full, or if the writing thread has ended or could not
    /// be started.
    pub fn write(&self, frame: Utf8Bytes, actions: Vec<Action>, notes: TickNotes) -> Result<(), QueueError> {
        let bytes = frame.as_str().len();
        if self.queued_bytes.load(Ordering::Relaxed) + bytes > MAX_RECORDING_BACKLOG_BYTES {
            return Err(QueueError::TooSlow);
        }
        self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.ticks.try_send(Tick { frame, actions, notes }).map_err(|error| match error {
            TrySendError::Full(_) => QueueError::TooSlow,
            TrySendError::Disconnected(_) => QueueError::Failed,
        })
    }

    /// Waits until all queued ticks are written. Fails if writing fails or takes too long.
    pub fn finish(self) -> Result<(), String> {
        let Self { path, ticks, written, .. } = self;
        drop(ticks);
        result_of(&written, &path, TOO_SLOW)
    }

    /// Ends the recording without waiting for a slow disk. Returns the error message.
    pub fn abort(self, error: QueueError) -> String {
        match error {
            QueueError::TooSlow => cannot_write(&self.path, TOO_SLOW),
            QueueError::Failed => {
                let path = self.path.clone();
                self.finish().err().unwrap_or_else(|| cannot_write(&path, TOO_SLOW))
            }
        }
    }
}

fn cannot_write(path: &Path, reason: &str) -> String {
    format!("cannot write {}: {reason}", path.display())
}

/// Runs `work` on a new thread. If the thread cannot be started or panics, receiving fails.
fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = channel();
    let _ = thread::Builder::new().spawn(move || drop(sender.send(work())));
    receiver
}

/// Waits for the result of work on a thread. `too_late` is the reason if it takes too long.
fn result_of<T>(work: &Receiver<Result<T, RecordingError>>, path: &Path, too_late: &str) -> Result<T, String> {
    match work.recv_timeout(RECORDING_TIMEOUT) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(RecvTimeoutError::Timeout) => Err(cannot_write(path, too_late)),
        Err(RecvTimeoutError::Disconnected) => Err(cannot_write(path, "no thread can be started")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueError {
    TooSlow,
    Failed,
}

/// The destination of ticks: a [`RecordingWriter`], or a slow disk in tests.
trait Sink: Send + 'static {
    fn write(&mut self, frame: &str, actions: &[Action], notes: &TickNotes) -> Result<(), RecordingError>;
    fn finish(self) -> Result<(), RecordingError>;
}

impl Sink for RecordingWriter {
    fn write(&mut self, frame: &str, actions: &[Action], notes: &TickNotes) -> Result<(), RecordingError> {
        self.write_with(frame, actions, notes)
    }

    fn finish(self) -> Result<(), RecordingError> {
        Self::finish(self)
    }
}

/// Writes queued ticks until the recording ends or writing fails. A failure closes the queue, so
/// that [`Recorder::write`] fails too.
fn write_all(mut sink: impl Sink, queue: Receiver<Tick>, queued_bytes: &AtomicUsize) -> Result<(), RecordingError> {
    for Tick { frame, actions, notes } in queue {
        sink.write(&frame, &actions, &notes)?;
        queued_bytes.fetch_sub(frame.as_str().len(), Ordering::Relaxed);
    }
    sink.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::Sender;
    use std::time::{Duration, Instant};

    use super::*;

    struct SlowDisk {
        releases: Receiver<()>,
        lines: Arc<Mutex<Vec<String>>>,
    }

    impl Sink for SlowDisk {
        fn write(&mut self, frame: &str, _: &[Action], _: &TickNotes) -> Result<(), RecordingError> {
            // Waits for a release. Once the sender is dropped, `recv` returns at once.
            let _ = self.releases.recv();
            self.lines.lock().unwrap().push(frame.to_owned());
            Ok(())
        }

        fn finish(self) -> Result<(), RecordingError> {
            Ok(())
        }
    }

    fn on_slow_disk() -> (Recorder, Sender<()>, Arc<Mutex<Vec<String>>>) {
        let (sender, releases) = channel();
        let lines = Arc::default();
        let disk = SlowDisk { releases, lines: Arc::clone(&lines) };
        (Recorder::with(disk, "game.jsonl".into()), sender, lines)
    }

    #[test]
    fn slow_disk_delays_nothing_and_loses_nothing() {
        let (recorder, releases, lines) = on_slow_disk();
        let start = Instant::now();
        for tick in 0..2000 {
            recorder.write(format!("{tick}").into(), Vec::new(), TickNotes::default()).unwrap();
        }
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        assert!(lines.lock().unwrap().is_empty());
        drop(releases);
        recorder.finish().unwrap();
        assert!(lines.lock().unwrap().iter().map(String::as_str).eq((0..2000).map(|tick| tick.to_string())));
    }

    fn drain(recorder: Recorder) {
        let Recorder { ticks, written, .. } = recorder;
        drop(ticks);
        written.recv().unwrap().unwrap();
    }

    #[test]
    fn queue_for_the_disk_is_bounded() {
        let (recorder, releases, lines) = on_slow_disk();
        let quarter = Utf8Bytes::from("x".repeat(MAX_RECORDING_BACKLOG_BYTES / 4));
        for _ in 0..4 {
            assert_eq!(recorder.write(quarter.clone(), Vec::new(), TickNotes::default()), Ok(()), "exactly the limit");
        }
        assert_eq!(
            recorder.write("y".into(), Vec::new(), TickNotes::default()),
            Err(QueueError::TooSlow),
            "one byte too many"
        );
        drop(releases);
        drain(recorder);
        assert_eq!(lines.lock().unwrap().len(), 4, "queued ticks are written");

        let (recorder, releases, lines) = on_slow_disk();
        // The writer may already have taken one tick from the queue.
        let taken = (0..).take_while(|_| recorder.write("z".into(), Vec::new(), TickNotes::default()).is_ok()).count();
        assert!((MAX_RECORDING_BACKLOG_TICKS..=MAX_RECORDING_BACKLOG_TICKS + 1).contains(&taken), "{taken}");
        drop(releases);
        drain(recorder);
        assert_eq!(lines.lock().unwrap().len(), taken);
    }

    #[test]
    fn unresponsive_disk_is_waited_for_only_briefly() {
        let sentence = "cannot write game.jsonl: the disk is too slow";
        let (recorder, mid_game, _) = on_slow_disk();
        let start = Instant::now();
        assert_eq!(recorder.abort(QueueError::TooSlow), sentence);
        assert!(start.elapsed() < RECORDING_TIMEOUT, "the game does not wait for the disk");
        let (recorder, at_the_end, _) = on_slow_disk();
        recorder.write("x".into(), Vec::new(), TickNotes::default()).unwrap();
        let start = Instant::now();
        assert_eq!(recorder.finish().unwrap_err(), sentence);
        assert!((RECORDING_TIMEOUT..3 * RECORDING_TIMEOUT).contains(&start.elapsed()), "{:?}", start.elapsed());
        drop((mid_game, at_the_end));
    }
}
