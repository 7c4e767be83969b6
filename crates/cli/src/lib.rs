//! The command line: one file per command; only this module prints.
//!
//! A command writes its data to the output it is given; errors are returned as a [`CliError`] and
//! reported as one line on standard error with an exit code: 0 success, 1 a check failed, 2 invalid
//! usage or input.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::error::ErrorKind;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use getaway::game::{Rules, World};
use getaway::map::{GeneratorError, Map, MapEntry, MapError, MapLibrary};
use getaway::recording::RecordingError;

mod arena;
mod battle;
mod budget;
mod eval;
mod mapgen;
mod maps;
mod number;
mod play;
mod replay;
mod rules;
mod serve;
mod simulate;
mod solve;
mod table;
mod verify;
mod view;

use rules::RulesArgs;

/// Set once by [`run_main`]: inside a Python process, the process's arguments are not the
/// program's.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The program's arguments.
#[derive(Parser)]
#[command(name = "getaway", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One variant per command; arguments and help are in the command's file.
#[derive(Subcommand)]
enum Command {
    Battle(battle::BattleArgs),
    Eval(eval::EvalArgs),
    Maps(maps::MapsArgs),
    Mapgen(mapgen::MapgenArgs),
    Play(play::PlayArgs),
    Replay(replay::ReplayArgs),
    Serve(serve::ServeArgs),
    Simulate(simulate::SimulateArgs),
    Solve(solve::SolveArgs),
    Verify(verify::VerifyArgs),
    View(view::ViewArgs),
}

impl Command {
    fn run(self, out: &mut impl Write) -> Result<(), CliError> {
        match self {
            Self::Battle(args) => battle::run(&args, out),
            Self::Eval(args) => eval::run(&args, out),
            Self::Maps(args) => maps::run(&args, out),
            Self::Mapgen(args) => mapgen::run(&args, out),
            Self::Play(args) => play::run(&args, out),
            Self::Replay(args) => replay::run(&args, out),
            Self::Serve(args) => serve::run(&args, out),
            Self::Simulate(args) => simulate::run(&args, &mut io::stdin().lock(), out),
            Self::Solve(args) => solve::run(&args, out),
            Self::Verify(args) => verify::run(&args, out),
            Self::View(args) => view::run(&args, out),
        }
    }
}

/// The map folders: shared by every command that takes a map.
#[derive(Args, Clone, Debug)]
pub struct MapArgs {
    /// Look for maps in this folder before the bundled maps; may be repeated
    #[arg(long = "maps", value_name = "DIR")]
    dirs: Vec<PathBuf>,
}

impl MapArgs {
    /// A library of the maps of every `--maps DIR`, then the bundled maps. A folder without maps is
    /// an error.
    pub fn library(&self) -> Result<MapLibrary, CliError> {
        self.check()?;
        Ok(MapLibrary::with_our_maps(&self.dirs))
    }

    /// The maps with these names or paths; by default all maps of every `--maps DIR`, or else the
    /// bundled maps.
    pub fn load(&self, names: &[String]) -> Result<Vec<Map>, CliError> {
        let library = self.library()?;
        if !names.is_empty() {
            return Ok(names.iter().map(|name| library.find(name)).collect::<Result<_, _>>()?);
        }
        let library = if self.dirs.is_empty() { library } else { MapLibrary::new(&self.dirs) };
        Ok(library.list()?.iter().map(MapEntry::load).collect::<Result<_, _>>()?)
    }

    /// The map with this name or path.
    pub fn find(&self, name_or_path: &str) -> Result<Map, CliError> {
        Ok(self.library()?.find(name_or_path)?)
    }

    /// Fails if a folder has no maps, and names the one that was probably meant.
    fn check(&self) -> Result<(), CliError> {
        let has_maps = |dir: &Path| MapLibrary::new([dir]).list().map(|entries| !entries.is_empty());
        for dir in &self.dirs {
            if has_maps(dir)? {
                continue;
            }
            let near = [Some(dir.join("maps")), dir.parent().map(Path::to_path_buf)].into_iter().flatten();
            let advice = match near.into_iter().find(|near| matches!(has_maps(near), Ok(true))) {
                Some(near) => format!("; there are maps in {}", near.display()),
                None => String::new(),
            };
            return Err(CliError::Input(format!(
                "no maps in {}: expected a folder with one folder per map{advice}",
                dir.display()
            )));
        }
        Ok(())
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Invalid usage or input: exit code 2.
    #[error("{0}")]
    Input(String),
    /// A check failed on valid input: exit code 1.
    #[error("{0}")]
    Check(String),
    /// Interrupted by the user: exit code 130, as shells report it.
    #[error("{0}")]
    Interrupted(String),
    /// Writing the output failed; a closed pipe ends the program silently.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// The line for standard error, if any, and the exit code.
    fn report(self) -> (Option<String>, u8) {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => (None, 0),
            Self::Check(_) => (Some(self.to_string()), 1),
            Self::Interrupted(_) => (Some(self.to_string()), 130),
            Self::Input(_) | Self::Output(_) => (Some(self.to_string()), 2),
        }
    }
}

