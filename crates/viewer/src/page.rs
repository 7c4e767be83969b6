//! The page: one file of HTML with its style, its script and, for a saved game, its film. It needs nothing from anywhere.

use std::fmt::Write as _;
use std::io::Write as _;

use data_encoding::BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::cast::CAST;
use super::film::Film;
use super::pack::pack;
use getaway::protocol::for_script;

const FRAME: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
/// In the order in which they need each other.
const SCRIPTS: [&str; 5] = [
    include_str!("page/film.js"),
    include_str!("page/stage.js"),
    include_str!("page/timeline.js"),
    include_str!("page/player.js"),
    include_str!("page/live.js"),
];

/// Where a page has its game from.
#[derive(Clone, Copy, Debug)]
pub enum PageSource<'a> {
    /// It is in the page.
    Film(&'a Film),
    /// It is being played: the page asks the server that it came from.
    Live {
        /// Whether there is a socket that tells of each state at once.
        socket: bool,
    },
}

/// A page, and what its browser may let it do.
#[derive(Clone, Debug)]
pub struct Page {
    /// The whole file.
    pub html: String,
    /// The value of `Content-Security-Policy`.
    pub policy: String,
}

impl Page {
    /// Puts a page together.
    pub fn new(source: PageSource) -> Self {
        let mut script = "\"use strict\";\n".to_owned();
        SCRIPTS.iter().for_each(|part| script.push_str(part));
        let connect = if matches!(source, PageSource::Live { .. }) { "'self'" } else { "'none'" };
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src {connect}; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(STYLE),
        );
        let parts = [
            ("POLICY", policy.as_str()),
            ("STYLE", STYLE),
            ("CAST", CAST),
            ("FILM", &film_json(source)),
            ("SCRIPT", &script),
        ];
        let mut html = String::new();
        let mut rest = FRAME;
        for (name, part) in parts {
            let (before, after) =
                rest.split_once(&format!("{{{{{name}}}}}")).expect("the frame has a place for each part");
            html.push_str(before);
            html.push_str(part);
            rest = after;
        }
        html.push_str(rest);
        Self { html, policy }
    }
}

/// As a policy names a script or a style.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(&Sha256::digest(text.as_bytes())))
}

/// What the script reads: `{"header": ..., "data": <base64 of gzip>}` or `{"live": {"socket": true}}`.
fn film_json(source: PageSource) -> String {
    let film = match source {
        PageSource::Live { socket } => return format!("{{\"live\":{{\"socket\":{socket}}}}}"),
        PageSource::Film(film) => film,
    };
    let (header, bytes) = pack(film, 0, 0);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::best());
    let zipped = zipped.write_all(&bytes).and_then(|()| zipped.finish()).expect("memory can be written to");
    // A name may hold anything, and the page's end must not be in it.
    let mut json = format!("{{\"header\":{},\"data\":\"", for_script(&header));
    let _ = write!(json, "{}\"}}", BASE64.encode(&zipped));
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{Layout, Rules, World};

    #[test]
    fn the_policy_allows_the_script_that_is_there() {
        let Page { html, policy } = Page::new(PageSource::Live { socket: true });
        let script =
            html.split_once("<script>").and_then(|(_, rest)| rest.split_once("</script>")).expect("a script").0;
        let style = html.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>")).expect("a style").0;
        assert!(policy.contains(&format!("script-src '{}'", hash(script))), "{policy}");
        assert!(policy.contains(&format!("style-src '{}'", hash(style))), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(html.matches("{{").count(), 0, "a place that was not filled");
    }

    #[test]
    fn no_name_ends_the_page() {
        let world = World::new(&Layout::parse("P..").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let film = Film::new("</script><script>alert(1)</script>", "{{SCRIPT}}", &world);
        let html = Page::new(PageSource::Film(&film)).html;
        assert_eq!(html.matches("</script>").count(), 3, "the cast, the film, the script");
        assert!(html.contains("\\u003c/script>"));
    }
}
