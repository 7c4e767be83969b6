//! HTTP/1.1, one request per connection: reads requests and writes responses.

use std::io::{ErrorKind, Read, Write};
use std::time::Instant;

use percent_encoding::percent_decode_str;
use tungstenite::handshake::server::write_response;
use tungstenite::http::header::{self, HeaderName, HeaderValue};
use tungstenite::http::{self, Method, StatusCode, Version};

use super::limits::{ANSWER_TIMEOUT, HTTP_TIMEOUT, MAX_REQUEST_HEAD_BYTES, MAX_REQUEST_HEADERS, READ_BUFFER_BYTES};
use super::stream::Stream;

pub(crate) type Response = http::Response<Vec<u8>>;
/// The status and the text of a response that is an error.
pub(crate) type Failure = (StatusCode, String);

/// Headers of every response.
const FIXED_HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(super) struct Request {
    pub head: http::Request<()>,
    pub stream: Stream,
    /// The bytes that have been read after the head.
    pub unread: Vec<u8>,
    /// The decoded parts of the path, after each `/`.
    pub path: Vec<String>,
}

impl Request {
    /// Reads the head. Returns `None` if the client leaves or sends nothing in time. If the head is
    /// invalid, too long or incomplete at the deadline, sends an error response and returns `None`.
    pub fn read(mut stream: Stream) -> Option<Self> {
        stream.set_deadline(Instant::now() + HTTP_TIMEOUT);
        let mut unread = Vec::new();
        match read_head(&mut stream, &mut unread) {
            Ok(head) => {
                let head = head?;
                let parts = head.uri().path().split('/').skip(1).map(percent_decode_str);
                let path = parts.map(|part| part.decode_utf8_lossy().into_owned()).collect();
                Some(Self { head, stream, unread, path })
            }
            Err(failure) => {
                respond(stream, error(failure), &Method::GET);
                None
            }
        }
    }

    pub fn is_upgrade(&self) -> bool {
        self.head.headers().contains_key(header::UPGRADE)
    }

    /// Compares the path with an endpoint's.
    pub fn matches(&self, endpoint: &str) -> bool {
        let expected = endpoint.split('/').skip(1);
        let is_same = |(expected, part): (&str, &String)| expected == part || expected.starts_with('{');
        expected.clone().count() == self.path.len() && expected.zip(&self.path).all(is_same)
    }

    /// Reads the body. Fails if it is incomplete or longer than `max_bytes`, or has no length.
    pub fn body(&mut self, max_bytes: usize) -> Result<Vec<u8>, Failure> {
        let headers = self.head.headers();
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let Some(length) = length.filter(|_| !headers.contains_key(header::TRANSFER_ENCODING)) else {
            return Err((StatusCode::LENGTH_REQUIRED, "expected a Content-Length".to_owned()));
        };
        if length > max_bytes {
            let expected = format!("{length} bytes: expected at most {} MiB", max_bytes >> 20);
            return Err((StatusCode::PAYLOAD_TOO_LARGE, expected));
        }
        let mut body = std::mem::take(&mut self.unread);
        body.truncate(length);
        let missing = length - body.len();
        self.stream.set_deadline(Instant::now() + ANSWER_TIMEOUT);
        let read = (&mut self.stream).take(missing as u64).read_to_end(&mut body);
        if read.is_ok_and(|read| read == missing) {
            return Ok(body);
        }
        Err((StatusCode::BAD_REQUEST, format!("{} bytes: expected {length}, the Content-Length", body.len())))
    }
}

/// Reads a request's head. `unread` then holds the bytes that follow it. Returns `None` if the
/// client leaves, or sends nothing in time.
fn read_head(stream: &mut Stream, unread: &mut Vec<u8>) -> Result<Option<http::Request<()>>, Failure> {
    let mut chunk = [0; READ_BUFFER_BYTES];
    loop {
        let count = match stream.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::WouldBlock && !unread.is_empty() => {
                let expected = format!("expected a whole head within {} s", HTTP_TIMEOUT.as_secs());
                return Err((StatusCode::REQUEST_TIMEOUT, expected));
            }
            Ok(0) | Err(_) => return Ok(None),
            Ok(count) => count,
        };
        // A head ends with a line break, so later chunks without one need no parsing.
        let may_be_complete = unread.is_empty() || chunk[..count].contains(&b'\n');
        unread.extend(&chunk[..count]);
        if may_be_complete
            && let Some((length, head)) = parse_head(&unread[..unread.len().min(MAX_REQUEST_HEAD_BYTES)])?
        {
            unread.drain(..length);
            return Ok(Some(head));
        }
        if unread.len() >= MAX_REQUEST_HEAD_BYTES {
            let expected = format!("expected a head of at most {} KiB", MAX_REQUEST_HEAD_BYTES >> 10);
            return Err((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, expected));
        }
    }
}

/// Returns the length of the head and the head, or `None` if the head is not complete.
fn parse_head(bytes: &[u8]) -> Result<Option<(usize, http::Request<()>)>, Failure> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_REQUEST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            let expected = format!("expected at most {MAX_REQUEST_HEADERS} headers");
            return Err((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, expected));
        }
        Err(error) => return Err((StatusCode::BAD_REQUEST, format!("not an HTTP request: {error}"))),
    };
    let version = if parsed.version == Some(0) { Version::HTTP_10 } else { Version::HTTP_11 };
    let (method, path) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    let head = http::Request::builder().version(version).method(method).uri(path);
    let head = parsed.headers.iter().fold(head, |head, header| head.header(header.name, header.value)).body(());
    let head = head.map_err(|error| (StatusCode::BAD_REQUEST, format!("not an HTTP request: {error}")))?;
    Ok(Some((length, head)))
}

pub(super) fn error((status, text): Failure) -> Response {
    let mut response = Response::new(text.into_bytes());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// A response in parts, sent one by one. A part consists of its kind (one byte), its length (four
/// bytes, little-endian) and its content. The end of the connection ends the response.
pub(super) struct Parts(Stream);

impl Parts {
    pub fn begin(mut stream: Stream) -> Option<Self> {
        let mut response = Response::default();
        add_fixed_headers(&mut response);
        let mut bytes = Vec::new();
        let _ = write_response(&mut bytes, &response);
        stream.set_deadline(Instant::now() + ANSWER_TIMEOUT);
        stream.write_all(&bytes).ok().map(|()| Self(stream))
    }

    /// Returns false if the client has left.
    pub fn send(&mut self, kind: u8, content: &[u8]) -> bool {
        self.0.set_deadline(Instant::now() + ANSWER_TIMEOUT);
        let part = [&[kind][..], &(content.len() as u32).to_le_bytes(), content].concat();
        !self.0.has_ended() && self.0.write_all(&part).is_ok()
    }

    pub fn end(self) {
        self.0.finish();
    }
}

fn add_fixed_headers(response: &mut Response) {
    for (name, value) in FIXED_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Writes a response to a request with `method`. Returns the stream if it is now a websocket.
/// Otherwise closes it.
pub(super) fn respond(mut stream: Stream, mut response: Response, method: &Method) -> Option<Stream> {
    let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let length = response.body().len();
    add_fixed_headers(&mut response);
    if !is_upgrade {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
    let mut bytes = Vec::new();
    let _ = write_response(&mut bytes, &response);
    if method != Method::HEAD {
        bytes.extend(response.body());
    }
    stream.set_deadline(Instant::now() + ANSWER_TIMEOUT);
    stream.write_all(&bytes).ok()?;
    if is_upgrade {
        return Some(stream);
    }
    stream.finish();
    None
}
