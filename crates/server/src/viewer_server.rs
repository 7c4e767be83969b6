use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use super::site::Site;
use getaway_playground::Engine;
use getaway_viewer::{EngineKind, Page, PageSource};

/// Serves the page to this machine only.
pub struct ViewerServer {
    listener: TcpListener,
    site: Arc<Site>,
}

impl ViewerServer {
    /// Binds to a port; 0 means any free port.
    pub fn bind(port: u16, engine: Engine) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let page = Page::new(PageSource::Engine(EngineKind::Server), None);
        Ok(Self { listener, site: Arc::new(Site::new(page, engine, true, None)) })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Runs until the process ends.
    pub fn run(self) {
        self.site.accept_all(&self.listener);
    }
}
