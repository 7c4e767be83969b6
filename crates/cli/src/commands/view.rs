use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use clap::{ArgGroup, Args};
use rayon::prelude::*;

use getaway::bot::BotOptions;
use getaway::game::{LAST_TICK, State, World};
use getaway::map::Map;
use getaway::planner::{DEFAULT_NAME, PlannerHost};
use getaway::recording::WireNotes;
use getaway::search::Budget;
use getaway_arena::{Answer, Entrant, Player, PlayerSpec};
use getaway_playground::{Engine, Games};
use getaway_server::ViewerServer;
use getaway_viewer::{
    ANALYSIS_TICKS, Analysis, EngineKind, Game, GameLibrary, GifOptions, Layers, LiveReplay, Page, PageSource,
    PictureOptions, RecordingSource, Replay, Theme, gif, png,
};

use super::analyse::{known_maps, read, read_log};
use super::replay::list_files;

use crate::arguments::{BotArgs, MapArgs, RulesArgs, bot_failure, integer, page_address, seed, world_of};
use crate::output::{OutputArgs, OutputFile, Progress, Say, note};
use crate::{Result, invalid};

const HUMAN: &str = "human";

/// Play and judge games in the browser, or watch recordings and planners
#[derive(Args)]
#[command(group = ArgGroup::new("animation").args(["gif", "video"]))]
pub(crate) struct ViewArgs {
    /// Recorded games (.jsonl, .jsonl.gz), folders of them, or one map by name
    /// or path [default: a map to play]
    #[arg(value_name = "FILE|MAP")]
    sources: Vec<String>,
    /// Second recording of the same game, written by the server or the bot,
    /// to merge with the first
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    #[command(flatten)]
    maps: MapArgs,
    /// Planner: a name, an expression, exec:COMMAND, pipe:COMMAND, model:FILE, a
    /// planner in Python as MODULE:NAME, or human to play with the
    /// arrow keys; NAME=PLANNER names it, where NAME is up to 64
    /// letters, digits and ._@+-
    #[arg(long, value_name = "NAME|EXPRESSION", default_value = DEFAULT_NAME)]
    planner: String,
    /// Seed of the planner's random number generator; external bots get the
    /// seed in the environment variable SEED
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    #[command(flatten)]
    rules: RulesArgs,
    /// Local port of the page; 0 picks a free port
    #[arg(long, value_name = "PORT", default_value_t = 8766, value_parser = integer::<u16>(0..=u16::MAX.into()))]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Write a self-contained HTML page instead of serving one; for a folder or
    /// several recordings, a folder with one page per game and an index.html
    #[arg(long, value_name = "OUT.html|FOLDER")]
    html: Option<PathBuf>,
    /// Write a PNG image of one tick instead
    #[arg(long, value_name = "OUT.png", requires = "tick", conflicts_with = "html")]
    png: Option<PathBuf>,
    /// Tick of the image; required by --png
    #[arg(long, value_name = "N", requires = "png", value_parser = integer::<u32>(0..=u32::MAX.into()))]
    tick: Option<u32>,
    /// Write an animated GIF instead
    #[arg(long, value_name = "OUT.gif", conflicts_with_all = ["html", "png"])]
    gif: Option<PathBuf>,
    /// Write a video (.mp4, .webm) instead; needs ffmpeg
    #[arg(long, value_name = "OUT.mp4", conflicts_with_all = ["html", "png", "gif"])]
    video: Option<PathBuf>,
    /// First tick of the animation [default: the first of the game]
    #[arg(long, value_name = "N", requires = "animation", value_parser = integer::<u32>(0..=u32::MAX.into()))]
    from: Option<u32>,
    /// Last tick of the animation [default: the last of the game]
    #[arg(long, value_name = "N", requires = "animation", value_parser = integer::<u32>(0..=u32::MAX.into()))]
    to: Option<u32>,
    /// Speed of the animation; 1 is ten ticks per second
    #[arg(long, value_name = "X", requires = "animation", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Comma-separated layers to draw in images and videos: plan, paths,
    /// arrival, deadly, trail
    #[arg(long, value_name = "LAYERS", default_value = "plan,trail")]
    layers: Layers,
    /// Use the dark theme for images and videos
    #[arg(long)]
    dark: bool,
    /// Link the pages to the playground at this address, where a game can
    /// be continued from the displayed tick
    #[arg(long, value_name = "URL", value_parser = page_address)]
    playground: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    bot: BotArgs,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok().filter(|speed| (0.1..=100.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.1 to 100".to_owned())
}

enum Source {
    /// The page on its own.
    Nothing,
    Recordings(Vec<PathBuf>),
    Map(Box<Map>),
}

pub(crate) fn run(args: &ViewArgs, host: Option<&dyn PlannerHost>, out: &mut impl Write) -> Result {
    let source = source(args)?;
    let options = PictureOptions { layers: args.layers, theme: if args.dark { Theme::Dark } else { Theme::Light } };
    if let (Some(folder), Source::Recordings(paths)) = (&args.html, &source)
        && (paths.len() > 1 || args.sources.iter().any(|source| Path::new(source).is_dir()))
    {
        return write_gallery(args, paths, folder, out);
    }
    let (file, content) = if let Some(path) = &args.html {
        (args.output.file(path)?, page(args, &source, host)?.html.into_bytes())
    } else if let (Some(path), Some(tick)) = (&args.png, args.tick) {
        (args.output.file(path)?, png(&replay(args, &source, host)?, tick, options)?)
    } else if let Some(path) = args.gif.as_ref().or(args.video.as_ref()) {
        let range = GifOptions { from: args.from, to: args.to, speed: args.speed };
        let (file, mut content) = (args.output.file(path)?, Vec::new());
        if args.video.is_some() {
            ensure_ffmpeg(path)?;
        }
        let (replay, mut progress) = (replay(args, &source, host)?, None);
        gif(&replay, range, options, &mut content, |frames| {
            progress.get_or_insert_with(|| Progress::of(frames as u64, "frames")).inc(1);
        })?;
        (file, if args.video.is_some() { video(path, &content)? } else { content })
    } else {
        return show(args, &source, host, out);
    };
    file.write(&content)?;
    out.say(file.path().display().to_string())
}

/// Returns what to show. Several sources, or one with `--with`, are recordings or folders of
/// recordings. Without `--with`, a single source is a map, unless it is a file that does not end in
/// `.txt` or `.png`, a folder without `layout.png`, or a missing path that ends in `.jsonl` or
/// `.gz`.
fn source(args: &ViewArgs) -> Result<Source> {
    let is_map = |path: &Path| {
        let kind = path.extension().unwrap_or_default().to_ascii_lowercase();
        let is_drawn = if path.is_file() { kind == "txt" || kind == "png" } else { kind != "jsonl" && kind != "gz" };
        if path.is_dir() { path.join("layout.png").exists() } else { is_drawn }
    };
    let paths: Vec<PathBuf> = args.sources.iter().map(PathBuf::from).collect();
    Ok(match &paths[..] {
        [] => Source::Nothing,
        [path] if args.with.is_none() && is_map(path) => Source::Map(Box::new(args.maps.find(&args.sources[0])?)),
        paths => Source::Recordings(list_files(paths)?),
    })
}

/// Returns the only recording. Fails if there are several, because the output shows one game.
fn single(paths: &[PathBuf]) -> Result<&Path> {
    let [path] = paths else {
        return Err(invalid!("{} recordings: expected one for an image, a video or --with", paths.len()));
    };
    Ok(path)
}

fn page(args: &ViewArgs, source: &Source, host: Option<&dyn PlannerHost>) -> Result<Page> {
    let playground = args.playground.as_deref();
    let paths = match source {
        Source::Nothing => return Ok(Page::new(PageSource::Engine(EngineKind::Worker), None)),
        Source::Map(_) => return Ok(Page::new(PageSource::Replay(&replay(args, source, host)?), playground)),
        Source::Recordings(paths) => paths,
    };
    let log = read(single(paths)?, args.with.as_deref(), &args.maps, &args.rules)?;
    let analysis = Analysis::of_log(&log, Budget::ticks(ANALYSIS_TICKS), &mut |_| true);
    let line = analysis.line_replay(&log.world, log.ticks.iter().filter_map(|logged| logged.state.as_ref()));
    Ok(Page::new(PageSource::Analysed(&Replay::of_log(&log), &analysis, line.as_ref()), playground))
}

/// Returns the games of `paths`, and the errors of files that cannot be read. Fails if no file can
/// be read. With `--with`, also fails if `paths` has several files, or if the recordings cannot be
/// merged.
fn library(args: &ViewArgs, paths: &[PathBuf]) -> Result<GameLibrary> {
    let (rules, maps) = (args.rules.given()?, known_maps(&args.maps)?);
    let merge = |with: &PathBuf| read_log(single(paths)?, Some(with), rules.as_ref(), &maps);
    let merged = args.with.as_ref().map(merge).transpose()?;
    let mut games = GameLibrary::new(rules, maps);
    match (merged, paths) {
        (Some(log), _) => games.add_log(log).map(drop)?,
        (None, [path]) => games.add(&RecordingSource::File(path.clone())).map(drop)?,
        (None, paths) => paths.iter().try_for_each(|path| games.add_file(path))?,
    }
    let (errors, all) = (games.errors(), paths.len());
    if errors.len() == all {
        return Err(invalid!("none of the {all} recordings can be read; first error: {}", errors[0]));
    }
    Ok(games)
}

fn write_gallery(args: &ViewArgs, paths: &[PathBuf], folder: &Path, out: &mut impl Write) -> Result {
    let failed = |error| invalid!("cannot create the folder {}: {error}", folder.display());
    let games = library(args, paths)?;
    fs::create_dir_all(folder).map_err(failed)?;
    let index = args.output.file(folder.join("index.html"))?;
    let output = |(number, name): (u64, String)| Ok((number, args.output.file(folder.join(format!("{name}.html")))?));
    let outputs: Vec<(u64, OutputFile)> = games.names().into_iter().map(output).collect::<Result<_>>()?;
    let progress = Progress::of(outputs.len() as u64, "games");
    outputs.par_iter().try_for_each(|(number, file)| {
        let page = games.page(*number, Budget::ticks(ANALYSIS_TICKS), args.playground.as_deref());
        progress.inc(1);
        file.write(page.expect("a game of the library").html.as_bytes())
    })?;
    drop(progress);
    index.write(Page::new(PageSource::Gallery(&games.list()), None).html.as_bytes())?;
    games.errors().iter().for_each(|error| note(error));
    out.say(index.path().display().to_string())
}

fn replay(args: &ViewArgs, source: &Source, host: Option<&dyn PlannerHost>) -> Result<Replay> {
    match source {
        Source::Nothing => Err(invalid!("no game: expected a recording or a map")),
        Source::Recordings(paths) => {
            Ok(Replay::of_log(&read(single(paths)?, args.with.as_deref(), &args.maps, &args.rules)?))
        }
        Source::Map(map) => {
            if args.planner == HUMAN {
                return Err(invalid!("--planner {HUMAN} plays on the page: expected no output file"));
            }
            let (world, mut player) = world_and_player(args, map, host)?;
            let (mut states, progress) = (Vec::new(), Progress::of(LAST_TICK.into(), "ticks"));
            play(&args.bot, &mut player, &world, |state, _| {
                progress.inc(1);
                states.push(state.clone());
            })?;
            Ok(Replay::of_states(&map.name, Entrant::parse(&args.planner).label(), &world, &states))
        }
    }
}

fn ensure_ffmpeg(path: &Path) -> Result {
    let name = path.display();
    if !path.extension().is_some_and(|extension| extension == "mp4" || extension == "webm") {
        return Err(invalid!("{name}: expected a name that ends in .mp4 or .webm"));
    }
    let found = Command::new("ffmpeg").arg("-version").stdin(Stdio::null()).output();
    let is_found = found.is_ok_and(|output| output.status.success());
    if is_found { Ok(()) } else { Err(invalid!("cannot make {name}: cannot run ffmpeg (try --gif)")) }
}

fn video(path: &Path, animation: &[u8]) -> Result<Vec<u8>> {
    let make = || {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("input.gif"), folder.path().join(path.file_name().unwrap_or_default()));
        fs::write(&from, animation)?;
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(["-loglevel", "error", "-y", "-i"]).arg(&from);
        // Most video players need an even width and height and this pixel format.
        ffmpeg.args(["-pix_fmt", "yuv420p", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]).arg(&to);
        let output = ffmpeg.stdin(Stdio::null()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        fs::read(&to)
    };
    make().map_err(|error| invalid!("cannot make {}: {error}", path.display()))
}

fn world_and_player(args: &ViewArgs, map: &Map, host: Option<&dyn PlannerHost>) -> Result<(World, Player)> {
    let rules = args.rules.rules()?;
    let options = BotOptions { seed: args.seed, rules, ..BotOptions::default() };
    Ok((world_of(map, &rules)?, PlayerSpec::find(&Entrant::parse(&args.planner), host)?.player(options)?))
}

/// Plays a game, and passes every state to `show`. Notes the mistakes and the failure of a bot.
fn play(bot: &BotArgs, player: &mut Player, world: &World, mut show: impl FnMut(&State, Option<&WireNotes>)) -> Result {
    let played = bot.play(player, world, &mut |state, answer| match answer {
        Answer::Command { wire, .. } => show(state, Some(&wire)),
        Answer::Decision(_) => show(state, None),
    })?;
    if let Some(record) = played.record.external {
        if !record.mistakes.is_empty() {
            note(&record.mistakes.words());
        }
        if let Err(error) = bot_failure(&record) {
            note(&error.to_string());
        }
    }
    show(&played.state, None);
    Ok(())
}

fn show(args: &ViewArgs, source: &Source, host: Option<&dyn PlannerHost>, out: &mut impl Write) -> Result {
    let games = match source {
        Source::Nothing => Games::None,
        Source::Recordings(paths) => Games::Recorded(library(args, paths)?),
        Source::Map(map) if args.planner == HUMAN => {
            let rules = args.rules.rules()?;
            world_of(map, &rules)?;
            Games::Start(Box::new(Game::on((**map).clone(), rules)))
        }
        Source::Map(map) => {
            let (world, mut player) = world_and_player(args, map, host)?;
            let (world, live) = (Arc::new(world), Arc::new(LiveReplay::default()));
            live.begin(&map.name, Entrant::parse(&args.planner).label(), Arc::clone(&world));
            // If `play` fails, the page shows the states before the failure.
            let (shown, bot) = (Arc::clone(&live), args.bot.clone());
            let show = move |state: &State, wire: Option<&WireNotes>| {
                live.push(state);
                wire.into_iter().for_each(|wire| live.note(wire));
            };
            let play = move || play(&bot, &mut player, &world, show);
            let started = thread::Builder::new().name("player".to_owned()).spawn(play);
            started.map_err(|error| invalid!("cannot start a thread: {error}"))?;
            Games::Live(shown)
        }
    };
    let failed = |error: io::Error| {
        let hint = if error.kind() == io::ErrorKind::AddrInUse { " (try --port 0)" } else { "" };
        invalid!("cannot listen on port {}: {error}{hint}", args.port)
    };
    let server = ViewerServer::bind(args.port, Engine::new(games)).map_err(failed)?;
    let url = format!("http://{}/", server.local_addr().map_err(failed)?);
    writeln!(out, "{url}")?;
    out.flush()?;
    if !args.no_open && io::stdout().is_terminal() {
        open(&url);
    }
    server.run();
    Ok(())
}

/// Opens the browser. Ignores errors, because the user can open the printed address.
fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let _ = Command::new(program).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
