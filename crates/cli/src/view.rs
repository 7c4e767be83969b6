//! `getaway view`: a saved game, or one that is played now, in the viewer page or as a file to send to somebody.

use std::convert::Infallible;
use std::fs::OpenOptions;
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
use getaway_server::Host;
use getaway_viewer::{Film, GifOptions, Layers, Live, Page, PageSource, PictureError, PictureOptions, Theme, gif, png};

use super::number::{ANY, whole};
use super::{CliError, MapArgs, RulesArgs, one_line, unwritable, world_of};

const EXAMPLES: &str = "Examples:
  getaway view games/last.jsonl                  opens a saved game in the browser
  getaway view roundabout --planner cautious     plays a map, and shows it while it is played
  getaway view games/last.jsonl --html last.html one file to send to a friend
  getaway view games/last.jsonl --png tick.png --tick 1200 --layers plan,paths,deadly
  getaway view roundabout --gif chase.gif --from 950 --to 1050 --speed 0.5";

/// See the chase: a saved game, or a map that a planner plays
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ViewArgs {
    /// A saved game (.jsonl, .jsonl.gz), or a map by name or by path
    #[arg(value_name = "FILE|MAP")]
    subject: String,
    #[command(flatten)]
    maps: MapArgs,
    /// Who plays a map: the name of a planner or an expression
    #[arg(long, value_name = "NAME|EXPRESSION", default_value = DEFAULT_NAME)]
    planner: String,
    /// The seed of every random draw of that planner
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>(ANY))]
    seed: u64,
    #[command(flatten)]
    rules: RulesArgs,
    /// The port of this machine to show the page on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8766, value_parser = whole::<u16>(0..=u16::MAX.into()))]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Write one self-contained page instead
    #[arg(long, value_name = "OUT.html")]
    html: Option<PathBuf>,
    /// Write a picture of one tick instead
    #[arg(long, value_name = "OUT.png", requires = "tick", conflicts_with = "html")]
    png: Option<PathBuf>,
    /// The tick of the picture
    #[arg(long, value_name = "N", requires = "png", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    tick: Option<u32>,
    /// Write a moving picture instead
    #[arg(long, value_name = "OUT.gif", conflicts_with_all = ["html", "png"])]
    gif: Option<PathBuf>,
    /// The first tick of the moving picture [default: the first of the game]
    #[arg(long, value_name = "N", requires = "gif", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    from: Option<u32>,
    /// The last tick of the moving picture [default: the last of the game]
    #[arg(long, value_name = "N", requires = "gif", value_parser = whole::<u32>(0..=u32::MAX.into()))]
    to: Option<u32>,
    /// The speed of the moving picture; 1 is ten ticks a second
    #[arg(long, value_name = "X", requires = "gif", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// What pictures show besides everybody: plan, paths, timing, deadly, trail, with commas between
    #[arg(long, value_name = "LAYERS", default_value = "plan,trail")]
    layers: Layers,
    /// Draw pictures light on dark
    #[arg(long)]
    dark: bool,
}

/// A speed that the page offers too, or one between.
fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| (0.1..=100.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.1 to 100".to_owned())
}

/// What is shown.
enum Subject {
    Recording(PathBuf),
    Map(Box<Map>),
}

pub(super) fn run(args: &ViewArgs, out: &mut impl Write) -> Result<(), CliError> {
    let subject = subject(args)?;
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    let options = PictureOptions { layers: args.layers, theme };
    let failed = |error: PictureError| CliError::Input(error.to_string());
    let (path, content) = if let Some(path) = &args.html {
        (fresh(path)?, Page::new(PageSource::Film(&film(args, &subject)?)).html.into_bytes())
    } else if let (Some(path), Some(tick)) = (&args.png, args.tick) {
        (fresh(path)?, png(&film(args, &subject)?, tick, options).map_err(failed)?)
    } else if let Some(path) = &args.gif {
        let stretch = GifOptions { from: args.from, to: args.to, speed: args.speed };
        let mut content = Vec::new();
        fresh(path)?;
        gif(&film(args, &subject)?, stretch, options, &mut content).map_err(failed)?;
        (path.as_path(), content)
    } else {
        return show(args, &subject, out);
    };
    write_new(path, &content)?;
    Ok(writeln!(out, "{}", one_line(&path.display().to_string()))?)
}

