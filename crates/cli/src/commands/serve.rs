use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use getaway::map::{Map, MapEntry};
use getaway::protocol::write_line;
use getaway_server::{Event, GameResult, Server, ServerError, ServerOptions};

use crate::arguments::{HOUR_MS, MapArgs, RulesArgs, integer, seed};
use crate::output::{OutputArgs, Say, ending, note};
use crate::{Result, invalid};

/// Serve games over a websocket, like the real server
#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Map, by name or path [default: a random map for each game]
    map: Option<String>,
    #[command(flatten)]
    maps: MapArgs,
    /// Address to listen on; by default, only this machine can connect
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: String,
    /// Port; 0 picks a free port
    #[arg(long, default_value_t = 8765, value_name = "PORT", value_parser = integer::<u16>(0..=u16::MAX.into()))]
    port: u16,
    /// Time limit of a bot per tick, in milliseconds; if the bot is late, the
    /// tick is played without a command
    #[arg(long, default_value_t = 100, value_name = "MS", value_parser = integer::<u64>(1..=HOUR_MS))]
    tick_ms: u64,
    /// Pause after each tick while the bot is connected, in milliseconds
    #[arg(long, default_value_t = 0, value_name = "MS", value_parser = integer::<u64>(0..=HOUR_MS))]
    delay_ms: u64,
    /// Exit after this many games [default: no limit]
    #[arg(long, value_name = "N", value_parser = integer::<u64>(1..=u64::MAX))]
    games: Option<u64>,
    /// Seed of the random choice of maps [default: a new one each time]
    #[arg(long, value_name = "S", value_parser = seed)]
    seed: Option<u64>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Record every game: the first in FILE, such as game.jsonl, the second in
    /// game-2.jsonl, and so on; gzipped if FILE ends in .gz
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    /// Print one JSON object per game; all other messages go to standard error
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ServeArgs, out: &mut impl Write) -> Result {
    let cannot_start = |error| match error {
        ServerError::Recording(error) => error.into(),
        ServerError::Listen { ref source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            invalid!("{error} (try --port 0)")
        }
        _ => error.into(),
    };
    let server = Server::start(&args.host, args.port, options(args)?).map_err(cannot_start)?;
    let address = server.address();
    let listening = format!("listening on ws://{address} (in a browser: http://{address}/)");
    if args.json {
        note(&listening);
    } else {
        writeln!(out, "{listening}")?;
        out.flush()?;
    }
    for event in server.events() {
        match event {
            Event::Start { game, map, team, .. } => note(&format!("game {game}: {team} plays {map}")),
            Event::Note { game, text } => note(&format!("game {game}, {text}")),
            Event::ClientNote { text } => note(&format!("client: {text}")),
            Event::Refused { reason, remedy } => note(&format!("refused a websocket: {reason}; {remedy}")),
            Event::End(result) => {
                if args.json {
                    write_line(&mut *out, &result)?;
                } else {
                    out.say(sentence(&result))?;
                }
                out.flush()?;
            }
        }
    }
    Ok(())
}

fn options(args: &ServeArgs) -> Result<ServerOptions> {
    let maps = match &args.map {
        Some(map) => vec![args.maps.find(map)?],
        None => args.maps.library()?.list()?.iter().map(MapEntry::load).collect::<Result<Vec<Map>, _>>()?,
    };
    Ok(ServerOptions {
        maps,
        seed: args.seed.unwrap_or_else(random_seed),
        tick_time: Duration::from_millis(args.tick_ms),
        delay: Duration::from_millis(args.delay_ms),
        games: args.games,
        rules: args.rules.rules()?,
        recording: args.record.clone(),
        existing_recordings: args.output.existing(),
    })
}

/// Returns a random number: the hashers of `RandomState` have random keys.
fn random_seed() -> u64 {
    use std::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(())
}

fn sentence(result: &GameResult) -> String {
    let GameResult { game, map, score, tick, seconds, missed_ticks, late_commands, .. } = result;
    let end = ending(result.end, *tick);
    let mut text = format!(
        "game {game}: {map}, score {score}, {end}, {late_commands} late commands, {missed_ticks} ticks without a command, {seconds:.1} s"
    );
    let remarks = [
        (result.invalid_commands > 0).then(|| format!(", {} commands that could not be read", result.invalid_commands)),
        (result.invalid_actions > 0).then(|| format!(", {} commands with invalid actions", result.invalid_actions)),
        (result.disconnect.as_ref()).map(|left| format!(", disconnected at tick {} ({})", left.tick, left.reason)),
        result.recording.as_ref().map(|path| format!(", recorded in {}", path.display())),
    ];
    text.extend(remarks.into_iter().flatten());
    text
}
