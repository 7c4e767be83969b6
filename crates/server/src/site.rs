//! Serves HTTP on the port of `getaway view` or `getaway serve`. Every endpoint is in
//! [`ENDPOINTS`], and every request must pass [`origin::check`]. Apart from websocket handshakes,
//! GET requests receive only the page: any website can send a GET request, for example for an
//! image, and browsers rarely add `Origin` to it. All other endpoints accept only POST requests.
//! Requests can run only this library's planners.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{DefaultBodyLimit, Extension, FromRequest, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client;
use super::event::Event;
use super::limits::{MAX_FRAME_BYTES, READ_BUFFER_BYTES};
use super::origin::{self, Refusal};
use super::shared::Shared;
use super::thread::on_thread;
use getaway::game::State as GameState;
use getaway::protocol::to_json;
use getaway_viewer::{
    Analysis, Branch, GameLibrary, GameStates, LiveReplay, Page, RecordingSource, analysis_budget, body, pack,
};

/// Headers that the router adds to every response.
const FIXED_HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];
const DROPPED_MAX_BYTES: usize = 64 << 20;
const PATH_CHARS_MAX: usize = 100;

#[derive(Clone, Debug)]
pub struct Endpoint {
    pub method: Method,
    /// The path, with placeholders in braces.
    pub path: &'static str,
    route: fn(MethodFilter) -> MethodRouter<Arc<Site>>,
}

impl Endpoint {
    const fn new(method: Method, path: &'static str, route: fn(MethodFilter) -> MethodRouter<Arc<Site>>) -> Self {
        Self { method, path, route }
    }
}

pub static ENDPOINTS: [Endpoint; 7] = [
    Endpoint::new(Method::GET, "/", |method| on(method, page)),
    Endpoint::new(Method::POST, "/games", |method| on(method, games)),
    Endpoint::new(Method::POST, "/open", |method| on(method, open)),
    Endpoint::new(Method::POST, "/replay/{game}/{from}", |method| on(method, replay)),
    Endpoint::new(Method::POST, "/analysis/{game}", |method| on(method, analysis)),
    Endpoint::new(Method::POST, "/analysis/{game}/{index}/{moves}", |method| on(method, branch_analysis)),
    Endpoint::new(Method::POST, "/branch/{game}/{index}/{moves}/{planner}", |method| on(method, branch)),
];

pub(crate) enum Games {
    Recorded(Arc<GameLibrary>),
    Live(Arc<LiveReplay>),
}

pub(crate) struct Site {
    page: Page,
    games: Games,
    on_loopback: bool,
    /// If set, analyses and branches are refused during a game: the bot needs the processor.
    game_server: Option<Arc<Shared>>,
    /// Limits concurrent computations. A game server allows one at a time, so that pages use at
    /// most one thread. Otherwise two are allowed, so that a game can be opened while the list
    /// waits for an analysis.
    permits: Arc<Semaphore>,
}

type Failure = (StatusCode, String);
type Answer = Result<Vec<u8>, Failure>;

fn status(code: StatusCode) -> Failure {
    (code, String::new())
}

impl Site {
    /// Creates a site for `games`. With `on_loopback`, the `Host` header must name this machine.
    pub fn new(page: Page, games: Games, on_loopback: bool, game_server: Option<Arc<Shared>>) -> Self {
        let permits = Arc::new(Semaphore::new(if game_server.is_some() { 1 } else { 2 }));
        Self { page, games, on_loopback, game_server, permits }
    }

    pub fn router(self) -> Router {
        let site = Arc::new(self);
        let add = |router: Router<Arc<Self>>, Endpoint { method, path, route }: &Endpoint| {
            let method = MethodFilter::try_from(method.clone()).expect("a method that routers know");
            router.route(path, route(method))
        };
        let router = ENDPOINTS.iter().fold(Router::new(), add).fallback(not_found);
        router.layer(middleware::from_fn_with_state(Arc::clone(&site), guard)).with_state(site)
    }

    fn page(&self) -> Response {
        let policy = format!("{}; frame-ancestors 'none'", self.page.policy);
        ([(header::CONTENT_SECURITY_POLICY, policy)], Html(self.page.html.clone())).into_response()
    }

