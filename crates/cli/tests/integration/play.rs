#[cfg(unix)]
use crate::program::error_line;
use crate::program::{fails, succeeds};
use getaway::game::Rules;
#[cfg(unix)]
use std::process::{Command, Output};

use getaway::recording::RecordingReader;
use serde_json::{Value, json};

#[test]
fn whole_game_is_played_and_reported() {
    let text = succeeds(&["play", "roundabout", "--budget-ticks", "100000"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "roundabout: 10005 points, complete, planner survival");
    assert!(lines[1].starts_with("decisions: first ") && lines[1].contains("p99"), "{}", lines[1]);
    assert!(lines[2].ends_with("; 0 mispredictions"), "{}", lines[2]);
    assert_eq!(lines.len(), 3);
}

#[test]
fn report_can_be_json() {
    let text = succeeds(&["play", "stadium", "--no-jump", "--budget-ticks", "100000", "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert_eq!(
        (&report["map"], &report["score"], &report["final_tick"]),
        (&"stadium".into(), &10_005.into(), &2001.into())
    );
    assert_eq!((&report["caught"], &report["mispredictions"]), (&false.into(), &0.into()));
    let counts = ["plan", "search", "fallback"].map(|source| report["sources"][source].as_u64().unwrap());
    assert_eq!(counts.iter().sum::<u64>(), 2000);
    let times = ["first", "p50", "p99", "max"].map(|time| report["decision_ms"][time].as_f64().unwrap());
    assert!(times[1] <= times[2] && times[2] <= times[3], "{times:?}");
}

#[test]
fn game_is_saved_and_reproducible() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["one.jsonl", "two.jsonl"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    for file in &files {
        let text = succeeds(&["play", "snail", "--planner", "safest", "--budget-ticks", "1", "--save", file]);
        assert_eq!(text.lines().last().unwrap(), format!("saved to {file}"));
    }
    let [one, two] = files.each_ref().map(|file| {
        let ticks = RecordingReader::open(file).unwrap().map(Result::unwrap);
        let ticks = ticks.map(|tick| (tick.game_message, tick.actions, tick.game, tick.decision.unwrap().source));
        ticks.collect::<Vec<_>>()
    });
    assert!(one == two, "the same seed and budget give the same game");
    let header = one[0].2.as_ref().unwrap();
    assert_eq!((header.map.as_deref(), header.planner.as_deref()), (Some("snail"), Some("safest")));
    let one = std::fs::read(&files[0]).unwrap();
    succeeds(&["replay", &files[0]]);
    assert!(fails(&["play", "snail", "--save", &files[0]]).contains("already exists (use --force to overwrite it)"));
    let again = ["play", "snail", "--planner", "random", "--budget-ticks", "1", "--save", &files[0], "--force"];
    succeeds(&again);
    assert_ne!(std::fs::read(&files[0]).unwrap(), one);
    succeeds(&["replay", &files[0]]);
}

#[test]
fn play_reports_what_the_bot_has_learnt() {
    let dir = tempfile::tempdir().unwrap();
    let [rules, memory, saved] =
        ["rules.json", "memory.json", "game.jsonl"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    std::fs::write(&rules, succeeds(&["rules", "--seed", "11", "--changes", "2"])).unwrap();
    let play = ["play", "old-town", "--rules", &rules, "--memory", &memory, "--budget-ticks", "2000"];
    let text = succeeds(&[&play[..], &["--save", &saved]].concat());
    let lines: Vec<&str> = text.lines().collect();
    let [.., learnt, last] = lines[..] else { panic!("{text}") };
    assert_eq!(last, format!("saved to {saved}"));
    let learnt = learnt.strip_prefix("learnt: ").unwrap_or_else(|| panic!("{text}"));
    let decisions = RecordingReader::open(&saved).unwrap().map(|tick| tick.unwrap().decision.unwrap());
    let in_recording = decisions.filter(|decision| !decision.learnt.is_empty()).last().unwrap().learnt;
    assert_eq!(learnt, in_recording.join("; "));
    assert!(!succeeds(&["play", "snail", "--budget-ticks", "1000"]).contains("learnt"));
}

#[test]
fn expressions_can_play() {
    let text = succeeds(&["play", "corner-shop", "--planner", "simulate(greedy)", "--budget-evals", "1"]);
    assert!(text.contains("planner simulate(greedy)"), "{text}");
}

#[cfg(unix)]
#[test]
fn full_disk_gives_one_line_after_the_whole_game() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.jsonl");
    // Limits files to 32 blocks of 512 bytes. SIGXFSZ is ignored, so writes beyond the limit fail.
    let limited = r#"trap "" XFSZ; ulimit -f 32; exec "$0" "$@""#;
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        limited,
        env!("CARGO_BIN_EXE_getaway"),
        "play",
        "roundabout",
        "--json",
        "--save",
        path.to_str().unwrap(),
    ]);
    let output = shell.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), errors.lines().count()), (Some(2), 1), "{errors}");
    assert!(errors.contains("cannot write ") && errors.ends_with("; the recording is incomplete\n"), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["score"], report.get("saved")), (&json!(10_005), None));
    let report = getaway::recording::verify(&path, &Rules::BLITZ_2025).unwrap();
    assert!(report.divergence.is_none() && report.ticks > 0 && report.truncated_line.is_some(), "{report:?}");
}

#[cfg(unix)]
fn play_without_space(file: [&str; 2]) -> Output {
    let limited = r#"trap "" XFSZ; ulimit -f 0; exec "$0" "$@""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", limited, env!("CARGO_BIN_EXE_getaway"), "play", "snail", "--planner", "random"]);
    shell.args(file).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).output().unwrap()
}

#[cfg(unix)]
#[test]
fn recording_without_a_line_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.jsonl");
    let output = play_without_space(["--save", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn game_is_printed_even_if_the_memory_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.json");
    let output = play_without_space(["--memory", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error_line(&output).starts_with(&format!("cannot write {}: ", path.display())));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("snail: "));
    assert!(!path.exists());
}
