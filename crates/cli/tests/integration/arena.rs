use std::fs;
use std::process::Command;

use serde_json::Value;

#[cfg(unix)]
use crate::common::wait_until;
#[cfg(target_os = "linux")]
use crate::program::error_line;
use crate::program::{command, fails, getaway, succeeds};

fn json(args: &[&str]) -> Value {
    let text = succeeds(args);
    assert_eq!(text.lines().count(), 1);
    serde_json::from_str(&text).unwrap()
}

fn without_times(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.starts_with("decision_") && name != "cost");
            fields.values_mut().for_each(|field| *field = without_times(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_times(item.take())),
        _ => {}
    }
    value
}

const MAPS: [&str; 4] = ["--map", "corner-shop", "--map", "snail"];
const OPTIONS: [[&str; 2]; 2] = [["--budget-ticks", "500"], ["--samples", "3"]];

fn small<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let options = OPTIONS.iter().filter(|[name, _]| !more.contains(name)).flatten();
    command.iter().chain(&MAPS).chain(options).chain(more).copied().collect()
}

fn eval<'a>(more: &[&'a str]) -> Vec<&'a str> {
    small(&["eval"], more)
}

fn battle<'a>(more: &[&'a str]) -> Vec<&'a str> {
    small(&["battle", "sampling", "random"], more)
}

