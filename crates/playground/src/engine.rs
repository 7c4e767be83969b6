//! Answers requests from the page.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use getaway::files;
use getaway::game::{Layout, Move, Plan, Rules, State, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, Map, decode_layout, encode_layout, generate};
use getaway::planner::{PlannerSpec, PlannerSpecError, names, signature};
use getaway::protocol::to_json;
use getaway::search::Budget;
use getaway::solve::{Certificate, CertificateError, Solution, Solver, SolverOptions};
use getaway_verifier::verify_within;
use getaway_viewer::{
    ANALYSIS_TICKS, Analysis, Game, GameLibrary, GameLog, LiveReplay, PlayedGame, RecordingSource, Replay, body,
    bundled_maps, decode, encode, pack,
};

use crate::judge::judge;
use crate::rules::Form;

/// Number of decisions between two reports of a planner's moves.
const REPORT_TICKS: usize = 20;
const GIF_FRAME_HUNDREDTHS: u16 = 10;
/// From 1, which finds the best colours, to 30, which is the fastest.
const GIF_SPEED: i32 = 20;
/// Maximum steps of a verification. The command line allows more.
const VERIFY_STEPS_MAX: u64 = 10_000_000_000;

/// The arguments of many requests, each of which uses some of them.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Arguments {
    game: Option<Game>,
    /// The number of moves made before the position.
    index: usize,
    /// The moves of the game that the page shows, if it differs only in its moves. The replay omits
    /// the frames before the first change.
    shown: Option<Plan>,
    planner: String,
    seed: u64,
    budget_ticks: u64,
    /// The number of a recording in the library, or of the running game.
    number: Option<u64>,
    /// The name of the attached recording.
    name: String,
    /// The first frame of the answer.
    from: usize,
    kind: GeneratorKind,
    width: i32,
    height: i32,
    threats: usize,
    styles: Vec<Style>,
    braid_permille: u32,
}

impl Arguments {
    fn game(&self) -> Result<&Game, String> {
        self.game.as_ref().ok_or_else(|| "missing game".to_owned())
    }
}

#[derive(Serialize)]
struct Start<'a> {
    maps: &'static [Map],
    planners: Vec<PlannerName>,
    rules: Rules,
    /// `demo`, `game`, `recorded` or `live`: what the page opens with.
    opening: &'static str,
    game: Option<&'a Game>,
}

#[derive(Serialize)]
struct PlannerName {
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct Solved<'a> {
    solution: &'a Solution,
    is_optimal: bool,
    certificate: Option<String>,
}

#[derive(Serialize)]
struct Verified {
    final_tick: u16,
    bound_tick: u16,
    steps: u64,
    rules: Rules,
}

/// The games of the page's server.
#[derive(Default)]
pub enum Games {
    #[default]
    None,
    /// The user plays this game from its start.
    Start(Box<Game>),
    Recorded(GameLibrary),
    Live(Arc<LiveReplay>),
}

#[derive(Default)]
pub struct Engine {
    games: Games,
    played: Mutex<Option<(Game, PlayedGame)>>,
}

/// Called with each intermediate answer. Returns false to stop the work, for example because the
/// client has left.
type Report<'a> = &'a mut dyn FnMut(&str) -> bool;

impl Engine {
    pub fn new(games: Games) -> Self {
        Self { games, ..Self::default() }
    }

    /// The first line of a request, and the rest.
    pub fn split(request: &[u8]) -> (Cow<'_, str>, &[u8]) {
        let end = request.iter().position(|&byte| byte == b'\n').unwrap_or(request.len());
        (String::from_utf8_lossy(&request[..end]), request.get(end + 1..).unwrap_or_default())
    }

    /// Like [`answer`](Self::answer); the arguments are the first line, and the attachment is the
    /// rest.
    pub fn answer_line(&self, name: &str, request: &[u8], report: Report<'_>) -> Result<Vec<u8>, String> {
        let (arguments, attachment) = Self::split(request);
        self.answer(name, &arguments, attachment, report)
    }

