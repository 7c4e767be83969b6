use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::common::wait_until;
use crate::program::{command, error_line, fails, getaway, succeeds};
use getaway::game::Layout;
use getaway::game::{Move, Rules, World};
use getaway::map::Map;
use serde_json::Value;

fn reports(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn save(dir: &Path, name: &str, text: &str) -> String {
    let layout = Layout::parse(text).unwrap();
    let folder = dir.join(name);
    Map { name: name.into(), kind: "challenge".into(), difficulty: "easy".into(), layout }.save(&folder).unwrap();
    folder.to_str().unwrap().to_owned()
}

fn our_maps() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("maps")
}

fn replay(maps: &Path, report: &Value, rules: &Rules) -> u32 {
    let map = Map::load(maps.join(report["map"].as_str().unwrap())).unwrap();
    let world = World::new(&map.layout, rules).unwrap();
    let mut state = world.start();
    for letter in report["actions"].as_str().unwrap().chars() {
        world.step(&mut state, Move::try_from(letter).unwrap());
    }
    world.score(&state)
}

#[test]
fn map_is_solved_and_the_moves_can_be_played() {
    for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
        let mut args = vec!["solve", "roundabout", "--json", "--time-limit-ms", "60000", "--seed", "3"];
        args.extend(rules.no_jump.then_some("--no-jump"));
        let found = reports(&succeeds(&args));
        let [report] = &found[..] else { panic!("{found:?}") };
        let mut fields: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            ["actions", "bound", "decided_ms", "elapsed_ms", "map", "outcome", "score", "simulated_ticks"]
        );
        assert_eq!((report["outcome"].as_str(), report["score"].as_u64()), (Some("survives"), Some(10_005)));
        assert_eq!(report["actions"].as_str().unwrap().len(), 2000);
        assert!(report["elapsed_ms"].as_f64().unwrap() > 0.0);
        assert_eq!(replay(&our_maps(), report, &rules), 10_005);

        let again = reports(&succeeds(&args));
        for field in ["actions", "simulated_ticks"] {
            assert_eq!(report[field], again[0][field], "the same seed");
        }
    }
}

#[test]
fn text_output_shows_the_moves() {
    let text = succeeds(&["solve", "corner-shop", "--time-limit-ms", "60000"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("corner-shop: survives, 10005 points, "), "{}", lines[0]);
    let moves: String = lines[1..].iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!((lines.len(), moves.len()), (21, 2000));
    assert!(lines[20].starts_with(" 1901 "));
}

#[test]
fn several_maps_give_a_table() {
    let text = succeeds(&["solve", "roundabout", "stadium", "--time-limit-ms", "60000"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].starts_with("MAP         OUTCOME  "), "{text}");
    assert!(lines[1].starts_with("roundabout  survives ") && lines[2].starts_with("stadium     survives "), "{text}");
    assert_eq!(lines[3], "2 maps: 2 survives, 0 doomed, 0 undecided");
}

#[test]
fn folder_replaces_the_bundled_maps() {
    let dir = tempfile::tempdir().unwrap();
    save(dir.path(), "trap", "######\n#P..S#\n######");
    save(dir.path(), "cell", "####\n#P##\n#.##\n####");
    let text = succeeds(&["solve", "--maps", dir.path().to_str().unwrap(), "--no-jump", "--json"]);
    let found = reports(&text);
    let seen: Vec<_> =
        found.iter().map(|report| (report["map"].as_str().unwrap(), report["outcome"].as_str().unwrap())).collect();
    assert_eq!(seen, [("cell", "survives"), ("trap", "doomed")]);
    for report in &found {
        assert_eq!(u64::from(replay(dir.path(), report, &Rules::NO_JUMP)), report["score"].as_u64().unwrap());
    }
}

#[test]
fn zero_time_is_undecided_without_error() {
    let found = reports(&succeeds(&["solve", "metropolis", "--time-limit-ms", "0", "--json"]));
    assert_eq!(found[0]["outcome"], "undecided");
    assert_eq!(replay(&our_maps(), &found[0], &Rules::BLITZ_2025), found[0]["score"].as_u64().unwrap() as u32);
}

#[test]
fn bundled_maps_are_solved_by_default() {
    let found = reports(&succeeds(&["solve", "--json", "--time-limit-ms", "0"]));
    assert_eq!(found.len(), 15);
}

#[test]
fn folder_without_maps_is_an_error_that_names_the_likely_one() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, near) = (folder.path().join("empty"), folder.path().join("maps"));
    std::fs::create_dir_all(&empty).unwrap();
    let copied = near.join("snail");
    std::fs::create_dir_all(&copied).unwrap();
    for file in ["layout.png", "meta.json"] {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../maps/snail/");
        std::fs::copy(format!("{source}{file}"), copied.join(file)).unwrap();
    }
    let [empty, near, parent] = [&empty, &near, &folder.path().to_path_buf()].map(|path| path.display().to_string());
    for command in [&["solve"][..], &["eval"], &["battle", "random", "safest"], &["maps"], &["serve"]] {
        let error = |dir: &str| fails(&[command, &["--maps", dir]].concat());
        assert_eq!(
            error(&empty),
            format!("no maps in {empty}: expected a folder with one subfolder or text file per map")
        );
        let expected = format!(
            "no maps in {parent}: expected a folder with one subfolder or text file per map; there are maps in {near}"
        );
        assert_eq!(error(&parent), expected);
    }
}

