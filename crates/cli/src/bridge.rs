//! `getaway bridge`: connects a bot that reads and writes lines to a websocket server.

use std::env;
use std::io::{self, Write};

use clap::Args;

use getaway::protocol::Register;
use getaway_arena::{BridgeError, BridgeReport, bridge};

use super::CliError;
use super::arena::{shell_quoted, stop_on_interrupt};

/// The address of the competition's server.
const DEFAULT_URL: &str = "ws://127.0.0.1:8765";

const EXAMPLES: &str = "Examples:
  getaway bridge -- python examples/bots/walker.py
  getaway bridge --url ws://127.0.0.1:8765 --team walkers -- sh examples/bots/walker.sh";

/// Play on a server with a bot that reads states and writes commands as lines of JSON
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BridgeArgs {
    /// Address of the server [default: the environment's SERVER_URL, or ws://127.0.0.1:8765]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Team name to register with, unless the environment has a TOKEN
    #[arg(long, default_value = "bridge", value_name = "NAME")]
    team: String,
    /// The command that starts the bot, after --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(args: &BridgeArgs, out: &mut impl Write) -> Result<(), CliError> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let url = args.url.clone().or_else(|| variable("SERVER_URL")).unwrap_or_else(|| DEFAULT_URL.to_owned());
    let register = Register { token: variable("TOKEN"), team_name: Some(args.team.clone()) };
    // One argument is a shell command, several are a program and its arguments.
    let command = match &args.command[..] {
        [command] => command.clone(),
        words => words.iter().map(|word| shell_quoted(word)).collect::<Vec<String>>().join(" "),
    };
    let stop = stop_on_interrupt()?;
    let BridgeReport { states, commands } = bridge(&url, &register, &command, &stop).map_err(|error| match error {
        BridgeError::Ended { .. } => CliError::Check(error.to_string()),
        _ => CliError::Input(error.to_string()),
    })?;
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Err(CliError::Interrupted(format!("interrupted after {states} states")));
    }
    // Standard error, because the bot's standard output goes to the server.
    let _ = io::stderr().flush();
    Ok(writeln!(out, "the server closed the connection after {states} states and {commands} commands")?)
}