impl From<MapError> for CliError {
    fn from(error: MapError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<RecordingError> for CliError {
    fn from(error: RecordingError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<GeneratorError> for CliError {
    fn from(error: GeneratorError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<serde_json::Error> for CliError {
    /// Only errors of writing JSON are converted here; errors of parsing name the file or line.
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

/// Runs the program with the arguments and streams of this process.
pub fn main() -> ExitCode {
    ExitCode::from(run_main(std::env::args_os().collect()))
}

/// Runs the program with these arguments, the first of which is the program's name, on the streams
/// of this process. Returns the exit code.
pub fn run_main(arguments: Vec<OsString>) -> u8 {
    let arguments = ARGUMENTS.get_or_init(|| arguments);
    let result = match parse(arguments.clone()) {
        // Colours are removed unless the output is a terminal that supports them and the user
        // allows them.
        Ok(cli) => run(cli, &mut anstream::stdout().lock()),
        Err(error) => report_usage(&error),
    };
    let (line, code) = match result {
        Ok(()) => (None, 0),
        Err(error) => error.report(),
    };
    if let Some(line) = line {
        // If standard error is closed, there is nowhere to report to.
        let _ = writeln!(io::stderr(), "error: {}", one_line(&line));
    }
    code
}

/// The arguments of the program, without its name.
fn arguments() -> Vec<String> {
    let arguments = ARGUMENTS.get().map(Vec::as_slice).unwrap_or_default();
    arguments.iter().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// Parses the arguments. A negative number is parsed as a value, not as an unknown option, so that
/// the error can say why it is wrong.
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let allow_negative = |arg: Arg| {
        if arg.get_long().is_some() && arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg }
    };
    let command = Cli::command().mut_subcommands(|command| command.mut_args(allow_negative));
    Cli::from_arg_matches(&command.try_get_matches_from(args)?)
}

fn run(cli: Cli, out: &mut impl Write) -> Result<(), CliError> {
    cli.command.run(out)?;
    Ok(out.flush()?)
}

/// Prints help and version unchanged; turns a usage error into one line.
fn report_usage(error: &clap::Error) -> Result<(), CliError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(error.print()?),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let names: Vec<String> =
                Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
            Err(CliError::Input(format!("missing command: expected one of {} (try --help)", names.join(", "))))
        }
        _ => {
            let text = error.to_string();
            let what = text.split("\n\nUsage:").next().unwrap_or_default();
            let what = what.split("\n\nFor more information").next().unwrap_or_default();
            let what = what.replace("\n\n  tip: ", "; ");
            let words: Vec<&str> = what.split_whitespace().collect();
            let line = words.join(" ");
            Err(CliError::Input(format!("{} (try --help)", line.strip_prefix("error: ").unwrap_or(&line))))
        }
    }
}

/// The world of a map; errors are prefixed with the map's name.
fn world_of(map: &Map, rules: &Rules) -> Result<World, CliError> {
    World::new(&map.layout, rules).map_err(|error| CliError::Input(format!("{}: {error}", map.name)))
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::Input(format!("cannot write {}: {error}", path.display()))
}

/// Escapes control characters: names and paths may contain anything and must not break the line or
/// control the terminal.
fn one_line(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<char>>() } else { vec![c] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_definitions_are_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("getaway {} ", command.get_name())), "{}", command.get_name());
        }
    }

    #[test]
    fn errors_are_printed_on_one_line() {
        assert_eq!(one_line("a\nb\x1b[31m é"), "a\\nb\\u{1b}[31m é");
    }

    #[test]
    fn failures_have_their_exit_codes() {
        assert_eq!(CliError::Check("no".into()).report(), (Some("no".into()), 1));
        assert_eq!(CliError::Input("no".into()).report(), (Some("no".into()), 2));
        assert_eq!(CliError::Output(io::ErrorKind::BrokenPipe.into()).report(), (None, 0));
    }
}
