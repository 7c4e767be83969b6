use std::io::{BufRead, Read, Write};

use clap::Args;
use serde_json::Value;

use getaway::game::Action;
use getaway::protocol::{Mistakes, TraceTick, parse_actions, parser_words, write_line};

use crate::arguments::{MapArgs, RulesArgs, world_of};
use crate::output::note;
use crate::{CliError, Result, invalid};

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
    let mut lines = Lines { input, line: Vec::new(), number: 0 };
    let mut mistakes = Mistakes::default();
    while !state.is_over() {
        let Some(command) = lines.next_command()? else { break };
        for what in mistakes.add_actions(state.tick().into(), &command) {
            note(&format!("line {}: ignored {what} (reported once)", lines.number));
        }
        if world.play_command(&mut state, &command).is_err() {
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

struct Lines<'a, R> {
    input: &'a mut R,
    line: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Lines<'_, R> {
    /// Returns the command on the next line, or `None` at the end of the input.
    fn next_command(&mut self) -> Result<Option<Vec<Action>>> {
        self.number += 1;
        self.line.clear();
        let mut limited = Read::take(&mut *self.input, MAX_LINE_BYTES + 1);
        let bytes = limited.read_until(b'\n', &mut self.line).map_err(|error| self.error(&error.to_string()))?;
        if bytes == 0 {
            return Ok(None);
        }
        if bytes as u64 > MAX_LINE_BYTES {
            return Err(self.error(&format!("line too long: expected at most {MAX_LINE_BYTES} bytes")));
        }
        let json: Value = serde_json::from_slice(self.line.trim_ascii_end()).map_err(|error| self.not_json(&error))?;
        let command = parse_actions(Some(&json)).map_err(|error| self.error(&error.to_string()))?;
        Ok(Some(command))
    }

    fn error(&self, what: &str) -> CliError {
        invalid!("standard input, line {}: {what}", self.number)
    }

    fn not_json(&self, error: &serde_json::Error) -> CliError {
        self.error(&format!("expected a JSON array of actions: {}", parser_words(error)))
    }
}
