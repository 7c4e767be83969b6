//! Refuses requests whose headers show that another website's page may have sent them.
//!
//! Browsers let a web page send requests, for example for images, to other addresses, including
//! this machine's. In requests to a trustworthy address (HTTPS or this machine's loopback address),
//! the header `Sec-Fetch-Site` states how the page is related to the address. The header `Origin`
//! names the page's origin. Browsers send `Origin` for websockets and POST, but rarely for GET.
//! Under DNS rebinding, `Origin` matches `Host`, but `Host` does not name this machine. The
//! unspecified address (`0.0.0.0`, `[::]`) is a valid `Host`: it reaches this machine, and DNS
//! rebinding cannot use it.
//!
//! Programs usually send no `Origin`, but some libraries need one, often `http://localhost`. A page
//! of another server on this machine has such an origin too, and Chromium's websocket handshakes
//! lack `Sec-Fetch-Site`. But all browsers add `Accept-Language`, `Pragma`, and a `User-Agent` that
//! begins with `Mozilla/`, and no page can remove them. So each of these marks the request of a
//! browser.

use std::net::IpAddr;

use tungstenite::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Names the header, its value and the expected value.
    pub reason: String,
    pub remedy: &'static str,
}

const VALUE_CHARS_MAX: usize = 100;

/// `Origin` must match `Host`, as in requests from this server's page. A GET or HEAD, including
/// a websocket handshake, may lack `Origin`, and that of a program may name any origin on this
/// machine. `Sec-Fetch-Site`, if present, must be `same-origin` or `none`. With `on_loopback`,
/// `Host` must name this machine or be the unspecified address.
pub(crate) fn check(method: &Method, headers: &HeaderMap, on_loopback: bool) -> Result<(), Refusal> {
    let host = single(headers, &header::HOST);
    let host_name = host.ok().flatten().and_then(|host| host.to_str().ok());
    if on_loopback && !host_name.is_some_and(|host| is_loopback(host) || is_unspecified(host)) {
        return Err(Refusal {
            reason: format!("the Host header is {}: expected a name of this machine, such as localhost", quoted(host)),
            remedy: "connect to localhost, 127.0.0.1 or 0.0.0.0; getaway serve --host 0.0.0.0 accepts other names",
        });
    }
    let site = single(headers, &SEC_FETCH_SITE);
    if !site.is_ok_and(|site| site.is_none_or(|site| site == "same-origin" || site == "none")) {
        return Err(Refusal {
            reason: format!("the Sec-Fetch-Site header is {}: expected same-origin or none", quoted(site)),
            remedy: "open the address of this server in a new tab",
        });
    }
    let origin = single(headers, &header::ORIGIN);
    let is_own = |origin: &HeaderValue| {
        let is_at_host = |authority: &str| host_name.is_some_and(|host| host.eq_ignore_ascii_case(authority));
        // A public server may be behind a TLS proxy, so its origin may be https.
        let schemes = if on_loopback { &["http://"][..] } else { &["http://", "https://"] };
        let origin = origin.to_str().unwrap_or_default();
        schemes.iter().any(|scheme| origin.strip_prefix(scheme).is_some_and(is_at_host))
    };
    let is_read = method == Method::GET || method == Method::HEAD;
    let is_program = is_read && !is_from_browser(headers);
    let is_allowed = |origin: &HeaderValue| is_own(origin) || is_program && is_on_this_machine(origin);
    if origin.is_ok_and(|origin| origin.map_or(is_read, is_allowed)) {
        return Ok(());
    }
    let others = match (is_read, is_program) {
        (_, true) => "none, http://localhost, or ",
        (true, false) => "none, or ",
        (false, false) => "",
    };
    Err(Refusal {
        reason: format!("the Origin header is {}: expected {others}this server's own page", quoted(origin)),
        remedy: "connect from a program, or open the page that this server serves",
    })
}

