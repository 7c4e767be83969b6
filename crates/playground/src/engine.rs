//! Answers requests from the page.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use getaway::files;
use getaway::game::{Layout, Plan, Rules, State, Style, World};
use getaway::map::{GeneratorKind, GeneratorOptions, Map, MapLibrary, decode_layout, encode_layout, generate};
use getaway::planner::{Budget, NAMES, PlannerError, PlannerSpec, signature};
use getaway::protocol::to_json;
use getaway::solve::{Certificate, CertificateError, Solution, Solver, SolverOptions};
use getaway_verifier::verify_within;
use getaway_viewer::{ANALYSIS_TICKS, Analysis, GameLog, PlayedGame, RecordingSource, Replay, body, pack};

use crate::address::{decode, encode};
use crate::game::Game;
use crate::judge::judge;
use crate::rules::Form;

/// Number of decisions between two reports of a planner's moves.
const REPORT_TICKS: usize = 20;
/// Maximum steps of a verification. The command line allows more.
const VERIFY_STEPS_MAX: u64 = 10_000_000_000;

/// A position: a game, and the number of moves made before the position.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct At {
    game: Game,
    index: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GenerateRequest {
    /// `maze`, `labyrinth` or `city`.
    kind: String,
    width: i32,
    height: i32,
    threats: usize,
    styles: Vec<Style>,
    braid_permille: u32,
    seed: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayRequest {
    game: Game,
    /// If false, and the game differs from that of the last `replay` request only in its moves, the
    /// replay omits the frames before the first change.
    is_whole: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlayRequest {
    game: Game,
    index: usize,
    planner: String,
    seed: u64,
    budget_ticks: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SolveRequest {
    game: Game,
    seed: u64,
    budget_ticks: u64,
}

#[derive(Serialize)]
struct Start {
    maps: Vec<Map>,
    planners: Vec<PlannerName>,
    rules: Rules,
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

#[derive(Debug, Default)]
pub struct Engine {
    played: Option<(Game, PlayedGame)>,
}

impl Engine {
    /// Answers the request `name`. `arguments` are in JSON, `attachment` contains the bytes of the
    /// file, if any, and `report` receives each intermediate answer.
    ///
    /// | name | arguments | answer |
    /// |---|---|---|
    /// | `start` | null | the bundled maps, the planners and the server's rules |
    /// | `generate` | kind, width, height, threats, styles, braid_permille, seed | a map |
    /// | `map_file` | null, with a picture or a text map | a layout |
    /// | `encode_drawing` | a layout | the map as text |
    /// | `encode_png` | a layout | the image |
    /// | `rules` | rules | a form |
    /// | `replay` | game, is_whole | a packed replay |
    /// | `judge` | game, index | a judgement of the moves in this position |
    /// | `play` | game, index, planner, seed, budget_ticks | the planner's further moves |
    /// | `solve` | game, seed, budget_ticks | the longest line, the bound and the certificate |
    /// | `verify` | game, with a file | what the certificate proves about the map |
    /// | `analyse` | game | why the game was lost |
    /// | `recording_replay` | the file's name, with the file | a packed replay |
    /// | `recording_game` | the file's name, with the file | the game up to the first divergence |
    /// | `recording_analysis` | the file's name, with the file | why the game was lost |
    /// | `encode` | game, index | an address |
    /// | `decode` | an address | game, index |
    /// | `signature` | null | the search signature on the bundled maps |
    pub fn answer(
        &mut self,
        name: &str,
        arguments: &str,
        attachment: &[u8],
        report: &mut dyn FnMut(&str),
    ) -> Result<Vec<u8>, String> {
        match name {
            "replay" => self.replay(parse(arguments)?),
            "start" => start(),
            "generate" => generate_map(parse(arguments)?),
            "map_file" if attachment.starts_with(b"\x89PNG") => json(&decode_layout(attachment).map_err(sentence)?),
            "map_file" => json(&Layout::parse(&files::text(attachment).map_err(sentence)?).map_err(sentence)?),
            "encode_drawing" => Ok((parse::<Layout>(arguments)?.rows().join("\n") + "\n").into_bytes()),
            "encode_png" => encode_layout(&parse::<Layout>(arguments)?).map_err(sentence),
            "rules" => json(&Form::of(&parse(arguments)?)?),
            "judge" => judge_moves(&parse(arguments)?, report),
            "play" => play(&parse(arguments)?, report),
            "solve" => solve(&parse(arguments)?, report),
            "verify" => verify(&parse::<Game>(arguments)?, attachment),
            "analyse" => analyse(parse(arguments)?),
            "recording_replay" => Ok(body(&pack(&Replay::of_log(&log(arguments, attachment)?), 0, 0))),
            "recording_game" => json(&Game::of_log(&log(arguments, attachment)?)),
            "recording_analysis" => {
                json(&Analysis::of_log(&log(arguments, attachment)?, Budget::ticks(ANALYSIS_TICKS)))
            }
            "encode" => Ok(encode(&parse(arguments)?)?.into_bytes()),
            "decode" => json(&decode(&parse::<String>(arguments)?)?),
            "signature" => {
                let layouts: Vec<Layout> = bundled_maps()?.into_iter().map(|map| map.layout).collect();
                Ok(signature(&layouts, 1).map_err(sentence)?.into_bytes())
            }
            _ => Err(format!("unknown request {name:?}")),
        }
    }

    fn replay(&mut self, ReplayRequest { game, is_whole }: ReplayRequest) -> Result<Vec<u8>, String> {
        let played = self
            .played
            .take()
            .filter(|(last, _)| last.name == game.name && last.map == game.map && last.rules == game.rules);
        let is_known = played.is_some() && !is_whole;
        let mut played = match played {
            Some((_, played)) => played,
            None => PlayedGame::new(&game.name, "", Arc::new(game.world()?)),
        };
        let changed = played.play(&game.moves);
        let packed = played.pack(if is_known { changed } else { 0 });
        self.played = Some((game, played));
        Ok(body(&packed))
    }
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

fn log(arguments: &str, bytes: &[u8]) -> Result<GameLog, String> {
    let source = RecordingSource::Memory(parse::<String>(arguments)?.into(), bytes.into());
    GameLog::read(&source, None, &bundled_maps()?).map_err(sentence)
}

fn bundled_maps() -> Result<Vec<Map>, String> {
    let entries = MapLibrary::with_bundled([""; 0]).list().map_err(sentence)?;
    entries.iter().map(|entry| entry.load().map_err(sentence)).collect()
}

fn start() -> Result<Vec<u8>, String> {
    let planners = NAMES.into_iter().map(|(name, about)| PlannerName { name, about }).collect();
    json(&Start { maps: bundled_maps()?, planners, rules: Rules::BLITZ_2025 })
}

fn generate_map(request: GenerateRequest) -> Result<Vec<u8>, String> {
    let GenerateRequest { kind, width, height, threats, styles, braid_permille, seed } = request;
    let kinds = [GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City];
    let kind = kinds.into_iter().find(|found| found.name() == kind).ok_or("unknown kind of map")?;
    let styles = if styles.is_empty() { Style::ALL.to_vec() } else { styles };
    let options = GeneratorOptions { kind, width, height, threats, styles, braid_permille };
    json(&generate(&options, seed).map_err(sentence)?)
}

fn state_at(game: &Game, index: usize) -> Result<(World, State), String> {
    let world = game.world()?;
    let mut state = world.start();
    let moves =
        game.moves.get(..index).ok_or_else(|| format!("position {index}: expected 0 to {}", game.moves.len()))?;
    world.play_moves(&mut state, moves);
    Ok((world, state))
}

fn judge_moves(At { game, index }: &At, report: &mut dyn FnMut(&str)) -> Result<Vec<u8>, String> {
    let (world, state) = state_at(game, *index)?;
    if state.is_over() {
        return Err("the game is over".to_owned());
    }
    json(&judge(&world, &state, |judgement| report(&to_json(judgement))))
}

fn analyse(game: Game) -> Result<Vec<u8>, String> {
    let world = game.world()?;
    let states = world.states_along(&world.start(), &game.moves);
    json(&Analysis::of_states(&world, &states, Some(game.name), Budget::ticks(ANALYSIS_TICKS)))
}

fn play(request: &PlayRequest, report: &mut dyn FnMut(&str)) -> Result<Vec<u8>, String> {
    let PlayRequest { game, index, planner, seed, budget_ticks } = request;
    let spec: PlannerSpec = planner.parse().map_err(|error: PlannerError| sentence(error))?;
    let (world, mut state) = state_at(game, *index)?;
    let mut planner = spec.build(*seed);
    let mut moves = Vec::new();
    while !state.is_over() {
        let choice = planner.decide(&world, &state, Budget::ticks(*budget_ticks)).map_err(sentence)?;
        world.step(&mut state, choice.player_move);
        moves.push(choice.player_move);
        if moves.len() % REPORT_TICKS == 0 {
            report(&to_json(&Plan::from(&moves[..])));
        }
    }
    json(&Plan::from(moves))
}

fn solve(request: &SolveRequest, report: &mut dyn FnMut(&str)) -> Result<Vec<u8>, String> {
    let SolveRequest { ref game, seed, budget_ticks } = *request;
    let world = game.world()?;
    let mut solver = Solver::new(SolverOptions { seed, ..SolverOptions::default() });
    let (mut simulated_ticks, mut spent) = (0, 0);
    loop {
        let found = solver.advance(&world, &world.start(), Budget::ticks(budget_ticks - spent));
        simulated_ticks += found.simulated_ticks;
        // Count at least one tick per job, so that the loop ends even if the jobs do no work.
        spent = budget_ticks.min(spent + found.simulated_ticks.max(1));
        let is_optimal = found.is_optimal();
        let solution = Solution { simulated_ticks, ..found };
        if is_optimal || spent == budget_ticks {
            let certificate = Certificate::new(world.rules(), &solution).to_string();
            return json(&Solved { solution: &solution, is_optimal, certificate: Some(certificate) });
        }
        report(&to_json(&Solved { solution: &solution, is_optimal, certificate: None }));
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
