//! Tests of recordings and of the command `replay`.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Output;

use crate::program::{getaway, succeeds};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use getaway::game::{Action, Direction, Layout, Move, Position, Rules, State, Status, Tile, World};
use getaway::map::Map;
use getaway::protocol::{GameMessage, MessageWriter};
use getaway::recording::{RecordingReader, RecordingWriter, VerifyReport, verify};
use serde_json::{Value, json};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn our_map(name: &str) -> Layout {
    Map::load(root().join("maps").join(name)).unwrap().layout
}

fn record(layout: &Layout, ticks: usize, mut drive: impl FnMut(&World, &State) -> Vec<Action>) -> String {
    let world = World::new(layout, &Rules::BLITZ_2025).unwrap();
    let writer = MessageWriter::new(&world, "team");
    let mut state = world.start();
    let mut lines = String::new();
    for _ in 0..ticks {
        let actions = drive(&world, &state);
        let (frame, json) = (writer.write(&state), serde_json::to_string(&actions).unwrap());
        lines += &format!("{{\"game_message\":{frame},\"actions\":{json}}}\n");
        if world.step_command(&mut state, &actions).is_err() || state.is_over() {
            break;
        }
    }
    lines
}

fn stroll(world: &World, state: &State) -> Vec<Action> {
    let moves: Vec<Move> = world.legal_moves(state).filter(|&m| m != Move::Stay).collect();
    let choice = moves.get(usize::from(state.tick() / 5 * 7) % moves.len().max(1));
    choice.and_then(|m| m.direction()).map(Action::Move).into_iter().collect()
}

fn flee(world: &World, state: &State) -> Vec<Action> {
    const LOOKAHEAD_TICKS: u32 = 8;
    fn survival_ticks(world: &World, state: &State, ticks: u32) -> u32 {
        if state.is_caught() || ticks == 0 {
            return 0;
        }
        let after = world.successors(state).map(|(_, next)| survival_ticks(world, &next, ticks - 1));
        1 + after.max().unwrap_or(0)
    }
    let best = world.legal_moves(state).max_by_key(|&m| {
        // Break ties differently every 20 ticks, so that the player moves around.
        (
            survival_ticks(world, &world.after(state, m), LOOKAHEAD_TICKS),
            (m as usize + usize::from(state.tick() / 20)) % 5,
        )
    });
    best.and_then(Move::direction).map(Action::Move).into_iter().collect()
}

/// Tries `MOVE_TO`, mostly to unreachable, fractional or off-map targets; if that fails, strolls.
fn commute(world: &World, state: &State) -> Vec<Action> {
    let (width, height) = (f64::from(world.layout().width), f64::from(world.layout().height));
    let leg = f64::from(state.tick() / 25);
    let far = Action::MoveTo { x: (leg * 5.5) % width, y: (leg * 3.5) % height };
    let failures = [far, Action::MoveTo { x: -1.0, y: height }, Action::Unknown("{}".into())];
    failures.into_iter().chain(stroll(world, state)).collect()
}

/// Flees, but first tries to enter each adjacent see-through tile, which only threats can enter.
fn bump(world: &World, state: &State) -> Vec<Action> {
    let neighbour = |direction| world.layout().tile(world.player(state).towards(direction));
    let blocked = Direction::ALL.into_iter().filter(|&direction| neighbour(direction) == Tile::SeeThrough);
    blocked.map(Action::Move).chain(flee(world, state)).collect()
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect()
}

