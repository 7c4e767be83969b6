use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use serde::Serialize;

use getaway::files::Existing;
use getaway::game::{NameError, Style};
use getaway::map::{GeneratorKind, GeneratorOptions, Map, MapError, generate_nth};

use super::maps::open_tiles;
use crate::Result;
use crate::arguments::{ANY, integer, parse_permille, parse_size, seed};
use crate::output::{OutputArgs, Say};

/// Limits `--count`, so that a typo cannot fill the disk.
const MAX_COUNT: u64 = 10_000;

/// Generate maps; the same options give the same files on every machine
#[derive(Args)]
#[command(
    override_usage = "getaway mapgen --count <N> --seed <S> --size <WxH> --threats <K>\n       --out <DIR> [OPTIONS]"
)]
pub(crate) struct MapgenArgs {
    /// Number of maps
    #[arg(long, value_name = "N", value_parser = integer::<u64>(1..=MAX_COUNT))]
    count: u64,
    /// Seed of the random number generator
    #[arg(long, value_name = "S", value_parser = seed)]
    seed: u64,
    /// Columns and rows, including the outer walls; odd numbers for mazes and labyrinths
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: (i32, i32),
    /// Number of threats; none starts within 5 steps of the player
    #[arg(long, value_name = "K", value_parser = integer::<usize>(ANY))]
    threats: usize,
    /// Comma-separated threat styles; repeat a style for a higher share [default: each style once]
    #[arg(long, value_name = "STYLES", value_delimiter = ',', value_parser = parse_name::<Style>)]
    styles: Vec<Style>,
    /// Share of the dead ends to remove, from 0 to 1, in steps of 0.001
    #[arg(long, value_name = "SHARE", default_value = "1", value_parser = parse_permille)]
    braid: u32,
    /// Kind of street network: maze, with many branches (--braid opens dead ends to form loops);
    /// labyrinth, with long corridors and few loops, where survival is hard; or city, with blocks,
    /// plazas and alleys
    #[arg(long, value_name = "KIND", default_value_t, value_parser = parse_name::<GeneratorKind>)]
    kind: GeneratorKind,
    /// Output folder; created if missing
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
    /// Print a JSON array with one object per map
    #[arg(long)]
    json: bool,
}

fn parse_name<T: FromStr<Err = NameError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: NameError| format!("expected one of {}", error.expected))
}

#[derive(Serialize)]
struct Written<'a> {
    name: &'a str,
    folder: String,
    difficulty: &'a str,
    open_tiles: usize,
    threats: usize,
}

pub(crate) fn run(args: &MapgenArgs, out: &mut impl Write) -> Result {
    let options = GeneratorOptions {
        kind: args.kind,
        width: args.size.0,
        height: args.size.1,
        threats: args.threats,
        styles: if args.styles.is_empty() { Style::ALL.to_vec() } else { args.styles.clone() },
        braid_permille: args.braid,
    };
    let maps =
        (0..args.count).map(|index| generate_nth(&options, args.seed, index)).collect::<Result<Vec<Map>, _>>()?;
    save_all(&maps, &args.out, args.output.existing())?;

    let written = maps.iter().map(|map| Written {
        name: &map.name,
        folder: args.out.join(&map.name).display().to_string(),
        difficulty: &map.difficulty,
        open_tiles: open_tiles(&map.layout),
        threats: map.layout.threats.len(),
    });
    let written: Vec<Written<'_>> = written.collect();
    if args.json {
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&written)?)?);
    }
    written.iter().try_for_each(|Written { folder, open_tiles, threats, difficulty, .. }| {
        out.say(format!("{folder}: {open_tiles} open tiles, {threats} threats, {difficulty}"))
    })
}

/// Writes the maps. Fails before the first write if a folder exists that must not be overwritten. If
/// a write fails, removes the new folders, but does not restore overwritten maps.
fn save_all(maps: &[Map], dir: &Path, existing: Existing) -> Result {
    let folders: Vec<PathBuf> = maps.iter().map(|map| dir.join(&map.name)).collect();
    let exist: Vec<bool> = folders.iter().map(|folder| folder.symlink_metadata().is_ok()).collect();
    if let Some(index) = exist.iter().position(|&exists| exists && existing == Existing::Keep) {
        return Err(MapError::Exists { path: folders[index].clone() }.into());
    }
    let was_there = dir.symlink_metadata().is_ok();
    for (written, (map, folder)) in maps.iter().zip(&folders).enumerate() {
        let saved = if exist[written] { map.overwrite(folder) } else { map.save(folder) };
        saved.inspect_err(|_| {
            // Ignores errors of the cleanup, because the first error is more useful.
            for (folder, _) in folders[..written].iter().zip(&exist).filter(|&(_, &exists)| !exists) {
                let _ = fs::remove_dir_all(folder);
            }
            if !was_there {
                let _ = fs::remove_dir(dir);
            }
        })?;
    }
    Ok(())
}
