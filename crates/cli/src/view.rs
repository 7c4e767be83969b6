//! `getaway view`: shows a recorded game, or one that is being played, in the viewer page, or
//! writes it to a file.

use std::convert::Infallible;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use clap::Args;

use getaway::bot::{Bot, BotOptions};
use getaway::game::{State, World};
use getaway::map::Map;
use getaway::planner::DEFAULT_NAME;
use getaway_server::ViewerServer;
use getaway_viewer::{
    GifOptions, Layers, LiveReplay, Page, PageSource, PictureError, PictureOptions, Replay, Theme, gif, png,
};

use super::number::{ANY, integer};
use super::output::OutputArgs;
use super::{CliError, MapArgs, RulesArgs, one_line, world_of};

const EXAMPLES: &str = "Examples:
  getaway view games/last.jsonl                  open a recorded game in the browser
  getaway view roundabout --planner cautious     play a map and watch it live
  getaway view games/last.jsonl --html last.html one file to send to a friend
  getaway view games/last.jsonl --png tick.png --tick 1200 --layers plan,paths,deadly
  getaway view roundabout --gif chase.gif --from 950 --to 1050 --speed 0.5";

/// Watch a recorded game, or a planner playing a map
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ViewArgs {
    /// Recorded game (.jsonl, .jsonl.gz), or a map by name or path
    #[arg(value_name = "FILE|MAP")]
    source: String,
    #[command(flatten)]
    maps: MapArgs,
    /// Planner that plays the map: a name, an expression, or a planner in Python as MODULE:NAME
    #[arg(long, value_name = "NAME|EXPRESSION", default_value = DEFAULT_NAME)]
    planner: String,
    /// Seed of the planner's random number generator
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer::<u64>(ANY))]
    seed: u64,
    #[command(flatten)]
    rules: RulesArgs,
    /// Local port of the page; 0 picks a free port
    #[arg(long, value_name = "PORT", default_value_t = 8766, value_parser = integer::<u16>(0..=u16::MAX.into()))]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Write a self-contained HTML page instead
    #[arg(long, value_name = "OUT.html")]
    html: Option<PathBuf>,
    /// Write a PNG image of one tick instead
    #[arg(long, value_name = "OUT.png", requires = "tick", conflicts_with = "html")]
    png: Option<PathBuf>,
    /// Tick of the image
    #[arg(long, value_name = "N", requires = "png", value_parser = integer::<u32>(0..=u32::MAX.into()))]
    tick: Option<u32>,
    /// Write an animated GIF instead
    #[arg(long, value_name = "OUT.gif", conflicts_with_all = ["html", "png"])]
    gif: Option<PathBuf>,
    /// First tick of the animation [default: the first of the game]
    #[arg(long, value_name = "N", requires = "gif", value_parser = integer::<u32>(0..=u32::MAX.into()))]
    from: Option<u32>,
    /// Last tick of the animation [default: the last of the game]
    #[arg(long, value_name = "N", requires = "gif", value_parser = integer::<u32>(0..=u32::MAX.into()))]
    to: Option<u32>,
    /// Speed of the animation; 1 is ten ticks per second
    #[arg(long, value_name = "X", requires = "gif", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Comma-separated layers of images: plan, paths, arrival, deadly, trail
    #[arg(long, value_name = "LAYERS", default_value = "plan,trail")]
    layers: Layers,
    /// Use the dark theme for images
    #[arg(long)]
    dark: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Parses a speed: one of the page's, or any other from 0.1 to 100.
fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| (0.1..=100.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.1 to 100".to_owned())
}

/// The source of the game to show.
enum Source {
    Recording(PathBuf),
    Map(Box<Map>),
}

