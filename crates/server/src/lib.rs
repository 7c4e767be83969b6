//! The local game server: speaks the real server's protocol, for one game at a time.
//!
//! Guarantees: a game over the websocket equals the one that [`World`](getaway::game::World) plays;
//! a connection can affect only its own game; the game waits only for its bot. Nothing is printed;
//! the server reports [`Event`]s.
//!
//! One task serves a connection from its first frame to its close. Bots take turns through a fair
//! semaphore, and the task of the bot whose turn it is plays the game; viewers receive its states
//! through queues on which the game never waits.

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
mod socket;
mod viewer_server;
mod viewers;

use std::fs::OpenOptions;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, Path as UrlPath, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use getaway::recording::{RecordingError, RecordingWriter};
use getaway_viewer::{LiveReplay, Page, PageSource};
use limits::{
    ACCEPT_RETRY_DELAY, CLOSE_TIMEOUT, HTTP_TIMEOUT, MAX_CONNECTIONS, MAX_FRAME_BYTES, MAX_REQUEST_HEAD_BYTES,
    MAX_WAITING_BOTS, READ_BUFFER_BYTES,
};
use origin::Refusal;
use shared::{Shared, wait_for_end};
use viewer_server::{BranchPath, LiveEndpoint, page_response};
use viewers::Viewers;

pub use event::Event;
pub use game::{BotDisconnect, GameResult};
pub use options::ServerOptions;
pub use viewer_server::ViewerServer;

/// Upper bound on files that the server has open besides its connections.
const OTHER_FILES_MAX: usize = 64;
/// Maximum number of recordings that are checked when the server starts.
const CHECKED_RECORDINGS_MAX: u64 = 1000;
/// Maximum length of a path in an event.
const PATH_CHARS_MAX: usize = 100;
/// Interval at which the server checks for open connections during shutdown.
const SHUTDOWN_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Checks that a recording can be written, and leaves no file behind. Missing folders are created.
fn check_recording(path: PathBuf, overwrite: bool) -> Result<(), RecordingError> {
    if overwrite && path.exists() {
        // Opened without being truncated: it is kept until the game starts.
        let opened = OpenOptions::new().write(true).open(&path);
        return opened.map(drop).map_err(|source| RecordingError::Write { path, source });
    }
    // A recording without a line is removed when it is dropped.
    RecordingWriter::create(path).map(drop)
}

/// Why a server cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// No maps were given.
    #[error("no maps to play on: expected at least one")]
    NoMaps,
    /// A game could not be recorded.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
}

/// A server that is bound to its port but not running yet.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    events: mpsc::UnboundedReceiver<Event>,
    connections: Arc<Semaphore>,
}

