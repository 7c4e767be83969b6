//! The viewer page: a single HTML file that loads no other file.

use std::fmt::Write as _;
use std::io::Write as _;

use data_encoding::BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::analysis::Analysis;
use super::drawing::DRAWING;
use super::pack::pack;
use super::replay::Replay;
use getaway::protocol::{for_script, to_json};

const TEMPLATE: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPTS: [&str; 8] = [
    include_str!("page/replay.js"),
    include_str!("page/map_view.js"),
    include_str!("page/timeline.js"),
    include_str!("page/player.js"),
    include_str!("page/analysis.js"),
    include_str!("page/library.js"),
    include_str!("page/playground_link.js"),
    include_str!("page/live.js"),
];

#[derive(Clone, Copy, Debug)]
pub enum PageSource<'a> {
    Replay(&'a Replay),
    /// An embedded replay with its analysis and, if there is one, the surviving line.
    Analysed(&'a Replay, &'a Analysis, Option<&'a Replay>),
    InGallery(&'a Replay, &'a Analysis, Option<&'a Replay>),
    /// The list of a gallery, from [`GameLibrary::list`](crate::GameLibrary::list). The page of a
    /// game is in the same folder and is called `NAME.html`, where `NAME` is the game's name.
    Gallery(&'a str),
    Library,
    /// A game in progress, requested from the page's server.
    Live {
        /// True if the server also pushes each state over a websocket.
        socket: bool,
        /// True if the user moves the player from the first tick on.
        human: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Page {
    pub html: String,
    /// The content security policy.
    pub policy: String,
}

impl Page {
    /// Builds a page. If `playground` is given, games that can be shared have a link to the
    /// playground at this address.
    pub fn new(source: PageSource, playground: Option<&str>) -> Self {
        let is_served = matches!(source, PageSource::Live { .. } | PageSource::Library);
        let ([before, after], policy) = Self::around(if is_served { "'self'" } else { "'none'" }, playground);
        Self { html: [before, game_json(source), after].concat(), policy }
    }

    /// The HTML before and after the data ([`game_json`]), for documents with one viewer and many
    /// games. The document may add fields to the data: `tick`, the tick to open, and `beside`, a
    /// second game with its `title`.
    pub fn halves(playground: Option<&str>) -> [String; 2] {
        Self::around("'none'", playground).0
    }

    /// The HTML before and after the data, and the policy. Scripts may connect only to `connect`.
    fn around(connect: &str, playground: Option<&str>) -> ([String; 2], String) {
        let script = format!("\"use strict\";\n{}", SCRIPTS.concat());
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src {connect}; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(STYLE),
        );
        let (before, after) = TEMPLATE.split_once("{{REPLAY}}").expect("the template has a place for the game");
        let playground = playground.unwrap_or_default().replace('&', "&amp;").replace('"', "&quot;");
        let before = before.replace("{{PLAYGROUND}}", &playground);
        let before = before.replace("{{POLICY}}", &policy).replace("{{STYLE}}", STYLE).replace("{{DRAWING}}", DRAWING);
        ([before, after.replace("{{SCRIPT}}", &script)], policy)
    }
}

fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(&Sha256::digest(text.as_bytes())))
}

/// The data for the script: `{"gallery": [...]}`, `{"library": true}`, `{"live": {"socket": true,
/// "human": false}}`, or `{"header": ..., "data": <base64 of gzip>}`. The last form may also
/// contain `isInGallery`, an `analysis`, and the surviving line as `line`.
pub fn game_json(source: PageSource) -> String {
    let (replay, analysis, line) = match source {
        PageSource::Live { socket, human } => return format!("{{\"live\":{{\"socket\":{socket},\"human\":{human}}}}}"),
        PageSource::Library => return "{\"library\":true}".to_owned(),
        PageSource::Gallery(list) => return format!("{{\"gallery\":{}}}", for_script(list)),
        PageSource::Replay(replay) => (replay, None, None),
        PageSource::Analysed(replay, analysis, line) | PageSource::InGallery(replay, analysis, line) => {
            (replay, Some(analysis), line)
        }
    };
    let mut json = packed_json(replay);
    if matches!(source, PageSource::InGallery(..)) {
        json.insert_str(1, "\"isInGallery\":true,");
    }
    if let Some(analysis) = analysis {
        json.truncate(json.len() - 1);
        let _ = write!(json, ",\"analysis\":{}", for_script(&to_json(analysis)));
        if let Some(line) = line {
            let _ = write!(json, ",\"line\":{}", packed_json(line));
        }
        json.push('}');
    }
    json
}

fn packed_json(replay: &Replay) -> String {
    let (header, bytes) = pack(replay, 0, 0);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::best());
    let zipped = zipped.write_all(&bytes).and_then(|()| zipped.finish()).expect("writing to memory cannot fail");
    // The header is escaped because a name may contain any text, even `</script>`.
    let mut json = format!("{{\"header\":{},\"data\":\"", for_script(&header));
    let _ = write!(json, "{}\"}}", BASE64.encode(&zipped));
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{Layout, Rules, World};

    #[test]
    fn policy_allows_exactly_the_embedded_script_and_style() {
        let Page { html, policy } = Page::new(PageSource::Live { socket: true, human: false }, None);
        let script =
            html.split_once("<script>").and_then(|(_, rest)| rest.split_once("</script>")).expect("a script").0;
        let style = html.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>")).expect("a style").0;
        assert!(policy.contains(&format!("script-src '{}'", hash(script))), "{policy}");
        assert!(policy.contains(&format!("style-src '{}'", hash(style))), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(html.matches("{{").count(), 0, "unfilled placeholder");
    }

    #[test]
    fn names_cannot_close_the_script_element() {
        let world = World::new(&Layout::parse("P..").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let replay = Replay::new("</script><script>alert(1)</script>", "{{SCRIPT}}", &world);
        let html = Page::new(PageSource::Replay(&replay), None).html;
        assert_eq!(html.matches("</script>").count(), 3, "the drawing, the replay, the script");
        assert!(html.contains("\\u003c/script>"));
    }
}
