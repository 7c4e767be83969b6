//! Serves HTTP on the port of `getaway view` or `getaway serve`. Every endpoint is in
//! [`ENDPOINTS`], and every request must pass [`origin::check`]. Apart from websocket handshakes,
//! GET requests receive only the page: any website can send a GET request, for example for an
//! image, and browsers rarely add `Origin` to it. All other endpoints accept only POST requests.
//! Requests can run only this library's planners.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tungstenite::handshake::server::create_response_with_body;
use tungstenite::http::header::{self, HeaderValue};
use tungstenite::http::{Method, StatusCode};

use super::client;
use super::event::Event;
use super::http::{Failure, Request, Response, error, respond};
use super::limits::{ACCEPT_RETRY_DELAY, ANSWER_TIMEOUT, CLOSE_TIMEOUT, MAX_CONNECTIONS, VIEWER_SHUTDOWN_TIMEOUT};
use super::origin::{self, Refusal};
use super::permits::{Permit, Permits};
use super::shared::Shared;
use super::socket::Socket;
use super::stream::Stream;
use getaway::game::State as GameState;
use getaway::protocol::to_json;
use getaway_viewer::{
    Analysis, Branch, GameLibrary, GameStates, LiveReplay, Page, RecordingSource, analysis_budget, body, pack,
};

const DROPPED_MAX_BYTES: usize = 64 << 20;
const PATH_CHARS_MAX: usize = 100;

type Answer = Result<Response, Failure>;

#[derive(Clone, Debug)]
pub struct Endpoint {
    pub method: Method,
    /// The path, with placeholders in braces.
    pub path: &'static str,
    answer: fn(&Site, &mut Request) -> Answer,
}

impl Endpoint {
    const fn new(method: Method, path: &'static str, answer: fn(&Site, &mut Request) -> Answer) -> Self {
        Self { method, path, answer }
    }
}

pub static ENDPOINTS: [Endpoint; 7] = [
    Endpoint::new(Method::GET, "/", page),
    Endpoint::new(Method::POST, "/games", games),
    Endpoint::new(Method::POST, "/open", open),
    Endpoint::new(Method::POST, "/replay/{game}/{from}", replay),
    Endpoint::new(Method::POST, "/analysis/{game}", analysis),
    Endpoint::new(Method::POST, "/analysis/{game}/{index}/{moves}", branch_analysis),
    Endpoint::new(Method::POST, "/branch/{game}/{index}/{moves}/{planner}", branch),
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
    connections: Permits,
    /// Limits concurrent computations. A game server allows one at a time, so that pages use at
    /// most one thread. Otherwise two are allowed, so that a game can be opened while the list
    /// waits for an analysis.
    computations: Permits,
}

fn status(code: StatusCode) -> Failure {
    (code, String::new())
}

impl Site {
    /// Creates a site for `games`. With `on_loopback`, the `Host` header must name this machine.
    pub fn new(page: Page, games: Games, on_loopback: bool, game_server: Option<Arc<Shared>>) -> Self {
        let computations = Permits::new(if game_server.is_some() { 1 } else { 2 });
        Self { page, games, on_loopback, game_server, connections: Permits::new(MAX_CONNECTIONS), computations }
    }

