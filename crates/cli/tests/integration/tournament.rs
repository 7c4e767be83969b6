use std::fs;

use serde_json::Value;

use crate::common::wait_until;
use crate::program::{command, fails, getaway, succeeds};

const SMALL: [&str; 8] = ["--map", "corner-shop", "--map", "snail", "--budget-ticks", "300", "--samples", "4"];

fn tournament<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["tournament", "sampling", "random", "safest"], &SMALL[..], more].concat()
}

/// Returns the report without decision times, costs and the list of entrants. Ignores standard
/// error, which may contain an estimate of the running time.
fn json(args: &[&str]) -> Value {
    let output = getaway(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for standing in report["standing"].as_array_mut().unwrap() {
        standing["games"].as_object_mut().unwrap().retain(|name, _| !name.starts_with("decision_") && name != "cost");
    }
    report.as_object_mut().unwrap().remove("entrants");
    report
}

#[test]
fn standing_names_places_ratings_and_a_cross_table() {
    let text = succeeds(&tournament(&[]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "tournament of 3 entrants: 4 samples per map, at most 300 simulated ticks per decision, seed 0"
    );
    assert!(lines[3].trim_start().starts_with("1  sampling"), "{text}");
    assert!(text.contains("\nratings: Bradley-Terry on distinct pairs"), "{text}");
    assert!(text.contains("\nsafest is deterministic: 2 distinct games of 8\n"), "{text}");
    let report = json(&tournament(&[]));
    assert_eq!(report["standing"].as_array().unwrap().len(), 3);
    assert_eq!(report["pairs"].as_array().unwrap().len(), 3);
    assert_eq!((&report["games"], &report["standing"][0]["place"]), (&24.into(), &1.into()));
    assert_eq!(report, json(&tournament(&["--threads", "1"])));
    let gauntlet = json(&tournament(&["--gauntlet"]));
    assert_eq!(gauntlet["pairs"].as_array().unwrap().len(), 2);
}

#[test]
fn decided_pairs_end_early() {
    let report = json(&tournament(&["--sprt", "--sprt-p1", "0.7"]));
    assert!(report["pairs"][0]["sprt"]["pairs"].as_u64().unwrap() <= 8);
    let mut args = tournament(&["--sprt", "--json"]);
    let samples = args.iter().position(|word| *word == "4").unwrap();
    args[samples] = "60";
    let output = getaway(&args);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["games"].as_u64().unwrap() < 360, "{}", report["games"]);
    assert!(report["pairs"].as_array().unwrap().iter().any(|pair| pair["sprt"]["verdict"] == "h1"), "{report}");
}

#[test]
fn killed_tournament_resumes_with_the_same_standing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("games.jsonl");
    let mut args = tournament(&["--resume", file.to_str().unwrap()]);
    let samples = args.iter().position(|word| *word == "4").unwrap();
    args[samples] = "20";
    let mut fresh = args.clone();
    fresh.truncate(fresh.len() - 2);
    let whole = json(&fresh);
    let played = || fs::read_to_string(&file).map_or(0, |text| text.lines().count() - 1);
    for kill in 1..=3 {
        let mut child =
            command(&args).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        wait_until("the goal of games", || played() >= kill * 12);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(played() >= 36, "{}", played());
    assert_eq!(json(&args), whole);
    assert_eq!(played(), 120);
}

#[test]
fn report_has_its_games_as_csv_and_its_result_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("report.html");
    let run = |threads: &str, force: &[&str]| {
        succeeds(
            &[&tournament(&["--sprt", "--report", page.to_str().unwrap(), "--threads", threads])[..], force].concat(),
        );
        fs::read_to_string(page.with_extension("csv")).unwrap()
    };
    let csv = run("1", &[]);
    assert_eq!(csv, run("2", &["--force"]), "the same games, byte for byte");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("planner,spec,map,layout,sample,seed,score,")
            && lines[1].starts_with("sampling,sampling,corner-shop,")
    );
    assert_eq!(lines.len(), 25);
    let result: Value = serde_json::from_str(&fs::read_to_string(page.with_extension("json")).unwrap()).unwrap();
    assert_eq!(result["standing"].as_array().unwrap().len(), 3);
    let text = fs::read_to_string(&page).unwrap();
    let begin = text.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let data: Value = serde_json::from_str(&text[begin..begin + text[begin..].find("</script>").unwrap()]).unwrap();
    let names: Vec<&str> = data["facts"].as_array().unwrap().iter().map(|fact| fact[0].as_str().unwrap()).collect();
    assert_eq!(names, ["date", "version", "commit", "processor", "threads", "budget per decision", "rules"]);
    assert!(data["command"].as_str().unwrap().starts_with("getaway tournament sampling random safest "));
    assert_eq!((data["sprt"].as_array().unwrap().len(), data["drawings"].as_array().unwrap().len()), (3, 2));
    let line = data["games"][0][6].as_str().unwrap();
    assert!(line.starts_with("getaway play corner-shop --planner sampling "), "{line}");
    assert!(data["games"][0][7].is_u64(), "the first game can be watched");
}

#[test]
fn named_entrants_keep_their_names_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let (page, file) = (dir.path().join("report.html"), dir.path().join("games.jsonl"));
    let args = [
        &["tournament", "--map", "corner-shop", "old=random", "new@2=random", "--samples", "2", "--threads", "1"][..],
        &["--report", page.to_str().unwrap(), "--resume", file.to_str().unwrap()],
    ]
    .concat();
    let text = succeeds(&args);
    assert!(text.contains("old") && text.contains("new@2") && !text.contains("=random"), "{text}");
    let csv = fs::read_to_string(page.with_extension("csv")).unwrap();
    assert!(csv.lines().nth(1).unwrap().starts_with("old,random,corner-shop,"), "{csv}");
    let report = json(&[&args[..], &["--force"]].concat());
    assert_eq!(report["schema"], 2);
    // Resume the same file, but let `old` name another planner.
    let other = args.iter().map(|word| if *word == "old=random" { "old=safest" } else { word }).collect::<Vec<_>>();
    let error = fails(&[&other[..], &["--force"]].concat());
    assert!(error.ends_with("line 2: the planner behind the name is random, but this run has safest"), "{error}");
}
