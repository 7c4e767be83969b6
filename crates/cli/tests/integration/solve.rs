use std::fs;
use std::hash::Hasher;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::common::wait_until;
use crate::program::{command, error_line, fails, getaway, succeeds};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use fnv::FnvHasher;
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
        world.step_unchecked(&mut state, Move::try_from(letter).unwrap());
    }
    world.score(&state)
}

#[test]
fn map_is_solved_and_the_moves_can_be_played() {
    for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
        let mut args = vec!["solve", "roundabout", "--json", "--budget-ms", "60000", "--seed", "3"];
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
    let text = succeeds(&["solve", "corner-shop", "--budget-ms", "60000"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("corner-shop: survives, 10005 points, "), "{}", lines[0]);
    let moves: String = lines[1..].iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!((lines.len(), moves.len()), (21, 2000));
    assert!(lines[20].starts_with(" 1901 "));
}

#[test]
fn several_maps_give_a_table() {
    let text = succeeds(&["solve", "roundabout", "stadium", "--budget-ms", "60000"]);
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
    let found = reports(&succeeds(&["solve", "metropolis", "--budget-ms", "0", "--json"]));
    assert_eq!(found[0]["outcome"], "undecided");
    assert_eq!(replay(&our_maps(), &found[0], &Rules::BLITZ_2025), found[0]["score"].as_u64().unwrap() as u32);
}

#[test]
fn bundled_maps_are_solved_by_default() {
    let found = reports(&succeeds(&["solve", "--json", "--budget-ms", "0"]));
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
const DOOMED: [&str; 2] = ["instances/maps/labyrinth-15x13-250-00.txt", "--no-jump"];

fn solve(map: &[&str], file: &Path, budget_ms: &str) -> std::process::Command {
    let options = ["--json", "--budget-ms", budget_ms, "--resume", file.to_str().unwrap()];
    command(&[&["solve"], map, &options].concat())
}

#[test]
fn search_continues_from_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let (file, proof) = (dir.path().join("search"), dir.path().join("proof"));
    let whole = getaway(&[&["solve"], &DOOMED[..], &["--json", "--budget-ms", "60000"]].concat());
    let whole = reports(std::str::from_utf8(&whole.stdout).unwrap());
    let (mut runs, mut notes) = (0, Vec::new());
    let found = loop {
        // Each run gets more time than the last, because it repeats work that the file omits, such
        // as searches for lines of moves.
        let output = solve(&DOOMED, &file, &(100 << runs).to_string()).output().unwrap();
        runs += 1;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        notes.push(String::from_utf8(output.stderr).unwrap());
        let found = reports(&String::from_utf8(output.stdout).unwrap());
        if found[0]["score"] == found[0]["bound"] {
            break found;
        }
        assert!(runs < 12, "{found:?}");
    };
    for field in ["outcome", "score", "bound"] {
        assert_eq!(found[0][field], whole[0][field], "after {runs} runs");
    }
    assert!(runs > 1 && !notes[0].contains("continuing"), "{notes:?}");
    for note in &notes[1..] {
        assert!(note.starts_with("labyrinth-15x13-250-00: continuing after "), "{note}");
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
    for foreign in [&b""[..], b"my notes\n", b"{\"getaway\":\"solve\",\"version\":1}\n", &saved[..20]] {
        let line = refused(&DOOMED, foreign);
        assert!(line.starts_with(", line 1: expected {\"getaway\":\"solve\",\"version\":2,...}, found "), "{line}");
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
    for kill in 0..6 {
        let mut run = solve(&DOOMED, &file, "60000").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Each run starts with a save, so an early kill can interrupt a save.
        sleep(Duration::from_millis(30 * kill));
        run.kill().unwrap();
        run.wait().unwrap();
        let output = solve(&DOOMED, &file, "100").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
}

/// An undecided map.
const OPEN: [&str; 2] = ["instances/maps/labyrinth-21x17-250-21.txt", "--no-jump"];

#[cfg(unix)]
#[test]
fn interrupted_search_prints_its_line_and_writes_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let (file, proof) = (dir.path().join("search"), dir.path().join("proof"));
    let [file_name, proof_name] = [&file, &proof].map(|path| path.to_str().unwrap());
    for options in [&["--resume", file_name, "--certificate", proof_name][..], &["--certificate", proof_name], &[]] {
        let _ = fs::remove_file(&proof);
        let args = [&["solve"], &OPEN[..], &["--json", "--budget-ms", "600000"], options].concat();
        let mut run = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(run.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let words = "labyrinth-21x17-250-21: score ";
        assert!(line.starts_with(words) && line.contains(", bound 10005, after "), "{line}");
        assert!(std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap().success());
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let found = reports(std::str::from_utf8(&output.stdout).unwrap());
        assert!(found.len() == 1 && found[0]["score"].as_u64() > Some(5) && found[0]["outcome"] == "undecided");
        let lines: Vec<String> = errors.lines().map(Result::unwrap).collect();
        let (last, others) = lines.split_last().unwrap();
        assert!(others.iter().all(|line| line.starts_with(words)), "{others:?}");
        let advice = if options.contains(&"--resume") { "; rerun the same command to continue" } else { "" };
        assert!(last.starts_with("error: interrupted after ") && last.ends_with(&format!(" s{advice}")), "{last}");
        assert_eq!(proof.exists(), !options.is_empty());
        if proof.exists() {
            succeeds(&["verify", proof_name, OPEN[0], OPEN[1]]);
        }
    }
    assert!(fs::metadata(&file).unwrap().len() > 5000, "the file contains the prover's work");
}

#[test]
fn every_improvement_is_a_line_without_a_terminal() {
    let output = getaway(&[&["solve"], &OPEN[..], &["--budget-ms", "2000"]].concat());
    let errors = String::from_utf8(output.stderr).unwrap();
    let number = |line: &str, name: &str| -> u32 {
        let (_, rest) = line.split_once(name).unwrap_or_else(|| panic!("{line}"));
        rest.split(',').next().unwrap().parse().unwrap()
    };
    let found: Vec<(u32, u32)> =
        errors.lines().map(|line| (number(line, ": score "), number(line, ", bound "))).collect();
    assert!(output.status.success() && !found.is_empty(), "{errors}");
    for pair in found.windows(2) {
        let [(score, bound), (next_score, next_bound)] = [pair[0], pair[1]];
        assert!(next_score >= score && next_bound <= bound && pair[0] != pair[1], "{errors}");
    }
}

/// Returns a file for `--resume` with a valid checksum, and this header and state.
fn search_file(header: &Value, state: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{header}\n").into_bytes();
    let mut encoder = DeflateEncoder::new(&mut bytes, Compression::fast());
    encoder.write_all(state).unwrap();
    encoder.finish().unwrap();
    let mut hash = FnvHasher::default();
    hash.write(&bytes);
    bytes.extend(hash.finish().to_le_bytes());
    bytes
}

/// Returns the header and the state of a search that was saved after 300 ms.
fn saved_search(dir: &Path) -> (Value, Vec<u8>) {
    let file = dir.join("saved");
    assert!(solve(&DOOMED, &file, "300").output().unwrap().status.success());
    let bytes = fs::read(&file).unwrap();
    let header_bytes = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let mut state = Vec::new();
    DeflateDecoder::new(&bytes[header_bytes + 1..]).read_to_end(&mut state).unwrap();
    (serde_json::from_slice(&bytes[..header_bytes]).unwrap(), state)
}

/// Returns the state of a search without a line, with a bound below 128, and the start of a queue of
/// `jobs` jobs, each of which takes three bytes.
fn state(bound: u8, jobs: usize) -> Vec<u8> {
    const UNDECIDED: u8 = 2;
    let (moves, final_tick, simulated_ticks, proof) = (0, 1, 0, 0);
    let mut state = vec![UNDECIDED, moves, final_tick, bound, simulated_ticks, proof];
    state.extend([0, 7, 14, 21, 28].map(|bits| (jobs >> bits) as u8 & 0x7f | if bits < 28 { 0x80 } else { 0 }));
    state.extend(vec![0; 3 * jobs]);
    // The work by aim and kind of task.
    state.extend([0; 10]);
    state
}

#[test]
fn bound_of_a_forged_search_is_never_printed() {
    let dir = tempfile::tempdir().unwrap();
    let (file, proof) = (dir.path().join("search"), dir.path().join("proof"));
    let (mut header, _) = saved_search(dir.path());
    let numbers = [0, 1, 2, u64::MAX - 1, u64::MAX];
    for (runs, elapsed_ms) in numbers.into_iter().flat_map(|runs| [(runs, 0), (runs, u64::MAX)]) {
        for bound in [1, 2] {
            (header["runs"], header["elapsed_ms"]) = (runs.into(), elapsed_ms.into());
            fs::write(&file, search_file(&header, &state(bound, 0))).unwrap();
            let output = solve(&DOOMED, &file, "0").args(["--certificate", proof.to_str().unwrap()]).output().unwrap();
            let errors = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]), "{errors}");
            let refused = ": the proof of the search in the --resume file was refused: ";
            assert!(errors.lines().last().is_some_and(|line| line.contains(refused)), "{errors}");
            assert!(!proof.exists());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn search_that_expands_without_end_is_refused_with_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("search");
    let (header, saved) = saved_search(dir.path());
    let bombs = [
        vec![0; 300 << 20],
        vec![b'\xff'; 300 << 20],
        state(1, 100 << 20),
        [&state(1, 0)[..6], &[0xff; 9], &[1]].concat(),
        [&saved[..], &vec![0; 300 << 20]].concat(),
    ];
    for (number, bomb) in bombs.iter().enumerate() {
        let bytes = search_file(&header, bomb);
        assert!(bytes.len() < 2 << 20, "{} bytes", bytes.len());
        fs::write(&file, &bytes).unwrap();
        let run = solve(&DOOMED, &file, "300");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -v 800000; exec \"$0\" \"$@\""]).arg(run.get_program()).args(run.get_args());
        let output = shell.current_dir(run.get_current_dir().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{number}: {output:?}");
        assert!(error_line(&output).starts_with(&format!("{}: ", file.display())), "{number}: {output:?}");
        assert!(fs::read(&file).unwrap() == bytes, "the file was changed");
    }
}

#[test]
fn file_of_a_running_search_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("search"), dir.path().join("link"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(&file, &link).unwrap();
    // The first run creates the file, and each further run replaces it when it starts.
    for number in 0..3 {
        let before = fs::read(&file).ok();
        let mut run = solve(&OPEN, &file, "600000").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the file is saved", || fs::read(&file).ok() != before);
        let saved = fs::read(&file).unwrap();
        for path in [&file, &link].into_iter().filter(|path| path.exists()) {
            let output = solve(&OPEN, path, "0").output().unwrap();
            assert_eq!(output.status.code(), Some(2), "run {number}: {output:?}");
            assert_eq!(error_line(&output), format!("{}: in use by another run", path.display()));
        }
        assert!(fs::read(&file).unwrap() == saved, "run {number}: the file was changed");
        run.kill().unwrap();
        run.wait().unwrap();
    }
    assert!(solve(&OPEN, &file, "0").output().unwrap().status.success());
}

#[cfg(unix)]
#[test]
fn result_is_printed_even_if_a_file_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let (file, proof) = (dir.path().join("search"), dir.path().join("proof"));
    let (file, proof) = (file.to_str().unwrap(), proof.to_str().unwrap());
    // Limits files to 16 blocks of 512 bytes. SIGXFSZ is ignored, so writes beyond the limit fail.
    let limited = r#"trap "" XFSZ; ulimit -f 16; exec "$0" "$@""#;
    for (options, full) in [
        (&["--resume", file][..], file),
        (&["--resume", file, "--certificate", proof], file),
        (&["--certificate", "/dev/full", "--force"], "/dev/full"),
    ] {
        let run = command(&[&["solve"], &OPEN[..], &["--json", "--budget-ms", "1500"], options].concat());
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", limited]).arg(run.get_program()).args(run.get_args());
        let output = shell.current_dir(run.get_current_dir().unwrap()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {errors}");
        let error = errors.lines().last().unwrap();
        assert!(error.starts_with(&format!("error: cannot write {full}: ")), "{options:?}: {errors}");
        let found = reports(std::str::from_utf8(&output.stdout).unwrap());
        assert!(found.len() == 1 && found[0]["score"].as_u64() > Some(5), "{options:?}: {found:?}");
        let _ = fs::remove_file(file);
    }
    assert!(Path::new(proof).exists());
}
