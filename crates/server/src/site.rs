//! Serves HTTP on the port of `getaway view` or `getaway serve`: the page, and the engine behind it.
//! Every request must pass [`origin::check`]. Apart from websocket handshakes, GET requests receive
//! only the page: any website can send a GET request, for example for an image, and browsers rarely
//! add `Origin` to it. The engine answers only POST requests, and runs only this library's planners.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tungstenite::handshake::server::create_response_with_body;
use tungstenite::http::header::{self, HeaderValue};
use tungstenite::http::{Method, StatusCode};

use super::client;
use super::event::Event;
use super::http::{Failure, Parts, Request, Response, error, respond};
use super::limits::{ACCEPT_RETRY_DELAY, ANSWER_TIMEOUT, CLOSE_TIMEOUT, MAX_CONNECTIONS, VIEWER_SHUTDOWN_TIMEOUT};
use super::origin::{self, Refusal};
use super::permits::{Permit, Permits};
use super::shared::Shared;
use super::socket::Socket;
use super::stream::Stream;
use getaway_playground::Engine;
use getaway_viewer::Page;

const FILE_MAX_BYTES: usize = 64 << 20;
const PATH_CHARS_MAX: usize = 100;
/// Maximum number of concurrent computations: a page sends up to three requests at a time.
const COMPUTATIONS_MAX: usize = 3;

/// The method and the path of each endpoint, with placeholders in braces.
pub static ENDPOINTS: [(Method, &str); 2] = [(Method::GET, "/"), (Method::POST, "/engine/{request}")];

pub(crate) struct Site {
    page: Page,
    engine: Engine,
    on_loopback: bool,
    /// If set, the engine answers only quick requests during a game, because the bot needs the processor.
    game_server: Option<Arc<Shared>>,
    connections: Permits,
    computations: Permits,
    /// When a page last asked for the running game.
    watched_at: Mutex<Option<Instant>>,
}

/// A request for the engine.
struct Question {
    name: String,
    /// The arguments in one line of JSON, then the attached file.
    body: Vec<u8>,
    _permit: Permit,
}

enum Answer {
    Whole(Response),
    OfEngine(Question),
}

impl Site {
    /// With `on_loopback`, the `Host` header must name this machine or be the unspecified address.
    pub fn new(page: Page, engine: Engine, on_loopback: bool, game_server: Option<Arc<Shared>>) -> Self {
        let (connections, computations) = (Permits::new(MAX_CONNECTIONS), Permits::new(COMPUTATIONS_MAX));
        let watched_at = Mutex::default();
        Self { page, engine, on_loopback, game_server, connections, computations, watched_at }
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
            let watched_at = *self.watched_at.lock().unwrap_or_else(PoisonError::into_inner);
            if watched_at.is_some_and(|at| at.elapsed() < VIEWER_SHUTDOWN_TIMEOUT) {
                thread::sleep(VIEWER_SHUTDOWN_TIMEOUT);
            }
            self.connections.wait_for_all(VIEWER_SHUTDOWN_TIMEOUT + CLOSE_TIMEOUT);
            server.end();
        }
    }

    fn serve(&self, connection: TcpStream) {
        let Some(mut request) = Stream::over(connection).ok().and_then(Request::read) else { return };
        let answer = self.answer(&mut request);
        let Request { head, stream, unread, .. } = request;
        match answer {
            Ok(Answer::OfEngine(question)) => self.compute(&question, stream),
            Ok(Answer::Whole(response)) => {
                if let (Some(stream), Some(server)) = (respond(stream, response, head.method()), &self.game_server) {
                    client::serve(Socket::new(stream, unread), server);
                }
            }
            Err(failure) => drop(respond(stream, error(failure), head.method())),
        }
    }

    /// Sends the answers of the engine as they are found: reports, then the answer or an error.
    fn compute(&self, Question { name, body, .. }: &Question, stream: Stream) {
        let Some(mut parts) = Parts::begin(stream) else { return };
        let mut report = |text: &str| !self.is_refused(name) && parts.send(b'r', text.as_bytes());
        match self.engine.answer_line(name, body, &mut report) {
            Ok(answer) => parts.send(b'a', &answer),
            Err(sentence) => parts.send(b'e', sentence.as_bytes()),
        };
        parts.end();
    }

    /// True during a game, except for the requests that show the running game, and a few other
    /// quick ones.
    fn is_refused(&self, name: &str) -> bool {
        let is_running = |server: &Arc<Shared>| server.live.is_running();
        !matches!(name, "start" | "live" | "rules" | "decode" | "encode")
            && self.game_server.as_ref().is_some_and(is_running)
    }

    fn answer(&self, request: &mut Request) -> Result<Answer, Failure> {
        let head = &request.head;
        origin::check(head.method(), head.headers(), self.on_loopback)
            .map_err(|Refusal { reason, remedy }| self.refuse(request, StatusCode::FORBIDDEN, reason, remedy))?;
        let Some((expected, path)) = ENDPOINTS.iter().find(|(_, path)| request.matches(path)) else {
            let path: String = head.uri().path().chars().take(PATH_CHARS_MAX).collect();
            let reason = format!("nothing at {path:?}: expected the path /");
            return Err(self.refuse(request, StatusCode::NOT_FOUND, reason, "connect to the address without a path"));
        };
        let method = if head.method() == Method::HEAD { &Method::GET } else { head.method() };
        if expected != method {
            return Err((StatusCode::METHOD_NOT_ALLOWED, format!("{method}: expected {expected}")));
        }
        if *path == "/" { self.page(request).map(Answer::Whole) } else { self.question(request).map(Answer::OfEngine) }
    }

    /// Returns the answer to a refused request, and reports the request if it is a websocket handshake.
    fn refuse(&self, request: &Request, code: StatusCode, reason: String, remedy: &str) -> Failure {
        let answer = format!("{reason}; {remedy}.\n");
        if let Some(server) = self.game_server.as_ref().filter(|_| request.is_upgrade()) {
            server.report(Event::Refused { reason, remedy: remedy.to_owned() });
        }
        (code, answer)
    }

    fn page(&self, request: &Request) -> Result<Response, Failure> {
        if self.game_server.is_some() && request.is_upgrade() {
            return create_response_with_body(&request.head, Vec::new).map_err(|error| {
                let reason = format!("not a websocket handshake: {error}");
                self.refuse(request, StatusCode::BAD_REQUEST, reason, "use a websocket client (RFC 6455)")
            });
        }
        let mut response = Response::new(self.page.html.clone().into_bytes());
        let policy = format!("{}; frame-ancestors 'none'", self.page.policy);
        let policy = HeaderValue::try_from(policy).map_err(|_| (StatusCode::INTERNAL_SERVER_ERROR, String::new()))?;
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        Ok(response)
    }

    /// Reads a request for the engine.
    fn question(&self, request: &mut Request) -> Result<Question, Failure> {
        let name = request.path[1].clone();
        if self.is_refused(&name) {
            return Err((StatusCode::CONFLICT, "a bot is playing: ask again when its game is over".to_owned()));
        }
        if name == "live" {
            *self.watched_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        let body = request.body(FILE_MAX_BYTES)?;
        let permit = self.computations.take(ANSWER_TIMEOUT);
        let permit = permit.ok_or((StatusCode::SERVICE_UNAVAILABLE, "the server is busy: try again".to_owned()))?;
        Ok(Question { name, body, _permit: permit })
    }
}
