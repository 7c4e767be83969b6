use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;

use super::site::{Games, Site};
use getaway_viewer::{GameLibrary, LiveReplay, Page};

/// Serves the viewer's page to this machine only.
pub struct ViewerServer {
    listener: TcpListener,
    router: Router,
}

impl ViewerServer {
    /// Binds to a port; 0 means any free port. Without a library, pages show the replay in `live`.
    pub async fn bind(
        port: u16,
        page: Page,
        live: Arc<LiveReplay>,
        library: Option<Arc<GameLibrary>>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let games = library.map_or(Games::Live(live), Games::Recorded);
        Ok(Self { listener, router: Site::new(page, games, true, None).router() })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub async fn run(self) -> io::Result<()> {
        axum::serve(self.listener, self.router).await
    }
}
