use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use super::site::{Games, Site};
use getaway_viewer::{GameLibrary, LiveReplay, Page};

/// Serves the viewer's page to this machine only.
pub struct ViewerServer {
    listener: TcpListener,
    site: Arc<Site>,
}

impl ViewerServer {
    /// Binds to a port; 0 means any free port. Without a library, pages show the replay in `live`.
    pub fn bind(port: u16, page: Page, live: Arc<LiveReplay>, library: Option<Arc<GameLibrary>>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let games = library.map_or(Games::Live(live), Games::Recorded);
        Ok(Self { listener, site: Arc::new(Site::new(page, games, true, None)) })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Runs until the process ends.
    pub fn run(self) {
        self.site.accept_all(&self.listener);
    }
}
