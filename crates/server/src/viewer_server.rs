//! Serves the viewer over HTTP: the page at `/`, and the replay of the running game at
//! `/replay/GAME/FROM`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::origin::check;
use getaway::game::State as GameState;
use getaway::game::World;
use getaway::protocol::to_json;
use getaway_viewer::{
    Analysis, GameLibrary, LiveReplay, Page, PageSource, RecordingSource, analysis_budget, body, packed_branch,
};

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
            Ok(Some(packed)) => (FIXED_HEADERS, body(&packed)).into_response(),
            Ok(None) => (FIXED_HEADERS, StatusCode::NO_CONTENT).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }

    /// The analysis of the current game. While it is being played the answer is 409 if `is_timed`,
    /// because the bot needs the processor.
    pub async fn analysis(&self, game: u64, is_timed: bool) -> Response {
        let analyse = |title: String, world: Arc<World>, states: Vec<GameState>| {
            to_json(&Analysis::of_states(&world, &states, Some(title), analysis_budget())).into_bytes()
        };
        self.compute(game, is_timed, move |title, world, states| Some(analyse(title, world, states))).await
    }

    /// A branch of the current game; see [`LiveEndpoint::analysis`] for `is_timed`.
    pub async fn branch(&self, (game, index, moves, planner): BranchPath, is_timed: bool) -> Response {
        let of = move |_, world: Arc<World>, states: Vec<GameState>| {
            packed_branch(&world, states.get(index)?, game, &moves, &planner).map(|packed| body(&packed))
        };
        self.compute(game, is_timed, of).await
    }

    async fn compute(
        &self,
        game: u64,
        is_timed: bool,
        answer: impl FnOnce(String, Arc<World>, Vec<GameState>) -> Option<Vec<u8>> + Send + 'static,
    ) -> Response {
        let Ok(_permit) = self.permits.acquire().await else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
        let Some((title, world, states)) = self.live.states(game) else { return StatusCode::NOT_FOUND.into_response() };
        if is_timed && !states.last().is_some_and(GameState::is_over) {
            return StatusCode::CONFLICT.into_response();
        }
        answered(tokio::task::spawn_blocking(move || answer(title, world, states)).await)
    }
}

/// The path of a branch: the game, the frame, `m` and moves as letters, and a planner or `-`.
pub(crate) type BranchPath = (u64, usize, String, String);

/// Maximum size of a recording that is dropped onto the page.
const DROPPED_MAX_BYTES: usize = 64 << 20;

fn answered(answer: Result<Option<Vec<u8>>, tokio::task::JoinError>) -> Response {
    match answer {
        Ok(Some(bytes)) => (FIXED_HEADERS, bytes).into_response(),
        Ok(None) => (FIXED_HEADERS, StatusCode::NO_CONTENT).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
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
    library: Option<Arc<GameLibrary>>,
    /// Recorded games are processed one at a time.
    permits: Semaphore,
}

impl ViewerServer {
    /// Binds the port, or a free one if it is 0. The page shows `source`; a live page requests the
    /// replay in `live`, and one of recorded games those of the library.
    ///
    /// # Errors
    /// When the port cannot be bound.
    pub async fn bind(
        port: u16,
        source: PageSource<'_>,
        live: Arc<LiveReplay>,
        library: Option<Arc<GameLibrary>>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let (page, live_endpoint) = (Page::new(source), LiveEndpoint::new(live));
        let state = Arc::new(AppState { page, live_endpoint, library, permits: Semaphore::new(1) });
        let router = Router::new()
            .route("/", get(page_of))
            .route("/games", get(games).post(open).layer(DefaultBodyLimit::max(DROPPED_MAX_BYTES)))
            .route("/replay/{game}/{from}", get(replay))
            .route("/analysis/{game}", get(analysis))
            .route("/branch/{game}/{index}/{moves}/{planner}", get(branch))
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

impl AppState {
    /// Answers from the library, on a separate thread.
    async fn compute(
        &self,
        library: &Arc<GameLibrary>,
        answer: impl FnOnce(&GameLibrary) -> Option<Vec<u8>> + Send + 'static,
    ) -> Response {
        let Ok(_permit) = self.permits.acquire().await else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
        let library = Arc::clone(library);
        answered(tokio::task::spawn_blocking(move || answer(&library)).await)
    }
}

async fn page_of(State(state): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    if check(&headers, true).is_ok() { page_response(&state.page) } else { StatusCode::FORBIDDEN.into_response() }
}

async fn games(State(state): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    match &state.library {
        _ if check(&headers, true).is_err() => StatusCode::FORBIDDEN.into_response(),
        Some(library) => state.compute(library, |library| Some(library.list().into_bytes())).await,
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Adds a recording that was dropped onto the page; answers with its number, or with an error in
/// one sentence. Its name comes in a header, which pages of other origins cannot send without
/// permission.
async fn open(State(state): State<Arc<AppState>>, headers: HeaderMap, content: Bytes) -> Response {
    let Some(library) = &state.library else { return StatusCode::NOT_FOUND.into_response() };
    let name = headers.get("x-file-name").and_then(|name| name.to_str().ok()).map(str::to_owned);
    let (Some(name), Ok(())) = (name, check(&headers, true)) else { return StatusCode::FORBIDDEN.into_response() };
    let library = Arc::clone(library);
    let source = RecordingSource::Memory(name.into(), content.to_vec().into());
    match tokio::task::spawn_blocking(move || library.add(&source)).await {
        Ok(Ok(number)) => (FIXED_HEADERS, number.to_string()).into_response(),
        Ok(Err(error)) => (StatusCode::UNPROCESSABLE_ENTITY, FIXED_HEADERS, error.to_string()).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn replay(
    State(state): State<Arc<AppState>>,
    Path((game, from)): Path<(u64, usize)>,
    headers: HeaderMap,
) -> Response {
    match &state.library {
        _ if check(&headers, true).is_err() => StatusCode::FORBIDDEN.into_response(),
        Some(library) => {
            state.compute(library, move |library| library.pack(game, from).map(|packed| body(&packed))).await
        }
        None => state.live_endpoint.replay(game, from).await,
    }
}

async fn analysis(State(state): State<Arc<AppState>>, Path(game): Path<u64>, headers: HeaderMap) -> Response {
    match &state.library {
        _ if check(&headers, true).is_err() => StatusCode::FORBIDDEN.into_response(),
        Some(library) => state.compute(library, move |library| library.analysis(game).map(String::into_bytes)).await,
        None => state.live_endpoint.analysis(game, false).await,
    }
}

async fn branch(State(state): State<Arc<AppState>>, Path(path): Path<BranchPath>, headers: HeaderMap) -> Response {
    let (game, index, moves, planner) = path;
    match &state.library {
        _ if check(&headers, true).is_err() => StatusCode::FORBIDDEN.into_response(),
        Some(library) => {
            let of = move |library: &GameLibrary| library.branch(game, index, &moves, &planner);
            state.compute(library, move |library| of(library).map(|packed| body(&packed))).await
        }
        None => state.live_endpoint.branch((game, index, moves, planner), false).await,
    }
}