    /// Answers the request `name`. `arguments` are in JSON, `attachment` contains the bytes of the
    /// file, if any, and `report` receives each intermediate answer.
    ///
    /// | name | arguments | answer |
    /// |---|---|---|
    /// | `start` | null | the bundled maps, the planners, the server's rules, and what to open |
    /// | `generate` | kind, width, height, threats, styles, braid_permille, seed | a map |
    /// | `map_file` | null, with a picture or a text map | a layout |
    /// | `encode_drawing` | a layout | the map as text |
    /// | `encode_png` | a layout | the image |
    /// | `rules` | rules | a form |
    /// | `replay` | game, shown | a packed replay |
    /// | `live` | number, from | a packed replay of the running game; nothing before the first game |
    /// | `games` | null, or name with a file | the list of the library, or of the file |
    /// | `judge` | game, index | a judgement of the moves in this position |
    /// | `play` | game, index, planner, seed, budget_ticks | the planner's further moves |
    /// | `solve` | game, seed, budget_ticks | the longest line, the bound and the certificate |
    /// | `verify` | game, with a file | what the certificate proves about the map |
    /// | `analyse` | game | why the game was lost |
    /// | `recording` | number, or name with a file | a packed replay |
    /// | `recording_analysis` | number, or name with a file | why the game was lost |
    /// | `gif` | width, height, with the frames in RGBA | an animation of ten frames per second |
    /// | `encode` | game, index | an address |
    /// | `decode` | an address | game, index |
    /// | `signature` | null | the search signature on the bundled maps |
    pub fn answer(
        &self,
        name: &str,
        arguments: &str,
        attachment: &[u8],
        report: Report<'_>,
    ) -> Result<Vec<u8>, String> {
        match name {
            "replay" => self.replay(parse(arguments)?),
            "start" => self.start(),
            "live" => self.live(&parse(arguments)?),
            "games" => self.list(arguments, attachment),
            "generate" => generate_map(parse(arguments)?),
            "map_file" if attachment.starts_with(files::PNG_MAGIC) => {
                json(&decode_layout(attachment).map_err(sentence)?)
            }
            "map_file" => json(&Layout::parse(&files::text(attachment).map_err(sentence)?).map_err(sentence)?),
            "encode_drawing" => Ok((parse::<Layout>(arguments)?.rows().join("\n") + "\n").into_bytes()),
            "encode_png" => encode_layout(&parse::<Layout>(arguments)?).map_err(sentence),
            "rules" => json(&Form::of(&parse(arguments)?)?),
            "judge" => judge_moves(&parse(arguments)?, report),
            "play" => play(&parse(arguments)?, report),
            "solve" => solve(&parse(arguments)?, report),
            "verify" => verify(&parse(arguments)?, attachment),
            "analyse" => analyse(parse(arguments)?, report),
            "recording" => Ok(body(&pack(&Replay::of_log(&*self.log(arguments, attachment)?), 0, 0))),
            "recording_analysis" => {
                let (log, budget) = (self.log(arguments, attachment)?, Budget::ticks(ANALYSIS_TICKS));
                json(&Analysis::of_log(&log, budget, &mut |ticks| report(&ticks.to_string())))
            }
            "gif" => animation(&parse(arguments)?, attachment),
            "encode" => Ok(encode(&parse(arguments)?)?.into_bytes()),
            "decode" => json(&decode(&parse::<String>(arguments)?)?),
            "signature" => {
                let layouts: Vec<Layout> = bundled_maps().iter().map(|map| map.layout.clone()).collect();
                Ok(signature(&layouts, 1).map_err(sentence)?.into_bytes())
            }
            _ => Err(format!("unknown request {name:?}")),
        }
    }

