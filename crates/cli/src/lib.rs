//! The command line: one file a command, and the only place that prints.
//!
//! A command writes its data to the output it is given and returns; errors come back as a [`CliError`] and end as one
//! line on standard error and an exit code: 0 fine, 1 a check failed, 2 usage or input.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use getaway::game::{Rules, World};
use getaway::map::{GeneratorError, Map, MapEntry, MapError, MapLibrary};
use getaway::recording::RecordingError;

mod arena;
mod battle;
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
mod view;

use rules::RulesArgs;

/// The program's arguments.
#[derive(Parser)]
#[command(name = "getaway", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One variant a command; its arguments and its help are in its own file.
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
            Self::View(args) => view::run(&args, out),
        }
    }
}

/// Where maps are looked for: part of every command that takes one.
#[derive(Args, Clone, Debug)]
pub struct MapArgs {
    /// A folder of maps to look in before our own maps; may be repeated
    #[arg(long = "maps", value_name = "DIR")]
    dirs: Vec<PathBuf>,
}

impl MapArgs {
    /// The maps of every `--maps DIR`, then our own.
    pub fn library(&self) -> MapLibrary {
        MapLibrary::with_our_maps(&self.dirs)
    }

    /// The maps of these names or at these paths; without any, all those of every `--maps DIR`, or else our own.
    pub fn load(&self, names: &[String]) -> Result<Vec<Map>, MapError> {
        if names.is_empty() {
            let library = if self.dirs.is_empty() { self.library() } else { MapLibrary::new(&self.dirs) };
            return library.list()?.iter().map(MapEntry::load).collect();
        }
        let library = self.library();
        names.iter().map(|name| library.find(name)).collect()
    }

    /// The map of this name in the library, or at this path.
    pub fn find(&self, name_or_path: &str) -> Result<Map, MapError> {
        self.library().find(name_or_path)
    }
}

/// How a command fails.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Wrong usage or bad input: exit code 2.
    #[error("{0}")]
    Input(String),
    /// The input was fine and what was checked is not: exit code 1.
    #[error("{0}")]
    Check(String),
    /// The user broke it off: exit code 130, as shells have it for an interrupt.
    #[error("{0}")]
    Interrupted(String),
    /// The output cannot be written. When its reader has gone away, that is how the program ends, quietly.
    #[error("standard output: cannot be written ({0})")]
    Output(#[from] io::Error),
}

impl CliError {
    /// The one line for standard error, if there is one, and the exit code.
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
    /// Only writing JSON comes this way; reading it has errors that name the file or line.
    fn from(error: serde_json::Error) -> Self {
        Self::Output(error.into())
    }
}

/// Runs the program with the arguments and streams of this process.
pub fn main() -> ExitCode {
    let result = match parse(std::env::args_os()) {
        // Colours are taken out unless the output is a terminal that shows them and the user lets it.
        Ok(cli) => run(cli, &mut anstream::stdout().lock()),
        Err(error) => report_usage(&error),
    };
    let (line, code) = match result {
        Ok(()) => (None, 0),
        Err(error) => error.report(),
    };
    if let Some(line) = line {
        // With standard error gone too there is nobody left to tell.
        let _ = writeln!(io::stderr(), "error: {}", one_line(&line));
    }
    ExitCode::from(code)
}

/// Reads the arguments. A number below zero is a value, not an option that nobody knows: what is wrong with it can then be said.
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

/// Help and version go out as they are; a usage error becomes one line like all others.
fn report_usage(error: &clap::Error) -> Result<(), CliError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(error.print()?),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let names: Vec<String> =
                Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
            Err(CliError::Input(format!("no command, expected one of {} (try --help)", names.join(", "))))
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

/// The world of a map; what is wrong with it is said under its name.
fn world_of(map: &Map, rules: &Rules) -> Result<World, CliError> {
    World::new(&map.layout, rules).map_err(|error| CliError::Input(format!("{}: {error}", map.name)))
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::Input(format!("{}: cannot be written ({error})", path.display()))
}

/// Names and paths may hold anything; on a terminal they must neither break the line nor steer it.
fn one_line(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<char>>() } else { vec![c] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_well_formed() {
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
    fn errors_stay_on_their_line() {
        assert_eq!(one_line("a\nb\x1b[31m é"), "a\\nb\\u{1b}[31m é");
    }

    #[test]
    fn failures_have_their_exit_codes() {
        assert_eq!(CliError::Check("no".into()).report(), (Some("no".into()), 1));
        assert_eq!(CliError::Input("no".into()).report(), (Some("no".into()), 2));
        assert_eq!(CliError::Output(io::ErrorKind::BrokenPipe.into()).report(), (None, 0));
    }
}