impl Server {
    /// Binds the port, or a free one if it is 0.
    ///
    /// # Errors
    /// When there are no maps, a recording cannot be written, or the address cannot be bound.
    pub async fn bind(host: &str, port: u16, options: ServerOptions) -> Result<Self, ServerError> {
        if options.maps.is_empty() {
            return Err(ServerError::NoMaps);
        }
        for number in 1..=options.games.unwrap_or(1).min(CHECKED_RECORDINGS_MAX) {
            if let Some(path) = options.recording_of_game(number) {
                check_recording(path, options.overwrite_recordings)?;
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
            on_loopback,
            turn: Semaphore::new(1),
            waiting: Semaphore::new(MAX_WAITING_BOTS),
            games_started: AtomicU64::new(0),
            viewers: Viewers::default(),
            live_endpoint: LiveEndpoint::new(Arc::new(LiveReplay::default())),
            page: Page::new(PageSource::Live { socket: true, human: false }),
            events: sender,
            all_played: watch::Sender::new(false),
        };
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Ok(Self { listener, shared: Arc::new(shared), events, connections })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// The system's error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Runs until all games have been played, or forever. Events are reported in order.
    ///
    /// # Errors
    /// The first error returned by `on_event`.
    pub async fn run<E>(mut self, mut on_event: impl FnMut(Event) -> Result<(), E>) -> Result<(), E> {
        let router = Router::new()
            .route("/", routing::get(handle_root))
            .route("/replay/{game}/{from}", routing::get(replay))
            .route("/analysis/{game}", routing::get(analysis))
            .route("/branch/{game}/{index}/{moves}/{planner}", routing::get(branch))
            .fallback(not_found)
            .with_state(Arc::clone(&self.shared));
        let mut all_played = self.shared.all_played.subscribe();
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
        let _ = timeout(2 * CLOSE_TIMEOUT, self.drain(&router)).await;
        while let Ok(event) = self.events.try_recv() {
            on_event(event)?;
        }
        Ok(())
    }

    /// Lets the last bot receive its last state and close frame, and lets pages request the end of
    /// the game.
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

    /// Serves a connection in its own task, if there is capacity.
    fn connect(&self, stream: TcpStream, router: &Router) {
        let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else { return };
        // Send small packets at once: waiting for more data would only delay the tick.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone().layer(Extension(Arc::new(permit))));
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HTTP_TIMEOUT).max_buf_size(MAX_REQUEST_HEAD_BYTES);
        tokio::spawn(timeout(HTTP_TIMEOUT, http.serve_connection(TokioIo::new(stream), service).with_upgrades()));
    }
}

/// Opens and closes as many files as all connections need, so that the kernel's file table is large
/// enough: enlarging it blocks the process for 10 to 25 ms on Linux, which must not happen during a
/// game.
fn grow_file_table(listener: &std::net::TcpListener) {
    let files: Vec<_> = (0..MAX_CONNECTIONS + OTHER_FILES_MAX).map_while(|_| listener.try_clone().ok()).collect();
    drop(files);
}

/// Upgrades websocket requests; answers all others with the page.
async fn handle_root(
    State(shared): State<Arc<Shared>>,
    Extension(permit): Extension<Arc<OwnedSemaphorePermit>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) if headers.contains_key(header::UPGRADE) => {
            let reason = format!("not a websocket handshake: {rejection}");
            shared.report(Event::Refused { reason, remedy: "use a websocket client (RFC 6455)".to_owned() });
            return rejection.into_response();
        }
        Err(_) => return page_response(&shared.page),
    };
    if let Err(Refusal { reason, remedy }) = origin::check(&headers, shared.on_loopback) {
        let answer = format!("Forbidden: {reason}; {remedy}.\n");
        shared.report(Event::Refused { reason, remedy: remedy.to_owned() });
        return (StatusCode::FORBIDDEN, answer).into_response();
    }
    upgrade
        .max_message_size(MAX_FRAME_BYTES)
        .max_frame_size(MAX_FRAME_BYTES)
        .read_buffer_size(READ_BUFFER_BYTES)
        .on_upgrade(async move |socket| {
            client::serve(socket, shared).await;
            drop(permit);
        })
}

/// The replay of the game in progress, for the page.
async fn replay(
    State(shared): State<Arc<Shared>>,
    UrlPath((game, from)): UrlPath<(u64, usize)>,
    headers: HeaderMap,
) -> Response {
    if origin::check(&headers, shared.on_loopback).is_err() {
        return StatusCode::FORBIDDEN.into_response();
    }
    shared.live_endpoint.replay(game, from).await
}

/// The analysis of the last game, for the page; not while it is being played.
async fn analysis(State(shared): State<Arc<Shared>>, UrlPath(game): UrlPath<u64>, headers: HeaderMap) -> Response {
    if origin::check(&headers, shared.on_loopback).is_err() {
        return StatusCode::FORBIDDEN.into_response();
    }
    shared.live_endpoint.analysis(game, true).await
}

/// A branch of the last game, for the page; not while it is being played.
async fn branch(State(shared): State<Arc<Shared>>, UrlPath(path): UrlPath<BranchPath>, headers: HeaderMap) -> Response {
    if origin::check(&headers, shared.on_loopback).is_err() {
        return StatusCode::FORBIDDEN.into_response();
    }
    shared.live_endpoint.branch(path, true).await
}

async fn not_found(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap) -> (StatusCode, &'static str) {
    if headers.contains_key(header::UPGRADE) {
        let path: String = uri.path().chars().take(PATH_CHARS_MAX).collect();
        let reason = format!("no websocket at {path:?}: expected the path /");
        shared.report(Event::Refused { reason, remedy: "connect to the address without a path".to_owned() });
    }
    (StatusCode::NOT_FOUND, "Not found; the page is at /.\n")
}
