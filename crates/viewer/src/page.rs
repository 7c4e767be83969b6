//! The viewer page: a single HTML file. Only the playground's page loads others, for its engine.

use std::fmt::Write as _;
use std::io::Write as _;

use data_encoding::BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::address::bundled_maps;
use super::analysis::Analysis;
use super::drawing::DRAWING;
use super::pack::pack;
use super::replay::Replay;
use getaway::game::{Rules, World};
use getaway::protocol::to_json;

const TEMPLATE: &str = include_str!("page/index.html");
const STYLE: &str = concat!(include_str!("page/tokens.css"), include_str!("page/page.css"));
/// The head of pages other than the viewer page.
const HEAD: &str = concat!(
    "<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<link rel=\"icon\" href=\"data:,\">\n<style>\n",
    include_str!("page/tokens.css"),
    include_str!("page/document.css"),
    "</style>"
);
/// The scripts of all pages.
const SCRIPTS: [&str; 8] = [
    include_str!("page/replay.js"),
    include_str!("page/map_view.js"),
    include_str!("page/timeline.js"),
    include_str!("page/player.js"),
    include_str!("page/tasks.js"),
    include_str!("page/library.js"),
    include_str!("page/address.js"),
    include_str!("page/main.js"),
];
/// The scripts that only a page with an engine needs.
const ENGINE_SCRIPTS: [&str; 6] = [
    include_str!("page/engine.js"),
    include_str!("page/session.js"),
    include_str!("page/judge.js"),
    include_str!("page/maps.js"),
    include_str!("page/rules.js"),
    include_str!("page/share.js"),
];
/// The map that the page shows until its engine answers.
const FIRST_MAP: &str = "market-square";

/// Where the page's engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// In the server of the page.
    Server,
    /// In `worker.mjs`, beside the page.
    Worker,
}

#[derive(Clone, Copy, Debug)]
pub enum PageSource<'a> {
    Replay(&'a Replay),
    /// An embedded replay with its analysis and, if there is one, the surviving line.
    Analysed(&'a Replay, &'a Analysis, Option<&'a Replay>),
    InGallery(&'a Replay, &'a Analysis, Option<&'a Replay>),
    /// The list of a gallery, from [`GameLibrary::list`](crate::GameLibrary::list). The page of a
    /// game is in the same folder and is called `NAME.html`, where `NAME` is the game's name.
    Gallery(&'a str),
    /// The page with an engine, which plays, judges and solves.
    Engine(EngineKind),
}

#[derive(Clone, Debug)]
pub struct Page {
    pub html: String,
    /// The content security policy.
    pub policy: String,
}

impl Page {
    /// Builds a page. If `playground` is given, a page without an engine links its game to the page
    /// with an engine at this address.
    pub fn new(source: PageSource, playground: Option<&str>) -> Self {
        let engine = if let PageSource::Engine(kind) = source { Some(kind) } else { None };
        let ([before, after], policy) = Self::around(engine, playground);
        Self { html: [before, game_json(source), after].concat(), policy }
    }

    /// The HTML before and after the data ([`game_json`]), for documents with one viewer and many
    /// games. The document may add fields to the data: `tick`, the tick to open, and `beside`, a
    /// second game with its `title`.
    pub fn halves(playground: Option<&str>) -> [String; 2] {
        Self::around(None, playground).0
    }

    /// The HTML before and after the data, and the policy.
    fn around(engine: Option<EngineKind>, playground: Option<&str>) -> ([String; 2], String) {
        let more_scripts = if engine.is_some() { &ENGINE_SCRIPTS[..] } else { &[] };
        let scripts = more_scripts.iter().chain(&SCRIPTS).map(|script| compact(script));
        let script = format!("\"use strict\";\n{}", scripts.collect::<String>());
        let (connect, more, head) = match engine {
            None => ("'none'", "", ""),
            Some(EngineKind::Server) => ("'self'", "", ""),
            Some(EngineKind::Worker) => ("'self'", " 'self' 'wasm-unsafe-eval'", PRELOADS),
        };
        let policy = format!(
            "default-src 'none'; script-src '{}'{more}; style-src '{}'; img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(STYLE),
        );
        let (before, after) = TEMPLATE.split_once("{{REPLAY}}").expect("the template has a place for the game");
        let playground = playground.unwrap_or_default().replace('&', "&amp;").replace('"', "&quot;");
        let before = before.replace("{{PLAYGROUND}}", &playground).replace("{{HEAD}}", head);
        let before = before.replace("{{POLICY}}", &policy).replace("{{STYLE}}", STYLE).replace("{{DRAWING}}", DRAWING);
        ([before, after.replace("{{SCRIPT}}", &script)], policy)
    }
}

/// Requests the engine together with the page's other files, and describes the page for link previews.
const PRELOADS: &str = "<link rel=\"preload\" href=\"engine.bin\" as=\"fetch\" crossorigin>\n\
    <link rel=\"modulepreload\" href=\"worker.mjs\">\n<link rel=\"modulepreload\" href=\"engine.mjs\">\n\
    <meta property=\"og:title\" content=\"getaway: outlast the threats\">\n\
    <meta property=\"og:image\" content=\"preview.png\">";

/// Replaces `{{HEAD}}` in the HTML template of a report with the icon, the colours and the styles that
/// all reports share.
pub fn with_head(template: &str) -> String {
    template.replacen("{{HEAD}}", HEAD, 1)
}

/// Escapes each `<` in JSON, so that a string cannot end the HTML script element around the JSON.
pub fn for_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Removes indentation and whole lines of comments.
fn compact(script: &str) -> String {
    let is_code = |line: &&str| {
        !line.is_empty() && !line.starts_with("//") && !line.starts_with(['*']) && !line.starts_with("/**")
    };
    script.lines().map(str::trim).filter(is_code).fold(String::new(), |code, line| code + line + "\n")
}

fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(&Sha256::digest(text.as_bytes())))
}

/// The data for the script: `{"gallery": [...]}`, or `{"header": ..., "data": <base64 of gzip>}`.
/// The second form may also contain `engine` (`server` or `worker`), `isInGallery`, an `analysis`,
/// and the surviving line as `line`.
pub fn game_json(source: PageSource) -> String {
    let (replay, analysis, line) = match source {
        PageSource::Engine(kind) => {
            let name = if kind == EngineKind::Server { "server" } else { "worker" };
            return packed_json(&first_frame()).replacen('{', &format!("{{\"engine\":\"{name}\","), 1);
        }
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

fn first_frame() -> Replay {
    let map = bundled_maps().iter().find(|map| map.name == FIRST_MAP).expect("a bundled map");
    let world = World::new(&map.layout, &Rules::BLITZ_2025).expect("a bundled map is valid");
    Replay::of_states(FIRST_MAP, "", &world, &[world.start()])
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
    use getaway::game::Layout;

    #[test]
    fn policy_allows_exactly_the_embedded_script_and_style() {
        let Page { html, policy } = Page::new(PageSource::Engine(EngineKind::Worker), None);
        let script =
            html.split_once("<script>").and_then(|(_, rest)| rest.split_once("</script>")).expect("a script").0;
        let style = html.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>")).expect("a style").0;
        assert!(policy.contains(&format!("script-src '{}'", hash(script))), "{policy}");
        assert!(policy.contains(&format!("style-src '{}'", hash(style))), "{policy}");
        assert!(!policy.replace("wasm-unsafe-eval", "").contains("unsafe"), "{policy}");
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
