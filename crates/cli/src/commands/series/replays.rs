//! Makes the replays of a report. They do not depend on the number of threads.

use std::collections::{HashMap, HashSet};

use getaway::game::World;
use getaway::search::Budget;
use getaway_arena::{GameRecord, Games, ReportReplays, Series};
use getaway_viewer::{ANALYSIS_TICKS, Analysis, Page, PageSource, Replay, game_json};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::arguments::GamesArgs;
use crate::output::Progress;
use crate::{Result, invalid};

/// Number of final frames with annotations, which take up most of a replay's space.
const ANNOTATED_FRAMES: usize = 200;
/// Maximum total size of the replays. Replays that would exceed it are left out.
const REPLAYS_MAX_BYTES: usize = 12 << 20;
/// Number of replays made in parallel before the size limit is checked.
const CHUNK: usize = 64;
const ANALYSES_MAX: usize = 64;
/// Total budget of the analyses in simulated ticks: about ten seconds on one core.
const ANALYSES_TICKS: u64 = 48_000_000;

/// Returns the replays of distinct games, lost games first, up to the size limit.
pub fn report_replays(series: &Series, games: &Games, args: &GamesArgs) -> Result<ReportReplays> {
    let threads = args.workers.threads();
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| invalid!("cannot start {threads} threads: {error}"))?;
    let group = |index: usize| {
        let game = games[index].as_ref()?;
        Some((series.key(index).planner, &game.map, &game.moves))
    };
    let mut seen = HashSet::new();
    let mut firsts: Vec<usize> =
        (0..games.len()).filter(|&index| group(index).is_some_and(|group| seen.insert(group))).collect();
    let is_survived = |index: &usize| games[*index].as_ref().is_some_and(GameRecord::survived);
    firsts.sort_by_key(is_survived);
    let analysed = firsts.partition_point(|index| !is_survived(index)).min(ANALYSES_MAX);
    let budget = Budget::ticks(ANALYSIS_TICKS.min(ANALYSES_TICKS / analysed.max(1) as u64));
    let progress = Progress::of(firsts.len() as u64, "replays for the report");
    let make = |place: usize| {
        let index = firsts[place];
        let game = games[index].as_ref()?;
        let made = replay_json(&series.maps[series.key(index).map].world, game, (place < analysed).then_some(budget));
        progress.inc(1);
        made
    };
    let mut made = ReportReplays { viewer: Page::halves(args.playground.as_deref()), ..ReportReplays::default() };
    let (mut places, mut bytes) = (HashMap::new(), 0);
    for start in (0..firsts.len()).step_by(CHUNK) {
        let end = (start + CHUNK).min(firsts.len());
        let chunk: Vec<Option<String>> = pool.install(|| (start..end).into_par_iter().map(make).collect());
        for (place, json) in (start..end).zip(chunk) {
            let Some(json) = json.filter(|json| bytes + json.len() <= REPLAYS_MAX_BYTES) else { continue };
            bytes += json.len();
            places.insert(group(firsts[place]), made.replays.len());
            made.replays.push(json);
        }
        if bytes + REPLAYS_MAX_BYTES / 50 > REPLAYS_MAX_BYTES {
            break;
        }
    }
    made.of_game = (0..games.len()).map(|index| places.get(&group(index)).copied()).collect();
    Ok(made)
}

/// Returns the replay of a game as JSON, with an analysis of the game if `budget` is given, or `None`
/// if the recorded moves do not reproduce the game.
pub(crate) fn replay_json(world: &World, game: &GameRecord, budget: Option<Budget>) -> Option<String> {
    let states = game.states(world).ok()?;
    let mut replay = Replay::of_branch(&game.map, &game.planner, world, &states, ANNOTATED_FRAMES);
    replay.header.map = Some(game.map.clone());
    replay.header.planner = Some(game.planner.clone());
    let failed = game
        .failure()
        .map(|failure| format!("The bot failed at tick {} ({}: {}). ", failure.tick, failure.kind, failure.detail));
    let plans = if states.len() > ANNOTATED_FRAMES {
        format!(
            "Annotations, such as the threats' plans and the close calls, are kept for the last {ANNOTATED_FRAMES} ticks only."
        )
    } else {
        String::new()
    };
    replay.note = Some(failed.unwrap_or_default() + &plans).filter(|note| !note.is_empty());
    let Some(budget) = budget else { return Some(game_json(PageSource::Replay(&replay))) };
    let analysis = Analysis::of_states(world, &states, Some(game.map.clone()), budget, &mut |_| true);
    let line = analysis.line_replay(world, states.iter());
    Some(game_json(PageSource::Analysed(&replay, &analysis, line.as_ref())))
}
