use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::wait_until;
use crate::program::{command, error_line, fails, getaway, succeeds};

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

#[cfg(unix)]
#[test]
fn ctrl_c_prints_the_results_so_far() {
    let folder = tempfile::tempdir().expect("a folder");
    let small = small(folder.path());
    let list = fs::read_to_string(benchmark().join("instances.jsonl")).expect("a list");
    let lines: Vec<&str> = list.lines().filter(|line| line.contains("mazes/labyrinth-21x17-250-21")).collect();
    fs::write(folder.path().join("instances.jsonl"), format!("{}\n{}\n", lines[0], lines[1])).expect("a file");
    let map = "maps/labyrinth-21x17-250-21.txt";
    fs::copy(benchmark().join(map), folder.path().join(map)).expect("a map");
    // The first instance is answered at once, the second never.
    let mark = text(&folder.path().join("mark"));
    let hangs = format!("exec:mkdir {mark} && echo . && exit; touch {mark}/second; sleep 600 #");
    for (solver, done) in [(&*hangs, 1), ("getaway", 0), ("step(repeat(1000000000, simulate))", 0)] {
        let out = text(&folder.path().join(format!("out{}", solver.len())));
        let args = ["benchmark", "run", "--benchmark", &small, "--track", "mazes", "--time-limit", "1000000"];
        let args = [&args[..], &["--solver", solver, "--out", &out]].concat();
        let child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a run");
        let has_begun = || match done {
            0 => Path::new(&out).join("results.jsonl").exists(),
            _ => Path::new(&mark).join("second").exists(),
        };
        wait_until("the run works", has_begun);
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
        let output = child.wait_with_output().expect("its end");
        let error = format!("interrupted after {done} of 2 instances; rerun the same command to continue");
        assert_eq!((output.status.code(), error_line(&output)), (Some(130), error));
        let table = String::from_utf8(output.stdout).expect("text");
        assert!(table.starts_with("SOLVER ") && table.lines().count() == 2, "{table}");
    }
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
    let settings =
        |limit: &str| format!(r#"{{"solver":"getaway","track":"real-like","time_limit_s":{limit},"memory_mib":4096}}"#);
    assert!(
        error.contains(&format!("the settings are {}, but this run has {}", settings("5.0"), settings("6.0"))),
        "{error}"
    );

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