#[test]
fn recording_is_read_as_any_tool_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let lines = record(&our_map("roundabout"), 40, flee);
    let states = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["game_message"].to_string());
    let states: String = states.map(|state| state + "\n").collect();
    for (kind, content) in [
        ("plain", lines.clone().into_bytes()),
        ("byte order mark", format!("\u{feff}{lines}").into_bytes()),
        ("CRLF", lines.replace('\n', "\r\n").into_bytes()),
        ("CR", lines.replace('\n', "\r").into_bytes()),
        ("Ctrl-Z and zeros at the end", format!("{lines}\x1a\0\0").into_bytes()),
        ("UTF-16 LE", utf16(&lines.replace('\n', "\r\n"), u16::to_le_bytes)),
        ("UTF-16 BE", utf16(&lines, u16::to_be_bytes)),
        ("gzipped UTF-16", gzip(&utf16(&lines, u16::to_le_bytes))),
        ("half a surrogate pair", lines.replace("\"team\"", r#""\ud83d team \ud83d\ude97""#).into_bytes()),
        ("bare states", states.clone().into_bytes()),
        ("bare states of Windows", utf16(&states, u16::to_le_bytes)),
    ] {
        let path = folder.path().join("game.jsonl");
        fs::write(&path, content).unwrap();
        let report = verify(&path, &Rules::BLITZ_2025).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!((report.divergence, report.ticks, report.truncated_line), (None, 40, None), "{kind}");
    }
}

#[test]
fn recording_that_is_not_text_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let tar = [&[b'a'; 257][..], b"ustar\x0000"].concat();
    let utf32: Vec<u8> = "\u{feff}{}".chars().flat_map(|character| u32::from(character).to_le_bytes()).collect();
    for (content, expected) in [
        (&b"PK\x03\x04..."[..], "expected a recording, found a zip archive"),
        (b"\x89PNG\r\n", "expected a recording, found a PNG picture"),
        (b"BZh91AY&SY", "expected a recording, found bzip2 data"),
        (b"\xfd7zXZ\0", "expected a recording, found xz data"),
        (&gzip(&tar), "expected a recording, found a tar archive"),
        (&utf32, "expected a recording, found UTF-32 text"),
        (b"{\"a\": \"\xe9\"}\n", "line 1: invalid UTF-8 at byte 7: expected JSON"),
        (b"[{\"game_message\": {}}]", "line 1: JSON: expected one object per line, found an array"),
        (b"{\n  \"game_message\": {}\n}\n", "line 1: JSON: expected one object per line, found a part of one"),
    ] {
        let path = folder.path().join("game.jsonl");
        fs::write(&path, content).unwrap();
        let error = verify(&path, &Rules::BLITZ_2025).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn recording_that_contradicts_itself_is_named_by_replay_and_analyse() {
    let folder = tempfile::tempdir().unwrap();
    let lines = record(&our_map("roundabout"), 40, flee);
    let lines: Vec<&str> = lines.lines().collect();
    let noted = |line: usize, notes: &str| format!("{},{notes}}}\n", &lines[line][..lines[line].len() - 1]);
    let whole = |change: &dyn Fn(usize) -> String| (0..lines.len()).map(change).collect::<String>();
    let first =
        |notes: &'static str| whole(&|line| if line == 0 { noted(line, notes) } else { format!("{}\n", lines[line]) });
    let plain = |line: usize| format!("{}\n", lines[line]);
    let games = |other: &'static str| {
        whole(&move |line| match line {
            0 => noted(line, r#""game":{"map":"roundabout"}"#),
            9 => noted(line, other),
            _ => plain(line),
        })
    };
    let other = r#""wire":{"command":{"ms":1,"actions":[{"type":"MOVE_TO","position":{"x":0,"y":0}}]}}"#;
    for (content, expected) in [
        (games(r#""game":{"map":"snail"}"#), "tick 10, game.map: expected roundabout, found snail"),
        (games(r#""game":{"map":"roundabout","no_jump":true}"#), "tick 10, game: expected {"),
        (
            whole(&|line| if line == 9 { noted(line, other) } else { plain(line) }),
            "tick 10, wire.command.actions: expected [",
        ),
        (first(r#""game":{"rules":{"period_ticks":{"lazy":3}}}"#), "tick 4, threats[0].position."),
    ] {
        let path = folder.path().join("game.jsonl");
        fs::write(&path, content).unwrap();
        let replayed = getaway(&["replay", path.to_str().unwrap()]);
        let text = String::from_utf8(replayed.stdout).unwrap();
        assert!(replayed.status.code() == Some(1) && text.contains(expected), "{text}");
        let analysed = getaway(&["analyse", path.to_str().unwrap(), "--budget-ticks", "1"]);
        let text = String::from_utf8(analysed.stdout).unwrap();
        let note = expected.split_once(", ").unwrap().1.split(':').next().unwrap();
        assert!(text.contains("Note: diverges from the rules at tick ") && text.contains(note), "{text}");
    }
    // A map of the user may have the name of a bundled one, so this is not an error.
    let [path, page] = ["game.jsonl", "game.html"].map(|name| folder.path().join(name));
    let [file, page] = [&path, &page].map(|path| path.to_str().unwrap());
    let note = "the tiles are not those of the bundled map snail, which game.map names";
    for (notes, has_note) in [
        (r#""game":{"map":"snail"}"#, true),
        (r#""game":{"map":"roundabout"}"#, false),
        (r#""game":{"map":"mine"}"#, false),
    ] {
        fs::write(&path, first(notes)).unwrap();
        succeeds(&["view", file, "--html", page, "--force"]);
        let page = fs::read_to_string(page).unwrap();
        for text in [succeeds(&["replay", file]), succeeds(&["analyse", file, "--budget-ticks", "1"]), page] {
            assert_eq!(text.contains(note), has_note, "{text:.2000}");
        }
    }
}

#[test]
fn second_game_in_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lines = record(&our_map("roundabout"), 40, flee);
    let states: String = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["game_message"].to_string() + "\n")
        .collect();
    let path = folder.path().join("game.jsonl");
    for game in [lines, states] {
        fs::write(&path, game.repeat(2)).unwrap();
        for command in ["replay", "analyse"] {
            let refused = getaway(&[command, path.to_str().unwrap()]);
            let err = String::from_utf8(refused.stderr).unwrap();
            let expected = "line 41: tick: expected one game per file, so no tick before 40, found 1\n";
            assert!(refused.status.code() == Some(2) && err.ends_with(expected), "{err}");
        }
    }
}

#[test]
fn hidden_files_in_a_folder_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let lines = record(&our_map("roundabout"), 5, stroll);
    for (name, content) in [("a.jsonl", &*lines), ("._a.jsonl", "Mac OS X"), (".DS_Store", "x"), ("Thumbs.db", "x")] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let folder = folder.path().to_str().unwrap();
    assert!(succeeds(&["replay", folder]).contains("1 file in "));
    assert!(succeeds(&["probe", folder, "--json"]).contains("\"messages\":5,"));
    succeeds(&["view", folder, "--html", &format!("{folder}/pages")]);
}

type Driver = fn(&World, &State) -> Vec<Action>;

const GAMES: [(&str, &str, usize, Driver); 5] = [
    ("cul-de-sacs-stroll-until-caught", "cul-de-sacs", 300, stroll),
    ("roundabout-flee-300-ticks", "roundabout", 300, flee),
    ("market-square-flee-200-ticks", "market-square", 200, flee),
    ("stadium-commute-by-move-to-until-caught", "stadium", 300, commute),
    ("harbour-flee-and-bump-into-see-through-tiles", "harbour", 200, bump),
];

#[test]
fn bundled_games_match_their_drivers() {
    for (name, map, ticks, drive) in GAMES {
        let path = root().join("games").join(format!("{name}.jsonl.gz"));
        let lines = record(&our_map(map), ticks, drive);
        if std::env::var_os("GETAWAY_WRITE_GAMES").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, gzip(lines.as_bytes())).unwrap();
        }
        let mut kept = String::new();
        GzDecoder::new(fs::File::open(&path).unwrap()).read_to_string(&mut kept).unwrap();
        assert!(
            kept == lines,
            "{name}: the file differs; GETAWAY_WRITE_GAMES=1 cargo test -p getaway-cli bundled_games rewrites it"
        );
        let report = verify(&path, &Rules::BLITZ_2025).unwrap();
        assert_eq!((report.divergence, report.ticks), (None, lines.lines().count()), "{name}");
        assert!((100..=300).contains(&report.ticks), "{name}: {} ticks", report.ticks);
        assert_eq!(report.status == Status::Caught, name.ends_with("caught"), "{name}");
        assert_eq!(report.see_through.is_empty(), !name.contains("see-through"), "{name}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn verify_bytes(bytes: &[u8]) -> Result<VerifyReport, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.jsonl");
    fs::write(&path, bytes).unwrap();
    let name = format!("{}", path.display());
    verify(&path, &Rules::BLITZ_2025).map_err(|error| error.to_string().replace(&name, "FILE"))
}

fn game() -> Vec<Value> {
    let lines = record(&our_map("roundabout"), 60, flee);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(game: &[Value]) -> String {
    game.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn changed_field_is_found_with_line_and_path() {
    const LINE: usize = 41;
    let game = game();
    let message = &game[LINE - 1]["game_message"];
    let player = &message["yourCharacter"]["position"];
    let number = |pointer: &str| message.pointer(pointer).unwrap().as_i64().unwrap();
    let (x, y) = (player["x"].as_i64().unwrap(), player["y"].as_i64().unwrap());
    let at_player = format!("/yourCharacter/distances/{x}/{y}");
    for (pointer, value, path, expected) in [
        ("/tick", json!(42), "tick", "41"),
        ("/currentTickNumber", json!(47), "currentTickNumber", "41"),
        ("/map/width", json!(number("/map/width") + 1), "map.width", &*number("/map/width").to_string()),
        ("/map/height", json!(number("/map/height") + 1), "map.height", &*number("/map/height").to_string()),
        ("/map/tiles/0/1", json!("EMPTY"), "map.tiles[0][1]", "WALL"),
        ("/threats/1/position/x", json!(90), "threats[1].position.x", &*number("/threats/1/position/x").to_string()),
        ("/threats/0/position/y", json!(91), "threats[0].position.y", &*number("/threats/0/position/y").to_string()),
        (
            "/threats/1/direction",
            json!("north"),
            "threats[1].direction",
            message["threats"][1]["direction"].as_str().unwrap(),
        ),
        ("/threats/0/personality", json!("tease"), "threats[0].personality", "lazy"),
        ("/threats/1/style", json!("ghost"), "threats[1].style", message["threats"][1]["style"].as_str().unwrap()),
        ("/yourCharacter/id", json!("2"), "yourCharacter.id", "\"1\""),
        ("/yourCharacter/teamId", json!("other"), "yourCharacter.teamId", "\"team\""),
        ("/yourCharacter/alive", json!(false), "yourCharacter.alive", "true"),
        ("/yourCharacter/position/x", json!(x + 1), "yourCharacter.position.x", &*x.to_string()),
        ("/yourCharacter/position/y", json!(y + 1), "yourCharacter.position.y", &*y.to_string()),
        (
            "/yourCharacter/spawnPoint/y",
            json!(77),
            "yourCharacter.spawnPoint.y",
            &*number("/yourCharacter/spawnPoint/y").to_string(),
        ),
        (at_player.as_str(), json!(1), &*format!("yourCharacter.distances[{x}][{y}]"), "0"),
        (at_player.as_str(), json!(null), &*format!("yourCharacter.distances[{x}][{y}]"), "0"),
    ] {
        let mut changed = game.clone();
        *changed[LINE - 1]["game_message"].pointer_mut(pointer).unwrap() = value.clone();
        let report = verify_bytes(text(&changed).as_bytes()).unwrap();
        let divergence = report.divergence.unwrap_or_else(|| panic!("{pointer} is not found"));
        assert_eq!((divergence.line, divergence.path.as_str()), (LINE, path));
        let found = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        assert_eq!(
            (divergence.expected.as_str(), divergence.found.trim_matches('"')),
            (expected, found.as_str()),
            "{path}"
        );
        let lines: Vec<usize> = divergence.context.iter().map(|tick| tick.line).collect();
        assert_eq!(lines, (LINE - 3..=LINE + 3).collect::<Vec<_>>());
        assert_eq!(report.ticks, LINE - 1);
    }
}

#[test]
fn missing_and_additional_lines_are_found() {
    let game = game();
    let first_divergence = |changed: &[Value]| {
        let divergence = verify_bytes(text(changed).as_bytes()).unwrap().divergence.unwrap();
        (divergence.line, divergence.path, divergence.expected, divergence.found)
    };
    let owned = |line, path: &str, expected: &str, found: &str| (line, path.into(), expected.into(), found.into());
    let mut without = game.clone();
    without.remove(20);
    assert_eq!(first_divergence(&without), owned(21, "tick", "21", "22"));
    assert_eq!(first_divergence(&game[4..]), owned(1, "tick", "1", "5"));
    let mut fewer = game.clone();
    let threats = fewer[9]["game_message"]["threats"].as_array_mut().unwrap();
    let (expected, found) = (threats.len().to_string(), (threats.len() - 1).to_string());
    threats.pop();
    assert_eq!(first_divergence(&fewer), owned(10, "threats.length", &expected, &found));

    let (caught, map) = (GAMES[0].0, GAMES[0].1);
    let mut lines: Vec<Value> =
        record(&our_map(map), 300, stroll).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let count = lines.len();
    lines.push(lines[count - 1].clone());
    let further = owned(
        count + 1,
        "tick",
        &format!("no further state: the game ended at tick {}", count + 1),
        &count.to_string(),
    );
    assert_eq!(first_divergence(&lines), further, "{caught}");
}

#[test]
fn state_that_its_recorder_refused_is_skipped_if_it_cannot_be_read() {
    let lines: Vec<String> = game().iter().map(Value::to_string).collect();
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let with_constants =
        |depth: usize| lines[20].replace("\"constants\":{}", &format!("\"constants\":{}", nested(depth)));
    let verified = |line: &str| {
        let (before, after) = lines.split_at(20);
        verify_bytes([&before.join("\n"), line, &after.join("\n"), ""].join("\n").as_bytes())
    };
    let error = r#""error":"ValueError: invalid message""#;
    for state in ["{}", "3", r#"{"tick":21,"yourCharacter":{}}"#, &nested(990), &nested(100_000)] {
        let report = verified(&format!("{{\"game_message\":{state},\"actions\":[],{error}}}")).unwrap();
        assert_eq!((report.divergence, report.ticks), (None, 60), "{}", &state[..state.len().min(40)]);
        let unmarked = verified(&format!("{{\"game_message\":{state},\"actions\":[]}}")).unwrap_err();
        assert!(unmarked.starts_with("FILE, line 21: "), "{unmarked}");
    }
    // Readable messages are compared, even at the maximum depth or on a line with an error.
    assert_eq!(verified(&with_constants(GameMessage::MAX_VERBATIM_DEPTH)).unwrap().divergence.unwrap().path, "tick");
    let again = lines[19].replacen('{', &format!("{{{error},"), 1);
    assert_eq!(verified(&again).unwrap().divergence.unwrap().path, "tick");
    assert!(verified(r#"{"error":"no state"}"#).is_err());
}

#[test]
fn changed_action_is_found_where_it_takes_effect() {
    let mut game = game();
    let line = game.iter().position(|line| line["actions"] != json!([])).unwrap();
    game[line]["actions"] = json!([]);
    let divergence = verify_bytes(text(&game).as_bytes()).unwrap().divergence.unwrap();
    assert_eq!(divergence.line, line + 2);
    assert!(divergence.path.starts_with("yourCharacter.position."), "{}", divergence.path);
}

#[test]
fn missing_fields_are_not_compared() {
    // The fields are missing in all lines, in every second line, or in the first line.
    for step in [1, 2, 60] {
        let mut game = game();
        for line in game.iter_mut().step_by(step) {
            let message = line["game_message"].as_object_mut().unwrap();
            for field in ["type", "currentTickNumber", "lastTickErrors", "constants"] {
                message.remove(field);
            }
            message.insert("new".into(), json!([1]));
            let character = message["yourCharacter"].as_object_mut().unwrap();
            for field in ["id", "teamId", "alive", "spawnPoint", "distances"] {
                character.remove(field);
            }
            for threat in message["threats"].as_array_mut().unwrap() {
                threat.as_object_mut().unwrap().remove("personality");
            }
            line["decision"] = json!({"milliseconds": 3});
        }
        let report = verify_bytes(text(&game).as_bytes()).unwrap();
        assert_eq!((report.divergence, report.ticks), (None, 60), "step {step}");
    }
}

#[test]
fn unknown_styles_are_skipped_and_reported() {
    let mut game = game();
    for line in &mut game {
        line["game_message"]["threats"][1]["style"] = json!("ghost");
    }
    let report = verify_bytes(text(&game).as_bytes()).unwrap();
    assert_eq!((report.divergence, report.unverified_threats), (None, vec![1]));
    game[30]["game_message"]["threats"][0]["position"]["x"] = json!(0);
    let divergence = verify_bytes(text(&game).as_bytes()).unwrap().divergence.unwrap();
    assert_eq!((divergence.line, divergence.path.as_str()), (31, "threats[0].position.x"));
}

#[test]
fn see_through_tiles_are_inferred_and_hide_nothing_else() {
    let layout = Layout::parse("########\n#P.~..B#\n########").unwrap();
    let right = |_: &World, _: &State| vec![Action::Move(Direction::Right)];
    let lines = record(&layout, 12, right);
    let report = verify_bytes(lines.as_bytes()).unwrap();
    assert_eq!((report.divergence, report.see_through), (None, vec![Position::new(3, 1)]));
    let lines = record(&our_map("harbour"), 150, bump);
    let mut bumps: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    bumps[140]["game_message"]["threats"][2]["position"]["y"] = json!(0);
    let divergence = verify_bytes(text(&bumps).as_bytes()).unwrap().divergence.unwrap();
    assert_eq!((divergence.line, divergence.path.as_str()), (141, "threats[2].position.y"));
    // A tile that the player enters later is not see-through, so a failed move onto it must be a
    // divergence.
    let mut game = game();
    let stay = (10..50).find(|&line| {
        let position = |line: usize| game[line]["game_message"]["yourCharacter"].clone();
        position(line) != position(line + 1)
    });
    let stay = stay.unwrap();
    game[stay + 1]["game_message"]["yourCharacter"] = game[stay]["game_message"]["yourCharacter"].clone();
    let report = verify_bytes(text(&game).as_bytes()).unwrap();
    assert_eq!((report.divergence.unwrap().line, report.see_through), (stay + 2, vec![]));
}

#[test]
fn truncated_file_is_valid_up_to_the_truncation() {
    let lines = record(&our_map("roundabout"), 30, flee);
    let starts: Vec<usize> = std::iter::once(0).chain(lines.match_indices('\n').map(|(end, _)| end + 1)).collect();
    for cut in [1, 2, 17, 100, 1000] {
        let end = starts[20] + cut;
        let report = verify_bytes(&lines.as_bytes()[..end]).unwrap();
        assert_eq!((report.ticks, report.truncated_line, report.divergence), (20, Some(21), None), "cut after {cut}");
    }
    let report = verify_bytes(lines.trim_end().as_bytes()).unwrap();
    assert_eq!((report.ticks, report.truncated_line), (30, None));
    let report = verify_bytes(format!("\n{lines}\n \n").as_bytes()).unwrap();
    assert_eq!((report.ticks, report.truncated_line), (30, None));
}

#[test]
fn truncated_gzip_file_is_valid_up_to_the_truncation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.jsonl.gz");
    let lines = record(&our_map("roundabout"), 30, flee);
    let mut writer = RecordingWriter::create(&path).unwrap();
    let mut sizes = Vec::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let actions: Vec<Action> = serde_json::from_value(line["actions"].clone()).unwrap();
        writer.write(&line["game_message"].to_string(), &actions).unwrap();
        sizes.push(fs::metadata(&path).unwrap().len() as usize);
    }
    writer.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    let report = verify_bytes(&bytes).unwrap();
    assert_eq!((report.ticks, report.truncated_line, report.divergence), (30, None, None));
    for lines in [1, 2, 20, 29] {
        let report = verify_bytes(&bytes[..sizes[lines - 1]]).unwrap();
        assert_eq!((report.ticks, report.divergence), (lines, None), "a crash after {lines} lines loses none");
        let report = verify_bytes(&bytes[..sizes[lines] - 6]).unwrap();
        assert!((lines..=lines + 1).contains(&report.ticks) && report.divergence.is_none(), "{report:?}");
    }
    // Concatenated gzip files are read as one recording.
    let (half, rest) = lines.split_at(lines.match_indices('\n').nth(14).unwrap().0 + 1);
    let report = verify_bytes(&[gzip(half.as_bytes()), gzip(rest.as_bytes())].concat()).unwrap();
    assert_eq!((report.ticks, report.divergence), (30, None));
}

#[test]
fn unreadable_file_gives_one_error() {
    let lines = record(&our_map("roundabout"), 5, flee);
    let third = lines.match_indices('\n').nth(1).unwrap().0 + 1;
    let broken = |insert: &str| format!("{}{insert}\n{}", &lines[..third], &lines[third..]);
    let crowd = json!({"position": {"x": 1, "y": 1}, "direction": "up", "style": "bull"});
    let mut crowded: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let street = crowded["game_message"]["yourCharacter"]["position"].clone();
    crowded["game_message"]["threats"] = json!(vec![crowd; 65]);
    for threat in crowded["game_message"]["threats"].as_array_mut().unwrap() {
        threat["position"] = street.clone();
    }
    for (bytes, expected) in [
        (Vec::new(), "FILE: no valid line: expected one {\"game_message\": ..., \"actions\": [...]} per tick"),
        (b"\n\n".to_vec(), "FILE: no valid line"),
        (lines.as_bytes()[..50].to_vec(), "FILE: no valid line"),
        (b"nonsense\n".to_vec(), "FILE, line 1: invalid JSON at column 2: expected ident"),
        (b"\xfd\xfe\x00\n".to_vec(), "FILE, line 1: invalid UTF-8 at byte 0: expected JSON"),
        (b"{}\n".to_vec(), "FILE, line 1: missing field `game_message`"),
        (broken("{\"game_message\":").into_bytes(), "FILE, line 3: game_message: invalid JSON: EOF while parsing"),
        (
            broken("{\"game_message\":{},\"actions\":[]}").into_bytes(),
            "FILE, line 3: game_message: missing field `tick`",
        ),
        (broken("[]").into_bytes(), "FILE, line 3: expected an object, found an array"),
        (
            lines.replacen("\"threats\":[{", "\"threats\":[[],{", 1).into_bytes(),
            "FILE, line 1: game_message.threats[0]: expected an object, found an array",
        ),
        (lines.replacen("\"actions\":", "\"acts\":", 1).into_bytes(), "FILE, line 1: missing field `actions`"),
        (
            lines.replacen("\"tick\":3", "\"tick\":\"3\"", 1).into_bytes(),
            "FILE, line 3: game_message.tick: invalid type",
        ),
        (format!("{crowded}\n").into_bytes(), "FILE: 65 threats: expected at most 64"),
        (b"\x1f\x8b\x08 no gzip at all, but long enough to be looked at".to_vec(), "FILE, line 1: cannot read: "),
        (gzip(b"nonsense\n"), "FILE, line 1: invalid JSON at column 2: expected ident"),
    ] {
        let error = verify_bytes(&bytes).expect_err(expected);
        assert!(error.starts_with(expected) && !error.contains('\n'), "{error}\nexpected {expected}");
    }
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    assert!(verify(&missing, &Rules::BLITZ_2025).unwrap_err().to_string().contains("missing: No such file"));
    assert!(verify(folder.path(), &Rules::BLITZ_2025).unwrap_err().to_string().ends_with(", found a folder"));
}

#[test]
fn line_length_limit_is_exact() {
    let lines = record(&our_map("roundabout"), 2, flee);
    let (first, rest) = lines.split_once('\n').unwrap();
    for (bytes, is_accepted) in [(RecordingReader::MAX_LINE_BYTES, true), (RecordingReader::MAX_LINE_BYTES + 1, false)]
    {
        let report = verify_bytes(format!("{first}{}\n{rest}", " ".repeat(bytes - first.len() - 1)).as_bytes());
        assert_eq!(report.map(|report| report.ticks).ok(), is_accepted.then_some(2), "{bytes} bytes");
    }
}

#[test]
fn gzip_bomb_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let bomb = |name: &str, piece: &[u8], pieces: usize| {
        let path = folder.path().join(name);
        let mut encoder = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::fast());
        (0..pieces).for_each(|_| encoder.write_all(piece).unwrap());
        encoder.finish().unwrap();
        let reader = RecordingReader::open(&path).unwrap();
        reader.filter_map(Result::err).next().unwrap().to_string()
    };
    let long = bomb("long-line.gz", &[b' '; 1 << 20], 20);
    assert!(long.contains("line 1: line too long: expected at most"), "{long}");
    let blank = bomb("blank-lines.gz", &[b'\n'; 1 << 10], 100);
    assert!(blank.contains("line 65537: blank lines too long: expected at most 65536 bytes"), "{blank}");
    let tick = record(&our_map("roundabout"), 1, flee);
    let line = [tick.trim_end().as_bytes(), &vec![b' '; (1 << 24) - tick.len()], b"\n"].concat();
    let large = bomb("many-lines.gz", &line, 65);
    assert!(large.contains("line 65: recording too long: expected at most 1073741824 bytes"), "{large}");
}

#[test]
fn recording_round_trips_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(&our_map("roundabout"), &Rules::BLITZ_2025).unwrap();
    let frame = MessageWriter::new(&world, "team").write(&world.start());
    let actions = [Action::MoveTo { x: 1.5, y: -2.0 }, Action::MoveNowhere(r#"{"note":1,"type":"MOVE_TO"}"#.into())];
    for name in ["new/folder/a.jsonl", "a.jsonl.gz"] {
        let path = folder.path().join(name);
        let mut writer = RecordingWriter::create(&path).unwrap();
        writer.write(&frame, &actions).unwrap();
        let mut reader = RecordingReader::open(&path).unwrap();
        let tick = reader.next_tick().unwrap().unwrap();
        assert_eq!(serde_json::to_string(&tick.game_message).unwrap(), frame, "readable while it is being written");
        assert_eq!(tick.actions, actions);
        writer.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        let error = RecordingWriter::create(&path).err().unwrap().to_string();
        assert_eq!(error, format!("{} already exists", path.display()));
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    let error = RecordingWriter::create(folder.path().join("a.jsonl.gz/below")).err().unwrap().to_string();
    assert!(error.contains("cannot write"), "{error}");
}

mod command {
    use super::*;

    fn replay(args: &[&str]) -> Output {
        getaway(&[&["replay"], args].concat())
    }

    fn texts(output: &Output) -> (Option<i32>, String, String) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        let good = text(&game());
        let mut changed = game();
        changed[9]["game_message"]["threats"][1]["position"]["x"] = json!(90);
        write("good.jsonl.gz", &gzip(good.as_bytes()));
        write("changed.jsonl", text(&changed).as_bytes());
        write("cut.jsonl", &good.as_bytes()[..good.len() - 20]);
        write("notes.txt", b"not a game");
        folder
    }

    fn path(folder: &tempfile::TempDir, name: &str) -> String {
        folder.path().join(name).to_str().unwrap().to_owned()
    }

    #[test]
    fn every_game_is_one_line_and_a_divergence_shows_its_context() {
        let folder = folder();
        let (code, out, err) = texts(&replay(&[folder.path().to_str().unwrap()]));
        assert_eq!((code, err.as_str()), (Some(1), "error: 1 of 3 files diverged from the rules\n"));
        let lines: Vec<&str> = out.lines().collect();
        let expected = game()[9]["game_message"]["threats"][1]["position"]["x"].clone();
        let changed = path(&folder, "changed.jsonl");
        assert_eq!(
            lines[0],
            format!("{changed}: line 10, tick 10, threats[1].position.x: expected {expected}, found 90")
        );
        assert!(lines[4].starts_with("> line 10, tick 10: player ("), "{out}");
        assert!(lines[1].starts_with("  line 7, tick 7: player (") && lines[1].contains("; actions ["), "{out}");
        let cut = format!(
            "{}: 59 ticks, ends at tick 60, before the game does; line 60 is truncated and was ignored",
            path(&folder, "cut.jsonl")
        );
        assert_eq!(lines[8], cut);
        assert_eq!(
            lines[9],
            format!("{}: 60 ticks, ends at tick 61, before the game does", path(&folder, "good.jsonl.gz"))
        );
        assert!(lines[10].starts_with("3 files in ") && lines[10].ends_with(" ticks/s)"), "{out}");
        assert_eq!(lines.len(), 11);
    }

    #[test]
    fn unreadable_file_does_not_hide_the_others() {
        let folder = folder();
        let (good, missing) = (path(&folder, "good.jsonl.gz"), path(&folder, "missing.jsonl"));
        let (code, out, err) = texts(&replay(&[&missing, &good]));
        let expected = format!("cannot read {missing}: No such file or directory (os error 2)");
        assert_eq!((code, err), (Some(2), format!("error: {expected}\n")));
        assert!(out.starts_with(&format!("{expected}\n{good}: 60 ticks")), "{out}");
        let (code, _, err) = texts(&replay(&[&path(&folder, "changed.jsonl"), &missing, &missing]));
        assert_eq!((code, err.as_str()), (Some(2), "error: 2 files cannot be read\n"));
        let empty = tempfile::tempdir().unwrap();
        let in_empty = || texts(&replay(&[empty.path().to_str().unwrap()]));
        let (code, out, err) = in_empty();
        assert_eq!((code, out.as_str()), (Some(2), ""));
        assert!(err.contains("no recorded games: expected files that end in .jsonl or .jsonl.gz"), "{err}");
        fs::copy(&good, empty.path().join("GAME.JSONL.GZ")).unwrap();
        assert_eq!(in_empty().0, Some(0));
        assert_eq!(texts(&replay(&[])).0, Some(2));
    }

    #[test]
    fn json_is_one_object_per_line() {
        let folder = folder();
        let (code, out, _) = texts(&replay(&["--json", folder.path().to_str().unwrap(), &path(&folder, "none")]));
        assert_eq!(code, Some(2));
        let reports: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(reports.len(), 4);
        assert_eq!(reports[0]["divergence"]["path"], "threats[1].position.x");
        assert_eq!(reports[0]["divergence"]["context"].as_array().unwrap().len(), 7);
        assert_eq!((&reports[1]["truncated_line"], &reports[1]["divergence"]), (&json!(60), &Value::Null));
        assert_eq!((&reports[2]["ticks"], &reports[2]["error"]), (&json!(60), &Value::Null));
        assert!(reports[3]["error"].as_str().unwrap().contains("cannot read"));
    }

    #[test]
    fn no_jump_option_selects_the_variant() {
        let folder = tempfile::tempdir().unwrap();
        // In tick 5, the player and the goldfish swap tiles, which ends the game in the no-jump
        // variant.
        let layout = Layout::parse("#####\n#P.G#\n#####").unwrap();
        let right = vec![Action::Move(Direction::Right)];
        let lines = record(&layout, 8, |_, state| if [1, 5].contains(&state.tick()) { right.clone() } else { vec![] });
        let path = folder.path().join("game.jsonl");
        fs::write(&path, &lines).unwrap();
        assert_eq!(verify(&path, &Rules::BLITZ_2025).unwrap().divergence, None);
        let divergence = verify(&path, &Rules::NO_JUMP).unwrap().divergence.unwrap();
        assert_eq!((divergence.line, divergence.expected.as_str()), (6, "no further state: the game ended at tick 5"));
        assert_eq!(texts(&replay(&["--no-jump", path.to_str().unwrap()])).0, Some(1));
        let five: String = lines.lines().take(5).map(|line| format!("{line}\n")).collect();
        fs::write(&path, five).unwrap();
        let (code, out, _) = texts(&replay(&["--no-jump", path.to_str().unwrap()]));
        assert_eq!(code, Some(0));
        assert!(out.contains(": 5 ticks, caught at tick 5, score 25\n"), "{out}");
    }
}