fn is_from_browser(headers: &HeaderMap) -> bool {
    let is_mozilla = |agent: &HeaderValue| agent.as_bytes().starts_with(b"Mozilla/");
    [SEC_FETCH_SITE, header::ACCEPT_LANGUAGE, header::PRAGMA].iter().any(|name| headers.contains_key(name))
        || headers.get_all(header::USER_AGENT).iter().any(is_mozilla)
}

fn is_on_this_machine(origin: &HeaderValue) -> bool {
    let is_here = |authority: &str| !authority.contains('@') && is_loopback(authority);
    Uri::try_from(origin.as_bytes())
        .is_ok_and(|uri| uri.authority().is_some_and(|authority| is_here(authority.as_str())))
}

/// Returns the value of a header; `None` if the header is missing. If the header occurs more than
/// once, fails with its first value.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, &'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(first), Some(_)) => Err(first),
        (value, _) => Ok(value),
    }
}

fn quoted(value: Result<Option<&HeaderValue>, &HeaderValue>) -> String {
    let text = |value: &HeaderValue| {
        let text: String = String::from_utf8_lossy(value.as_bytes()).chars().take(VALUE_CHARS_MAX).collect();
        format!("{text:?}")
    };
    match value {
        Ok(None) => "missing".to_owned(),
        Ok(Some(value)) => text(value),
        Err(first) => format!("{}, followed by another", text(first)),
    }
}

