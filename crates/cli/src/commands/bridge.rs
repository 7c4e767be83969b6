use std::env;
use std::io::{self, Write};

use clap::Args;

use getaway::protocol::Register;
use getaway_arena::{BridgeReport, bridge};

use crate::Result;
use crate::interrupt::{check_interrupt, stop_on_interrupt};
use crate::output::{Terminal, count, shell_quoted};

const DEFAULT_URL: &str = "ws://127.0.0.1:8765";

/// Play on a server with a bot that reads states and writes commands as lines of JSON
#[derive(Args)]
pub(crate) struct BridgeArgs {
    /// Address of the server [default: $SERVER_URL, or ws://127.0.0.1:8765]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Team name for the registration; ignored if TOKEN is set
    #[arg(long, default_value = "bridge", value_name = "NAME")]
    team: String,
    /// Command that starts the bot, after --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &BridgeArgs, out: &mut impl Write) -> Result {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let url = args.url.clone().or_else(|| variable("SERVER_URL")).unwrap_or_else(|| DEFAULT_URL.to_owned());
    let register = Register { token: variable("TOKEN"), team_name: Some(args.team.clone()) };
    let command = match &args.command[..] {
        [command] => command.clone(),
        words => words.iter().map(|word| shell_quoted(word)).collect::<Vec<String>>().join(" "),
    };
    let stop = stop_on_interrupt()?;
    let mut stderr = Terminal::new(io::stderr());
    let mut log = |text: &str| drop(stderr.write_all(text.as_bytes()));
    let BridgeReport { states, commands } = bridge(&url, &register, &command, &stop, &mut log)?;
    let states = count(states as usize, "state");
    check_interrupt(&stop, format_args!("interrupted after {states}"))?;
    let commands = count(commands as usize, "command");
    Ok(writeln!(out, "the server closed the connection after {states} and {commands}")?)
}