#[test]
fn planners_are_evaluated_by_map_and_overall() {
    let text = succeeds(&eval(&["--planner", "random", "--planner", "safest"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "3 samples per map, at most 500 simulated ticks per decision, seed 0");
    assert_eq!((lines[2], lines[8]), ("random", "safest"));
    let head: Vec<&str> = lines[3].split_whitespace().collect();
    assert_eq!(head[..3], ["MAP", "GAMES", "SCORE"]);
    for (line, name) in [(4, "corner-shop"), (5, "snail"), (6, "all maps")] {
        assert!(lines[line].starts_with(name) && lines[line + 6].starts_with(name), "{text}");
    }
    assert_eq!(lines[6].split_whitespace().nth(2), Some("6"), "games on all maps");
}

#[test]
fn json_output_does_not_depend_on_the_number_of_threads() {
    let both = ["--planner", "sampling", "--planner", "uct-greedy", "--json"];
    let [one, two] = ["1", "2"].map(|threads| json(&eval(&[&both[..], &["--threads", threads]].concat())));
    assert_eq!((&one["games"], &one["games_max"], &one["budget_ticks"]), (&12.into(), &12.into(), &500.into()));
    let planner = &one["planners"][0];
    let summary = &planner["maps"][0];
    assert_eq!((&planner["planner"], &summary["map"]), (&"sampling".into(), &"corner-shop".into()));
    assert!(summary["score_min"].as_u64().unwrap() <= summary["score_max"].as_u64().unwrap());
    assert!(planner["overall"]["decision_p99_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(without_times(one), without_times(two));
}

#[test]
fn distance_from_the_best_score_is_reported_where_it_is_known() {
    let report = json(&["eval", "--map", "snail", "--planner", "random", "--samples", "2", "--json"]);
    let map = &report["planners"][0]["maps"][0];
    let below = 10_005.0 - map["score_mean"].as_f64().unwrap();
    assert_eq!((&map["best_score"], map["points_below_best"].as_f64()), (&10_005.into(), Some(below)));
    assert_eq!(report["planners"][0]["points_below_best"].as_f64(), Some(below));
}

#[test]
fn match_ends_with_a_verdict() {
    let text = succeeds(&battle(&["--samples", "6"]));
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("sampling is better than random: +"), "{last}");
    assert!(last.ends_with(", 12 wins, 0 ties and 0 losses in 12 paired games (sign test, p = 0.0005)."), "{last}");
    let report = json(&battle(&["--samples", "6", "--json"]));
    assert_eq!((&report["sentence"], &report["verdict"]["outcome"]), (&last.into(), &"better".into()));
    assert_eq!((&report["overall"]["wins"], &report["overall"]["win_share"]["estimate"]), (&12.into(), &1.0.into()));
    let ties = succeeds(&["battle", "sampling", "simulate", "--map", "snail", "--budget-evals", "2", "--samples", "2"]);
    assert_eq!(ties.lines().last().unwrap(), "sampling and simulate played identical games in each of the 2 pairs.");
    let ties = succeeds(&["tournament", "a=safest", "b=safest", "random", "--map", "snail", "--samples", "1"]);
    assert!(ties.lines().last().unwrap().contains(" (identical games)"), "{ties}");
    let losses =
        succeeds(&["battle", "random", "sampling", "--map", "snail", "--budget-ticks", "500", "--samples", "8"]);
    assert!(losses.lines().last().unwrap().starts_with("random is worse than sampling: -"), "{losses}");
}

#[test]
fn identical_games_count_once() {
    let json = |args: &[&str]| -> Value { serde_json::from_str(&succeeds(args)).unwrap() };
    let text = succeeds(&["battle", "safest", "cautious", "--samples", "2"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[lines.len() - 2], "safest and cautious are deterministic: 15 distinct pairs of 30");
    let last = lines[lines.len() - 1];
    assert!(last.ends_with(" more maps would show this difference."), "{last}");
    assert_eq!(
        last.split("; about ").next().unwrap(),
        "Too few games to tell safest from cautious: -443 points per game (-1,664 to +777), 5 wins, 0 ties and 10 losses in \
         15 distinct pairs (sign test, p = 0.30)"
    );
    // Repeated games of deterministic planners must not narrow the interval.
    let on_two_maps = [&["battle", "safest", "cautious"], &MAPS[..]].concat();
    let [few, many] = ["2", "4"].map(|samples| json(&[&on_two_maps[..], &["--samples", samples, "--json"]].concat()));
    assert_eq!(few["overall"]["score_difference"], many["overall"]["score_difference"]);
    assert_eq!((&few["overall"]["pairs_played"], &many["overall"]["pairs_played"]), (&4.into(), &8.into()));
    assert_eq!(many["draw_nothing"], serde_json::json!(["safest", "cautious"]));
    // If one planner is deterministic, all games on a map are one unit of the sign test.
    let report =
        json(&["battle", "safest", "random", "--map", "corner-shop", "--map", "snail", "--samples", "6", "--json"]);
    assert_eq!((&report["overall"]["wins"], &report["overall"]["units"]), (&12.into(), &2.into()));
    assert!(report["sentence"].as_str().unwrap().contains("sign test on 2 independent units, p = 0.50"), "{report}");
}

#[test]
fn sequential_test_stops_early() {
    let json = |args: &[&str]| -> Value { serde_json::from_str(&succeeds(args)).unwrap() };
    let report = json(&battle(&["--sprt", "--samples", "1000", "--json"]));
    assert_eq!((&report["sprt"]["verdict"], &report["sprt"]["pairs"]), (&"h1".into(), &17.into()));
    assert!(report["sentence"].as_str().unwrap().contains("SPRT, alpha 0.05, beta 0.05"));
    let report = json(&battle(&["--sprt", "--sprt-alpha", "0.001", "--samples", "1000", "--json"]));
    assert!(report["sprt"]["pairs"].as_u64().unwrap() > 17);
}

#[test]
fn run_resumes_from_its_results_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("results.jsonl");
    let name = file.to_str().unwrap();
    let whole = without_times(json(&battle(&["--json"])));
    succeeds(&battle(&["--samples", "1", "--resume", name]));
    let begun = fs::read_to_string(&file).unwrap();
    assert_eq!(begun.lines().count(), 1 + 4);
    fs::write(&file, &begun[..begun.len() - 20]).unwrap();
    assert_eq!(without_times(json(&battle(&["--json", "--resume", name]))), whole);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 1 + 12);
    assert!(text.starts_with(&begun[..begun.trim_end().rfind('\n').unwrap()]), "existing lines are kept");
    let error = fails(&battle(&["--resume", name, "--seed", "1"]));
    assert!(error.contains("line 1: the seed is "), "{error}");
    assert!(fails(&["eval", "--map", "snail", "--resume", "/nowhere/results.jsonl"]).contains("cannot read or write"));
}

fn data_of(page: &str) -> Value {
    let begin = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    serde_json::from_str(&page[begin..begin + page[begin..].find("</script>").unwrap()]).unwrap()
}

#[test]
fn commands_in_the_report_replay_its_games() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.html");
    let more = ["--planner", "select(0.2, simulate(greedy))", "--planner", "survival", "--no-jump", "--seed", "9"];
    succeeds(&eval(&[&more[..], &["--report", file.to_str().unwrap()]].concat()));
    let data = data_of(&fs::read_to_string(&file).unwrap());
    assert_eq!(data["planners"].as_array().unwrap().len(), 2);
    assert!(
        data["command"].as_str().unwrap().starts_with("getaway eval --map corner-shop --map snail --budget-ticks 500 ")
    );
    let games = data["games"].as_array().unwrap();
    assert_eq!(games.len(), 12);
    for game in games.iter().step_by(3) {
        let line = game[6].as_str().unwrap();
        let words = line.replace("'select(0.2, simulate(greedy))'", "EXPRESSION");
        let mut words: Vec<&str> = words.split(' ').collect();
        words.iter_mut().filter(|word| **word == "EXPRESSION").for_each(|word| *word = more[1]);
        assert_eq!(words.remove(0), "getaway");
        words.push("--json");
        let played = json(&words);
        assert_eq!((&played["final_tick"], &played["score"]), (&game[4], &game[5]), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn results_are_printed_even_if_their_file_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let full = dir.path().join("full");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let full = full.to_str().unwrap();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../games/roundabout-flee-300-ticks.jsonl.gz");
    let commands: [(&[&str], &str); 5] = [
        (&eval(&["--planner", "random", "--report", full, "--force"]), "\nall maps "),
        (&["solve", "roundabout", "--certificate", full, "--force"], "roundabout: survives"),
        (&["solve", "roundabout", "--certificate", full, "--force", "--json"], "\"survives\""),
        (&["probe", recording, "-o", full, "--force"], "certain:"),
        (&["probe", recording, "-o", full, "--force", "--json"], "\"parameters\""),
    ];
    for (command, expected) in commands {
        let output = getaway(command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let error = error_line(&output);
        assert!(error.starts_with(&format!("cannot write {full}: No space left")), "{command:?}: {error}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains(expected), "{command:?}: {printed}");
    }
}

#[test]
fn maps_folder_replaces_the_bundled_maps() {
    let dir = tempfile::tempdir().unwrap();
    let maps = dir.path().join("maps");
    let folder = maps.to_str().unwrap();
    succeeds(&["mapgen", "--count", "2", "--seed", "1", "--size", "9x9", "--threats", "1", "--out", folder]);
    let report = json(&["eval", "--maps", folder, "--planner", "safest", "--samples", "1", "--json"]);
    assert_eq!(report["planners"][0]["maps"].as_array().unwrap().len(), 2);
}

#[test]
fn too_many_threads_for_a_time_budget_give_a_warning() {
    let slow = ["eval", "--map", "snail", "--planner", "random", "--samples", "1", "--threads", "200"];
    assert_eq!(getaway(&slow).stderr, b"", "a budget in ticks needs no warning");
    let output = getaway(&[&slow[..], &["--budget-ms", "1"]].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.starts_with("warning: 200 threads on "), "{stderr}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_prints_the_results_so_far() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("results.jsonl");
    let args = [
        "battle",
        "safest",
        "random",
        "--map",
        "corner-shop",
        "--samples",
        "100000",
        "--resume",
        file.to_str().unwrap(),
    ];
    let mut command = command(&args);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let played = || fs::read_to_string(&file).map_or(0, |text| text.lines().count() - 1);
    wait_until("six games", || played() >= 6);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stdout.lines().next().unwrap().contains(" of 200000 games so far"), "{stdout}");
    assert!(stdout.lines().last().unwrap().contains("sign test"), "{stdout}");
    let played = played();
    let interrupted = format!("error: interrupted after {played} of 200000 games; rerun the same command to continue");
    assert_eq!(stderr.lines().collect::<Vec<&str>>(), [interrupted]);
}

#[test]
fn report_is_overwritten_only_if_forced() {
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.html");
    fs::write(&report, "mine").unwrap();
    let eval =
        ["eval", "--map", "snail", "--planner", "random", "--samples", "1", "--report", report.to_str().unwrap()];
    assert_eq!(fails(&eval), format!("{} already exists (use --force to overwrite it)", report.display()));
    assert_eq!(fs::read_to_string(&report).unwrap(), "mine");
    succeeds(&[&eval[..], &["--force"]].concat());
    assert!(fs::read_to_string(&report).unwrap().to_lowercase().starts_with("<!doctype html>"));
}