pub(super) fn run(args: &ViewArgs, out: &mut impl Write) -> Result<(), CliError> {
    let source = source(args)?;
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    let options = PictureOptions { layers: args.layers, theme };
    let failed = |error: PictureError| CliError::Input(error.to_string());
    let (file, content) = if let Some(path) = &args.html {
        (args.output.file(path)?, Page::new(PageSource::Replay(&replay(args, &source)?)).html.into_bytes())
    } else if let (Some(path), Some(tick)) = (&args.png, args.tick) {
        (args.output.file(path)?, png(&replay(args, &source)?, tick, options).map_err(failed)?)
    } else if let Some(path) = &args.gif {
        let range = GifOptions { from: args.from, to: args.to, speed: args.speed };
        let (file, mut content) = (args.output.file(path)?, Vec::new());
        gif(&replay(args, &source)?, range, options, &mut content).map_err(failed)?;
        (file, content)
    } else {
        return show(args, &source, out);
    };
    file.write(&content)?;
    Ok(writeln!(out, "{}", one_line(&file.path().display().to_string()))?)
}

/// An existing file is a recording, even if a map has the same name.
fn source(args: &ViewArgs) -> Result<Source, CliError> {
    let path = Path::new(&args.source);
    let name = args.source.as_str();
    if path.is_file() || name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
        return Ok(Source::Recording(path.to_owned()));
    }
    Ok(Source::Map(Box::new(args.maps.find(name)?)))
}

/// The complete replay of a game.
fn replay(args: &ViewArgs, source: &Source) -> Result<Replay, CliError> {
    match source {
        Source::Recording(path) => Ok(Replay::of_recording(path, &args.rules.rules()?)?),
        Source::Map(map) => {
            let (world, mut bot) = world_and_bot(args, map)?;
            let mut states = Vec::new();
            play(&world, &mut bot, |state| states.push(state.clone()))?;
            Ok(Replay::of_states(&map.name, &args.planner, &world, &states))
        }
    }
}

fn world_and_bot(args: &ViewArgs, map: &Map) -> Result<(World, Bot), CliError> {
    let rules = args.rules.rules()?;
    let world = world_of(map, &rules)?;
    let options = BotOptions { planner: args.planner.clone(), seed: args.seed, rules, ..BotOptions::default() };
    let bot = Bot::new(options).map_err(|error| CliError::Input(error.to_string()))?;
    Ok((world, bot))
}

/// Plays a game to its end, passing every state to `on_state`.
fn play(world: &World, bot: &mut Bot, mut on_state: impl FnMut(&State)) -> Result<(), CliError> {
    let played = getaway_arena::play(world, bot, |state, _| {
        on_state(state);
        ControlFlow::<Infallible>::Continue(())
    });
    let ControlFlow::Continue(last) = played.map_err(|error| CliError::Check(error.to_string()))?;
    on_state(&last);
    Ok(())
}

/// Serves the page until the program is terminated.
fn show(args: &ViewArgs, source: &Source, out: &mut impl Write) -> Result<(), CliError> {
    let live = Arc::new(LiveReplay::default());
    let replay = match source {
        Source::Recording(_) => Some(replay(args, source)?),
        Source::Map(map) => {
            let (world, mut bot) = world_and_bot(args, map)?;
            let (world, live) = (Arc::new(world), Arc::clone(&live));
            live.begin(&map.name, &args.planner, Arc::clone(&world));
            // If the game fails, the page ends at that point.
            thread::spawn(move || play(&world, &mut bot, |state| live.push(state)));
            None
        }
    };
    let source = replay.as_ref().map_or(PageSource::Live { socket: false }, PageSource::Replay);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Input(format!("cannot start the page's server: {error}")))?;
    runtime.block_on(async {
        let failed = |error: io::Error| CliError::Input(format!("cannot listen on port {}: {error}", args.port));
        let server = ViewerServer::bind(args.port, source, live).await.map_err(failed)?;
        let url = format!("http://{}/", server.local_addr().map_err(failed)?);
        writeln!(out, "{url}")?;
        out.flush()?;
        if !args.no_open && io::stdout().is_terminal() {
            open(&url);
        }
        server.run().await.map_err(failed)
    })
}

/// Opens the system's browser; if there is none, the printed address can be used.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    let _ = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
