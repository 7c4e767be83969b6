//! Checks whether a client may open a websocket: only programs and our own page may.
//!
//! A browser lets any web page open a websocket to any address, the user's own machine included,
//! but sends the page's origin in `Origin`. With DNS rebinding the origin matches `Host`, but
//! `Host` is not a name of this machine.
//!
//! The unspecified address (`0.0.0.0`, `[::]`) is accepted as a `Host`: clients that connect to it
//! reach this machine, and it is not a name that DNS rebinding can use. As an origin it is only
//! accepted for our own page, with the same port.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, header};

/// Why a request is refused, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What was found and what was expected.
    pub reason: String,
    /// What to change.
    pub remedy: &'static str,
}

/// Maximum length of a header's value in a reason.
const VALUE_CHARS_MAX: usize = 100;

/// Checks whether a request with these headers may open a websocket. `on_loopback`: whether the
/// server listens on the loopback interface only.
///
/// # Errors
/// The reason and the remedy, when it may not.
pub(crate) fn check(headers: &HeaderMap, on_loopback: bool) -> Result<(), Refusal> {
    let host = headers.get(header::HOST);
    let host_name = host.and_then(|host| host.to_str().ok());
    if on_loopback && !host_name.is_some_and(|host| is_loopback(host) || is_unspecified(host)) {
        return Err(Refusal {
            reason: format!("the Host header is {}: expected a name of this machine, such as localhost", quoted(host)),
            remedy: "connect to localhost, 127.0.0.1 or 0.0.0.0, or serve other names with --host 0.0.0.0",
        });
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (origin, further) = (origins.next(), origins.next());
    // Programs send no origin.
    let is_allowed = origin.is_none_or(|origin| {
        authority(origin).is_some_and(|authority| {
            is_loopback(authority) || host_name.is_some_and(|host| host.eq_ignore_ascii_case(authority))
        })
    });
    if is_allowed && further.is_none() {
        return Ok(());
    }
    Err(Refusal {
        reason: format!("the Origin header is {}: expected none, or this server's own page", quoted(origin)),
        remedy: "connect from a program, or open the page that this server serves",
    })
}

/// The value of a header, for a reason.
fn quoted(value: Option<&HeaderValue>) -> String {
    value.map_or_else(
        || "missing".to_owned(),
        |value| {
            let text: String = String::from_utf8_lossy(value.as_bytes()).chars().take(VALUE_CHARS_MAX).collect();
            format!("{text:?}")
        },
    )
}

/// The `name:port` of an origin. Pages opened from files, and sandboxed frames, have the origin
/// `null`.
fn authority(origin: &HeaderValue) -> Option<&str> {
    let origin = origin.to_str().ok()?;
    origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
}

/// Whether `name:port` is the loopback interface.
fn is_loopback(authority: &str) -> bool {
    let name = name_of(authority);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether `name:port` is the unspecified address.
fn is_unspecified(authority: &str) -> bool {
    name_of(authority).parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

/// The name of `name:port` or `[address]:port`.
fn name_of(authority: &str) -> &str {
    let name = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    name.unwrap_or_default()
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
            ("0.0.0.0:8765", &[], true, true),
            ("[::]:8765", &[], true, true),
            ("0.0.0.0", &[], true, true),
            ("0.0.0.0:8765", &["http://0.0.0.0:8765"], true, true),
            ("[::]:8765", &["http://[::]:8765"], true, true),
            ("0.0.0.0:8765", &["http://0.0.0.0:9999"], true, false),
            ("127.0.0.1:8765", &["http://0.0.0.0:9999"], true, false),
            ("127.0.0.1:8765", &["http://0.0.0.0:8765"], true, false),
            ("0.0.0.0:8765", &["https://evil.example"], true, false),
            ("0.0.0.0:8765", &["http://0.0.0.0.evil.example:8765"], true, false),
            ("0.0.0.0:8765", &["null"], true, false),
            ("0.0.0.0.evil.example:8765", &[], true, false),
            ("0.0.0.0@evil.example:8765", &[], true, false),
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
            assert_eq!(check(&headers(Some(host), origins), on_loopback).is_ok(), allowed, "{host} {origins:?}");
        }
        assert!(check(&headers(None, &[]), true).is_err());
        assert!(check(&headers(None, &[]), false).is_ok());
    }

    #[test]
    fn refusals_say_what_was_found_and_what_to_change() {
        let reason = |host, origins| check(&headers(host, origins), true).expect_err("a refusal").reason;
        assert_eq!(
            reason(Some("evil.example:8765"), &[]),
            "the Host header is \"evil.example:8765\": expected a name of this machine, such as localhost"
        );
        assert!(reason(None, &[]).starts_with("the Host header is missing: "));
        assert_eq!(
            reason(Some("0.0.0.0:8765"), &["https://evil.example"]),
            "the Origin header is \"https://evil.example\": expected none, or this server's own page"
        );
    }
}