/// A file that is there is a recording, even if a map has its name.
fn subject(args: &ViewArgs) -> Result<Subject, CliError> {
    let path = Path::new(&args.subject);
    let name = args.subject.as_str();
    if path.is_file() || name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
        return Ok(Subject::Recording(path.to_owned()));
    }
    Ok(Subject::Map(Box::new(args.maps.find(name)?)))
}

/// The whole of a game.
fn film(args: &ViewArgs, subject: &Subject) -> Result<Film, CliError> {
    match subject {
        Subject::Recording(path) => Ok(Film::of_recording(path, &args.rules.rules()?)?),
        Subject::Map(map) => {
            let (world, mut bot) = seats(args, map)?;
            let mut states = Vec::new();
            play(&world, &mut bot, |state| states.push(state.clone()))?;
            Ok(Film::of_states(&map.name, &args.planner, &world, &states))
        }
    }
}

fn seats(args: &ViewArgs, map: &Map) -> Result<(World, Bot), CliError> {
    let rules = args.rules.rules()?;
    let world = world_of(map, &rules)?;
    let options = BotOptions { planner: args.planner.clone(), seed: args.seed, rules, ..BotOptions::default() };
    let bot = Bot::new(options).map_err(|error| CliError::Input(error.to_string()))?;
    Ok((world, bot))
}

/// Plays a game to its end and shows every state.
fn play(world: &World, bot: &mut Bot, mut on_state: impl FnMut(&State)) -> Result<(), CliError> {
    let played = getaway_arena::play(world, bot, |state, _| {
        on_state(state);
        ControlFlow::<Infallible>::Continue(())
    });
    let ControlFlow::Continue(last) = played.map_err(|error| CliError::Check(error.to_string()))?;
    on_state(&last);
    Ok(())
}

/// Shows the page until somebody ends the program.
fn show(args: &ViewArgs, subject: &Subject, out: &mut impl Write) -> Result<(), CliError> {
    let live = Arc::new(Live::default());
    let film = match subject {
        Subject::Recording(_) => Some(film(args, subject)?),
        Subject::Map(map) => {
            let (world, mut bot) = seats(args, map)?;
            let (world, live) = (Arc::new(world), Arc::clone(&live));
            live.begin(&map.name, &args.planner, Arc::clone(&world));
            // A game that goes wrong ends in the page where it went wrong.
            thread::spawn(move || play(&world, &mut bot, |state| live.push(state)));
            None
        }
    };
    let source = film.as_ref().map_or(PageSource::Live { socket: false }, PageSource::Film);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Input(format!("no clock for the page ({error})")))?;
    runtime.block_on(async {
        let failed = |error: io::Error| CliError::Input(format!("port {}: cannot be listened on ({error})", args.port));
        let host = Host::bind(args.port, source, live).await.map_err(failed)?;
        let url = format!("http://{}/", host.local_addr().map_err(failed)?);
        writeln!(out, "{url}")?;
        out.flush()?;
        if !args.no_open && io::stdout().is_terminal() {
            open(&url);
        }
        host.run().await.map_err(failed)
    })
}

/// Opens the system's browser; where there is none, the address has been printed.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    let _ = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}

/// A path where there is nothing yet: said before the work begins.
fn fresh(path: &Path) -> Result<&Path, CliError> {
    if path.symlink_metadata().is_ok() { Err(taken(path)) } else { Ok(path) }
}

fn taken(path: &Path) -> CliError {
    CliError::Input(format!("{}: exists already and is not overwritten", path.display()))
}

/// A new file; one that has come to exist meanwhile is not touched either.
fn write_new(path: &Path, content: &[u8]) -> Result<(), CliError> {
    let written =
        OpenOptions::new().write(true).create_new(true).open(path).and_then(|mut file| file.write_all(content));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => taken(path),
        _ => unwritable(path, &error),
    })
}
