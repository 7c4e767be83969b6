//! `getaway mapgen`: makes maps and writes them as folders.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;

use getaway::game::{NameError, Style};
use getaway::map::{GeneratorKind, GeneratorOptions, Map, MapError, generate_nth};

use super::number::{ANY, whole};
use super::{CliError, one_line};

/// A slip of the finger should not fill a disk.
const MAX_COUNT: u64 = 10_000;

const EXAMPLES: &str = "Examples:
  getaway mapgen --count 10 --seed 1 --size 21x17 --threats 6 --out generated
  getaway mapgen --count 1 --seed 7 --size 30x20 --threats 4 --kind city --styles shark,hawk --braid 0.5 --out city
  getaway maps --maps generated";

/// Make maps: the same seed gives the same files on every machine
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MapgenArgs {
    /// How many maps
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=MAX_COUNT))]
    count: u64,
    /// Where the random numbers start
    #[arg(long, value_name = "S", value_parser = whole::<u64>(ANY))]
    seed: u64,
    /// Columns and rows, the walls at the edge included; odd numbers for a maze
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: (i32, i32),
    /// How many threats; none starts within 5 steps of the player
    #[arg(long, value_name = "K", value_parser = whole::<usize>(ANY))]
    threats: usize,
    /// The styles to deal them from; one that is named twice comes twice as often [default: one of each]
    #[arg(long, value_name = "STYLES", value_delimiter = ',', value_parser = parse_style)]
    styles: Vec<Style>,
    /// Share of the dead ends to remove, from 0 to 1, to the nearest thousandth
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = parse_permille)]
    braid: u32,
    /// What the streets are like
    #[arg(long, value_enum, default_value_t = Kind::Maze)]
    kind: Kind,
    /// The folder to write the maps to; made when missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print JSON: an array with an object for each map written
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// A maze with many branches, its dead ends opened
    Maze,
    /// A maze of long corridors, its dead ends opened: few loops, and hard
    Labyrinth,
    /// City blocks with plazas and alleys
    City,
}

fn parse_size(text: &str) -> Result<(i32, i32), String> {
    let parse = || {
        let (width, height) = text.split_once('x')?;
        Some((width.parse().ok()?, height.parse().ok()?))
    };
    parse().ok_or_else(|| "expected WxH, as in 21x17".to_owned())
}

fn parse_style(text: &str) -> Result<Style, String> {
    text.parse().map_err(|error: NameError| format!("expected one of {}", error.expected))
}

fn parse_permille(text: &str) -> Result<u32, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.map(|share| (share * 1000.0).round() as u32).ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// A map that was written.
#[derive(Serialize)]
struct Written<'a> {
    name: &'a str,
    folder: String,
    difficulty: &'a str,
    open_tiles: usize,
    threats: usize,
}

pub(super) fn run(args: &MapgenArgs, out: &mut impl Write) -> Result<(), CliError> {
    let options = generator_options(args);
    let maps =
        (0..args.count).map(|index| generate_nth(&options, args.seed, index)).collect::<Result<Vec<Map>, _>>()?;
    save_all(&maps, &args.out)?;

    let written: Vec<Written<'_>> = maps.iter().map(|map| written(map, &args.out)).collect();
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &written)?;
        return Ok(writeln!(out)?);
    }
    for Written { folder, open_tiles, threats, difficulty, .. } in written {
        writeln!(out, "{}: {open_tiles} open tiles, {threats} threats, {difficulty}", one_line(&folder))?;
    }
    Ok(())
}

fn generator_options(args: &MapgenArgs) -> GeneratorOptions {
    let (width, height) = args.size;
    GeneratorOptions {
        kind: match args.kind {
            Kind::Maze => GeneratorKind::Maze,
            Kind::Labyrinth => GeneratorKind::Labyrinth,
            Kind::City => GeneratorKind::City,
        },
        width,
        height,
        threats: args.threats,
        styles: if args.styles.is_empty() { Style::ALL.to_vec() } else { args.styles.clone() },
        braid_permille: args.braid,
    }
}

/// Writes all of the maps or none: whatever is in the way is found before the first one is written, and if the disk
/// fails half-way, those that were written are taken back.
fn save_all(maps: &[Map], dir: &Path) -> Result<(), CliError> {
    let folders: Vec<PathBuf> = maps.iter().map(|map| dir.join(&map.name)).collect();
    if let Some(path) = folders.iter().find(|folder| folder.symlink_metadata().is_ok()) {
        return Err(MapError::Exists { path: path.clone() }.into());
    }
    let was_there = dir.symlink_metadata().is_ok();
    for (written, (map, folder)) in maps.iter().zip(&folders).enumerate() {
        if let Err(error) = map.save(folder) {
            // The error worth telling is the first one, whatever becomes of the cleaning up.
            for folder in &folders[..written] {
                let _ = fs::remove_dir_all(folder);
            }
            if !was_there {
                let _ = fs::remove_dir(dir);
            }
            return Err(error.into());
        }
    }
    Ok(())
}

fn written<'a>(map: &'a Map, dir: &Path) -> Written<'a> {
    Written {
        name: &map.name,
        folder: dir.join(&map.name).display().to_string(),
        difficulty: &map.difficulty,
        open_tiles: map.layout.tiles.iter().filter(|tile| tile.is_open()).count(),
        threats: map.layout.threats.len(),
    }
}