    fn report_refusal(&self, reason: String, remedy: &str) {
        if let Some(server) = &self.game_server {
            server.report(Event::Refused { reason, remedy: remedy.to_owned() });
        }
    }

    async fn compute(self: Arc<Self>, answer: impl FnOnce(&Self) -> Answer + Send + 'static) -> Response {
        let permits = Arc::clone(&self.permits);
        let Ok(permit) = permits.acquire_owned().await else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
        let computed = on_thread(move || {
            // The thread continues even if the client leaves, so the thread holds the permit.
            let _permit = permit;
            answer(&self)
        });
        match computed.await {
            Ok(answer) => answer.into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }

    /// The states up to a frame. Fails with 404 for an unknown game or frame, and with 409 while
    /// the game of a game server is running.
    fn states(&self, game: u64, index: usize) -> Result<GameStates, Failure> {
        let found = match &self.games {
            Games::Recorded(library) => library.states(game, index),
            Games::Live(live) => {
                let mut found = live.states(game).ok_or(status(StatusCode::NOT_FOUND))?;
                self.check_over(&found.states)?;
                let is_known = index < found.states.len();
                found.states.truncate(index + 1);
                is_known.then_some(found)
            }
        };
        found.ok_or(status(StatusCode::NOT_FOUND))
    }

    fn check_over(&self, states: &[GameState]) -> Result<(), Failure> {
        let is_over = self.game_server.is_none() || states.last().is_some_and(GameState::is_over);
        if is_over { Ok(()) } else { Err(status(StatusCode::CONFLICT)) }
    }
}

async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match origin::check(request.method(), request.headers(), site.on_loopback) {
        Ok(()) => next.run(request).await,
        Err(Refusal { reason, remedy }) => {
            let answer = format!("Forbidden: {reason}; {remedy}.\n");
            if request.headers().contains_key(header::UPGRADE) {
                site.report_refusal(reason, remedy);
            }
            (StatusCode::FORBIDDEN, answer).into_response()
        }
    };
    for (name, value) in FIXED_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn page(
    State(site): State<Arc<Site>>,
    permit: Option<Extension<Arc<OwnedSemaphorePermit>>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Some(server) = site.game_server.clone() else { return site.page() };
    match upgrade {
        Ok(upgrade) => upgrade
            .max_message_size(MAX_FRAME_BYTES)
            .max_frame_size(MAX_FRAME_BYTES)
            .read_buffer_size(READ_BUFFER_BYTES)
            .on_upgrade(async move |socket| {
                client::serve(socket, server).await;
                drop(permit);
            }),
        Err(rejection) if headers.contains_key(header::UPGRADE) => {
            let reason = format!("not a websocket handshake: {rejection}");
            site.report_refusal(reason, "use a websocket client (RFC 6455)");
            rejection.into_response()
        }
        Err(_) => site.page(),
    }
}

async fn games(State(site): State<Arc<Site>>) -> Response {
    let list = |site: &Site| match &site.games {
        Games::Recorded(library) => Ok(library.list().into_bytes()),
        Games::Live(_) => Err(status(StatusCode::NOT_FOUND)),
    };
    site.compute(list).await
}

/// Adds a recording that was dropped on the page. The header `x-file-name` names the recording.
/// Returns the game's number in the library.
async fn open(State(site): State<Arc<Site>>, mut request: Request) -> Response {
    let Games::Recorded(library) = &site.games else { return StatusCode::NOT_FOUND.into_response() };
    let name =
        request.headers().get("x-file-name").and_then(|name| name.to_str().ok()).unwrap_or("recording").to_owned();
    DefaultBodyLimit::max(DROPPED_MAX_BYTES).apply(&mut request);
    let content = match Bytes::from_request(request, &()).await {
        Ok(content) => content,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let answer = format!("recording too long: expected at most {} MiB", DROPPED_MAX_BYTES >> 20);
            return (error.status(), answer).into_response();
        }
        Err(error) => return error.into_response(),
    };
    let library = Arc::clone(library);
    let add = move |_: &Site| {
        let added = library.add(&RecordingSource::Memory(name.into(), content.to_vec().into()));
        let number = added.map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
        Ok(number.to_string().into_bytes())
    };
    site.compute(add).await
}

