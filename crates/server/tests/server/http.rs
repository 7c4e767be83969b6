//! Requests over HTTP: origins, the page, and paths that must not be served.

use std::time::Instant;

use getaway_server::limits;
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::http::StatusCode;

use super::harness::*;

#[tokio::test]
async fn foreign_pages_are_rejected() {
    let server = Running::start(options(vec![safe_map()])).await;
    let own = format!("http://{}", server.address);
    let port = server.address.rsplit(':').next().unwrap();
    let (unspecified, own_unspecified) = (format!("0.0.0.0:{port}"), format!("http://0.0.0.0:{port}"));
    let mut refused = Vec::new();
    for (headers, fine) in [
        (vec![], true),
        (vec![("origin", own.as_str())], true),
        (vec![("origin", "http://localhost:1234")], true),
        (vec![("origin", "https://evil.example")], false),
        (vec![("origin", "null")], false),
        (vec![("origin", "http://evil.example"), ("host", "evil.example")], false),
        (vec![("host", "evil.example")], false),
        (vec![("host", &unspecified)], true),
        (vec![("host", &unspecified), ("origin", &own_unspecified)], true),
        (vec![("host", &unspecified), ("origin", "http://0.0.0.0:1")], false),
        (vec![("host", &unspecified), ("origin", "https://evil.example")], false),
    ] {
        match try_connect(&server.address, &headers).await {
            Ok(_) => assert!(fine, "{headers:?}"),
            Err(tungstenite::Error::Http(response)) => {
                assert!(!fine, "{headers:?}");
                assert_eq!(response.status(), StatusCode::FORBIDDEN);
                refused.push(String::from_utf8(response.into_body().unwrap_or_default()).unwrap());
            }
            Err(error) => panic!("{headers:?}: {error}"),
        }
    }
    let notes = server.client_notes();
    assert_eq!(notes.len(), refused.len(), "one event per refused handshake: {notes:?}");
    assert_eq!(
        notes[0],
        "refused: the Origin header is \"https://evil.example\": expected none, or this server's own page; \
         connect from a program, or open the page that this server serves"
    );
    assert!(notes[3].starts_with("refused: the Host header is \"evil.example\": expected a name of this machine"));
}

#[tokio::test]
async fn broken_handshakes_are_reported() {
    let server = Running::start(options(vec![safe_map()])).await;
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (path, more, status) in [("/", "", "400"), ("/game", key, "404"), ("/", "Sec-WebSocket-Version: 8\r\n", "400")]
    {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{upgrade}{more}\r\n");
        // An upgrade keeps the connection open, so only the first line is read.
        let answer = first_line(&server.address, request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
    let notes = server.client_notes();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[0].starts_with("refused: not a websocket handshake: "), "{notes:?}");
    assert_eq!(
        notes[1],
        "refused: no websocket at \"/game\": expected the path /; connect to the address without a path"
    );
}

#[tokio::test]
async fn same_port_serves_the_page_and_nothing_else() {
    let server = Running::start(options(vec![safe_map()])).await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let page = raw(&server.address, get("/").as_bytes()).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>getaway</title>"), "{page}");
    assert!(page.contains("frame-ancestors 'none'") && page.contains("connect-src 'self'"), "{page}");
    assert!(raw(&server.address, get("/replay/0/0").as_bytes()).await.starts_with("HTTP/1.1 204"), "no game yet");
    let foreign = "GET /replay/0/0 HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert!(raw(&server.address, foreign.as_bytes()).await.starts_with("HTTP/1.1 403"));
    for path in ["/Cargo.toml", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd", "/maps"] {
        let answer = raw(&server.address, get(path).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert!(raw(&server.address, post.as_bytes()).await.starts_with("HTTP/1.1 405"));
    let no_key = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
    let answer = raw(&server.address, no_key.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    let head = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(limits::MAX_REQUEST_HEAD_BYTES));
    let answer = raw(&server.address, head.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert!(raw(&server.address, b"\0\xff nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400"));
}

#[tokio::test]
async fn incomplete_requests_time_out() {
    let server = Running::start(options(vec![safe_map()])).await;
    let start = Instant::now();
    let halves = [&b""[..], b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\n"];
    let answers = halves.map(|half| raw(&server.address, half));
    for answer in futures_util::future::join_all(answers).await {
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    assert!(start.elapsed() < limits::HTTP_TIMEOUT * 3);
}

#[tokio::test]
async fn length_of_a_request_is_limited() {
    let server = Running::start(options(vec![safe_map()])).await;
    for (bytes, status) in [(limits::MAX_REQUEST_HEAD_BYTES - 1, "404"), (limits::MAX_REQUEST_HEAD_BYTES + 1, "431")] {
        let (start, end) = ("GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: ", "\r\n\r\n");
        let request = format!("{start}{}{end}", "x".repeat(bytes - start.len() - end.len()));
        let answer = raw(&server.address, request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{bytes} bytes: {answer}");
    }
}

#[tokio::test]
async fn no_path_serves_a_file() {
    let server = Running::start(options(vec![safe_map()])).await;
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
        let answer = raw(&server.address, request.as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 200") || answer.is_empty(),
            "{path}: {answer}"
        );
        // The page itself may be served, but no file.
        for secret in ["[package]", "root:", "\"difficulty\"", "PATH="] {
            assert!(!answer.contains(secret), "{path}: {answer}");
        }
    }
}
