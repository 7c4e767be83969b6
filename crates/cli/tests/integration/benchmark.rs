use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{error_line, fails, getaway, succeeds};

fn benchmark() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("instances")
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn instances_are_rebuilt_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let built = folder.path().join("built");
    assert!(succeeds(&["benchmark", "instances", "--out", &text(&built)]).starts_with("470 instances in "));
    let read = |path: PathBuf| fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(read(built.join("instances.jsonl")), read(benchmark().join("instances.jsonl")));
    let maps = fs::read_dir(built.join("maps")).expect("a folder");
    let names: Vec<_> = maps.map(|map| map.expect("a map").file_name()).collect();
    for name in &names {
        assert_eq!(read(built.join("maps").join(name)), read(benchmark().join("maps").join(name)));
    }
    assert_eq!(names.len(), fs::read_dir(benchmark().join("maps")).expect("a folder").count());
    assert!(fails(&["benchmark", "instances", "--out", &text(&built)]).contains("exists"));
}

fn small(folder: &Path) -> String {
    let list = fs::read_to_string(benchmark().join("instances.jsonl")).expect("a list");
    let line = list.lines().find(|line| line.contains("real-like/snail-no-jump")).expect("an instance");
    fs::write(folder.join("instances.jsonl"), format!("{line}\n")).expect("a file");
    fs::create_dir_all(folder.join("maps")).expect("a folder");
    fs::copy(benchmark().join("maps/snail.txt"), folder.join("maps/snail.txt")).expect("a map");
    text(folder)
}

fn run(benchmark: &str, out: &str, solver: &str, code: i32) -> String {
    let track = ["--track", "real-like", "--time-limit", "5", "--solver", solver, "--out", out];
    let output = getaway(&[&["benchmark", "run", "--benchmark", benchmark][..], &track].concat());
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn solvers_are_scored_and_failures_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = small(folder.path());
    let out = |name: &str| text(&folder.path().join(name));
    let table = run(&small, &out("own"), "getaway", 0);
    assert!(table.lines().last().is_some_and(|row| row.starts_with("getaway ")), "{table}");
    assert_eq!(run(&small, &out("own"), "getaway", 0), table, "a finished run is not repeated");

    let crash = run(&small, &out("crash"), "exec:false", 1);
    assert!(crash.starts_with("real-like/snail-no-jump: failed: exit code 1"), "{crash}");
    let lie = run(&small, &out("lie"), "exec:printf '%03000d\\n' 0 | tr 0 . #", 1);
    assert!(lie.starts_with("real-like/snail-no-jump: refused: "), "{lie}");
    let other = ["--track", "real-like", "--time-limit", "6", "--out", &out("own")];
    let error = fails(&[&["benchmark", "run", "--benchmark", &small][..], &other].concat());
    assert!(error.contains("other settings"), "{error}");

    let table = succeeds(&["benchmark", "table", &out("own"), &out("crash"), &out("lie")]);
    let ranks: Vec<&str> = table.lines().skip(1).map(|row| row.split_whitespace().last().expect("a rank")).collect();
    assert_eq!(ranks, ["1.00", "2.50", "2.50"], "{table}");

    let submit = ["benchmark", "submit", "--benchmark", &small, &out("own")];
    assert!(succeeds(&submit).contains("real-like/snail-no-jump: first record"));
    assert!(succeeds(&submit).starts_with("0 records improved"));
    let broken = folder.path().join("broken.txt");
    fs::write(&broken, "no record").expect("written");
    let output = getaway(&["benchmark", "submit", "--benchmark", &small, &text(&broken), &out("own")]);
    assert_eq!((output.status.code(), error_line(&output).as_str()), (Some(1), "1 record refused"));
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("0 records improved, 1 refused\n"));
    let record = folder.path().join("records/real-like/snail-no-jump.txt");
    succeeds(&["benchmark", "check", "--benchmark", &small]);
    let found = fs::read_to_string(&record).expect("a record");
    fs::write(&record, found.replacen("\"actions\":\"", "\"actions\":\".", 1)).expect("written");
    let output = getaway(&["benchmark", "check", "--benchmark", &small]);
    assert_eq!((output.status.code(), error_line(&output).as_str()), (Some(1), "1 record refused"));
    let sentence = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(sentence.contains("snail-no-jump.txt: refused: line 4: "), "{sentence}");
}
