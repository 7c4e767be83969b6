#[path = "../../../../tests/common/mod.rs"]
mod common;
#[path = "../../examples/own_problem.rs"]
mod own_problem;
#[path = "../../../cli/tests/integration/program.rs"]
#[allow(dead_code, reason = "the tests of `getaway` use the rest")]
mod program;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use common::wait_until;
use program::{command, fails, succeeds};
#[cfg(target_os = "linux")]
use program::{error_line, getaway};

const PROGRAM: &str = env!("CARGO_BIN_EXE_getaway-discover");
const SMALL: [&str; 13] = [
    "--problem",
    "morpion-4d",
    "--budget-evals",
    "30",
    "--plays",
    "20",
    "--operators",
    "2",
    "--unseen",
    "50",
    "--finalists",
    "3",
    "--json",
];

fn json(text: &str) -> Value {
    let mut value: Value = serde_json::from_str(text).unwrap();
    let object = value.as_object_mut().unwrap();
    assert!(object.remove("elapsed_s").is_some() && object.remove("plays_per_s").is_some());
    value
}

fn small(more: &[&str]) -> Value {
    json(&succeeds(&[&SMALL, more].concat()))
}

#[test]
fn candidates_are_counted() {
    assert_eq!(
        succeeds(&["--count"]),
        "3155 candidates with at most 4 operators (5307 including those with an outermost repeat)\n"
    );
    let count: Value = serde_json::from_str(&succeeds(&["--count", "--operators", "5", "--json"])).unwrap();
    assert_eq!((&count["operators"], &count["candidates"]), (&Value::from(5), &Value::from(24_691)));
}

#[test]
fn answer_is_the_same_on_any_number_of_threads() {
    let one = small(&["--threads", "1"]);
    assert_eq!((&one["arms"], &one["plays_in_all"]), (&Value::from(51), &Value::from(51 * 20)));
    let ranking = one["ranking"].as_array().unwrap();
    assert_eq!(ranking.iter().filter(|row| row["name"].is_null()).count(), 3);
    // Different means show that the finalists differ as algorithms, not only as expressions.
    let mut found: Vec<String> =
        ranking.iter().filter(|row| row["name"].is_null()).map(|row| row["mean"].to_string()).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 3);
    let names = ["random sampling", "iterative sampling", "nested 1", "nested 2", "nested 3", "UCT"];
    for name in names {
        assert_eq!(ranking.iter().filter(|row| row["name"] == name).count(), 1, "{name}");
    }
    assert_eq!(one["comparisons"].as_array().unwrap().len(), names.len());
    assert_eq!(small(&["--threads", "3"]), one);
}

#[test]
fn grown_grammar_is_compared_with_named_algorithms_of_the_same_policies() {
    let names = |problem: &str| {
        let options = ["--problem", problem, "--grammar", "grown", "--operators", "0", "--plays", "1"];
        let report = json(&succeeds(&[&options[..], &["--budget-evals", "5", "--unseen", "3", "--json"]].concat()));
        let ranking = report["ranking"].as_array().unwrap();
        let mut names: Vec<String> = ranking.iter().filter_map(|row| Some(row["name"].as_str()?.to_owned())).collect();
        names.sort_unstable();
        names
    };
    let random = ["UCT", "iterative sampling", "nested 1", "nested 2", "nested 3", "random sampling"];
    // Morpion Solitaire has no policy `greedy`.
    assert_eq!(names("morpion-4d"), random);
    let greedy = ["UCT", "iterative sampling", "nested 1", "nested 2", "nested 3", "sampling"];
    let mut both: Vec<String> = random.map(str::to_owned).to_vec();
    both.extend(greedy.map(|name| format!("{name}, greedy")));
    both.sort_unstable();
    assert_eq!(names("samegame"), both);
}

#[test]
fn killed_discovery_resumes_to_the_same_answer() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, path] = ["whole.jsonl", "state.jsonl"].map(|name| dir.path().join(name));
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let expected = small(&["--resume", whole.to_str().unwrap()]);
    let resume = ["--resume", path.to_str().unwrap()];
    for kill in 1..=10 {
        let mut run = command(&[&SMALL[..], &resume].concat()).stdout(Stdio::null()).spawn().unwrap();
        wait_until("the state grows", || size(&path) > size(&whole) * kill / 12);
        run.kill().unwrap();
        run.wait().unwrap();
    }
    for _ in 0..2 {
        assert_eq!(small(&resume), expected);
        assert_eq!(size(&path), size(&whole));
    }
    let error = fails(&[&SMALL[..], &resume, &["--seed", "1"]].concat());
    assert!(error.contains("state.jsonl, line 1: the settings are "), "{error}");
}

#[test]
fn state_of_a_longer_or_shorter_discovery_gives_the_answer_of_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.jsonl");
    let resume = ["--resume", path.to_str().unwrap()];
    let new: Vec<Value> = [("6", "2"), ("20", "5"), ("9", "3")]
        .into_iter()
        .map(|(plays, finalists)| {
            let options = ["--plays", plays, "--finalists", finalists, "--unseen", "10"];
            let arguments = ["--problem", "morpion-4d", "--budget-evals", "20", "--operators", "2", "--json"];
            let new = json(&succeeds(&[&arguments[..], &options].concat()));
            assert_eq!(json(&succeeds(&[&arguments[..], &options, &resume].concat())), new, "{plays} plays");
            new
        })
        .collect();
    assert!(new[0] != new[1] && new[1] != new[2]);
}

#[test]
fn report_is_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("discovery.html");
    let arguments = ["--operators", "1", "--budget-evals", "10", "--report", path.to_str().unwrap()];
    let options = ["--problem", "morpion-4d", "--plays", "5", "--unseen", "10"];
    let text = succeeds(&[&options[..], &arguments].concat());
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("step(lookahead(simulate))"));
    assert!(page.contains("getaway-discover --problem morpion-4d"));
    assert!(text.starts_with("morpion-4d: 7 candidates, 35 plays of at most 10 evaluations, seed 0"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn ranking_is_printed_even_if_the_page_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("discovery.html");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let arguments = ["--operators", "0", "--budget-evals", "10", "--report", path.to_str().unwrap(), "--force"];
    let options = ["--problem", "morpion-4d", "--plays", "5", "--unseen", "10"];
    let output = getaway(&[&options[..], &arguments].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(error_line(&output).starts_with(&format!("cannot write {}: No space left", path.display())));
    assert!(String::from_utf8(output.stdout).unwrap().contains(" plays per second\n"));
}

#[test]
fn mistakes_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("object.json");
    fs::write(&path, "{}\n").unwrap();
    let resume = ["--problem", "sudoku", "--resume", path.to_str().unwrap()];
    let table: [(&[&str], &str); 7] = [
        (&["--problem", "chess"], "no problem named chess: expected one of survival, morpion-5d, "),
        (&["--operators", "7"], ": expected a whole number from 0 to 5 (try --help)"),
        (&["--exploration", "-1"], ": expected a number of at least 0 (try --help)"),
        (&["--size", "14x13"], "size 14x13 is invalid for a maze or labyrinth: expected odd numbers"),
        (&["--problem", "samegame", "--size", "15x13"], "--size: expected --problem survival, found samegame"),
        (&["--problem", "samegame", "--no-jump"], "--no-jump: expected --problem survival, found samegame"),
        (&resume, "object.json, line 1: expected {\"getaway\":\"discovery\",\"version\":1,...}, found {}"),
    ];
    for (arguments, expected) in table {
        let error = fails(arguments);
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
}

#[test]
fn discovery_works_for_a_custom_problem() {
    own_problem::main().expect("a ranking");
}
