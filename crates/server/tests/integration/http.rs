use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use getaway_playground::{Engine, Games};
use getaway_server::{ENDPOINTS, ViewerServer, limits};
use getaway_viewer::{GameLibrary, RecordingSource};
use tungstenite::http::StatusCode;

use super::harness::*;

#[derive(Clone, Debug)]
struct Source {
    host: String,
    origin: Option<String>,
    fetch_site: Option<&'static str>,
}

impl Source {
    fn is_refused(&self, address: &str, method: &str) -> bool {
        let own = format!("http://{address}");
        let is_read = method == "GET" || method == "HEAD";
        let is_program = is_read && self.fetch_site.is_none();
        let is_fine = |origin: &String| *origin == own || is_program && origin == "http://localhost:1";
        self.host != address
            || self.origin.as_ref().is_some_and(|origin| !is_fine(origin))
            || matches!(self.fetch_site, Some("same-site" | "cross-site"))
            || (!is_read && self.origin.is_none())
    }

    fn request(&self, method: &str, path: &str, more: &str) -> String {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{more}", self.host);
        if let Some(origin) = &self.origin {
            request += &format!("Origin: {origin}\r\n");
        }
        if let Some(site) = self.fetch_site {
            request += &format!("Sec-Fetch-Site: {site}\r\n");
        }
        request + "\r\n"
    }
}

fn sources(address: &str) -> Vec<Source> {
    let source = |host: &str, origin: Option<&str>, fetch_site| Source {
        host: host.to_owned(),
        origin: origin.map(str::to_owned),
        fetch_site,
    };
    let own = format!("http://{address}");
    vec![
        source(address, None, None),
        source(address, Some(&own), None),
        source(address, Some(&own), Some("same-origin")),
        source(address, None, Some("none")),
        source(address, None, Some("same-site")),
        source(address, None, Some("cross-site")),
        source(address, Some("http://127.0.0.1:1"), Some("same-site")),
        source(address, Some("http://localhost:1"), None),
        source(address, Some("https://evil.example"), Some("cross-site")),
        source(address, Some("https://evil.example"), None),
        source(address, Some("null"), Some("cross-site")),
        source("evil.example", None, None),
        source("evil.example", Some("http://evil.example"), Some("same-origin")),
        source(address, Some(&own), Some("cross-site")),
    ]
}

fn viewer() -> String {
    let recording = "../../games/cul-de-sacs-stroll-until-caught.jsonl.gz";
    let mut library = GameLibrary::default();
    let recording = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(recording);
    library.add(&RecordingSource::File(recording)).expect("a recording");
    let viewer = ViewerServer::bind(0, Engine::new(Games::Recorded(library))).expect("a free port");
    let address = viewer.local_addr().expect("an address").to_string();
    thread::spawn(|| viewer.run());
    address
}

/// The parts of the engine's answer: their kinds and contents.
fn parts(answer: &[u8]) -> Vec<(char, Vec<u8>)> {
    let start = answer.windows(4).position(|end| end == b"\r\n\r\n").expect("a head") + 4;
    let (mut rest, mut parts) = (&answer[start..], Vec::new());
    while let [kind, a, b, c, d, after @ ..] = rest {
        let (content, next) = after.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        parts.push((char::from(*kind), content.to_vec()));
        rest = next;
    }
    assert!(rest.is_empty());
    parts
}

fn ask(address: &str, name: &str, body: &[u8]) -> Vec<(char, Vec<u8>)> {
    let mut stream = stream(address);
    let head = page_request(address, name, "").replace("Length: 0", &format!("Length: {}", body.len()));
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    parts(&answer)
}

fn server_after_a_game() -> Running {
    let server = Running::start(options(vec![deadly_map()]));
    let mut bot = server.register();
    bot.play();
    server.result(1);
    server
}

