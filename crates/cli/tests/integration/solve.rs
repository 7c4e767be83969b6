use std::path::{Path, PathBuf};

use crate::program::{error_line, fails, getaway, succeeds};
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
fn invalid_input_gives_one_line() {
    assert!(fails(&["solve", "atlantis"]).starts_with("no map named atlantis: expected "));
    assert!(fails(&["solve", "stadium", "--time-limit-ms", "soon"]).contains("--time-limit-ms"));
    assert!(fails(&["solve", "--maps", "nowhere"]).starts_with("nowhere: no such folder"));
    assert!(succeeds(&["solve", "--help"]).contains("getaway solve roundabout"));
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
    // The second file changes only the server's messages, which omit the personalities.
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
