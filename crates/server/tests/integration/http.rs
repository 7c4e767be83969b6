use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use getaway_server::{ENDPOINTS, ViewerServer, limits};
use getaway_viewer::{GameLibrary, Page, PageSource, RecordingSource};
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

fn path_of(endpoint: &str) -> String {
    let part = |part: &str| match part {
        "{game}" => "1".to_owned(),
        "{from}" | "{index}" => "0".to_owned(),
        "{moves}" => "m".to_owned(),
        "{planner}" => "canary:plan".to_owned(),
        name if name.starts_with('{') => panic!("{endpoint}: no value for {name}"),
        fixed => fixed.to_owned(),
    };
    endpoint.split('/').map(part).collect::<Vec<String>>().join("/")
}

fn viewer() -> String {
    let recording = "../../games/cul-de-sacs-stroll-until-caught.jsonl.gz";
    let library = GameLibrary::new(None, Vec::new());
    let recording = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(recording);
    library.add(&RecordingSource::File(recording)).expect("a recording");
    let viewer = ViewerServer::bind(0, Page::new(PageSource::Library, None), Arc::default(), Some(Arc::new(library)));
    let viewer = viewer.expect("a free port");
    let address = viewer.local_addr().expect("an address").to_string();
    thread::spawn(|| viewer.run());
    address
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
        let unknown = ("GET", "/nothing".to_owned());
        let paths = ENDPOINTS.iter().map(|endpoint| (endpoint.method.as_str(), path_of(endpoint.path)));
        for (own_method, path) in paths.chain([unknown]) {
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
fn page_gets_what_it_asks_for() {
    let server = server_after_a_game();
    for (address, has_library) in [(viewer(), true), (server.address.clone(), false)] {
        let if_library = if has_library { "200" } else { "404" };
        for (path, status) in [
            ("/games", if_library),
            ("/open", if has_library { "422" } else { "404" }),
            ("/replay/1/0", "200"),
            ("/analysis/1", "200"),
            ("/analysis/2", "404"),
            ("/analysis/1/0/mLR", "200"),
            ("/analysis/1/0/LR", "422"),
            ("/analysis/1/99999/m", "404"),
            ("/branch/1/0/m/-", "200"),
            ("/branch/1/0/mLRUD./lookahead:2", "200"),
            ("/branch/1/0/m/step(lookahead(simulate))", "200"),
            ("/branch/1/99999/m/-", "404"),
            ("/branch/1/0/LR/-", "422"),
            ("/branch/1/0/m/clever", "422"),
            ("/branch/1/0/m/canary:plan", "422"),
            ("/branch/1/0/m/os:abort", "422"),
        ] {
            let answer = raw(&address, page_request(&address, path).as_bytes());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
            assert!(answer.contains("cross-origin-resource-policy: same-origin"), "{path}: {answer}");
        }
        let unknown = raw(&address, page_request(&address, "/branch/1/0/m/canary:plan").as_bytes());
        assert!(unknown.contains("no planner named canary:plan: "), "{unknown}");
    }
}

#[test]
fn length_of_an_upload_must_be_stated_and_is_limited() {
    let address = viewer();
    let request = |header: &str| page_request(&address, "/open").replace("Content-Length: 0", header);
    for (request, status) in [
        (request("Content-Length: 3000000") + &"x".repeat(3_000_000), "422"),
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
    let post = |path: &str| page_request(&server.address, path);
    assert!(raw(&server.address, post("/replay/0/0").as_bytes()).starts_with("HTTP/1.1 204"), "no game yet");
    for path in ["/Cargo.toml", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd", "/maps"] {
        let answer = raw(&server.address, get(path).as_bytes());
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    assert!(raw(&server.address, post("/").as_bytes()).starts_with("HTTP/1.1 405"));
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