    /// Serves each connection in its own thread until the game server has ended.
    pub fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.game_server.as_ref().is_some_and(|server| server.has_ended()) {
                return;
            }
            let Ok((connection, _)) = accepted else {
                thread::sleep(ACCEPT_RETRY_DELAY);
                continue;
            };
            let Some(permit) = self.connections.take(Duration::ZERO) else { continue };
            let site = Arc::clone(self);
            // If no thread can be started, the connection is closed.
            let _ = thread::Builder::new().spawn(move || {
                site.serve(connection);
                drop(permit);
                site.end_if_over();
            });
        }
    }

    /// Ends the game server after the last game, once pages have fetched its end.
    fn end_if_over(&self) {
        if let Some(server) = self.game_server.as_ref().filter(|server| server.is_ending()) {
            self.connections.wait_for_all(VIEWER_SHUTDOWN_TIMEOUT + CLOSE_TIMEOUT);
            server.end();
        }
    }

    fn serve(&self, connection: TcpStream) {
        let Some(mut request) = Stream::over(connection).ok().and_then(Request::read) else { return };
        let response = self.answer(&mut request).unwrap_or_else(error);
        let Request { head, stream, unread, .. } = request;
        if let (Some(stream), Some(server)) = (respond(stream, response, head.method()), &self.game_server) {
            client::serve(Socket::new(stream, unread), server);
        }
    }

    fn answer(&self, request: &mut Request) -> Answer {
        let head = &request.head;
        origin::check(head.method(), head.headers(), self.on_loopback)
            .map_err(|Refusal { reason, remedy }| self.refuse(request, StatusCode::FORBIDDEN, reason, remedy))?;
        let Some(endpoint) = ENDPOINTS.iter().find(|endpoint| request.matches(endpoint.path)) else {
            let path: String = head.uri().path().chars().take(PATH_CHARS_MAX).collect();
            let reason = format!("nothing at {path:?}: expected the path /");
            return Err(self.refuse(request, StatusCode::NOT_FOUND, reason, "connect to the address without a path"));
        };
        let method = if head.method() == Method::HEAD { &Method::GET } else { head.method() };
        if endpoint.method != *method {
            return Err((StatusCode::METHOD_NOT_ALLOWED, format!("{method}: expected {}", endpoint.method)));
        }
        (endpoint.answer)(self, request)
    }

    /// The answer to a refused request. Also reports it if it is a websocket handshake.
    fn refuse(&self, request: &Request, code: StatusCode, reason: String, remedy: &str) -> Failure {
        let answer = format!("{reason}; {remedy}.\n");
        if let Some(server) = self.game_server.as_ref().filter(|_| request.is_upgrade()) {
            server.report(Event::Refused { reason, remedy: remedy.to_owned() });
        }
        (code, answer)
    }

    /// Waits for the permit to compute an answer.
    fn permit(&self) -> Result<Permit, Failure> {
        self.computations.take(ANSWER_TIMEOUT).ok_or(status(StatusCode::SERVICE_UNAVAILABLE))
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

fn page(site: &Site, request: &mut Request) -> Answer {
    if site.game_server.is_some() && request.is_upgrade() {
        return create_response_with_body(&request.head, Vec::new).map_err(|error| {
            let reason = format!("not a websocket handshake: {error}");
            site.refuse(request, StatusCode::BAD_REQUEST, reason, "use a websocket client (RFC 6455)")
        });
    }
    let mut response = Response::new(site.page.html.clone().into_bytes());
    let policy = format!("{}; frame-ancestors 'none'", site.page.policy);
    let policy = HeaderValue::try_from(policy).map_err(|_| status(StatusCode::INTERNAL_SERVER_ERROR))?;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    Ok(response)
}

fn games(site: &Site, _: &mut Request) -> Answer {
    let Games::Recorded(library) = &site.games else { return Err(status(StatusCode::NOT_FOUND)) };
    let _permit = site.permit()?;
    Ok(Response::new(library.list().into_bytes()))
}

/// Adds a recording that was dropped on the page. The header `x-file-name` names the recording.
/// Returns the game's number in the library.
fn open(site: &Site, request: &mut Request) -> Answer {
    let Games::Recorded(library) = &site.games else { return Err(status(StatusCode::NOT_FOUND)) };
    let name = request.head.headers().get("x-file-name").and_then(|name| name.to_str().ok());
    let name = name.unwrap_or("recording").to_owned();
    let content = request.body(DROPPED_MAX_BYTES)?;
    let _permit = site.permit()?;
    let added = library.add(&RecordingSource::Memory(name.into(), content.into()));
    let number = added.map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    Ok(Response::new(number.to_string().into_bytes()))
}

/// The replay of a game from frame `from` on, in the format of [`body`]. Without a library, answers
/// with the current game's replay, from the first frame if `game` is another game. This answer is
/// empty before the first game.
fn replay(site: &Site, request: &mut Request) -> Answer {
    let (game, from) = (request.number(1)?, request.number(2)?);
    let _permit = site.permit()?;
    let (packed, missing) = match &site.games {
        Games::Recorded(library) => (library.pack(game, from), StatusCode::NOT_FOUND),
        Games::Live(live) => (live.pack(game, from), StatusCode::NO_CONTENT),
    };
    packed.map(|packed| Response::new(body(&packed))).ok_or(status(missing))
}

fn analysis(site: &Site, request: &mut Request) -> Answer {
    let game = request.number(1)?;
    let _permit = site.permit()?;
    let json = match &site.games {
        Games::Recorded(library) => library.analysis(game).ok_or(status(StatusCode::NOT_FOUND))?,
        Games::Live(live) => {
            let GameStates { title, world, states } = live.states(game).ok_or(status(StatusCode::NOT_FOUND))?;
            site.check_over(&states)?;
            to_json(&Analysis::of_states(&world, &states, Some(title), analysis_budget()))
        }
    };
    Ok(Response::new(json.into_bytes()))
}

/// Plays a branch of a game from a frame on. [`Branch::parse`] describes the moves and planner.
fn branch(site: &Site, request: &mut Request) -> Answer {
    let (game, index) = (request.number(1)?, request.number(2)?);
    let branch = parse_branch(&request.path[3], &request.path[4])?;
    let _permit = site.permit()?;
    let GameStates { world, states, .. } = site.states(game, index)?;
    let from = states.last().ok_or(status(StatusCode::NOT_FOUND))?;
    Ok(Response::new(body(&pack(&branch.play(&world, from), game, 0))))
}

fn branch_analysis(site: &Site, request: &mut Request) -> Answer {
    let (game, index) = (request.number(1)?, request.number(2)?);
    let branch = parse_branch(&request.path[3], "-")?;
    let _permit = site.permit()?;
    let GameStates { title, world, mut states } = site.states(game, index)?;
    let from = states.pop().ok_or(status(StatusCode::NOT_FOUND))?;
    states.extend(world.states_along(&from, &branch.moves));
    let analysis = Analysis::of_states(&world, &states, Some(title), analysis_budget());
    Ok(Response::new(to_json(&analysis).into_bytes()))
}

fn parse_branch(moves: &str, planner: &str) -> Result<Branch, Failure> {
    Branch::parse(moves, planner).map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
}
