//! The command line: one file per command; only this module prints.
//!
//! A command writes its data to the output it is given; errors are returned as a [`CliError`] and
//! reported as one line on standard error with an exit code: 0 success, 1 a check failed, 2 invalid
//! usage or input.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

mod analyse;
mod arena;
mod battle;
mod bridge;
mod budget;
mod cluster;
mod discover;
mod ending;
mod error;
mod eval;
mod external;
mod map_args;
mod mapgen;
mod maps;
mod memory;
mod number;
mod output;
mod play;
mod probe;
mod process;
mod progress;
mod replay;
mod report_replays;
mod rules;
mod rules_args;
mod serve;
mod simulate;
mod solve;
mod sprt;
mod table;
mod tournament;
mod verify;
mod view;

pub use error::CliError;
use error::one_line;
pub use map_args::MapArgs;
use map_args::world_of;
use process::{ARGUMENTS, arguments};
use rules_args::RulesArgs;

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
    Analyse(analyse::AnalyseArgs),
    Battle(battle::BattleArgs),
    Bridge(bridge::BridgeArgs),
    Discover(discover::DiscoverArgs),
    Eval(eval::EvalArgs),
    Maps(maps::MapsArgs),
    Mapgen(mapgen::MapgenArgs),
    Play(play::PlayArgs),
    Probe(probe::ProbeArgs),
    Replay(replay::ReplayArgs),
    Rules(rules::RulesCommandArgs),
    Serve(serve::ServeArgs),
    Simulate(simulate::SimulateArgs),
    Solve(solve::SolveArgs),
    Tournament(tournament::TournamentArgs),
    Verify(verify::VerifyArgs),
    View(view::ViewArgs),
}

impl Command {
    fn run(self, out: &mut impl Write) -> Result<(), CliError> {
        match self {
            Self::Analyse(args) => analyse::run(&args, out),
            Self::Battle(args) => battle::run(&args, out),
            Self::Bridge(args) => bridge::run(&args, out),
            Self::Discover(args) => discover::run(&args, out),
            Self::Eval(args) => eval::run(&args, out),
            Self::Maps(args) => maps::run(&args, out),
            Self::Mapgen(args) => mapgen::run(&args, out),
            Self::Play(args) => play::run(&args, out),
            Self::Probe(args) => probe::run(&args, out),
            Self::Replay(args) => replay::run(&args, out),
            Self::Rules(args) => rules::run(&args, out),
            Self::Serve(args) => serve::run(&args, out),
            Self::Simulate(args) => simulate::run(&args, &mut io::stdin().lock(), out),
            Self::Solve(args) => solve::run(&args, out),
            Self::Tournament(args) => tournament::run(&args, out),
            Self::Verify(args) => verify::run(&args, out),
            Self::View(args) => view::run(&args, out),
        }
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
}
