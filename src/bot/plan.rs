//! The plan and decide stages use the first of these methods that applies:
//!
//! - `fallback`, which predicts nothing, if no time is left or the game cannot be simulated;
//! - if the moves of some threats cannot be predicted (*unmodelled* threats), `smitsimax`, or the
//!   cautious planner if there are too many such threats;
//! - in a game joined late, until the threats' memories are known, a hedged plan (`hedge`), if one
//!   is found, unless the threats' next moves are in doubt or there are unknown tiles
//!   (see `exploration`);
//! - a safe exploring step (`exploration`), if one is found;
//! - the table of attempts (`attempts`), from the row for the [`Doubt`] on. `exploration` checks the
//!   plan if there are unknown tiles.
//!
//! All but the first two need the default planner. Another planner decides alone.
//!
//! The threats' next moves are in doubt if the bot has learnt rules in this game, if earlier games
//! cast doubt on the rules, or after an unexpected move.

use std::cell::Cell;

use crate::game::{State, World};
use crate::planner::{CautiousRules, Choice, PlannerError, SmitsimaxRules};
use crate::search::{Budget, BudgetMeter, now};

use super::attempts::{Attempts, READY, SLACK};
use super::belief::Beliefs;
use super::deadline::part;
use super::decision::BotError;
use super::exploration::Explorer;
use super::fallback::decide_from_positions;
use super::hedge::HedgedPlanner;
use super::learning::Learning;
use super::observation::Decoded;
use super::options::BotOptions;
use super::tracker::Tracker;

/// With more unmodelled threats than this, a `smitsimax` playout takes too long.
const PLAYED_OUT_MAX: usize = 32;
/// A `smitsimax` decision with this limit takes about five milliseconds.
const PLAYED_OUT_TICKS_MAX: u64 = 4_000;

#[derive(Default)]
pub(super) struct Planning {
    /// The attempts, with the [`Beliefs::world_count`] and the doubt for which they were created.
    attempts: Option<((u32, Doubt), Attempts)>,
    hedged: HedgedPlanner,
    closed: Cell<Option<World>>,
    smitsimax: SmitsimaxRules,
}

/// The part of the bot's knowledge that is in doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doubt {
    #[default]
    None,
    /// The threats' hidden memories, because the bot joined or rejoined a running game.
    Memories,
    /// The threats' next moves, because the rules are in doubt, or because a threat has made an
    /// unexpected move in this game.
    Moves,
}

impl Doubt {
    fn assess(tracker: &Tracker, options: &BotOptions, learning: &Learning) -> Self {
        let is_surprised = tracker.beliefs.mispredictions().iter().any(|&count| count > 0);
        if options.doubts_rules || learning.has_learnt() || is_surprised {
            Self::Moves
        } else if tracker.has_joined() && tracker.beliefs.is_ambiguous() {
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
        return Ok(decide_from_positions(cautious, decoded, Some(&tracker.beliefs.layout)));
    };
    let Beliefs { world, unmodelled, .. } = beliefs;
    if !unmodelled.is_empty() {
        if unmodelled.len() > PLAYED_OUT_MAX {
            return Ok(cautious.choose_with_predictions(world, &state, unmodelled, budget));
        }
        let budget = budget.and(Budget::ticks(PLAYED_OUT_TICKS_MAX));
        return Ok(planning.smitsimax.choose(world, &state, unmodelled, budget));
    }
    let doubt = Doubt::assess(tracker, options, learning);
    let mut meter = BudgetMeter::new(budget);
    if doubt == Doubt::Memories
        && options.makes_own_plans()
        && !tracker.map.should_explore()
        && let Some(choice) = planning.hedged.decide(tracker, &state, options.seed, &mut meter)
    {
        return Ok(choice);
    }
    let choice =
        planning.decide(tracker, &state, doubt, options, &mut meter).inspect_err(|_| planning.attempts = None)?;
    Ok(Choice { simulated_ticks: meter.ticks(), ..choice })
}

impl Planning {
    fn decide(
        &mut self,
        tracker: &Tracker,
        state: &State,
        doubt: Doubt,
        options: &BotOptions,
        meter: &mut BudgetMeter,
    ) -> Result<Choice, PlannerError> {
        let world = &tracker.beliefs.world;
        if !options.makes_own_plans() || !tracker.map.should_explore() {
            return self.attempts_for(tracker, doubt, options).decide(world, state, meter);
        }
        let share = Budget { ticks: part(meter.remaining(), 2).ticks, ..meter.remaining() };
        let explorer = Explorer::new(tracker, state, &self.closed, options.seed, share);
        let step = explorer.exploring_step();
        meter.add_search(explorer.simulated_ticks());
        if let Some(step) = step {
            return Ok(step);
        }
        let mut share = BudgetMeter::new(part(meter.remaining(), 2));
        let choice = self.attempts_for(tracker, doubt, options).decide(world, state, &mut share)?;
        meter.add_search(share.ticks());
        let explorer = Explorer::new(tracker, state, &self.closed, options.seed, meter.remaining());
        let ahead = self.attempts.as_ref().map_or(&[][..], |(_, attempts)| attempts.ahead());
        let checked = explorer.check(choice, ahead);
        meter.add_search(explorer.simulated_ticks());
        Ok(checked)
    }

    /// The attempts for these beliefs. New beliefs start new attempts.
    fn attempts_for(&mut self, tracker: &Tracker, doubt: Doubt, options: &BotOptions) -> &mut Attempts {
        let key = (tracker.beliefs.world_count, doubt);
        if self.attempts.as_ref().is_none_or(|(known, _)| *known != key) {
            let first = match doubt {
                Doubt::Moves => READY,
                Doubt::None | Doubt::Memories => SLACK,
            };
            let first = Some(first).filter(|_| options.makes_own_plans());
            self.attempts = Some((key, Attempts::new(options, first)));
        }
        &mut self.attempts.as_mut().expect("created just now").1
    }
}
