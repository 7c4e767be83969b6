//! The page that the server's port shows to a browser. Nothing of the file system can be reached through it: it is part of the program.

use axum::http::header;
use axum::response::{Html, IntoResponse, Response};

/// What there is until there is a viewer.
const PAGE: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>getaway</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 4em auto; padding: 0 1em; color-scheme: light dark; }</style>
<h1>getaway</h1>
<p>A game server listens here. Bots and viewers connect to this address with a websocket.</p>
</html>
"#;
/// The page needs nothing from anywhere, so the browser need not let it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page.
pub(super) fn page() -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Html(PAGE)).into_response()
}
