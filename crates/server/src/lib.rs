//! The local game server: speaks the real server's protocol and plays one game at a time. A
//! connection cannot change another bot's game, and a game waits for no client except its own bot.
//! The crate prints nothing: the server reports [`Event`]s.
//!
//! Each websocket is served by its own task. A fair semaphore lets one bot play at a time, and the
//! task of that bot runs the game. Viewers receive states through queues; the game never waits for
//! a viewer.

mod bot;
mod client;
mod disconnect;
mod event;
mod game;
pub mod limits;
mod mistakes;
mod options;
mod origin;
mod recorder;
mod shared;
mod site;
mod socket;
mod thread;
mod viewer_server;
mod viewers;

use std::fs::OpenOptions;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::Router;
use axum::extract::Extension;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use getaway::files::Existing;
use getaway::recording::{RecordingError, RecordingWriter};
use getaway_viewer::{Page, PageSource};
use limits::{
    ACCEPT_RETRY_DELAY, ANSWER_TIMEOUT, CLOSE_TIMEOUT, HTTP_TIMEOUT, MAX_CONNECTIONS, MAX_REQUEST_HEAD_BYTES,
    MAX_WAITING_BOTS, VIEWER_SHUTDOWN_TIMEOUT,
};
use shared::{Shared, wait_for_end};
use site::{Games, Site};
use viewers::Viewers;

pub use event::Event;
pub use game::{BotDisconnect, GameResult};
pub use options::ServerOptions;
pub use site::{ENDPOINTS, Endpoint};
pub use viewer_server::ViewerServer;

/// Room in the file table for files other than connections.
const OTHER_FILES_MAX: usize = 64;
const CHECKED_RECORDINGS_MAX: u64 = 1000;
const SHUTDOWN_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Checks that a recording can be written, without leaving a new file. Creates missing folders.
fn check_recording(path: PathBuf, existing: Existing) -> Result<(), RecordingError> {
    if existing == Existing::Overwrite && path.exists() {
        // Opens without truncating, to keep the old recording until the game starts.
        let opened = OpenOptions::new().write(true).open(&path);
        return opened.map(drop).map_err(|source| RecordingError::Write { path, source });
    }
    // A `RecordingWriter` that wrote no tick removes its file when dropped.
    RecordingWriter::create(path).map(drop)
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    #[error("no maps to play on: expected at least one")]
    NoMaps,
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
}

/// A server that is bound to its port but does not run yet.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    router: Router,
    events: mpsc::UnboundedReceiver<Event>,
    connections: Arc<Semaphore>,
}

impl Server {
    /// Binds to a port; port 0 means any free port. Fails if there are no maps, if the address is
    /// unavailable, or if a recording cannot be written. Checks the recordings of at most 1000
    /// games, and only that of the first game if the number of games is not limited.
    pub async fn bind(host: &str, port: u16, options: ServerOptions) -> Result<Self, ServerError> {
        if options.maps.is_empty() {
            return Err(ServerError::NoMaps);
        }
        for number in 1..=options.games.unwrap_or(1).min(CHECKED_RECORDINGS_MAX) {
            if let Some(path) = options.recording_of_game(number) {
                check_recording(path, options.existing_recordings)?;
            }
        }
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Self::listen(host, port, options).await.map_err(|source| ServerError::Listen { address, source })
    }

    async fn listen(host: &str, port: u16, options: ServerOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((host, port)).await?.into_std()?;
        grow_file_table(&listener);
        let listener = TcpListener::from_std(listener)?;
        let on_loopback = listener.local_addr()?.ip().is_loopback();
        let (sender, events) = mpsc::unbounded_channel();
        let shared = Shared {
            options,
            turn: Semaphore::new(1),
            waiting: Semaphore::new(MAX_WAITING_BOTS),
            games_started: AtomicU64::new(0),
            viewers: Viewers::default(),
            live: Arc::default(),
            events: sender,
            all_played: watch::Sender::new(false),
        };
        let shared = Arc::new(shared);
        let source = PageSource::Live { socket: true, human: false };
        let page = Page::new(source, shared.options.playground.as_deref());
        let games = Games::Live(Arc::clone(&shared.live));
        let router = Site::new(page, games, on_loopback, Some(Arc::clone(&shared))).router();
        Ok(Self { listener, shared, router, events, connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)) })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Runs until all games have been played, or for ever if their number is not limited. Reports
    /// events in order. Fails with the first error returned by `on_event`.
    pub async fn run<E>(mut self, mut on_event: impl FnMut(Event) -> Result<(), E>) -> Result<(), E> {
        let mut all_played = self.shared.all_played.subscribe();
        let router = self.router.clone();
        loop {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => on_event(event)?,
                () = wait_for_end(&mut all_played) => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => self.connect(stream, &router),
                    Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
                },
            }
        }
        let _ = timeout(VIEWER_SHUTDOWN_TIMEOUT + CLOSE_TIMEOUT, self.drain(&router)).await;
        while let Ok(event) = self.events.try_recv() {
            on_event(event)?;
        }
        Ok(())
    }

    /// Accepts connections until all are closed, so that pages can fetch the end of the last game.
    async fn drain(&self, router: &Router) {
        loop {
            tokio::select! {
                Ok((stream, _)) = self.listener.accept() => self.connect(stream, router),
                () = sleep(SHUTDOWN_POLL_INTERVAL) => if self.connections.available_permits() == MAX_CONNECTIONS {
                    break;
                },
            }
        }
    }

    fn connect(&self, stream: TcpStream, router: &Router) {
        let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else { return };
        // Disables Nagle's algorithm, which would delay ticks.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone().layer(Extension(Arc::new(permit))));
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HTTP_TIMEOUT).max_buf_size(MAX_REQUEST_HEAD_BYTES);
        let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        tokio::spawn(async move {
            tokio::pin!(connection);
            if timeout(HTTP_TIMEOUT, connection.as_mut()).await.is_err() {
                // Closes the connection, but first sends the answer to a request that has arrived.
                connection.as_mut().graceful_shutdown();
                let _ = timeout(ANSWER_TIMEOUT, connection).await;
            }
        });
    }
}

/// Grows the process's file table to the size that all connections need, by opening and closing
/// files. On Linux, this blocks the process for 10 to 25 ms, which must not happen during a game.
fn grow_file_table(listener: &std::net::TcpListener) {
    let files: Vec<_> = (0..MAX_CONNECTIONS + OTHER_FILES_MAX).map_while(|_| listener.try_clone().ok()).collect();
    drop(files);
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use getaway::game::Layout;
    use getaway::map::Map;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn answer_may_take_longer_than_the_time_limit_of_its_connection() {
        let layout = Layout::parse("P....#s").expect("a drawing");
        let map = Map { name: "apart".into(), kind: "challenge".into(), difficulty: "easy".into(), layout };
        let options = ServerOptions::with_maps(vec![map]);
        let mut server = Server::bind("127.0.0.1", 0, options).await.expect("a free port");
        let slow = || async {
            sleep(2 * HTTP_TIMEOUT).await;
            "the answer"
        };
        server.router = Router::new().route("/", get(slow));
        let address = server.local_addr().expect("an address");
        let running = tokio::spawn(server.run(|_| Ok::<(), ()>(())));
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("the request is sent");
        let mut answer = String::new();
        let read = timeout(Duration::from_secs(60), stream.read_to_string(&mut answer)).await;
        assert!(read.is_ok_and(|read| read.is_ok()), "the connection is closed after the answer");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("the answer"), "{answer}");
        running.abort();
    }
}
