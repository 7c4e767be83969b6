//! `getaway serve`: a game server on this machine.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use getaway::map::{Map, MapEntry};
use getaway_server::{Event, GameEnd, GameResult, Server, ServerOptions};

use super::number::{ANY, whole};
use super::{CliError, MapArgs, RulesArgs, one_line};

/// A slip of the finger should not make a tick last for days.
const MAX_PAUSE_MS: u64 = 3_600_000;
/// Threads for all connections: one can play while another one is stuck in a slow call of the system.
const THREADS: usize = 2;

const EXAMPLES: &str = "Examples:
  getaway serve                                       a random map for each game
  getaway serve roundabout --games 1 --record games/1.jsonl
  getaway serve --maps path/to/maps --port 0 --json   a free port, results for programs";

/// Serve games over a websocket, as the real server does
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ServeArgs {
    /// The map, by name or by path [default: a random one for each game]
    #[arg(value_name = "MAP")]
    map: Option<String>,
    #[command(flatten)]
    maps: MapArgs,
    /// The address to listen on; the default lets nobody else in
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    host: String,
    /// The port; 0 takes a free one and says which
    #[arg(long, default_value_t = 8765, value_name = "PORT", value_parser = whole::<u16>(0..=u16::MAX.into()))]
    port: u16,
    /// Milliseconds that a bot has for a tick; without a command by then the tick is played without one
    #[arg(long, default_value_t = 100, value_name = "MS", value_parser = whole::<u64>(1..=MAX_PAUSE_MS))]
    tick_ms: u64,
    /// Milliseconds of pause after each tick
    #[arg(long, default_value_t = 0, value_name = "MS", value_parser = whole::<u64>(0..=MAX_PAUSE_MS))]
    delay_ms: u64,
    /// End after this many games [default: go on for ever]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    games: Option<u64>,
    /// Where the draws of random maps start [default: somewhere else each time]
    #[arg(long, value_name = "S", value_parser = whole::<u64>(ANY))]
    seed: Option<u64>,
    #[command(flatten)]
    rules: RulesArgs,
    /// Record each game: the first one here, the second one in FILE-2, ...; gzipped if the name ends in .gz
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print results as JSON, an object a line for each game; everything else goes to standard error
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ServeArgs, out: &mut impl Write) -> Result<(), CliError> {
    let options = options(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|error| CliError::Input(format!("no threads for the server ({error})")))?;
    runtime.block_on(async {
        let address = format!("{}:{}", args.host, args.port);
        let failed = |error: io::Error| CliError::Input(format!("{address}: cannot be listened on ({error})"));
        let server = Server::bind(&args.host, args.port, options).await.map_err(failed)?;
        let address = server.local_addr().map_err(failed)?;
        let listening = format!("listening on ws://{address} (in a browser: http://{address}/)");
        if args.json {
            say(&listening);
        } else {
            writeln!(out, "{listening}")?;
            out.flush()?;
        }
        server.run(|event| tell(event, args.json, out)).await
    })
}

fn options(args: &ServeArgs) -> Result<ServerOptions, CliError> {
    let maps = match &args.map {
        Some(map) => vec![args.maps.find(map)?],
        None => args.maps.library().list()?.iter().map(MapEntry::load).collect::<Result<Vec<Map>, _>>()?,
    };
    if maps.is_empty() {
        return Err(CliError::Input("no maps to choose from, expected a map or --maps DIR".to_owned()));
    }
    if let Some(path) = args.record.as_ref().filter(|path| path.symlink_metadata().is_ok()) {
        return Err(CliError::Input(format!("{}: exists already and is not overwritten", path.display())));
    }
    Ok(ServerOptions {
        maps,
        seed: args.seed.unwrap_or_else(entropy),
        tick_time: Duration::from_millis(args.tick_ms),
        delay: Duration::from_millis(args.delay_ms),
        games: args.games,
        rules: args.rules.rules()?,
        recording: args.record.clone(),
    })
}

/// A number that is another one each time: the standard library seeds its hashers with what the system gives.
fn entropy() -> u64 {
    use std::hash::BuildHasher;
    std::hash::RandomState::new().hash_one(())
}

/// Results are the output of this command; what else happens is told on the side.
fn tell(event: Event, json: bool, out: &mut impl Write) -> Result<(), CliError> {
    match event {
        Event::Start { game, map, team } => say(&format!("game {game}: {team} plays {map}")),
        Event::Note { game, text } => say(&format!("game {game}, {text}")),
        Event::End(result) => {
            if json {
                serde_json::to_writer(&mut *out, &result)?;
                writeln!(out)?;
            } else {
                writeln!(out, "{}", one_line(&sentence(&result)))?;
            }
            out.flush()?;
        }
    }
    Ok(())
}

/// A line on standard error. With standard error gone there is nobody to tell.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", one_line(text));
}

/// A result as a person reads it.
fn sentence(result: &GameResult) -> String {
    let GameResult { game, map, score, tick, seconds, missed_ticks, late_commands, .. } = result;
    let end = match result.end {
        GameEnd::Caught => format!("caught in tick {tick}"),
        GameEnd::Complete => "complete".to_owned(),
    };
    let mut text = format!(
        "game {game}: {map}, score {score}, {end}, {late_commands} late commands, {missed_ticks} ticks without a command, {seconds:.1} s"
    );
    if let Some(left) = &result.left {
        text += &format!(", without its bot from tick {} on ({})", left.tick, left.reason);
    }
    if let Some(path) = &result.recording {
        text += &format!(", recorded in {}", path.display());
    }
    text
}
