//! The local game server: the wire of the real one, for one game at a time.
//!
//! The promise: a game over the socket is the game that [`World`](getaway::game::World) plays; whatever a connection does costs at most
//! its own game; the game waits for its bot and for nobody else. Nothing is printed: what happens is told as [`Event`]s.
//!
//! One task serves a connection from its first frame to its close. Bots take turns by a fair semaphore, and the task of the bot whose
//! turn it is plays the game; viewers are shown its states through queues that it never waits for.

mod bot;
mod client;
mod game;
mod host;
pub mod limits;
mod origin;
mod recorder;
mod socket;
mod viewers;

use std::future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, Path as UrlPath, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use getaway::game::Rules;
use getaway::map::Map;
use getaway_viewer::{Live, Page, PageSource};
use host::{Booth, page_response};
use limits::{
    ACCEPT_PAUSE, CLOSE_TIME, HTTP_TIME, MAX_CONNECTIONS, MAX_FRAME_BYTES, MAX_REQUEST_HEAD_BYTES, MAX_WAITING_BOTS,
    READ_BUFFER_BYTES,
};
use viewers::Viewers;

pub use game::{BotLeft, GameEnd, GameResult};
pub use host::Host;
pub(crate) use origin::is_allowed;

/// How a server plays.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The maps: each game is on one of them, drawn at random.
    pub maps: Vec<Map>,
    /// Where the draws start.
    pub seed: u64,
    /// The time a bot has for a tick.
    pub tick_time: Duration,
    /// The pause after each tick.
    pub delay: Duration,
    /// How many games to play; `None` to go on for ever.
    pub games: Option<u64>,
    /// The rules of the games.
    pub rules: Rules,
    /// Where to record the first game; later ones get a number: `game.jsonl`, `game-2.jsonl`, ...
    pub recording: Option<PathBuf>,
}

/// Files that a server has open besides its connections, or somewhat more.
const OTHER_FILES: usize = 64;
/// Time from one look at who is still connected to the next, when the server ends.
const FAREWELL_PAUSE: Duration = Duration::from_millis(10);

/// What happens on a server.
#[derive(Clone, Debug)]
pub enum Event {
    /// A game begins.
    Start {
        /// Which of the server's games it is, from 1.
        game: u64,
        /// The map's name.
        map: String,
        /// The bot's team, as it calls itself.
        team: String,
    },
    /// Something that a bot's author might want to know.
    Note {
        /// The game.
        game: u64,
        /// A sentence.
        text: String,
    },
    /// A game has ended.
    End(Box<GameResult>),
}

impl ServerOptions {
    /// Games on these maps, for ever, as the real server plays them: 100 ms a tick, and on without a pause.
    pub fn on(maps: Vec<Map>) -> Self {
        Self {
            maps,
            seed: 0,
            tick_time: Duration::from_millis(100),
            delay: Duration::ZERO,
            games: None,
            rules: Rules::BLITZ_2025,
            recording: None,
        }
    }

    /// The map of a game: the same for the same seed and number.
    fn map_of_game(&self, number: u64) -> &Map {
        let mut rng = Pcg32::new(self.seed, number);
        // Streams of neighbouring numbers start alike.
        for _ in 0..16 {
            rng.next_u32();
        }
        let index = (u64::from(rng.next_u32()) * self.maps.len() as u64) >> 32;
        &self.maps[index as usize]
    }

    /// Where a game is recorded.
    fn recording_of_game(&self, number: u64) -> Option<PathBuf> {
        let path = self.recording.as_deref()?;
        Some(if number == 1 { path.to_owned() } else { numbered(path, number) })
    }
}

/// `games/a.jsonl.gz` -> `games/a-2.jsonl.gz`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let known = [".jsonl.gz", ".jsonl"].into_iter().find(|known| name.ends_with(known));
    let extension =
        known.or_else(|| name.rfind('.').filter(|&dot| dot > 0).map(|dot| &name[dot..])).unwrap_or_default();
    let stem = &name[..name.len() - extension.len()];
    path.with_file_name(format!("{stem}-{number}{extension}"))
}

/// What all connections share.
struct Shared {
    options: ServerOptions,
    on_loopback: bool,
    /// One game at a time, first come, first served.
    turn: Semaphore,
    waiting: Semaphore,
    games_begun: AtomicU64,
    viewers: Viewers,
    /// The game for the viewer page, beyond what the wire tells.
    booth: Booth,
    page: Page,
    events: mpsc::UnboundedSender<Event>,
    /// Whether the last game has been played.
    closing: watch::Sender<bool>,
}

impl Shared {
    /// The number of the next game, unless all have been played. For whoever has the turn.
    fn next_game(&self) -> Option<u64> {
        let number = self.games_begun.load(Ordering::Relaxed) + 1;
        if self.options.games.is_some_and(|games| number > games) {
            return None;
        }
        self.games_begun.store(number, Ordering::Relaxed);
        Some(number)
    }

    fn end_game(&self, number: u64) {
        if self.options.games == Some(number) {
            self.closing.send_replace(true);
        }
    }

    fn tell(&self, event: Event) {
        // The receiver goes away when the server ends, and then nobody wants to know.
        let _ = self.events.send(event);
    }
}