fn is_loopback(authority: &str) -> bool {
    let name = name_of(authority);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_unspecified(authority: &str) -> bool {
    name_of(authority).parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

/// The name or address in `name:port` or `[address]:port`; the port may be missing.
fn name_of(authority: &str) -> &str {
    let name = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').filter(|(_, port)| port.is_empty() || port.starts_with(':')),
        None => Some(authority.split_once(':').unwrap_or((authority, ""))),
    };
    name.unwrap_or_default().0
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

    fn with(mut headers: HeaderMap, name: &'static str, value: &'static str) -> HeaderMap {
        headers.append(name, HeaderValue::from_static(value));
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
            ("[::1].evil.example:8765", &[], true, false),
            ("127.0.0.1:8765", &["http://127.0.0.1:8765"], true, true),
            ("localhost:8765", &["http://LOCALHOST:8765"], true, true),
            ("[::1]:8765", &["http://[::1]:8765"], true, true),
            // Other, invalid or repeated origins.
            ("127.0.0.1:8765", &["https://evil.example"], true, false),
            ("127.0.0.1:8765", &["http://127.0.0.1.evil.example"], true, false),
            ("127.0.0.1:8765", &["http://localhost.evil.example"], true, false),
            ("127.0.0.1:8765", &["http://localhost@evil.example"], true, false),
            ("127.0.0.1:8765", &["http://evil.example#localhost"], true, false),
            ("127.0.0.1:8765", &["null"], true, false),
            ("127.0.0.1:8765", &["file://"], true, false),
            ("127.0.0.1:8765", &[""], true, false),
            ("127.0.0.1:8765", &["http://127.0.0.1:8765", "https://evil.example"], true, false),
            ("127.0.0.1:8765", &["http://127.0.0.1:8765", "http://127.0.0.1:8765"], true, false),
            // DNS rebinding.
            ("evil.example:8765", &["http://evil.example:8765"], true, false),
            ("evil.example:8765", &[], true, false),
            // Listening on all interfaces.
            ("game.local:8765", &["http://game.local:8765"], false, true),
            ("game.local", &["https://game.local"], false, true),
            ("192.168.1.7:8765", &["http://192.168.1.7:8765"], false, true),
            ("192.168.1.7:8765", &[], false, true),
            ("192.168.1.7:8765", &["http://192.168.1.7:80"], false, false),
            ("192.168.1.7:8765", &["https://evil.example"], false, false),
        ] {
            let headers = headers(Some(host), origins);
            assert_eq!(check(&Method::GET, &headers, on_loopback).is_ok(), allowed, "{host} {origins:?}");
            let is_own_page = allowed && !origins.is_empty();
            assert_eq!(check(&Method::POST, &headers, on_loopback).is_ok(), is_own_page, "POST {host} {origins:?}");
        }
        assert!(check(&Method::GET, &headers(None, &[]), true).is_err());
        assert!(check(&Method::GET, &headers(None, &[]), false).is_ok());
        let two_hosts = with(headers(Some("localhost:8765"), &[]), "host", "evil.example");
        assert!(check(&Method::GET, &two_hosts, true).is_err());
    }

    #[test]
    fn origins_on_this_machine_are_accepted_from_programs_but_not_from_browsers() {
        for (host, on_loopback) in [("127.0.0.1:8765", true), ("localhost:8765", true), ("192.168.1.7:8765", false)] {
            for origin in [
                "http://localhost",
                "http://localhost/",
                "https://localhost",
                "http://LOCALHOST:3000",
                "http://127.0.0.1:3000",
                "http://127.0.0.1:8766/",
                "http://[::1]:8766",
            ] {
                let program = || headers(Some(host), &[origin]);
                let go = with(program(), "user-agent", "Go-http-client/1.1");
                for program in [program(), go, with(program(), "sec-websocket-extensions", "permessage-deflate")] {
                    assert!(check(&Method::GET, &program, on_loopback).is_ok(), "{host} {program:?}");
                    assert!(check(&Method::POST, &program, on_loopback).is_err(), "POST {host} {program:?}");
                }
                for (name, value) in [
                    ("sec-fetch-site", "none"),
                    ("sec-fetch-site", "same-origin"),
                    ("sec-fetch-site", "same-site"),
                    ("accept-language", "en-US,en;q=0.9"),
                    ("pragma", "no-cache"),
                    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"),
                ] {
                    assert!(
                        check(&Method::GET, &with(program(), name, value), on_loopback).is_err(),
                        "{origin} {name}"
                    );
                }
            }
        }
        for origin in ["http://localhost:1@evil.example", "localhost.evil.example", "http://[::1].evil.example", "//"] {
            assert!(check(&Method::GET, &headers(Some("localhost"), &[origin]), true).is_err(), "{origin}");
        }
    }

    #[test]
    fn requests_of_other_sites_are_rejected() {
        for (sites, allowed) in [
            (&[][..], true),
            (&["none"], true),
            (&["same-origin"], true),
            (&["same-site"], false),
            (&["cross-site"], false),
            (&["SAME-ORIGIN"], false),
            (&[""], false),
            (&["same-origin", "cross-site"], false),
        ] {
            let mut headers = headers(Some("127.0.0.1:8765"), &["http://127.0.0.1:8765"]);
            for site in sites {
                headers.append(SEC_FETCH_SITE, HeaderValue::from_static(site));
            }
            for method in [Method::GET, Method::POST, Method::OPTIONS] {
                assert_eq!(check(&method, &headers, true).is_ok(), allowed, "{method} {sites:?}");
            }
        }
    }

    #[test]
    fn refusals_say_what_was_found_and_what_to_change() {
        let reason = |host, origins| check(&Method::GET, &headers(host, origins), true).expect_err("a refusal").reason;
        assert_eq!(
            reason(Some("evil.example:8765"), &[]),
            "the Host header is \"evil.example:8765\": expected a name of this machine, such as localhost"
        );
        assert!(reason(None, &[]).starts_with("the Host header is missing: "));
        assert_eq!(
            reason(Some("0.0.0.0:8765"), &["https://evil.example"]),
            "the Origin header is \"https://evil.example\": expected none, http://localhost, or this server's own page"
        );
        assert_eq!(
            reason(Some("0.0.0.0:8765"), &["http://0.0.0.0:8765", "null"]),
            "the Origin header is \"http://0.0.0.0:8765\", followed by another: expected none, http://localhost, or this server's own page"
        );
        let posted = check(&Method::POST, &headers(Some("localhost"), &[]), true).expect_err("a refusal").reason;
        assert_eq!(posted, "the Origin header is missing: expected this server's own page");
    }
}
