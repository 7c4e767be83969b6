use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::program::{command, command_in, error_line, fails, getaway, succeeds};
use getaway::game::Layout;
use getaway::map::Map;
use serde_json::Value;
use tempfile::TempDir;

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn save(dir: &Path, name: &str, text: &str) -> PathBuf {
    let layout = Layout::parse(text).unwrap();
    let folder = dir.join(name);
    Map { name: name.into(), kind: "challenge".into(), difficulty: "easy".into(), layout }.save(&folder).unwrap();
    folder
}

fn with_picture(dir: &TempDir, name: &str, picture: &[u8]) -> String {
    let folder = dir.path().join(name);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("layout.png"), picture).unwrap();
    fs::write(folder.join("meta.json"), r#"{"type": "challenge", "difficulty": "easy"}"#).unwrap();
    folder.to_str().unwrap().to_owned()
}

fn rgba_png(width: u32, height: u32, pixels: &[[u8; 4]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels.concat()).unwrap();
    writer.finish().unwrap();
    bytes
}

fn header_only(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = png::Encoder::new(&mut bytes, width, height);
    // Dropping the writer writes the end of the file.
    drop(encoder.write_header().unwrap());
    bytes
}

const PLAYER: [u8; 4] = [0, 0, 255, 255];
const OPEN: [u8; 4] = [255; 4];

