//! Fuzzes the readers of maps and recordings, directly and in commands. They must not panic or
//! exceed a memory limit. A command must exit with the right code and at most one error line.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use getaway::game::{Rules, World};
use getaway::map::{Map, encode_layout};
use getaway::protocol::MessageWriter;
use getaway::recording::verify;
use getaway_reference::lockstep::{Dice, random_command, random_layout};
use serde_json::{Value, json};

use super::pictures::picture;
use super::{catch_panic, damage, json_like, mutate, noise};
use crate::counting;

/// Memory limit for reading one file: about 11 times the maximum length of a recorded line.
const PEAK_BYTES_MAX: usize = 200_000_000;
const PROGRAM_KB_MAX: u32 = 2_000_000;
const STATES_MAX: usize = 12;

#[derive(Default)]
pub struct Counts {
    pub maps: u64,
    pub good_maps: u64,
    pub recordings: u64,
    pub good_recordings: u64,
    pub runs: u64,
    pub peak_bytes: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { maps, good_maps, recordings, good_recordings, runs, peak_bytes } = self;
        write!(
            f,
            "{maps} maps, {good_maps} of them valid; {recordings} recorded games, {good_recordings} of them readable; peak memory {:.1} MB; {runs} runs of commands",
            *peak_bytes as f64 / 1e6
        )
    }
}

/// Reads `count` generated files in this process, and every `run_every`th also with `program`.
pub fn run(seed: u64, count: u64, program: &Path, run_every: u64) -> Result<Counts, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut counts = Counts::default();
    for number in seed..seed.saturating_add(count) {
        let mut dice = Dice::from_seed(number);
        let is_run = (number - seed).is_multiple_of(run_every);
        let case =
            if dice.one_in(2) { map_case(&mut dice, folder.path()) } else { recording_case(&mut dice, folder.path()) };
        let verdict = case.map_err(|error| error.to_string()).and_then(|case| {
            case.read(&mut counts)?;
            if is_run { case.run(program, &mut dice, &mut counts) } else { Ok(()) }
        });
        verdict.map_err(|what| format!("file {number}: {what}"))?;
    }
    Ok(counts)
}

enum Case {
    Map(PathBuf),
    Recording(PathBuf),
}

fn map_case(dice: &mut Dice, folder: &Path) -> std::io::Result<Case> {
    let folder = folder.join("map");
    fs::create_dir_all(&folder)?;
    let is_sound = !dice.one_in(3);
    let pixels = if is_sound { encode_layout(&random_layout(dice)).unwrap_or_default() } else { picture(dice) };
    fs::write(folder.join("layout.png"), pixels)?;
    fs::write(folder.join("meta.json"), meta(dice))?;
    Ok(Case::Map(folder))
}

fn meta(dice: &mut Dice) -> Vec<u8> {
    let mut json = json!({"type": "challenge", "difficulty": "easy"});
    match dice.below(10) {
        0..=5 => {}
        6 => mutate(&mut json, dice),
        7 => return json_like(dice),
        8 => json["type"] = json!("x".repeat(dice.pick(&[1, 1000, 65_490, 65_536]))),
        _ => {
            let mut bytes = json.to_string().into_bytes();
            damage(&mut bytes, dice);
            return bytes;
        }
    }
    json.to_string().into_bytes()
}

fn recording_case(dice: &mut Dice, folder: &Path) -> std::io::Result<Case> {
    let path = folder.join(dice.pick(&["game.jsonl", "game.jsonl.gz"]));
    let mut lines: Vec<Vec<u8>> = game_lines(dice).into_iter().map(|line| line.to_string().into_bytes()).collect();
    for _ in 0..dice.below(3) {
        let place = dice.below(lines.len().max(1));
        let Some(line) = lines.get_mut(place) else { break };
        match dice.below(5) {
            0 => *line = json_like(dice),
            1 => damage(line, dice),
            _ => {
                let mut json: Value = serde_json::from_slice(line).unwrap_or_default();
                mutate(&mut json, dice);
                *line = json.to_string().into_bytes();
            }
        }
    }
    let mut bytes = lines.join(&b'\n');
    bytes.extend(dice.pick(&["\n", "", "\n\n", "\r\n", "\n{\"game_"]).as_bytes());
    if dice.one_in(10) {
        damage(&mut bytes, dice);
    }
    if dice.one_in(2) {
        bytes = zip(&bytes, dice)?;
    }
    if dice.one_in(20) {
        bytes = noise(dice, 400);
    }
    fs::write(&path, bytes)?;
    Ok(Case::Recording(path))
}

fn zip(bytes: &[u8], dice: &mut Dice) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    if dice.one_in(300) {
        // A decompression bomb: a small file that expands to a line longer than the limit.
        let spaces = [b' '; 1 << 16];
        for _ in 0..300 {
            encoder.write_all(&spaces)?;
        }
    }
    let mut zipped = encoder.finish()?;
    if dice.one_in(6) {
        zipped.extend(zipped.clone());
    }
    for _ in 0..dice.below(3) {
        damage(&mut zipped, dice);
    }
    Ok(zipped)
}

