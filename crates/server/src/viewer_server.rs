//! Serves the viewer over HTTP: the page at `/`, and the replay of the running game at
//! `/replay/GAME/FROM`.

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

use crate::origin::check;
use getaway_viewer::{LiveReplay, Page, PageSource};

/// Headers of every response: the page must not be framed or cached.
const FIXED_HEADERS: [(header::HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The live replay. Requests are processed one at a time, so that any number of viewers uses one
/// thread at most.
pub(crate) struct LiveEndpoint {
    pub live: Arc<LiveReplay>,
    permits: Semaphore,
}

impl LiveEndpoint {
    pub fn new(live: Arc<LiveReplay>) -> Self {
        Self { live, permits: Semaphore::new(1) }
    }

    /// The replay from a frame on: the header's length in four little-endian bytes, the header, and
    /// the frames. Empty before the first game.
    pub async fn replay(&self, game: u64, from: usize) -> Response {
        let Ok(_permit) = self.permits.acquire().await else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
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

/// The response with the page.
pub(crate) fn page_response(page: &Page) -> Response {
    let policy = format!("{}; frame-ancestors 'none'", page.policy);
    (FIXED_HEADERS, [(header::CONTENT_SECURITY_POLICY, policy)], Html(page.html.clone())).into_response()
}

/// Serves the page on a local port, for this machine only.
pub struct ViewerServer {
    listener: TcpListener,
    router: Router,
}

struct AppState {
    page: Page,
    live_endpoint: LiveEndpoint,
}

impl ViewerServer {
    /// Binds the port, or a free one if it is 0. The page shows `source`; a live page requests the
    /// replay in `live`.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub async fn bind(port: u16, source: PageSource<'_>, live: Arc<LiveReplay>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let state = Arc::new(AppState { page: Page::new(source), live_endpoint: LiveEndpoint::new(live) });
        let router = Router::new()
            .route("/", get(page))
            .route("/replay/{game}/{from}", get(replay))
            .fallback(async || (StatusCode::NOT_FOUND, "Not found; the page is at /.\n"))
            .with_state(state);
        Ok(Self { listener, router })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// The system's error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Runs until the listener fails.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn run(self) -> io::Result<()> {
        axum::serve(self.listener, self.router).await
    }
}

async fn page(State(state): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    if check(&headers, true).is_ok() { page_response(&state.page) } else { StatusCode::FORBIDDEN.into_response() }
}

async fn replay(
    State(state): State<Arc<AppState>>,
    Path((game, from)): Path<(u64, usize)>,
    headers: HeaderMap,
) -> Response {
    if check(&headers, true).is_ok() {
        state.live_endpoint.replay(game, from).await
    } else {
        StatusCode::FORBIDDEN.into_response()
    }
}