/// The replay of a game from frame `from` on, in the format of [`body`]. Without a library, answers
/// with the current game's replay, from the first frame if `game` is another game. This answer is
/// empty before the first game.
async fn replay(State(site): State<Arc<Site>>, Path((game, from)): Path<(u64, usize)>) -> Response {
    let packed = move |site: &Site| {
        let (packed, missing) = match &site.games {
            Games::Recorded(library) => (library.pack(game, from), StatusCode::NOT_FOUND),
            Games::Live(live) => (live.pack(game, from), StatusCode::NO_CONTENT),
        };
        packed.map(|packed| body(&packed)).ok_or(status(missing))
    };
    site.compute(packed).await
}

async fn analysis(State(site): State<Arc<Site>>, Path(game): Path<u64>) -> Response {
    let analysis = move |site: &Site| {
        let json = match &site.games {
            Games::Recorded(library) => library.analysis(game).ok_or(status(StatusCode::NOT_FOUND))?,
            Games::Live(live) => {
                let GameStates { title, world, states } = live.states(game).ok_or(status(StatusCode::NOT_FOUND))?;
                site.check_over(&states)?;
                to_json(&Analysis::of_states(&world, &states, Some(title), analysis_budget()))
            }
        };
        Ok(json.into_bytes())
    };
    site.compute(analysis).await
}

/// Plays a branch of a game from a frame on. [`Branch::parse`] describes the moves and planner.
async fn branch(
    State(site): State<Arc<Site>>,
    Path((game, index, moves, planner)): Path<(u64, usize, String, String)>,
) -> Response {
    let played = move |site: &Site| {
        let branch = parse_branch(&moves, &planner)?;
        let GameStates { world, states, .. } = site.states(game, index)?;
        let from = states.last().ok_or(status(StatusCode::NOT_FOUND))?;
        Ok(body(&pack(&branch.play(&world, from), game, 0)))
    };
    site.compute(played).await
}

async fn branch_analysis(
    State(site): State<Arc<Site>>,
    Path((game, index, moves)): Path<(u64, usize, String)>,
) -> Response {
    let analysis = move |site: &Site| {
        let branch = parse_branch(&moves, "-")?;
        let GameStates { title, world, mut states } = site.states(game, index)?;
        let from = states.pop().ok_or(status(StatusCode::NOT_FOUND))?;
        states.extend(world.states_along(&from, &branch.moves));
        Ok(to_json(&Analysis::of_states(&world, &states, Some(title), analysis_budget())).into_bytes())
    };
    site.compute(analysis).await
}

fn parse_branch(moves: &str, planner: &str) -> Result<Branch, Failure> {
    Branch::parse(moves, planner).map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
}

async fn not_found(State(site): State<Arc<Site>>, uri: Uri, headers: HeaderMap) -> (StatusCode, &'static str) {
    if headers.contains_key(header::UPGRADE) {
        let path: String = uri.path().chars().take(PATH_CHARS_MAX).collect();
        let reason = format!("no websocket at {path:?}: expected the path /");
        site.report_refusal(reason, "connect to the address without a path");
    }
    (StatusCode::NOT_FOUND, "Not found; the page is at /.\n")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use getaway_viewer::PageSource;
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn computation_keeps_its_permit_after_its_client_has_left() {
        let games = Games::Live(Arc::default());
        let site = Arc::new(Site::new(Page::new(PageSource::Library, None), games, true, None));
        let (begin, begun) = oneshot::channel();
        let (end, ended) = mpsc::channel::<()>();
        let answer = move |_: &Site| {
            let _ = begin.send(());
            let _ = ended.recv();
            Ok(Vec::new())
        };
        let request = tokio::spawn(Arc::clone(&site).compute(answer));
        begun.await.expect("the computation begins");
        request.abort();
        assert!(request.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(site.permits.available_permits(), 1);
        drop(end);
        let all = timeout(Duration::from_secs(60), site.permits.acquire_many(2)).await;
        assert!(all.is_ok_and(|permits| permits.is_ok()), "the computation has ended");
    }
}
