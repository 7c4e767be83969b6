//! The viewer over HTTP: the page at `/`, and the film of a game that is being played at `/film/GAME/FROM`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::is_allowed;
use getaway_viewer::{Live, Page, PageSource};

/// What the page is served with: it may be in no other page, and is made anew each time.
const FIXED_HEADERS: [(header::HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The film of a game that is being played, and who may have it made: one at a time, so that a crowd of viewers takes one thread at most.
pub(crate) struct Booth {
    pub live: Arc<Live>,
    gate: Semaphore,
}

impl Booth {
    pub fn new(live: Arc<Live>) -> Self {
        Self { live, gate: Semaphore::new(1) }
    }

    /// The film from a moment on: the header's length in four bytes, the low one first, the header, and the moments. Nothing before the first game.
    pub async fn film(&self, game: u64, from: usize) -> Response {
        let Ok(_turn) = self.gate.acquire().await else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
        let live = Arc::clone(&self.live);
        match tokio::task::spawn_blocking(move || live.pack(game, from)).await {
            Ok(Some((head, bytes))) => {
                let body = [&(head.len() as u32).to_le_bytes()[..], head.as_bytes(), &bytes].concat();
                (FIXED_HEADERS, body).into_response()
            }
            Ok(None) => (FIXED_HEADERS, StatusCode::NO_CONTENT).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// A page as an answer.
pub(crate) fn page_response(page: &Page) -> Response {
    let policy = format!("{}; frame-ancestors 'none'", page.policy);
    (FIXED_HEADERS, [(header::CONTENT_SECURITY_POLICY, policy)], Html(page.html.clone())).into_response()
}

/// A page on a port of this machine, for this machine alone.
pub struct Host {
    listener: TcpListener,
    router: Router,
}

struct Shown {
    page: Page,
    booth: Booth,
}

impl Host {
    /// Takes the port; 0 takes a free one. The page shows `source`; a page that is live asks for what is in `live`.
    ///
    /// # Errors
    /// When the port cannot be listened on.
    pub async fn bind(port: u16, source: PageSource<'_>, live: Arc<Live>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let shown = Arc::new(Shown { page: Page::new(source), booth: Booth::new(live) });
        let router = Router::new()
            .route("/", get(page))
            .route("/film/{game}/{from}", get(film))
            .fallback(async || (StatusCode::NOT_FOUND, "Nothing here but /.\n"))
            .with_state(shown);
        Ok(Self { listener, router })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves for ever.
    ///
    /// # Errors
    /// When the port is lost.
    pub async fn run(self) -> io::Result<()> {
        axum::serve(self.listener, self.router).await
    }
}

async fn page(State(shown): State<Arc<Shown>>, headers: HeaderMap) -> Response {
    if is_allowed(&headers, true) { page_response(&shown.page) } else { StatusCode::FORBIDDEN.into_response() }
}

async fn film(State(shown): State<Arc<Shown>>, Path((game, from)): Path<(u64, usize)>, headers: HeaderMap) -> Response {
    if is_allowed(&headers, true) { shown.booth.film(game, from).await } else { StatusCode::FORBIDDEN.into_response() }
}
