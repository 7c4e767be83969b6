use serde_json::Value;

use crate::program;

const CAUGHT: &str = "games/cul-de-sacs-stroll-until-caught.jsonl.gz";
const UNFINISHED: &str = "games/roundabout-flee-300-ticks.jsonl.gz";

#[test]
fn object_names_the_tick_and_a_line_to_the_end() {
    let output = program::succeeds(&["analyse", CAUGHT, "--json", "--budget-ms", "600000"]);
    let report: Value = serde_json::from_str(&output).unwrap();
    for (field, expected) in [
        ("map", Value::from("cul-de-sacs")),
        ("end", "caught".into()),
        ("final_tick", 108.into()),
        ("last_savable_tick", 107.into()),
        ("proven", true.into()),
        ("kind", "blunder".into()),
    ] {
        assert_eq!(report[field], expected, "{field}");
    }
    let line = report["line"].as_str().unwrap();
    assert_eq!(line.len(), 2000 - 106);
    assert!(line.chars().all(|letter| "LRUD.".contains(letter)), "{line}");
}

#[test]
fn text_says_why_the_game_was_lost() {
    let output = program::succeeds(&["analyse", CAUGHT, "--budget-ms", "600000"]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "cul-de-sacs-stroll-until-caught: cul-de-sacs, caught at tick 108, score 540");
    assert!(lines[1].starts_with("Lost at tick 107 by a blunder: the car went right where "), "{output}");
    assert!(output.contains("\nLast tick from which survival was possible: 107 (proven)\n"), "{output}");
    assert!(lines.last().unwrap().ends_with("… and 1834 more moves (--json prints all)"), "{output}");
    let output = program::succeeds(&["analyse", UNFINISHED, "--budget-ms", "600000"]);
    assert!(output.contains("The recording ends at tick 301, where survival was still possible"), "{output}");
}

#[test]
fn other_rules_make_it_another_game() {
    let output = program::succeeds(&["analyse", CAUGHT, "--json", "--no-jump", "--budget-ticks", "1000"]);
    let report: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(report["map"], "cul-de-sacs");
    let error = program::fails(&["analyse", CAUGHT, "--with", UNFINISHED]);
    assert!(
        error.contains(&format!(
            "{UNFINISHED}: expected another recording of the same game, but the recordings differ at tick 1"
        )),
        "{error}"
    );
}

#[test]
fn game_on_a_doomed_map_is_compared_with_the_best_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (map, saved) = (path("corridor.txt"), path("game.jsonl"));
    std::fs::write(&map, "###########\n#...P....S#\n###########\n").unwrap();
    program::succeeds(&["play", &map, "--planner", "random", "--no-jump", "--save", &saved]);
    let best: Value = serde_json::from_str(&program::succeeds(&["solve", &map, "--no-jump", "--json"])).unwrap();
    let report: Value = serde_json::from_str(&program::succeeds(&["analyse", &saved, "--no-jump", "--json"])).unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    let (final_tick, best_tick) = (number(&report["final_tick"]), number(&report["best_tick"]));
    assert_eq!(number(&report["longest_tick"]), best_tick);
    assert_eq!((&report["kind"], 5 * best_tick), (&"doomed_map".into(), number(&best["bound"])));
    assert_eq!(report["best_line"].as_str().unwrap().len() as u64, best_tick - 1);
    let costly = report["costly_moves"].as_array().unwrap();
    let cost: u64 = costly.iter().map(|costly| number(&costly["cost_ticks"])).sum();
    assert!(final_tick < best_tick && cost == best_tick - final_tick, "{report}");
    let text = program::succeeds(&["analyse", &saved, "--no-jump"]);
    let sentence = format!("The best possible game ends at tick {best_tick} (proven): {} move", costly.len());
    assert!(text.contains(&sentence) && text.contains("\nA best line, from tick 1 on:\n"), "{text}");
}