#[test]
fn map_files_are_read_as_any_tool_wrote_them() {
    let dir = TempDir::new().unwrap();
    let text = "#####\r\n#P.S#\r\n#####\r\n";
    let utf16 =
        |bytes: fn(u16) -> [u8; 2]| format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let folder = save(dir.path(), "folder", text);
    let picture = fs::read(folder.join("layout.png")).unwrap();
    let meta = "\u{feff}{\"type\": \"challenge\",\r\n\"difficulty\": \"easy\"}\r\n";
    fs::write(folder.join("meta.json"), meta).unwrap();
    let of = |name: &str, content: Vec<u8>| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let files = [
        folder,
        of("crlf.txt", text.into()),
        of("mark.txt", format!("\u{feff}{text}").into()),
        of("cr.txt", text.replace("\r\n", "\r").into()),
        of("dos.txt", format!("{text}\x1a").into()),
        of("little.txt", utf16(u16::to_le_bytes)),
        of("big.txt", utf16(u16::to_be_bytes)),
        of("drawn.png", picture.clone()),
        of("DRAWN.PNG", picture.clone()),
        of("picture.txt", picture),
    ];
    for path in &files {
        let map = Map::load(path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(map.layout.rows(), ["#####", "#P.S#", "#####"], "{}", path.display());
    }
    let drawn = succeeds(&["maps", files[7].to_str().unwrap()]);
    assert!(drawn.starts_with("drawn: 5x3, 3 open tiles\n"), "{drawn}");
    for (content, expected) in [
        (b"#P.\n#\xe9.\n".to_vec(), "found the byte 0xe9 in line 2, as in Windows-1252 or Latin-1"),
        (b"GIF89a".to_vec(), "expected text, found a GIF picture"),
        (b"P.o".to_vec(), "'o' at (2, 0) is not a tile: expected one of # . ~ or a capital P B G S O D H"),
        ("P\u{a0}.".into(), "'\\u{a0}' at (1, 0) is not a tile: "),
    ] {
        let error = Map::load(of("wrong.txt", content)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    // An unreadable map does not hide the others.
    let output = getaway(&["maps", dir.path().join("wrong.txt").to_str().unwrap(), files[1].to_str().unwrap()]);
    assert!(output.status.code() == Some(2) && stdout(&output).starts_with("crlf: "), "{output:?}");
}

#[test]
fn maps_lists_every_map_in_aligned_columns() {
    let text = succeeds(&["maps"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 10);
    assert!(lines[0].starts_with("NAME "));
    for column in ["SIZE", "OPEN", "THREATS", "BULL", "GOLDFISH", "SHARK", "OWL", "DEER", "HAWK"] {
        let end = lines[0].find(column).unwrap() + column.len();
        assert!(
            lines.iter().all(|line| !line[..end].ends_with(' ') && line[end..].starts_with("  ")),
            "{column}\n{text}"
        );
    }
    assert!(lines[1..].is_sorted());
    assert!(!text.contains('\x1b'), "no colours unless the output is a terminal");
}

#[test]
fn maps_lists_additional_folders() {
    let dir = tempfile::tempdir().unwrap();
    save(dir.path(), "zz-mine", "P.B~\n..O#");
    let maps = dir.path().to_str().unwrap();
    let listed: Vec<Value> = serde_json::from_str(&succeeds(&["maps", "--json", "--maps", maps])).unwrap();
    let expected = serde_json::json!({
        "name": "zz-mine", "type": "challenge", "difficulty": "easy", "width": 4, "height": 2, "open_tiles": 7,
        "threats": {"bull": 1, "goldfish": 0, "shark": 0, "owl": 1, "deer": 0, "hawk": 0},
    });
    assert_eq!(listed.last().unwrap(), &expected);
    assert!(succeeds(&["maps", "--maps", maps]).contains("zz-mine"));
}

#[test]
fn bundled_maps_are_found_from_other_folders() {
    let dir = tempfile::tempdir().unwrap();
    let output = command_in(dir.path(), &["maps", "roundabout"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn maps_draws_a_map() {
    let dir = tempfile::tempdir().unwrap();
    let folder = save(dir.path(), "drawn", "#P.~\n#BBS");
    let folder = folder.to_str().unwrap();
    let expected = "\
drawn: 4x2, 6 open tiles, easy
██P   ░░
██B B S 
P player  B bull (2)  S shark  ░░ see-through (passable for threats, not for the player)
";
    assert_eq!(succeeds(&["maps", folder]), expected);
    let json: Value = serde_json::from_str(&succeeds(&["maps", "--json", folder])).unwrap();
    assert_eq!(json[0]["rows"], serde_json::json!(["#P.~", "#BBS"]));
    let text = dir.path().join("text.txt");
    std::fs::write(&text, "P..\n").unwrap();
    assert!(succeeds(&["maps", text.to_str().unwrap()]).starts_with("text: 3x1, 3 open tiles\n"));
}

#[test]
fn colours_follow_the_environment() {
    let run = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_getaway"));
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        command.args(["maps", "roundabout"]).current_dir(dir).env_remove("NO_COLOR").env(name, "1").output().unwrap()
    };
    assert!(stdout(&run("CLICOLOR_FORCE")).contains("\x1b[1m\x1b[94mP"));
    assert!(!stdout(&run("NO_COLOR")).contains('\x1b'));
}

#[test]
fn broken_map_does_not_hide_the_others() {
    let dir = tempfile::tempdir().unwrap();
    save(dir.path(), "good", "P.");
    let broken = with_picture(&dir, "broken", b"no picture");
    let output = getaway(&["maps", "--maps", dir.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("good"));
    assert!(error_line(&output).starts_with(&format!("{broken}/layout.png: invalid PNG")));
    fs::write(dir.path().join("good/meta.json"), "[]").unwrap();
    let output = getaway(&["maps", "--maps", dir.path().to_str().unwrap()]);
    let line = error_line(&output);
    assert!(line.starts_with("2 maps cannot be read: ") && line.contains("good/meta.json"), "{line}");
}

/// Unescaped, this name would clear the screen, start a new line, set a colour and reverse text.
#[cfg(unix)]
const HOSTILE: &str = "a\x1b[2J\nINJECTED\r\x07\u{9b}31m\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\x7fz";

#[cfg(unix)]
fn hostile_recording(dir: &Path, map: &str) -> PathBuf {
    let plain = dir.join("plain.jsonl");
    let save = ["play", map, "--planner", "safest", "--budget-ticks", "1", "--save", plain.to_str().unwrap()];
    assert_eq!(getaway(&save).status.code(), Some(0));
    let text = fs::read_to_string(&plain).unwrap();
    let name = || Value::from(HOSTILE);
    let hostile = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["game_message"]["yourCharacter"]["teamId"] = name();
        line["game_message"]["threats"][0]["style"] = name();
        line["decision"]["learnt"] = vec![name()].into();
        if let Some(game) = line.get_mut("game") {
            ["map", "planner", "recorder"].into_iter().for_each(|field| game[field] = name());
        }
        line.to_string() + "\n"
    };
    let folder = dir.join(format!("games {HOSTILE}"));
    fs::create_dir(&folder).unwrap();
    let file = folder.join(format!("{HOSTILE}.jsonl"));
    let lines: Vec<String> = text.lines().map(hostile).collect();
    fs::write(&file, lines.concat()).unwrap();
    let other_style = lines[9].replacen("\"shark\"", &format!("{}", name()), 1);
    assert_ne!(other_style, lines[9]);
    fs::write(folder.join("diverged.jsonl"), [&lines[..9], &[other_style]].concat().concat()).unwrap();
    fs::write(folder.join(format!("broken {HOSTILE}.jsonl")), format!("{{{HOSTILE}\n{{}}\n")).unwrap();
    file
}

#[cfg(unix)]
#[test]
fn text_from_outside_cannot_control_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let maps = dir.path().join("maps");
    let map = save(&maps, HOSTILE, "P...#B\n.##.#.\n...S#.").to_str().unwrap().to_owned();
    let recording = hostile_recording(dir.path(), &map).to_str().unwrap().to_owned();
    let games = Path::new(&recording).parent().unwrap().to_str().unwrap().to_owned();
    let diverged = format!("{games}/diverged.jsonl");
    let maps = maps.to_str().unwrap().to_owned();
    let bot = format!("pipe:read -r x; printf '{}' >&2; exit 3", HOSTILE.replace('\n', " "));
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (page, saved, taken, generated) =
        (path(&format!("{HOSTILE}.html")), path(&format!("{HOSTILE} saved.jsonl")), path("taken"), path(HOSTILE));
    fs::write(&taken, HOSTILE).unwrap();
    let mapgen = ["mapgen", "--count", "1", "--seed", "1", "--size", "9x9", "--threats", "1"];
    let quick = ["--samples", "1", "--threads", "1", "--budget-ticks", "1"];
    let commands: &[(i32, &[&str])] = &[
        (0, &["maps", "--maps", &maps]),
        (0, &["maps", "--maps", &maps, "--json"]),
        (0, &["maps", &map]),
        (0, &["maps", &map, "--json"]),
        (0, &["solve", &map]),
        (0, &["solve", &map, "--json"]),
        (0, &["solve", "--maps", &maps]),
        (0, &["play", &map, "--planner", "safest", "--budget-ticks", "1", "--save", &saved]),
        (2, &["play", &map, "--planner", "safest", "--save", &saved]),
        (1, &["play", &map, "--planner", &bot]),
        (2, &["play", &map, "--planner", HOSTILE]),
        (2, &["play", HOSTILE]),
        (2, &[HOSTILE]),
        (2, &["play", &map, &format!("--{HOSTILE}")]),
        (1, &[&["eval", "--map", &map, "--planner", "safest", "--planner", &bot][..], &quick].concat()),
        (0, &[&["battle", "safest", "random", "--map", &map][..], &quick].concat()),
        (1, &[&["tournament", "safest", &bot, "--map", &map][..], &quick].concat()),
        (0, &[&["tournament", "safest", &bot, "--map", &map, "--json", "--allow-failures"][..], &quick].concat()),
        (0, &["replay", &recording]),
        (0, &["replay", &recording, "--json"]),
        (1, &["replay", &diverged]),
        (1, &["replay", &diverged, "--json"]),
        (2, &["replay", &games]),
        (2, &["replay", &games, "--json"]),
        (2, &["replay", &taken]),
        (0, &["analyse", &recording, "--budget-ticks", "1000"]),
        (0, &["analyse", &recording, "--budget-ticks", "1000", "--json"]),
        (0, &["probe", &recording, "-o", &format!("{generated}.json")]),
        (0, &["view", &recording, "--html", &page]),
        (2, &["view", &recording, "--html", &page]),
        (2, &["rules", &taken]),
        (2, &["verify", HOSTILE, &map]),
        (2, &["simulate", HOSTILE]),
        (0, &[&mapgen[..], &["--out", &generated]].concat()),
        (2, &[&mapgen[..], &["--out", &generated]].concat()),
        (2, &["bridge", "--url", HOSTILE, "--", "true"]),
        (2, &["serve", &map, "--host", HOSTILE]),
        (2, &["serve", HOSTILE]),
    ];
    let acts = |c: char| c != '\n' && !c.is_ascii_graphic() && HOSTILE.contains(c);
    let mut escaped = 0;
    for (code, args) in commands {
        let output = getaway(args);
        let (stdout, stderr) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {stdout}{stderr}");
        for text in [stdout, stderr] {
            assert!(!text.contains(acts), "{args:?}: {text:?}");
            assert!(!text.contains("\nINJECTED"), "{args:?}: {text:?}");
            escaped += usize::from(text.contains("\\u001b[2J") && text.contains("\\u202e"));
        }
        if args.contains(&"--json") && *code == 0 {
            let values = serde_json::Deserializer::from_str(stdout).into_iter::<Value>();
            assert!(
                values.map(Result::unwrap).any(|value| value.to_string().contains("INJECTED")),
                "{args:?}: {stdout}"
            );
        }
    }
    assert!(escaped > commands.len() / 2, "{escaped} outputs contain the escaped name");
}

#[test]
fn invalid_pictures_give_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let good = rgba_png(2, 1, &[PLAYER, OPEN]);
    let mut many = vec![OPEN; 65 * 64];
    many[0] = PLAYER;
    let mut crowd = vec![[255, 0, 0, 255]; 66];
    crowd[0] = PLAYER;
    let pictures: [(&str, Vec<u8>, &str); 10] = [
        ("gif", b"GIF89a".to_vec(), "expected a PNG picture, found a GIF picture"),
        ("empty", Vec::new(), "invalid PNG: "),
        ("garbage", b"no picture".to_vec(), "invalid PNG: "),
        ("truncated", good[..good.len() - 20].to_vec(), "invalid PNG: "),
        ("no-player", rgba_png(2, 1, &[OPEN, OPEN]), "no player: expected an opaque pixel of colour 0,0,255"),
        ("transparent-player", rgba_png(2, 1, &[[0, 0, 255, 254], OPEN]), "no player: expected"),
        ("one-tile", rgba_png(1, 1, &[PLAYER]), "too few open tiles: 1, expected at least 2"),
        ("huge", header_only(10_000, 10_000), "map too large: 10000x10000 tiles, expected at most 1024 per side"),
        ("large", rgba_png(65, 64, &many), "too many open tiles (4160): expected at most 4096"),
        ("crowd", rgba_png(66, 1, &crowd), "too many threats (65): expected at most 64"),
    ];
    for (name, picture, expected) in pictures {
        let path = with_picture(&dir, name, &picture);
        let line = fails(&["maps", &path]);
        assert!(line.contains(&format!("{path}/layout.png: {expected}")), "{name}: {line}");
    }
}

#[test]
fn invalid_descriptions_give_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let folder = save(dir.path(), "map", "P.");
    let (path, meta) = (folder.to_str().unwrap(), folder.join("meta.json"));
    for (text, expected) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{}", "missing field `type` at line 1 column 2"),
        (r#"{"type": "challenge"}"#, "missing field `difficulty`"),
        (r#"{"type": 1, "difficulty": "easy"}"#, "invalid type: integer `1`, expected a string"),
    ] {
        fs::write(&meta, text).unwrap();
        let line = fails(&["maps", path]);
        assert!(line.starts_with(&format!("{path}/meta.json: {expected}")), "{line}");
        assert!(line.ends_with(r#", expected {"type": "challenge", "difficulty": "easy"}"#), "{line}");
    }
    let mut longest = r#"{"type": "challenge", "difficulty": "easy"}"#.as_bytes().to_vec();
    longest.resize(65_536, b' ');
    fs::write(&meta, &longest).unwrap();
    succeeds(&["maps", path]);
    longest.push(b' ');
    fs::write(&meta, longest).unwrap();
    let expected = "expected a regular file of at most 65536 bytes, found 65537 bytes";
    assert_eq!(fails(&["maps", path]), format!("cannot read {path}/meta.json: {expected}"));
    fs::write(&meta, r#"{"type": "challenge", "difficulty": "easy", "more": [1]}"#).unwrap();
    succeeds(&["maps", path]);
    fs::remove_file(&meta).unwrap();
    assert!(fails(&["maps", path]).starts_with(&format!("{path}/meta.json: no such file")));
    fs::remove_file(folder.join("layout.png")).unwrap();
    assert!(fails(&["maps", path]).starts_with(&format!("{path}/layout.png: no such file")));
}

fn mapgen_args<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["mapgen", "--count", "3", "--seed", "1", "--size", "21x17", "--threats", "6", "--out", out];
    args.extend(more);
    args
}

#[test]
fn mapgen_writes_maps_that_load() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/folder");
    let out = out.to_str().unwrap();
    let text = succeeds(&mapgen_args(out, &["--styles", "bull,owl", "--braid", "0.5"]));
    let names: Vec<String> = (0..3).map(|index| format!("maze-21x17-s1-000{index}")).collect();
    for (line, name) in text.lines().zip(&names) {
        assert!(line.starts_with(&format!("{out}/{name}: ")), "{line}");
    }
    let json = succeeds(&mapgen_args(out, &["--kind", "city", "--json"]));
    let json: Vec<Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(json.len(), 3);
    assert_eq!(json[2]["name"], "city-21x17-s1-0002");
    let map = Map::load(json[2]["folder"].as_str().unwrap()).unwrap();
    assert_eq!(map.layout.threats.len(), 6);
    assert_eq!(fs::read_dir(out).unwrap().count(), 6, "only the maps");
    succeeds(&["maps", "--maps", out, &names[0]]);
}

#[test]
fn mapgen_is_reproducible() {
    let dir = tempfile::tempdir().unwrap();
    let file = |out: &str, count| {
        let out = dir.path().join(out);
        let out = out.to_str().unwrap();
        succeeds(&["mapgen", "--count", count, "--seed", "5", "--size", "15x15", "--threats", "4", "--out", out]);
        let folder = Path::new(out).join("maze-15x15-s5-0001");
        (fs::read(folder.join("layout.png")).unwrap(), fs::read(folder.join("meta.json")).unwrap())
    };
    assert_eq!(file("once", "2"), file("again", "4"));
}

#[test]
fn mapgen_does_not_overwrite() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let taken = dir.path().join("maze-21x17-s1-0002");
    fs::create_dir(&taken).unwrap();
    let line = fails(&mapgen_args(out, &[]));
    assert_eq!(line, format!("{} already exists (use --force to overwrite it)", taken.display()));
    assert_eq!(fs::read_dir(out).unwrap().count(), 1, "the two maps before it must not be written either");
    fs::write(taken.join("notes.txt"), "mine").unwrap();
    fs::write(taken.join("meta.json"), "old").unwrap();
    succeeds(&mapgen_args(out, &["--force"]));
    succeeds(&["maps", "--maps", out, "maze-21x17-s1-0002"]);
    assert_eq!(fs::read_to_string(taken.join("notes.txt")).unwrap(), "mine", "other files stay");
    assert_eq!(fs::read_dir(out).unwrap().count(), 3, "no temporary folders");
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(fails(&mapgen_args(file.to_str().unwrap(), &[])).contains("cannot write"));
}

#[test]
fn help_succeeds() {
    assert_eq!(succeeds(&[]), succeeds(&["--help"]));
    for command in ["maps", "mapgen", "solve"] {
        assert!(succeeds(&[command, "--help"]).contains(&format!("  getaway {command} ")), "an example");
    }
    assert!(succeeds(&["--version"]).starts_with("getaway "));
}

#[cfg(unix)]
#[test]
fn closed_pipe_is_not_an_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for args in [&["maps"][..], &["--help"], &["maps", "--json"]] {
        let mut command = command(args);
        command.stdout(writer.try_clone().unwrap()).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{args:?}");
    }
}
