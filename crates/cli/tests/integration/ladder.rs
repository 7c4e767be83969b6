use std::fs;
use std::hash::Hasher;
use std::path::Path;
use std::process::{Child, Stdio};

use fnv::FnvHasher;
use serde_json::Value;

use crate::common::wait_until;
use crate::program::{command, error_line, getaway};

const SMALL: [&str; 10] =
    ["--map", "corner-shop", "--map", "snail", "--budget-ticks", "30", "--samples", "6", "--threads", "1"];
const ENTRANTS: [&str; 6] = ["--add", "random", "--add", "mine=safest", "--add", "mine=sampling"];

fn ladder<'a>(folder: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    [&["ladder", folder.to_str().unwrap()], &SMALL[..], more].concat()
}

fn start(args: &[&str]) -> Child {
    command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn games(folder: &Path) -> usize {
    fs::read_to_string(folder.join("ladder.jsonl")).map_or(0, |text| text.matches("{\"game\":").count())
}

/// Runs a ladder and returns its standing without the values that differ between runs.
fn standing(args: &[&str]) -> Value {
    let output = getaway(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    let mut standing: Value = serde_json::from_slice(&output.stdout).unwrap();
    for entrant in standing["entrants"].as_array_mut().unwrap() {
        entrant
            .as_object_mut()
            .unwrap()
            .retain(|name, _| !name.starts_with("decision_") && name != "cost" && name != "added");
    }
    standing
}

#[test]
fn ladder_that_is_killed_ends_as_one_that_was_not() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, killed) = (dir.path().join("whole"), dir.path().join("killed"));
    let expected = standing(&ladder(&whole, &ENTRANTS));
    let all = games(&whole);
    assert!(all >= 36, "{all} games: expected at least 36");
    for kill in 0..10 {
        let more: &[&str] = if kill == 0 { &ENTRANTS } else { &[] };
        let mut child = start(&ladder(&killed, more));
        let goal = (games(&killed) + all / 12).min(all);
        wait_until("the ladder plays", || games(&killed) >= goal);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(standing(&ladder(&killed, &[])), expected);
    assert_eq!(games(&killed), all);
    // Every game has a script that shows it, and the page says that the ladder has ended.
    for number in 1..=all {
        let script = fs::read_to_string(killed.join(format!("games/{number}.js"))).unwrap();
        assert!(script.starts_with("// {\"getaway\":\"ladder game\"") && script.contains("showGame({"), "{number}");
    }
    let page = fs::read_to_string(killed.join("index.html")).unwrap();
    assert!(page.contains("\"newer\":\"mine@2\"") && page.contains("\"is_running\":false"), "{page:.2000}");
}

#[test]
fn running_ladder_takes_requests_and_refuses_a_second_process() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("league");
    let mut child = start(&ladder(&folder, &["--minutes", "5", "--add", "random", "--add", "safest"]));
    wait_until("the ladder plays", || games(&folder) >= 2);
    let refused = getaway(&ladder(&folder, &[]));
    let expected = format!(
        "{}: another process is already running this ladder: expected --add or --retire to change it",
        folder.display()
    );
    assert_eq!((refused.status.code(), error_line(&refused)), (Some(2), expected));
    let taken = getaway(&ladder(&folder, &["--add", "broken=pipe:exit 3", "--retire", "random"]));
    let text = String::from_utf8(taken.stdout).unwrap();
    assert_eq!(text, format!("{}: passed on to the running ladder, which keeps its settings\n", folder.display()));
    // `--retire` accepts the name of an entrant whose `--add` request still waits.
    for request in ["--add", "--retire"] {
        assert!(getaway(&ladder(&folder, &[request, "uct-greedy"])).status.success(), "{request}");
    }
    let page = || fs::read_to_string(folder.join("index.html")).unwrap_or_default();
    wait_until("the broken bot is set aside", || page().contains("failed in 3 games in a row; last: crashed on "));
    wait_until("random is retired", || page().contains("\"retired\""));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn ladder_continues_from_any_folder_without_its_settings() {
    let dir = tempfile::tempdir().unwrap();
    let (home, other) = (dir.path().join("home"), dir.path().join("other"));
    for (folder, exit) in [(&home, "sleep 9"), (&other, "exit 3")] {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("corridor.txt"), "#####\n#P.S#\n#####\n").unwrap();
        let answer = r#"echo '{"type":"COMMAND","tick":1,"actions":[{"type":"LEFT"}]}'"#;
        fs::write(folder.join("bot.sh"), format!("read -r x; {answer}; {exit}\n")).unwrap();
    }
    let run = |folder: &Path, args: &[&str]| {
        let output = command(args).current_dir(folder).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let settings = ["--map", "corridor.txt", "--samples", "3", "--seed", "7", "--budget-ticks", "30"];
    let bots = ["--tick-ms", "200", "--add", "mine=pipe:sh bot.sh", "--add", "random"];
    let (code, text) = run(&home, &[&["ladder", "league"], &settings[..], &bots[..]].concat());
    assert!(
        code == Some(0) && text.contains("mine: 3 invalid actions, the first {\"type\":\"LEFT\"} at tick 1: "),
        "{text}"
    );
    let ladder = home.join("league");
    let ladder = ladder.to_str().unwrap();
    let files = || fs::read_dir(&home).unwrap().count() + fs::read_dir(&other).unwrap().count();
    let before = (files(), games(Path::new(ladder)));
    let (code, text) = run(&other, &["ladder", ladder]);
    assert!(code == Some(0) && !text.contains("set aside"), "{text}");
    assert_eq!((files(), games(Path::new(ladder))), before);
    // A bot that is added from another folder runs there.
    let (code, text) = run(&other, &["ladder", ladder, "--add", "safest", "--add", "theirs=pipe:sh bot.sh"]);
    assert!(code == Some(0) && text.contains("theirs is added") && text.contains("exit code 3"), "{text}");
    let (code, text) = run(&other, &["ladder", ladder, "--retire", "their"]);
    let expected = "error: --retire their: no entrant has this name, found mine, random, safest, theirs\n";
    assert_eq!((code, text.as_str()), (Some(2), expected));
    assert_eq!(run(&other, &["ladder", ladder, "--retire", "theirs"]).0, Some(0));
    // A given setting replaces only itself.
    let (code, text) = run(&other, &["ladder", ladder, "--seed", "8"]);
    assert!(code == Some(2) && text.contains("seed") && !text.contains("the list of maps"), "{text}");
    let saved = fs::read_to_string(Path::new(ladder).join("settings.json")).unwrap();
    assert!(saved.contains("--seed=7"), "{saved}");
    for foreign in ["{", "[\"ladder settings\",1,\"/\",[]]", &saved.replace("--seed=7", "--seed=x")] {
        fs::write(Path::new(ladder).join("settings.json"), foreign).unwrap();
        for more in [&["ladder", ladder][..], &["ladder", ladder, "--seed", "7"]] {
            let (code, text) = run(&other, more);
            assert!(code == Some(2) && text.contains("settings.json: expected a file that a ladder wrote"), "{text}");
        }
    }
}

#[test]
fn huge_numbers_in_the_journal_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("league");
    assert!(getaway(&ladder(&folder, &["--add", "random"])).status.success());
    let journal = folder.join("ladder.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    for sample in [4096_u32, 100_000_000, 1 << 31, u32::MAX] {
        // The checksums of the lines before the game are valid, and that of the game is recomputed.
        let mut lines = text.split_inclusive('\n').take(2).map(str::to_owned).collect::<Vec<_>>();
        let game = text.lines().find(|line| line.contains("{\"game\":")).unwrap().to_owned();
        let game = game.replacen("\"sample\":0", &format!("\"sample\":{sample}"), 1);
        lines.push(checked(&lines.concat(), &game));
        fs::write(&journal, lines.concat()).unwrap();
        let output = getaway(&ladder(&folder, &[]));
        let expected = format!("line 3: found sample {sample} of random after 0 of its games: expected them in order");
        assert!(error_line(&output).ends_with(&expected), "{output:?}");
    }
}