/// Waits until the server has played its games.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // The sender is there as long as anybody can wait.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// A server that has its port and does not serve yet.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    events: mpsc::UnboundedReceiver<Event>,
    connections: Arc<Semaphore>,
}

impl Server {
    /// Takes the port; 0 takes a free one.
    ///
    /// # Errors
    /// When there are no maps, or the address cannot be listened on.
    pub async fn bind(host: &str, port: u16, options: ServerOptions) -> io::Result<Self> {
        if options.maps.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no maps to play on"));
        }
        let listener = TcpListener::bind((host, port)).await?.into_std()?;
        open_many(&listener);
        let listener = TcpListener::from_std(listener)?;
        let on_loopback = listener.local_addr()?.ip().is_loopback();
        let (sender, events) = mpsc::unbounded_channel();
        let shared = Shared {
            options,
            on_loopback,
            turn: Semaphore::new(1),
            waiting: Semaphore::new(MAX_WAITING_BOTS),
            games_begun: AtomicU64::new(0),
            viewers: Viewers::default(),
            booth: Booth::new(Arc::new(Live::default())),
            page: Page::new(PageSource::Live { socket: true }),
            events: sender,
            closing: watch::Sender::new(false),
        };
        let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Ok(Self { listener, shared: Arc::new(shared), events, connections })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the games have been played, or for ever. Everything that happens is told in order.
    ///
    /// # Errors
    /// The first error that `on_event` returns ends the server.
    pub async fn run<E>(mut self, mut on_event: impl FnMut(Event) -> Result<(), E>) -> Result<(), E> {
        let router = Router::new()
            .route("/", routing::get(front_door))
            .route("/film/{game}/{from}", routing::get(film))
            .fallback(not_found)
            .with_state(Arc::clone(&self.shared));
        let mut closing = self.shared.closing.subscribe();
        loop {
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => on_event(event)?,
                () = closed(&mut closing) => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => self.connect(stream, &router),
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
            }
        }
        let _ = timeout(2 * CLOSE_TIME, self.say_goodbye(&router)).await;
        while let Ok(event) = self.events.try_recv() {
            on_event(event)?;
        }
        Ok(())
    }

    /// The last bot still has to read its last state and the close, and pages ask how the game has ended.
    async fn say_goodbye(&self, router: &Router) {
        loop {
            tokio::select! {
                Ok((stream, _)) = self.listener.accept() => self.connect(stream, router),
                () = sleep(FAREWELL_PAUSE) => if self.connections.available_permits() == MAX_CONNECTIONS {
                    break;
                },
            }
        }
    }

    /// Serves a connection in a task of its own, if there is room for it.
    fn connect(&self, stream: TcpStream, router: &Router) {
        let Ok(seat) = Arc::clone(&self.connections).try_acquire_owned() else { return };
        // States are answered at once or not at all: waiting for more to send only makes ticks longer.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone().layer(Extension(Arc::new(seat))));
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HTTP_TIME).max_buf_size(MAX_REQUEST_HEAD_BYTES);
        tokio::spawn(timeout(HTTP_TIME, http.serve_connection(TokioIo::new(stream), service).with_upgrades()));
    }
}

/// Opens as many files as all connections take, and closes them again. The system's table of them then has room for all: it grows by moving, which
/// stops whoever needs it for 10 to 25 ms on Linux, and would do so in the middle of a game.
fn open_many(listener: &std::net::TcpListener) {
    let files: Vec<_> = (0..MAX_CONNECTIONS + OTHER_FILES).map_while(|_| listener.try_clone().ok()).collect();
    drop(files);
}

/// A websocket for those who ask for one, the page for all others.
async fn front_door(
    State(shared): State<Arc<Shared>>,
    Extension(seat): Extension<Arc<OwnedSemaphorePermit>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) if headers.contains_key(header::UPGRADE) => return rejection.into_response(),
        Err(_) => return page_response(&shared.page),
    };
    if !origin::is_allowed(&headers, shared.on_loopback) {
        return (StatusCode::FORBIDDEN, "This page may not connect: its origin is not this server.\n").into_response();
    }
    upgrade
        .max_message_size(MAX_FRAME_BYTES)
        .max_frame_size(MAX_FRAME_BYTES)
        .read_buffer_size(READ_BUFFER_BYTES)
        .on_upgrade(async move |socket| {
            client::serve(socket, shared).await;
            drop(seat);
        })
}

/// What the simulator knows about the game that is being played, for the page.
async fn film(
    State(shared): State<Arc<Shared>>,
    UrlPath((game, from)): UrlPath<(u64, usize)>,
    headers: HeaderMap,
) -> Response {
    if !origin::is_allowed(&headers, shared.on_loopback) {
        return StatusCode::FORBIDDEN.into_response();
    }
    shared.booth.film(game, from).await
}

fn not_found() -> future::Ready<(StatusCode, &'static str)> {
    future::ready((StatusCode::NOT_FOUND, "Nothing here but /.\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_numbered() {
        for (path, expected) in [
            ("games/a.jsonl.gz", "games/a-2.jsonl.gz"),
            ("a.b.jsonl", "a.b-2.jsonl"),
            ("a.json", "a-2.json"),
            ("a", "a-2"),
            (".hidden", ".hidden-2"),
        ] {
            assert_eq!(numbered(Path::new(path), 2), Path::new(expected));
        }
    }
}