#[test]
fn requests_across_sites_are_refused_at_every_endpoint() {
    let server = server_after_a_game();
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let plain = "Connection: close\r\nContent-Length: 0\r\n";
    let (mut refused, mut allowed) = (0, 0);
    for address in [viewer(), server.address.clone()] {
        let paths = ENDPOINTS.iter().map(|(method, path)| (method.as_str(), path.replace("{request}", "start")));
        for (own_method, path) in paths.chain([("GET", "/nothing".to_owned())]) {
            for source in sources(&address) {
                for (method, more) in
                    [("GET", plain), ("HEAD", plain), ("POST", plain), ("PUT", plain), ("GET", upgrade)]
                {
                    let answer = first_line(&address, source.request(method, &path, more).as_bytes());
                    let is_refused = source.is_refused(&address, method);
                    assert_eq!(answer.starts_with("HTTP/1.1 403"), is_refused, "{method} {path} {source:?}: {answer}");
                    assert!(
                        is_refused || method == own_method || method == "HEAD" || !answer.starts_with("HTTP/1.1 200"),
                        "{method} {path} {source:?}: {answer}"
                    );
                    *(if is_refused { &mut refused } else { &mut allowed }) += 1;
                }
            }
        }
    }
    let requests = 2 * (ENDPOINTS.len() + 1) * sources("").len() * 5;
    assert_eq!(refused + allowed, requests);
    assert!(refused > requests / 2, "{refused} of {requests}");
}