    fn start(&self) -> Result<Vec<u8>, String> {
        let planners = names().map(|(name, about)| PlannerName { name, about }).collect();
        let (opening, game) = match &self.games {
            Games::None => ("demo", None),
            Games::Start(game) => ("game", Some(&**game)),
            Games::Recorded(_) => ("recorded", None),
            Games::Live(_) => ("live", None),
        };
        json(&Start { maps: bundled_maps(), planners, rules: Rules::BLITZ_2025, opening, game })
    }

    fn replay(&self, arguments: Arguments) -> Result<Vec<u8>, String> {
        let Arguments { game: Some(game), shown, .. } = arguments else { return Err("missing game".to_owned()) };
        let mut kept = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            kept.take().filter(|(last, _)| last.name == game.name && last.map == game.map && last.rules == game.rules);
        let mut played = match same {
            Some((_, played)) => played,
            None => PlayedGame::new(&game.name, "", Arc::new(game.world()?)),
        };
        played.play(&game.moves);
        let is_same = |(before, now): &(&Move, &Move)| before == now;
        let from = shown.map_or(0, |shown| 1 + shown.iter().zip(played.moves()).take_while(is_same).count());
        let packed = played.pack(from);
        *kept = Some((game, played));
        Ok(body(&packed))
    }

    fn live(&self, &Arguments { number, from, .. }: &Arguments) -> Result<Vec<u8>, String> {
        let Games::Live(live) = &self.games else { return Err("no game is running".to_owned()) };
        Ok(live.pack(number.unwrap_or(0), from).map(|packed| body(&packed)).unwrap_or_default())
    }

    fn list(&self, arguments: &str, attachment: &[u8]) -> Result<Vec<u8>, String> {
        if let Some(Arguments { name, .. }) = parse(arguments)? {
            let mut one = GameLibrary::default();
            one.add_log(read_log(name, attachment)?).map_err(sentence)?;
            return Ok(one.list().into_bytes());
        }
        match &self.games {
            Games::Recorded(library) => Ok(library.list().into_bytes()),
            _ => Ok(b"[]".to_vec()),
        }
    }

    fn log(&self, arguments: &str, attachment: &[u8]) -> Result<Arc<GameLog>, String> {
        match (parse(arguments)?, &self.games) {
            (Arguments { number: Some(number), .. }, Games::Recorded(library)) => {
                library.log(number).ok_or_else(|| format!("no recording {number}"))
            }
            (Arguments { name, .. }, _) => read_log(name, attachment).map(Arc::new),
        }
    }
}

