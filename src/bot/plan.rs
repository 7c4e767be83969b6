//! The plan and decide stages use the first of these methods that applies:
//!
//! - `fallback`, which predicts nothing, if no time is left or the game cannot be simulated;
//! - if the moves of some threats cannot be predicted (*unmodelled* threats), `smitsimax`, or the
//!   cautious planner if there are too many such threats or the map is large;
//! - in a game joined late, until the threats' memories are known, a hedged plan (`hedge`), if one
//!   is found;
//! - a safe exploring step (`exploration`), if one is found;
//! - the table of attempts (`attempts`), from the row for the [`Doubt`] on. `exploration` checks the
//!   plan once a tile has refused the player.
//!
//! All but the first two need the default planner and a map of at most [`COPIED_TILES_MAX`] open
//! tiles. With another planner, or on a larger map, the planner decides.
//!
//! The threats' next moves are in doubt if the bot has learnt rules in this game, if earlier games
//! cast doubt on the rules, or after an unexpected move that the bot is still trying to explain.
//! Once a plan may then enter the threats' reach, its moves are checked against other explanations
//! (`conformant`). In a game joined late, the moves of a plan without a hedge are checked until the
//! memories are known.

use std::time::Instant;

use crate::game::{State, World};
use crate::planner::{Budget, CautiousRules, Choice, PlannerFailure, PlannerSpec, SmitsimaxRules};
use crate::search::{BudgetMeter, Generator, now};

use super::attempts::{Attempts, GUARDED, READY, SLACK};
use super::belief::Beliefs;
use super::conformant;
use super::deadline::part;
use super::decision::BotError;
use super::exploration::Explorer;
use super::fallback::decide_from_positions;
use super::hedge::HedgedPlanner;
use super::learning::Learning;
use super::observation::Decoded;
use super::options::BotOptions;
use super::tracker::Tracker;

/// The largest map, in open tiles, on which hedged plans, exploration, attempts and playouts are
/// fast enough.
const COPIED_TILES_MAX: usize = 1024;
/// With more unmodelled threats than this, a `smitsimax` playout takes too long.
const PLAYED_OUT_MAX: usize = 32;
/// A `smitsimax` decision with this limit takes about five milliseconds.
const PLAYED_OUT_TICKS_MAX: u64 = 4_000;
/// Number of states drawn from the beliefs to check a move while the beliefs are ambiguous.
const DRAWN_STATES: usize = 16;
/// Unless [`Doubt`] is `None`, 1 / `CHECK_DIVISOR` of the remaining budget is reserved for checking
/// the chosen move.
const CHECK_DIVISOR: u32 = 4;

#[derive(Default)]
pub(super) struct Planning {
    /// The attempts, with the [`Beliefs::world_count`] and the doubt for which they were created.
    attempts: Option<((u32, Doubt), Attempts)>,
    hedged: HedgedPlanner,
    smitsimax: SmitsimaxRules,
}

/// The part of the bot's knowledge that is in doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doubt {
    #[default]
    None,
    /// The threats' hidden memories, because the bot joined or rejoined a running game.
    Memories,
    /// The threats' next moves after an unexpected move, while the learner is looking for rules
    /// that explain it and several hidden states are possible.
    Surprise,
    Rules,
}

impl Doubt {
    fn assess(tracker: &Tracker, options: &BotOptions, learning: &Learning) -> Self {
        let is_surprised = || tracker.beliefs.mispredictions().iter().any(|&count| count > 0);
        if options.doubts_rules || learning.has_learnt() {
            Self::Rules
        } else if !tracker.beliefs.is_ambiguous() {
            Self::None
        } else if is_surprised() {
            if learning.has_learner() { Self::Surprise } else { Self::None }
        } else if tracker.has_joined() {
            Self::Memories
        } else {
            Self::None
        }
    }
}