/// The line with a checksum that fits the lines before it.
fn checked(before: &str, line: &str) -> String {
    let mut hash = FnvHasher::default();
    let body = |line: &str| line.rsplit_once(",\"check\":\"").unwrap().0.to_owned();
    before.lines().map(body).chain([body(line)]).for_each(|body| hash.write(format!("{body}\n").as_bytes()));
    format!("{},\"check\":\"{:016x}\"}}\n", body(line), hash.finish())
}

#[test]
fn foreign_files_and_mistakes_get_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("league");
    let fails = |more: &[&str]| {
        let output = getaway(&ladder(&folder, more));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        error_line(&output)
    };
    assert!(getaway(&ladder(&folder, &["--add", "random"])).status.success());
    let other = fails(&["--seed", "7", "--add", "safest"]);
    assert!(other.ends_with("ladder.jsonl, line 1: the seed is 0, but this run has 7"), "{other}");
    assert_eq!(fs::read_dir(folder.join("inbox")).unwrap().count(), 0, "the request is withdrawn");
    // One line names all foreign files.
    let foreign = ["games/1.js", "game.html", "index.html"].map(|name| folder.join(name));
    fs::create_dir_all(folder.join("games")).unwrap();
    foreign.iter().for_each(|file| fs::write(file, "mine").unwrap());
    let output = getaway(&ladder(&folder, &["--add", "safest"]));
    let names = "game.html, games/1.js, index.html";
    let note = format!("{}: {names}: not written by a ladder, so not overwritten\n", folder.display());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.ends_with(&note) && text.matches("expected files").count() <= 2, "{text}");
    assert!(foreign.iter().all(|file| fs::read_to_string(file).unwrap() == "mine"));
}
