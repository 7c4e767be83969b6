//! Checks who may open a websocket: programs, and our own page.
//!
//! A browser lets any web page open a websocket to any address, the user's own machine included,
//! but sends the page's origin in `Origin`. With DNS rebinding the origin agrees with `Host`, but
//! `Host` is not a name of this machine.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, header};

/// Whether a request with these headers may open a websocket. `on_loopback`: whether the server
/// listens on the loopback interface only.
pub(crate) fn is_allowed(headers: &HeaderMap, on_loopback: bool) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if on_loopback && !host.is_some_and(is_loopback) {
        return false;
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        // Programs send no origin.
        (None, _) => true,
        (Some(origin), None) => authority(origin).is_some_and(|authority| {
            is_loopback(authority) || host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
        }),
        (Some(_), Some(_)) => false,
    }
}

/// The `name:port` of an origin. Pages opened from files, and sandboxed frames, have the origin
/// `null`.
fn authority(origin: &HeaderValue) -> Option<&str> {
    let origin = origin.to_str().ok()?;
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
}

/// Whether `name:port` is the loopback interface.
fn is_loopback(authority: &str) -> bool {
    let name = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    let name = name.unwrap_or_default();
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: Option<&'static str>, origins: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(header::HOST, HeaderValue::from_static(host));
        }
        for origin in origins {
            headers.append(header::ORIGIN, HeaderValue::from_static(origin));
        }
        headers
    }

    #[test]
    fn foreign_origins_are_rejected() {
        for (host, origins, on_loopback, allowed) in [
            ("127.0.0.1:8765", &[][..], true, true),
            ("localhost:8765", &[], true, true),
            ("[::1]:8765", &[], true, true),
            ("127.0.0.1:8765", &["http://127.0.0.1:8765"], true, true),
            ("127.0.0.1:8765", &["http://localhost:3000"], true, true),
            ("localhost:8765", &["https://LOCALHOST"], true, true),
            ("[::1]:8765", &["http://[::1]:8765"], true, true),
            ("127.0.0.1:8765", &["https://evil.example"], true, false),
            ("127.0.0.1:8765", &["http://127.0.0.1.evil.example"], true, false),
            ("127.0.0.1:8765", &["http://localhost.evil.example"], true, false),
            ("127.0.0.1:8765", &["http://localhost@evil.example"], true, false),
            ("127.0.0.1:8765", &["http://evil.example#localhost"], true, false),
            ("127.0.0.1:8765", &["null"], true, false),
            ("127.0.0.1:8765", &["file://"], true, false),
            ("127.0.0.1:8765", &[""], true, false),
            ("127.0.0.1:8765", &["http://127.0.0.1:8765", "https://evil.example"], true, false),
            // DNS rebinding.
            ("evil.example:8765", &["http://evil.example:8765"], true, false),
            ("evil.example:8765", &[], true, false),
            // Listening on all interfaces.
            ("game.local:8765", &["http://game.local:8765"], false, true),
            ("192.168.1.7:8765", &["http://192.168.1.7:8765"], false, true),
            ("192.168.1.7:8765", &[], false, true),
            ("192.168.1.7:8765", &["http://192.168.1.7:80"], false, false),
            ("192.168.1.7:8765", &["https://evil.example"], false, false),
        ] {
            assert_eq!(is_allowed(&headers(Some(host), origins), on_loopback), allowed, "{host} {origins:?}");
        }
        assert!(!is_allowed(&headers(None, &[]), true));
        assert!(is_allowed(&headers(None, &[]), false));
    }
}
