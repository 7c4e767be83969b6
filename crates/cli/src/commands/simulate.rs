use std::io::{BufRead, Read, Write};

use clap::Args;
use serde_json::Value;

use getaway::game::Action;
use getaway::protocol::{Mistakes, TraceTick, parse_actions, parser_words, write_line};

use crate::arguments::{MapArgs, RulesArgs, world_of};
use crate::output::note;
use crate::{Result, invalid};

const MAX_LINE_BYTES: u64 = 1 << 20;

/// Play a game with commands from standard input, one line per tick
///
/// Each input line is a command, a JSON array of actions; each output line is the resulting state.
#[derive(Args)]
pub(crate) struct SimulateArgs {
    /// Map, by name or path
    map: String,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    maps: MapArgs,
}

/// Flushes each output line, because a program may wait for it before sending the next command.
pub(crate) fn run(args: &SimulateArgs, input: &mut impl BufRead, out: &mut impl Write) -> Result {
    let map = args.maps.find(&args.map)?;
    let world = world_of(&map, &args.rules.rules()?)?;
    let mut state = world.start();
    let (mut mistakes, mut line) = (Mistakes::default(), 0);
    while !state.is_over() {
        line += 1;
        let command = next_command(input).map_err(|what| invalid!("standard input, line {line}: {what}"))?;
        let Some(command) = command else { break };
        for what in mistakes.add_actions(state.tick().into(), &command) {
            note(&format!("line {line}: ignored {what} (reported once)"));
        }
        if world.step_command(&mut state, &command).is_err() {
            break;
        }
        write_line(&mut *out, &TraceTick::of_state(&world, &state))?;
        out.flush()?;
    }
    if !mistakes.is_empty() {
        note(&mistakes.words());
    }
    Ok(())
}

/// Returns the command on the next line, or `None` at the end of the input.
fn next_command(input: &mut impl BufRead) -> Result<Option<Vec<Action>>, String> {
    let mut line = Vec::new();
    let mut limited = Read::take(input, MAX_LINE_BYTES + 1);
    let bytes = limited.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    if bytes == 0 {
        return Ok(None);
    }
    if bytes as u64 > MAX_LINE_BYTES {
        return Err(format!("line too long: expected at most {MAX_LINE_BYTES} bytes"));
    }
    let json: Value = serde_json::from_slice(line.trim_ascii_end())
        .map_err(|error| format!("expected a JSON array of actions: {}", parser_words(&error)))?;
    parse_actions(Some(&json)).map(Some).map_err(|error| error.to_string())
}