fn game_lines(dice: &mut Dice) -> Vec<Value> {
    let Ok(world) = World::new(&random_layout(dice), &Rules::BLITZ_2025) else { return Vec::new() };
    let writer = MessageWriter::new(&world, "team");
    let mut state = world.start();
    let mut lines = Vec::new();
    for _ in 0..1 + dice.below(STATES_MAX) {
        let actions = random_command(&world, &state, dice);
        let message: Value = serde_json::from_str(&writer.write(&state)).unwrap_or_default();
        lines.push(json!({"game_message": message, "actions": actions}));
        if world.step_command(&mut state, &actions).is_err() || state.is_over() {
            break;
        }
    }
    lines
}

impl Case {
    fn read(&self, counts: &mut Counts) -> Result<(), String> {
        let read = || match self {
            Self::Map(folder) => Map::load(folder).map(drop).map_err(|error| error.to_string()),
            Self::Recording(path) => verify(path, &Rules::BLITZ_2025).map(drop).map_err(|error| error.to_string()),
        };
        let (result, taken) = counting::measure(|| catch_panic("the reader", read));
        let result = result?;
        counts.peak_bytes = counts.peak_bytes.max(taken.peak_bytes);
        if counts.peak_bytes > PEAK_BYTES_MAX {
            return Err(format!("took {} bytes", counts.peak_bytes));
        }
        let (all, good) = match self {
            Self::Map(_) => (&mut counts.maps, &mut counts.good_maps),
            Self::Recording(_) => (&mut counts.recordings, &mut counts.good_recordings),
        };
        *all += 1;
        *good += u64::from(result.is_ok());
        match result {
            Err(error) if error.is_empty() => Err("an error without a message".to_owned()),
            _ => Ok(()),
        }
    }

    fn run(&self, program: &Path, dice: &mut Dice, counts: &mut Counts) -> Result<(), String> {
        let (Self::Map(path) | Self::Recording(path)) = self;
        let path = path.to_str().unwrap_or_default();
        let recording_args = [vec!["replay", path], vec!["replay", path, "--no-jump", "--json"]];
        let map_args = [
            vec!["maps", path],
            vec!["solve", path, "--budget-ms", "20"],
            vec!["solve", path, "--budget-ms", "20", "--no-jump", "--json"],
            vec!["play", path, "--planner", "random", "--budget-ms", "1"],
            vec!["simulate", path],
            // Only for broken maps: on a valid map, `serve` would not exit.
            vec!["serve", path, "--port", "0"],
        ];
        let (args, is_broken) = match self {
            Self::Recording(path) => {
                let args = &recording_args[dice.below(recording_args.len())];
                // `verify` needs the command's rules. With others, it could stop at a divergence
                // before it reaches the broken line.
                (args, verify(path, &Rules { no_jump: args.contains(&"--no-jump"), ..Rules::BLITZ_2025 }).is_err())
            }
            Self::Map(folder) => {
                let is_broken = Map::load(folder).is_err();
                (&map_args[dice.below(map_args.len() - usize::from(!is_broken))], is_broken)
            }
        };
        let output = start(program, args, &commands(dice)).map_err(|error| error.to_string())?;
        counts.runs += 1;
        // With a valid file, `replay` may find a divergence, and `simulate` may reject its stdin.
        let is_allowed = |code: i32| match code {
            0 => !is_broken,
            1 => args[0] == "replay" && !is_broken,
            2 => is_broken || args[0] == "simulate",
            _ => false,
        };
        check(&output, is_allowed).map_err(|what| format!("getaway {}: {what}", args.join(" ")))
    }
}

fn commands(dice: &mut Dice) -> Vec<u8> {
    let mut lines = Vec::new();
    for _ in 0..dice.below(8) {
        let mut json = json!([{"type": "MOVE_UP"}, {"type": "MOVE_TO", "position": {"x": 1, "y": 2.5}}]);
        match dice.below(4) {
            0 => mutate(&mut json, dice),
            1 if dice.one_in(3) => lines.extend(json_like(dice)),
            _ => {}
        }
        lines.extend(json.to_string().into_bytes());
        lines.push(b'\n');
    }
    lines
}

fn start(program: &Path, args: &[&str], input: &[u8]) -> std::io::Result<Output> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("ulimit -v {PROGRAM_KB_MAX}; exec \"$0\" \"$@\"")).arg(program).args(args);
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Writing fails if the command exits before it reads its input.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output()
}

fn check(output: &Output, is_allowed: impl Fn(i32) -> bool) -> Result<(), String> {
    let written = String::from_utf8_lossy(&output.stderr);
    // `simulate` also names the invalid actions, and goes on.
    let is_note = |line: &&str| line.contains(" invalid ") && !line.starts_with("error: ");
    let errors: Vec<&str> = written.lines().filter(|line| !is_note(line)).collect();
    match (output.status.code(), &*errors) {
        (Some(code), _) if !is_allowed(code) => Err(format!("exit code {code}: {written}")),
        (Some(0), []) => Ok(()),
        (Some(1 | 2), [error]) if error.starts_with("error: ") => Ok(()),
        _ => Err(format!("{}: {written}", output.status)),
    }
}
