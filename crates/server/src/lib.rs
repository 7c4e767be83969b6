//! The local game server: speaks the real server's protocol and plays one game at a time. A
//! connection cannot change another bot's game, and a game waits for no client except its own bot.
//! The crate prints nothing: the server reports [`Event`]s.
//!
//! Each connection has two threads: one reads ahead, the other serves. A queue lets one bot play at
//! a time, and the thread of that bot runs the game. Viewers receive states through queues; the game
//! never waits for a viewer.

mod bot;
mod client;
mod event;
mod game;
mod http;
pub mod limits;
mod mistakes;
mod options;
mod origin;
mod permits;
mod recorder;
mod shared;
mod site;
mod socket;
mod stream;
mod viewer_server;
mod viewers;

use std::fs::OpenOptions;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use thiserror::Error;

use getaway::files::Existing;
use getaway::recording::{RecordingError, RecordingWriter};
use getaway_playground::{Engine, Games};
use getaway_viewer::{EngineKind, Page, PageSource};
use limits::{CLOSE_TIMEOUT, MAX_CONNECTIONS};
use shared::{BotQueue, Shared};
use site::Site;
use viewers::Viewers;

pub use event::Event;
pub use game::{BotDisconnect, GameResult};
pub use options::ServerOptions;
pub use site::ENDPOINTS;
pub use viewer_server::ViewerServer;

/// Room in the file table for files other than connections.
const OTHER_FILES_MAX: usize = 64;
const CHECKED_RECORDINGS_MAX: u64 = 1000;

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

/// A server that runs until all games have been played, or for ever if their number is not limited.
/// If dropped earlier, it disconnects viewers and waiting bots, and accepts no more connections.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    events: Receiver<Event>,
}

impl Server {
    /// Starts to listen on a port; port 0 means any free port. Fails if there are no maps, if the
    /// address is unavailable, or if a recording cannot be written. Checks the recordings of at
    /// most 1000 games, and only that of the first game if the number of games is not limited.
    pub fn start(host: &str, port: u16, options: ServerOptions) -> Result<Self, ServerError> {
        if options.maps.is_empty() {
            return Err(ServerError::NoMaps);
        }
        for number in 1..=options.games.unwrap_or(1).min(CHECKED_RECORDINGS_MAX) {
            if let Some(path) = options.recording_of_game(number) {
                check_recording(path, options.existing_recordings)?;
            }
        }
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Self::listen(host, port, options).map_err(|source| ServerError::Listen { address, source })
    }

    fn listen(host: &str, port: u16, options: ServerOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((host, port))?;
        grow_file_table(&listener);
        let address = listener.local_addr()?;
        let (sender, events) = channel();
        let shared = Arc::new(Shared {
            options,
            bots: BotQueue::default(),
            games_started: AtomicU64::new(0),
            viewers: Viewers::default(),
            live: Arc::default(),
            events: Mutex::new(Some(sender)),
            is_ending: AtomicBool::new(false),
        });
        let page = Page::new(PageSource::Engine(EngineKind::Server), None);
        let engine = Engine::new(Games::Live(Arc::clone(&shared.live)));
        let site = Arc::new(Site::new(page, engine, address.ip().is_loopback(), Some(Arc::clone(&shared))));
        thread::Builder::new().spawn(move || site.accept_all(&listener))?;
        Ok(Self { address, shared, events })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The events, in order. The channel is closed after the last game.
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.disconnect_all();
        self.shared.end();
        // A last connection ends the thread that accepts connections. Some systems cannot
        // connect to the unspecified address, so the loopback address takes its place.
        let mut address = self.address;
        match address {
            SocketAddr::V4(_) if address.ip().is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            SocketAddr::V6(_) if address.ip().is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let _ = TcpStream::connect_timeout(&address, CLOSE_TIMEOUT);
    }
}

/// Grows the process's file table to the size that all connections need, by opening and closing
/// files. On Linux, this blocks the process for 10 to 25 ms, which must not happen during a game.
fn grow_file_table(listener: &TcpListener) {
    let files: Vec<_> = (0..MAX_CONNECTIONS + OTHER_FILES_MAX).map_while(|_| listener.try_clone().ok()).collect();
    drop(files);
}
