//! The command line. A command prints its data to standard output, and an error to standard error.
//! Exit codes: 0 for success; 1 for a failed check, planner or bot; 2 for invalid usage or input,
//! or for a file or other resource that cannot be used; 130 for an interrupt.

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;
use clap::{Arg, CommandFactory, Parser};
use getaway::planner::PlannerHost;

pub mod arguments;
mod commands;
mod error;
mod interrupt;
mod memory;
pub mod output;
mod search_file;

use commands::Command;
use commands::ladder_settings::Settings;
pub use error::{CliError, Result};
use error::{failed, invalid};
pub use interrupt::stop_on_interrupt;
use output::{Stdout, Terminal, clipped, note, shell_quoted, width};

struct Invocation<'a> {
    /// The command line, quoted for a shell. Reports show it.
    command_line: String,
    /// Finds external planners, such as `model:FILE` or a Python `MODULE:NAME`.
    host: Option<&'a dyn PlannerHost>,
    settings: Settings,
}

/// The examples of each command, as paragraphs that start with `[COMMAND]`.
const EXAMPLES: &str = include_str!("examples.txt");
const HELP_WIDTH: usize = 80;
/// Errors can quote files.
const ERROR_CHARS_MAX: usize = 4000;
const ABOUT: &str = "Simulates, solves, plays and analyses the car chase of Coveo's Blitz 2025.";

#[derive(Parser)]
#[command(name = "getaway", version, about = ABOUT, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Runs a command and returns its exit code. `arguments` starts with the program's name. For a
/// ladder, adds the settings that are saved in its folder.
pub fn run_main(mut arguments: Vec<OsString>, host: Option<&dyn PlannerHost>) -> u8 {
    let settings = Settings::of_ladder(complete(Cli::command()), &arguments);
    arguments.extend(settings.saved_words().map(OsString::from));
    run_program(arguments, |cli: &Cli, command_line, out| {
        cli.command.run(&Invocation { command_line, host, settings }, out)
    })
}

/// Parses the arguments of the program `P`, calls `run`, reports an error, and returns the exit
/// code. `arguments` starts with the program's name. `run` also gets the command line, quoted for a
/// shell.
pub fn run_program<P: Parser>(arguments: Vec<OsString>, run: impl FnOnce(&P, String, &mut Stdout) -> Result) -> u8 {
    let mut command = complete(P::command());
    let words = arguments.iter().skip(1).map(|word| shell_quoted(&word.to_string_lossy()));
    let command_line = [command.get_name().to_owned()].into_iter().chain(words).collect::<Vec<String>>().join(" ");
    let mut out = Terminal::new(anstream::stdout().lock());
    let matches = command.try_get_matches_from_mut(arguments);
    let result = match matches.and_then(|matches| P::from_arg_matches(&matches)) {
        Ok(program) => run(&program, command_line, &mut out).and_then(|()| Ok(out.flush()?)),
        Err(error) => report_usage(&error, complete(P::command())),
    };
    let (line, code) = result.map_or_else(CliError::report, |()| (None, 0));
    if let Some(line) = line {
        note(&clipped(&format!("error: {line}"), ERROR_CHARS_MAX));
    }
    code
}

/// Adds the examples and the width of the help. Also reads `-1` after an option as the option's value,
/// so that the error says which values are valid.
fn complete(command: clap::Command) -> clap::Command {
    let section = format!("[{}]\n", command.get_name());
    let command = match EXAMPLES.split("\n\n").find_map(|examples| examples.strip_prefix(&section)) {
        Some(examples) => command.after_help(format!("Examples:\n{}", examples.trim_end())),
        None => command,
    };
    let of_option = |arg: Arg| {
        if arg.get_long().is_some() && arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg }
    };
    command.term_width(width().unwrap_or(HELP_WIDTH)).mut_args(of_option).mut_subcommands(complete)
}

fn report_usage(error: &clap::Error, mut command: clap::Command) -> Result {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(error.print()?),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Ok(command.print_help()?),
        _ => {
            let text = error.to_string().replace("\n\n  tip: ", "; ");
            let what = ["\n\nUsage:", "\n\nFor more information"]
                .iter()
                .fold(&*text, |text, end| text.split(end).next().unwrap_or_default());
            let words: Vec<&str> = what.trim_start_matches("error: ").split_whitespace().collect();
            Err(invalid!("{} (try --help)", words.join(" ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn command_definitions_are_valid() {
        Cli::command().debug_assert();
    }

    /// Scripts that test file handling recognise the arguments that take files by these words.
    const FILE_WORDS: [&str; 5] = ["FILE", "DIR", "OUT", "MAP", "RECORDING"];

    #[test]
    fn value_names_say_what_takes_a_file() {
        let no_file = "ADDRESS COMMAND ENTRANT LAYERS LEFT NAME NAME|EXPRESSION RIGHT SOLVER STYLES T URL";
        let mut root = Cli::command();
        root.build();
        let mut commands = vec![&root];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands());
            for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                let parser = arg.get_value_parser().type_id();
                let name = arg.get_value_names().map_or_else(String::new, |names| names.join(" "));
                let says_file = FILE_WORDS.iter().any(|word| name.contains(word));
                let place = format!("{} {}: {name}", command.get_name(), arg.get_id());
                assert!(says_file || parser != TypeId::of::<PathBuf>(), "{place}");
                let says_no_file = parser != TypeId::of::<String>() || no_file.split(' ').any(|word| word == name);
                assert!(says_file || says_no_file, "{place}");
            }
        }
    }

    #[test]
    fn every_command_shows_an_example() {
        assert!(EXAMPLES.lines().all(|line| line.len() <= HELP_WIDTH));
        for command in complete(Cli::command()).get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("getaway {} ", command.get_name())), "{}", command.get_name());
        }
    }
}