pub(super) fn decide(
    tracked: Option<(&Tracker, &mut Planning, &Learning)>,
    cautious: &mut CautiousRules,
    decoded: &Decoded<'_>,
    options: &BotOptions,
    budget: Budget,
) -> Result<Choice, BotError> {
    let Some((tracker, planning, learning)) = tracked else {
        return Ok(decide_from_positions(cautious, decoded, None));
    };
    let is_late = budget.deadline.is_some_and(|deadline| now() >= deadline);
    let Tracker { tick, player, ref beliefs, .. } = *tracker;
    let state = beliefs.world.state_at(tick, player, &beliefs.best).ok().filter(|state| !state.is_over());
    let (true, false, Some(state)) = (decoded.is_playable, is_late, state) else {
        // No time is left, the message is not playable, or the game breaks the rules, for example
        // by continuing after a catch.
        return Ok(decide_from_positions(cautious, decoded, Some(&tracker.map.layout)));
    };
    let Beliefs { world, unmodelled, .. } = beliefs;
    if !unmodelled.is_empty() {
        if unmodelled.len() > PLAYED_OUT_MAX || world.open_tiles() > COPIED_TILES_MAX {
            return Ok(cautious.choose_with_predictions(world, &state, unmodelled, budget));
        }
        let budget = budget.and(Budget::ticks(PLAYED_OUT_TICKS_MAX));
        return Ok(planning.smitsimax.choose(world, &state, unmodelled, budget));
    }
    let doubt = Doubt::assess(tracker, options, learning);
    let mut meter = BudgetMeter::new(budget);
    if doubt == Doubt::Memories && may_copy_world(tracker, options) && !tracker.map.should_explore() {
        let mut share = BudgetMeter::new(without_check_share(meter.remaining()));
        let hedged = planning.hedged.decide(tracker, &state, options.seed, &mut share);
        meter.add_search(share.ticks());
        if let Some(choice) = hedged {
            return Ok(choice);
        }
    }
    let left = meter.remaining();
    let mut share = BudgetMeter::new(if doubt == Doubt::None { left } else { without_check_share(left) });
    let planned = planning.decide(tracker, &state, doubt, options, &mut share);
    meter.add_search(share.ticks());
    let choice = planned.inspect_err(|_| planning.attempts = None)?;
    let is_guarded = planning.attempts.as_ref().is_some_and(|(_, attempts)| attempts.is_guarded(state.tick()));
    let is_checked = doubt != Doubt::None && !is_guarded;
    let choice = if is_checked { check(tracker, &state, choice, learning, &mut meter) } else { choice };
    Ok(Choice { simulated_ticks: meter.ticks(), ..choice })
}

/// True if the bot's planner may make plans that need several worlds.
fn may_copy_world(tracker: &Tracker, options: &BotOptions) -> bool {
    options.planner == PlannerSpec::default() && tracker.beliefs.world.open_tiles() <= COPIED_TILES_MAX
}

fn without_check_share(budget: Budget) -> Budget {
    let now = now();
    let earlier = |deadline: Instant| deadline - deadline.saturating_duration_since(now) / CHECK_DIVISOR;
    let fewer = |ticks: u64| ticks - ticks / u64::from(CHECK_DIVISOR);
    Budget { deadline: budget.deadline.map(earlier), ticks: budget.ticks.map(fewer), ..budget }
}

fn check(tracker: &Tracker, state: &State, choice: Choice, learning: &Learning, meter: &mut BudgetMeter) -> Choice {
    let Tracker { tick, player, beliefs, .. } = tracker;
    let mut random = Generator::from_seed(u64::from(*tick));
    let draws = if beliefs.is_ambiguous() { DRAWN_STATES } else { 0 };
    let drawn: Vec<State> = (0..draws)
        .filter_map(|_| beliefs.world.state_at(*tick, *player, &beliefs.draw(*tick, &mut random)).ok())
        .collect();
    let memories = std::iter::once(state).chain(&drawn).map(|state| (&beliefs.world, state));
    let futures: Vec<(&World, &State)> = memories.chain(learning.futures(*tick)).collect();
    conformant::check(choice, &futures, meter)
}

impl Planning {
    fn decide(
        &mut self,
        tracker: &Tracker,
        state: &State,
        doubt: Doubt,
        options: &BotOptions,
        meter: &mut BudgetMeter,
    ) -> Result<Choice, PlannerFailure> {
        let explores = may_copy_world(tracker, options) && tracker.map.should_explore();
        if explores {
            let share = Budget { ticks: part(meter.remaining(), 2).ticks, ..meter.remaining() };
            let explorer = Explorer::new(tracker, state, options.seed, share);
            let step = explorer.exploring_step();
            meter.add_search(explorer.simulated_ticks());
            if let Some(step) = step {
                return Ok(step);
            }
        }
        let choice = self.plan(tracker, state, doubt, options, meter)?;
        if !explores {
            return Ok(choice);
        }
        let explorer = Explorer::new(tracker, state, options.seed, meter.remaining());
        let checked = explorer.check(choice);
        meter.add_search(explorer.simulated_ticks());
        Ok(checked)
    }

    fn plan(
        &mut self,
        tracker: &Tracker,
        state: &State,
        doubt: Doubt,
        options: &BotOptions,
        meter: &mut BudgetMeter,
    ) -> Result<Choice, PlannerFailure> {
        let key = (tracker.beliefs.world_count, doubt);
        if self.attempts.as_ref().is_none_or(|(known, _)| *known != key) {
            let first = match doubt {
                Doubt::Rules => READY,
                Doubt::Surprise => GUARDED,
                Doubt::None | Doubt::Memories => SLACK,
            };
            let first = Some(first).filter(|_| may_copy_world(tracker, options));
            self.attempts = Some((key, Attempts::new(options, first)));
        }
        let (_, attempts) = self.attempts.as_mut().expect("created just now");
        attempts.decide(&tracker.beliefs.world, state, meter)
    }
}