#[test]
fn verified_certificate_is_about_the_rules_that_the_answer_names() {
    let dir = tempfile::tempdir().unwrap();
    let map = save(dir.path(), "trap", "######\n#P..S#\n######");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (rules, others, proof) = (path("rules.json"), path("others.json"), path("trap.proof"));
    // The second file differs only in the server's messages, which omit the personalities.
    std::fs::write(&rules, r#"{"no_jump": true, "period_ticks": {"lazy": 1}}"#).unwrap();
    let quiet = r#"{"no_jump": true, "period_ticks": {"lazy": 1}, "wire": {"personalities": "missing"}}"#;
    std::fs::write(&others, quiet).unwrap();
    succeeds(&["solve", &map, "--rules", &rules, "--certificate", &proof]);

    let (named, answer) =
        (succeeds(&["verify", &proof, &map]), "the server's rules in the no-jump variant, except that ");
    assert!(named.ends_with(&format!(" ms, under {answer}lazy threats move every tick\n")), "{named}");
    let report = &reports(&succeeds(&["verify", &proof, &map, "--rules", &others, "--json"]))[0];
    assert_eq!(report["differences"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!(report["rules"], format!("{answer}lazy threats move every tick"));
    let refused = getaway(&["verify", &proof, &map, "--no-jump"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        error_line(&refused),
        format!("{proof}: refused: line 1: not the requested rules: lazy threats move every tick")
    );
}

/// On this map, the score equals the bound only after more than 100 ms of search.
const DOOMED: [&str; 2] = ["benchmark/maps/labyrinth-15x13-250-00.txt", "--no-jump"];

fn solve(map: &[&str], file: &Path, time_limit_ms: &str) -> std::process::Command {
    let options = ["--json", "--time-limit-ms", time_limit_ms, "--resume", file.to_str().unwrap()];
    command(&[&["solve"], map, &options].concat())
}

#[test]
fn search_continues_from_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let (file, proof) = (dir.path().join("search"), dir.path().join("proof"));
    let whole = reports(&succeeds(&[&["solve"], &DOOMED[..], &["--json", "--time-limit-ms", "60000"]].concat()));
    let (mut runs, mut notes) = (0, Vec::new());
    let found = loop {
        // Each run gets more time than the last, because it repeats work that the file omits, such
        // as searches for lines of moves.
        runs += 1;
        let output = solve(&DOOMED, &file, &(100 * runs).to_string()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        notes.push(String::from_utf8(output.stderr).unwrap());
        let found = reports(&String::from_utf8(output.stdout).unwrap());
        if found[0]["score"] == found[0]["bound"] {
            break found;
        }
        assert!(runs < 60, "{found:?}");
    };
    for field in ["outcome", "score", "bound"] {
        assert_eq!(found[0][field], whole[0][field], "after {runs} runs");
    }
    assert!(runs > 1 && notes[0].is_empty(), "{notes:?}");
    for note in &notes[1..] {
        assert!(note.starts_with("labyrinth-15x13-250-00: continuing after ") && note.lines().count() == 1, "{note}");
    }
    let certificate = solve(&DOOMED, &file, "0").args(["--certificate", proof.to_str().unwrap()]).output().unwrap();
    assert_eq!(certificate.status.code(), Some(0), "{certificate:?}");
    succeeds(&["verify", proof.to_str().unwrap(), DOOMED[0], DOOMED[1]]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn other_files_are_not_continued_and_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("search");
    assert!(solve(&DOOMED, &file, "300").output().unwrap().status.success());
    let saved = fs::read(&file).unwrap();
    let refused = |map: &[&str], content: &[u8]| {
        fs::write(&file, content).unwrap();
        let output = solve(map, &file, "300").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(fs::read(&file).unwrap() == content, "the file was changed");
        let line = error_line(&output);
        line.strip_prefix(file.to_str().unwrap()).unwrap_or_else(|| panic!("{line}")).to_owned()
    };
    assert_eq!(refused(&DOOMED[..1], &saved), ", line 1: this is the search of the same map under other rules");
    assert_eq!(refused(&["snail", "--no-jump"], &saved), ", line 1: this is the search of another map");
    for foreign in [&b""[..], b"my notes\n", b"{\"getaway\":\"solve\",\"version\":2}\n", &saved[..20]] {
        let line = refused(&DOOMED, foreign);
        assert!(line.starts_with(", line 1: expected {\"getaway\":\"solve\",\"version\":1,...}, found "), "{line}");
    }
    let first_line = 1 + saved.iter().position(|&byte| byte == b'\n').unwrap();
    for place in [first_line - 10, first_line, first_line + 100, saved.len() / 2, saved.len() - 1] {
        let mut edited = saved.clone();
        edited[place] ^= 1;
        for damaged in [edited, saved[..place].to_vec()] {
            let line = refused(&DOOMED, &damaged);
            let expected = if place < first_line { ", line 1: expected " } else { ": the checksum is wrong: " };
            assert!(line.starts_with(expected), "{place}: {line}");
        }
    }
}

#[test]
fn killed_search_can_be_continued() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("search");
    for kill in 0..12 {
        let mut run = solve(&DOOMED, &file, "60000").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Each run starts with a save, so an early kill can interrupt a save.
        sleep(Duration::from_millis(15 * kill));
        run.kill().unwrap();
        run.wait().unwrap();
        let output = solve(&DOOMED, &file, "300").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}

/// The fields 14 and 15 of `/proc/PID/stat` are the times in user and kernel mode in 1/100 s. The
/// second field, the name in parentheses, may contain spaces.
#[cfg(target_os = "linux")]
fn processor_time_s(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
    fields.map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

#[cfg(target_os = "linux")]
#[test]
fn interrupted_search_is_saved() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("search");
    let open = ["benchmark/maps/labyrinth-21x17-250-21.txt", "--no-jump"];
    let run = solve(&open, &file, "600000").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the first save", || file.exists());
    let created = fs::metadata(&file).unwrap().len();
    wait_until("the search finds more than the first save contains", || processor_time_s(run.id()) > 1.0);
    assert!(std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap().success());
    let output = run.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(130), &b""[..]));
    let line = error_line(&output);
    assert!(line.starts_with("interrupted after ") && line.ends_with("; rerun the same command to continue"), "{line}");
    assert!(fs::metadata(&file).unwrap().len() > created);
}