fn read_log(name: String, bytes: &[u8]) -> Result<GameLog, String> {
    let source = RecordingSource::Memory(name.into(), bytes.into());
    GameLog::read(&source, None, bundled_maps()).map_err(sentence)
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, String> {
    Ok(to_json(value).into_bytes())
}

fn parse<'a, T: Deserialize<'a>>(arguments: &'a str) -> Result<T, String> {
    serde_json::from_str(arguments).map_err(sentence)
}

fn sentence(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn generate_map(request: Arguments) -> Result<Vec<u8>, String> {
    let Arguments { kind, width, height, threats, styles, braid_permille, seed, .. } = request;
    let styles = if styles.is_empty() { Style::ALL.to_vec() } else { styles };
    let options = GeneratorOptions { kind, width, height, threats, styles, braid_permille };
    json(&generate(&options, seed).map_err(sentence)?)
}

fn animation(&Arguments { width, height, .. }: &Arguments, frames: &[u8]) -> Result<Vec<u8>, String> {
    let [width, height] = [width, height].map(|side| u16::try_from(side).unwrap_or_default());
    let bytes = 4 * usize::from(width) * usize::from(height);
    if bytes == 0 || !frames.len().is_multiple_of(bytes) {
        return Err(format!("{} bytes: expected whole frames of {width}x{height} pixels", frames.len()));
    }
    let mut animation = Vec::new();
    let mut encoder = gif::Encoder::new(&mut animation, width, height, &[]).map_err(sentence)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(sentence)?;
    for pixels in frames.chunks_exact(bytes) {
        let mut frame = gif::Frame::from_rgba_speed(width, height, &mut pixels.to_vec(), GIF_SPEED);
        frame.delay = GIF_FRAME_HUNDREDTHS;
        encoder.write_frame(&frame).map_err(sentence)?;
    }
    drop(encoder);
    Ok(animation)
}

fn state_at(arguments: &Arguments) -> Result<(World, State), String> {
    let (game, index) = (arguments.game()?, arguments.index);
    let world = game.world()?;
    let mut state = world.start();
    let moves =
        game.moves.get(..index).ok_or_else(|| format!("position {index}: expected 0 to {}", game.moves.len()))?;
    world.play(&mut state, moves);
    Ok((world, state))
}

fn judge_moves(arguments: &Arguments, report: Report<'_>) -> Result<Vec<u8>, String> {
    let (world, state) = state_at(arguments)?;
    if state.is_over() {
        return Err("the game is over".to_owned());
    }
    json(&judge(&world, &state, |judgement| report(&to_json(judgement))))
}

fn analyse(game: Game, report: Report<'_>) -> Result<Vec<u8>, String> {
    let world = game.world()?;
    let states = world.states_along(&world.start(), &game.moves);
    json(&Analysis::of_states(&world, &states, Some(game.name), Budget::ticks(ANALYSIS_TICKS), &mut |ticks| {
        report(&ticks.to_string())
    }))
}

fn play(request: &Arguments, report: Report<'_>) -> Result<Vec<u8>, String> {
    let Arguments { planner, seed, budget_ticks, .. } = request;
    let spec: PlannerSpec = planner.parse().map_err(|error: PlannerSpecError| sentence(error))?;
    let (world, mut state) = state_at(request)?;
    let mut planner = spec.build(*seed);
    let mut moves = Vec::new();
    while !state.is_over() {
        let choice = planner.decide(&world, &state, Budget::ticks(*budget_ticks)).map_err(sentence)?;
        world.step_unchecked(&mut state, choice.player_move);
        moves.push(choice.player_move);
        if moves.len() % REPORT_TICKS == 0 && !report(&to_json(&Plan::from(&moves[..]))) {
            break;
        }
    }
    json(&Plan::from(moves))
}

fn solve(request: &Arguments, report: Report<'_>) -> Result<Vec<u8>, String> {
    let Arguments { seed, budget_ticks, .. } = *request;
    let world = request.game()?.world()?;
    let mut solver = Solver::new(SolverOptions { seed, ..SolverOptions::default() });
    let (mut simulated_ticks, mut spent) = (0, 0);
    loop {
        let mut solution = solver.advance(&world, &world.start(), Budget::ticks(budget_ticks - spent));
        simulated_ticks += solution.simulated_ticks;
        // Count at least one tick per job, so that the loop ends even if the jobs do no work.
        spent = budget_ticks.min(spent + solution.simulated_ticks.max(1));
        let is_optimal = solution.is_optimal();
        solution.simulated_ticks = simulated_ticks;
        let found = Solved { solution: &solution, is_optimal, certificate: None };
        if is_optimal || spent == budget_ticks || !report(&to_json(&found)) {
            let certificate = Certificate::new(&world, &solution).expect("a solution for the start").to_string();
            return json(&Solved { certificate: Some(certificate), ..found });
        }
    }
}

fn verify(game: &Game, certificate: &[u8]) -> Result<Vec<u8>, String> {
    let text = files::text(certificate).map_err(sentence)?;
    let certificate: Certificate = text.parse().map_err(|error: CertificateError| sentence(error))?;
    certificate.rules.validate().map_err(|error| format!("line 1: {error}"))?;
    let steps = verify_within(&certificate, &game.map, VERIFY_STEPS_MAX).map_err(sentence)?;
    let Certificate { final_tick, bound_tick, rules, .. } = certificate;
    json(&Verified { final_tick, bound_tick, steps, rules })
}