#[test]
fn answers_and_reports_are_those_of_the_engine() {
    let address = viewer();
    let recording = std::fs::read("../../games/cul-de-sacs-stroll-until-caught.jsonl.gz").expect("a recording");
    let tiles = ["#######", "#.....#", "#.#.#.#", "#.....#", "#######"];
    let map = serde_json::json!({"tiles": tiles, "player": [1, 1], "threats": [["shark", 5, 3]]});
    let game = serde_json::json!({"name": "yard", "map": map, "moves": "RR"}).to_string();
    let engine = Engine::default();
    let mut kinds = String::new();
    for (name, arguments, file) in [
        ("start", "null".to_owned(), &[][..]),
        ("games", r#"{"number":null,"name":"a.jsonl.gz"}"#.to_owned(), &recording),
        ("recording", r#"{"number":null,"name":"a.jsonl.gz"}"#.to_owned(), &recording),
        ("recording", r#"{"name":"a.jsonl"}"#.to_owned(), b"nothing"),
        ("replay", format!(r#"{{"game":{game},"shown":null}}"#), &[]),
        ("replay", format!(r#"{{"game":{game},"shown":"RL"}}"#), &[]),
        ("judge", format!(r#"{{"game":{game},"index":2}}"#), &[]),
        ("play", format!(r#"{{"game":{game},"index":1,"planner":"safest","seed":1,"budget_ticks":50}}"#), &[]),
        ("play", format!(r#"{{"game":{game},"index":1,"planner":"canary:plan","seed":1,"budget_ticks":50}}"#), &[]),
        ("solve", format!(r#"{{"game":{game},"seed":0,"budget_ticks":2000000}}"#), &[]),
        ("analyse", game.clone(), &[]),
        ("encode", format!(r#"{{"game":{game},"index":2}}"#), &[]),
        ("decode", "\"game=nothing\"".to_owned(), &[]),
        ("rules", "{}".to_owned(), &[]),
        ("nothing", "null".to_owned(), &[]),
    ] {
        let mut expected = Vec::new();
        let mut report = |text: &str| {
            expected.push(('r', text.as_bytes().to_vec()));
            true
        };
        let last = match engine.answer(name, &arguments, file, &mut report) {
            Ok(answer) => ('a', answer),
            Err(sentence) => ('e', sentence.into_bytes()),
        };
        expected.push(last);
        let found = ask(&address, name, &[arguments.as_bytes(), b"\n", file].concat());
        let is_start = name == "start";
        assert!(found == expected || is_start && found.len() == 1, "{name} {arguments}");
        kinds.extend(found.iter().map(|(kind, _)| kind));
    }
    for kind in ['r', 'a', 'e'] {
        assert!(kinds.contains(kind), "{kinds}");
    }
    let [(_, list)] = &ask(&address, "games", b"null\n")[..] else { panic!("one part") };
    assert!(String::from_utf8_lossy(list).contains("\"map\":\"cul-de-sacs-stroll-until-caught\""));
    assert_eq!(ask(&address, "recording", b"{\"number\":1}\n")[0].0, 'a');
    assert_eq!(ask(&address, "recording", b"{\"number\":7}\n"), [('e', b"no recording 7".to_vec())]);
}

#[test]
fn bot_does_not_share_the_processor_with_pages() {
    let server = Running::start(options(vec![safe_map()]));
    let status = |name: &str| first_line(&server.address, page_request(&server.address, name, "null\n").as_bytes());
    assert!(status("signature").starts_with("HTTP/1.1 200"), "no game yet");
    let mut bot = server.register();
    bot.state();
    for (name, expected) in
        [("signature", "409"), ("judge", "409"), ("start", "200"), ("live", "200"), ("rules", "200")]
    {
        let status = status(name);
        assert!(status.starts_with(&format!("HTTP/1.1 {expected}")), "{name}: {status}");
    }
}

#[test]
fn search_ends_when_its_page_leaves() {
    let address = viewer();
    let body = r#"{"kind":"labyrinth","width":21,"height":17,"threats":9,"styles":[],"braid_permille":0,"seed":3}"#;
    let [(_, map)] = &ask(&address, "generate", body.as_bytes())[..] else { panic!("one part") };
    let map: serde_json::Value = serde_json::from_slice(map).expect("a map");
    let game = serde_json::json!({"name": "hard", "map": {"tiles": map["tiles"], "player": map["player"], "threats": map["threats"]}});
    let request =
        serde_json::json!({"game": game, "seed": 0, "budget_ticks": 4_000_000_000_000_u64}).to_string() + "\n";
    // Each search has a permit. Without them, no other request is answered.
    for _ in 0..8 {
        let mut page = stream(&address);
        page.write_all(page_request(&address, "solve", &request).as_bytes()).unwrap();
        let mut head = [0; 400];
        page.read_exact(&mut head).unwrap();
    }
    assert_eq!(ask(&address, "games", b"null\n").len(), 1);
}

#[test]
fn length_of_an_upload_must_be_stated_and_is_limited() {
    let address = viewer();
    let request = |header: &str| page_request(&address, "start", "").replace("Content-Length: 0", header);
    for (request, status) in [
        (request("Content-Length: 3000000") + &"x".repeat(3_000_000), "200"),
        (request("Content-Length: 67108865") + &"x".repeat(3_000_000), "413"),
        (request("Content-Length: 18446744073709551616"), "411"),
        (request("Transfer-Encoding: chunked") + "not a chunk\r\n", "411"),
        (request("Transfer-Encoding: chunked\r\nContent-Length: 5") + "0\r\n\r\n", "411"),
    ] {
        let answer = raw(&address, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    let mut short = stream(&address);
    short.write_all((request("Content-Length: 9") + "too short").as_bytes().split_last().unwrap().1).unwrap();
    short.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    short.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.ends_with("8 bytes: expected 9, the Content-Length"),
        "{answer}"
    );
}

#[test]
fn foreign_pages_are_rejected() {
    let server = Running::start(options(vec![safe_map()]));
    let own = format!("http://{}", server.address);
    let port = server.address.rsplit(':').next().unwrap();
    let (unspecified, own_unspecified) = (format!("0.0.0.0:{port}"), format!("http://0.0.0.0:{port}"));
    let mut refused = Vec::new();
    for (headers, fine) in [
        (vec![], true),
        (vec![("origin", own.as_str())], true),
        (vec![("origin", "http://localhost:1234")], true),
        (vec![("origin", "http://localhost/"), ("user-agent", "Go-http-client/1.1")], true),
        (vec![("origin", "http://localhost"), ("user-agent", "Mozilla/5.0 (X11; Linux x86_64)")], false),
        (vec![("sec-fetch-site", "same-site")], false),
        (vec![("origin", own.as_str()), ("sec-fetch-site", "same-origin")], true),
        (vec![("origin", "https://evil.example")], false),
        (vec![("origin", "null")], false),
        (vec![("origin", "http://evil.example"), ("host", "evil.example")], false),
        (vec![("host", "evil.example")], false),
        (vec![("host", &unspecified)], true),
        (vec![("host", &unspecified), ("origin", &own_unspecified)], true),
        (vec![("host", &unspecified), ("origin", "http://0.0.0.0:1")], false),
        (vec![("host", &unspecified), ("origin", "https://evil.example")], false),
    ] {
        match try_connect(&server.address, &headers) {
            Ok(_) => assert!(fine, "{headers:?}"),
            Err(tungstenite::Error::Http(response)) => {
                assert!(!fine, "{headers:?}");
                assert_eq!(response.status(), StatusCode::FORBIDDEN);
                let answer = String::from_utf8(response.into_body().unwrap_or_default()).unwrap();
                refused.push(format!("refused: {}", answer.trim_end_matches(".\n")));
            }
            Err(error) => panic!("{headers:?}: {error}"),
        }
    }
    let notes = server.client_notes(refused.len());
    assert_eq!(notes, refused, "the server's log and the client get the same reason");
    assert_eq!(
        notes[2],
        "refused: the Origin header is \"https://evil.example\": expected none, http://localhost, or this server's own page; \
         connect from a program, or open the page that this server serves"
    );
    assert!(notes[1].starts_with("refused: the Sec-Fetch-Site header is \"same-site\": expected same-origin or none"));
    assert!(notes[5].starts_with("refused: the Host header is \"evil.example\": expected a name of this machine"));
}

#[test]
fn broken_handshakes_are_reported() {
    let server = Running::start(options(vec![safe_map()]));
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (path, more, status) in [("/", "", "400"), ("/game", key, "404"), ("/", "Sec-WebSocket-Version: 8\r\n", "400")]
    {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{upgrade}{more}\r\n");
        let answer = raw(&server.address, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
    let notes = server.client_notes(3);
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[0].starts_with("refused: not a websocket handshake: "), "{notes:?}");
    assert_eq!(notes[1], "refused: nothing at \"/game\": expected the path /; connect to the address without a path");
}

#[test]
fn same_port_serves_the_page_and_nothing_else() {
    let server = Running::start(options(vec![safe_map()]));
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let page = raw(&server.address, get("/").as_bytes());
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>getaway</title>"), "{page}");
    assert!(page.contains("frame-ancestors 'none'") && page.contains("connect-src 'self'"), "{page}");
    let post = page_request(&server.address, "", "").replace("/engine/ ", "/ ");
    for path in ["/Cargo.toml", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd", "/maps"] {
        let answer = raw(&server.address, get(path).as_bytes());
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    assert!(raw(&server.address, post.as_bytes()).starts_with("HTTP/1.1 405"));
    let no_key = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    let answer = raw(&server.address, no_key.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    let head = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(limits::MAX_REQUEST_HEAD_BYTES));
    let answer = raw(&server.address, head.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert!(raw(&server.address, b"\0\xff nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
}

#[test]
fn incomplete_requests_time_out() {
    let server = Running::start(options(vec![safe_map()]));
    let start = Instant::now();
    let halves = [&b""[..], b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"];
    let answers = halves.map(|half| {
        let address = server.address.clone();
        thread::spawn(move || raw(&address, half))
    });
    // A head that never ends, byte by byte.
    let mut slow = stream(&server.address);
    for byte in b"GET / HTTP/1.1\r\n".iter().chain(b"X: y\r\n".iter().cycle()) {
        thread::sleep(Duration::from_millis(50));
        if slow.write_all(&[*byte]).is_err() {
            break;
        }
    }
    for answer in answers {
        let answer = answer.join().unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    assert!(start.elapsed() < limits::HTTP_TIMEOUT * 3);
}

#[test]
fn length_of_a_request_is_limited() {
    let server = Running::start(options(vec![safe_map()]));
    for (bytes, status) in [(limits::MAX_REQUEST_HEAD_BYTES - 1, "404"), (limits::MAX_REQUEST_HEAD_BYTES + 1, "431")] {
        let (start, end) = ("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: ", "\r\n\r\n");
        let request = format!("{start}{}{end}", "x".repeat(bytes - start.len() - end.len()));
        let answer = raw(&server.address, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{bytes} bytes: {answer}");
    }
}

#[test]
fn no_path_serves_a_file() {
    let server = Running::start(options(vec![safe_map()]));
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let encoded = manifest.replace('/', "%2f");
    for path in [
        manifest,
        &format!("/{manifest}"),
        &format!("/{encoded}"),
        &format!("file://{manifest}"),
        &format!("http://localhost{manifest}"),
        &format!("/..{manifest}"),
        &format!("/?{manifest}"),
        &format!("/#{manifest}"),
        "/../../../../../../../../etc/passwd",
        "/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/%252e%252e/etc/passwd",
        "/..\\..\\..\\etc\\passwd",
        "/..;/etc/passwd",
        "/%c0%ae%c0%ae/etc/passwd",
        "/etc/passwd%00.html",
        "/./Cargo.toml",
        "/maps/roundabout/meta.json",
        "/proc/self/environ",
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = raw(&server.address, request.as_bytes());
        assert!(
            answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 200") || answer.is_empty(),
            "{path}: {answer}"
        );
        for secret in ["[package]", "root:", "\"difficulty\"", "PATH="] {
            assert!(!answer.contains(secret), "{path}: {answer}");
        }
    }
}
