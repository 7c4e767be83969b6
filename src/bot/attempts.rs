//! The table of attempts: the kinds of plans to search for, strictest first, and the loop that
//! tries its rows. Each attempt is a survival search to the end of the game with some filters. If
//! none succeeds, the bot's planner decides.

use crate::game::{LAST_TICK, Move, State, World};
use crate::planner::{Choice, PlanFollower, Planner, PlannerError, Source};
use crate::search::{Budget, BudgetMeter};
use crate::solve::{Filter, Outcome, SurvivalSearch};

use super::deadline::part;
use super::filters::{Guard, GuardedTicks, Readiness, Slack};
use super::options::{BotOptions, SLACK_MOVES_MAX};

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    /// Number of ticks for which the plan's states must be ready for an early phase.
    ready_ticks: u16,
    guard: Option<GuardedTicks>,
    guard_ticks: u16,
    /// The slack that each of the plan's states must have.
    slack_moves: u8,
    /// The search gets 1 / `divisor` of the remaining budget.
    divisor: u32,
}

const ATTEMPTS: [Attempt; 12] = [
    Attempt::ready(GuardedTicks::Always, LAST_TICK),
    Attempt::ready(GuardedTicks::Always, 60),
    Attempt::ready(GuardedTicks::OnMoves, 60),
    Attempt::guarded(GuardedTicks::Always, LAST_TICK),
    Attempt::guarded(GuardedTicks::Always, 120),
    Attempt::guarded(GuardedTicks::OnMoves, 120),
    Attempt::guarded(GuardedTicks::Always, 30),
    Attempt::guarded(GuardedTicks::OnMoves, 30),
    Attempt::slack(SLACK_MOVES_MAX),
    Attempt::slack(3),
    Attempt::slack(2),
    Attempt::slack(1),
];

/// The first row to try if the threats' next moves are in doubt.
pub(super) const READY: usize = 0;
/// The first row to try otherwise.
pub(super) const SLACK: usize = 8;

/// Maximum states of a search with slack, several times more than it needs on most maps.
const SLACK_STATES_MAX: u64 = 40_000;
/// First interval until the rows are tried again, if the threats' next moves are not in doubt. It
/// then grows by a factor, and the loss of a plan resets it.
const RETRY_TICKS: u16 = 16;
const RETRY_GROWTH: u16 = 8;
const RETRY_TICKS_IN_DOUBT: u16 = 4;

impl Attempt {
    const fn ready(when: GuardedTicks, guard_ticks: u16) -> Self {
        Self { ready_ticks: 60, ..Self::guarded(when, guard_ticks) }
    }

    const fn guarded(when: GuardedTicks, guard_ticks: u16) -> Self {
        Self { ready_ticks: 0, guard: Some(when), guard_ticks, slack_moves: 0, divisor: 6 }
    }

    const fn slack(slack_moves: u8) -> Self {
        Self { ready_ticks: 0, guard: None, guard_ticks: 0, slack_moves, divisor: 2 }
    }
}

/// Follows the strictest plan found.
pub(super) struct Attempts {
    seed: u64,
    /// The rows that may be tried.
    rows: Vec<usize>,
    plan: Option<FilteredPlan>,
    /// The next row to try. Each decision tries at most one row of plans with slack, because a search
    /// for such a plan may use half of the budget.
    next_row: usize,
    /// The tick in which the rows are tried again from the first.
    retry_tick: u16,
    retry_ticks: u16,
    /// Decides if no attempt succeeds.
    planner: Box<dyn Planner>,
}

struct FilteredPlan {
    row: usize,
    follower: PlanFollower,
    /// The first tick in which a new plan is due.
    renew_tick: u16,
}

impl Attempts {
    /// Tries the rows from `first` on, or none if there is no first row.
    pub fn new(options: &BotOptions, first: Option<usize>) -> Self {
        let is_allowed = |row: &usize| ATTEMPTS[*row].slack_moves <= options.slack_moves;
        Self {
            seed: options.seed,
            rows: (first.unwrap_or(ATTEMPTS.len())..ATTEMPTS.len()).filter(is_allowed).collect(),
            plan: None,
            next_row: 0,
            retry_tick: 0,
            retry_ticks: RETRY_TICKS,
            planner: options.planner.build(options.seed),
        }
    }

    pub fn decide(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Result<Choice, PlannerError> {
        let followed = self.follow(world, state).map(|player_move| (player_move, Source::Plan));
        let plan = self.find(world, state, meter);
        let found =
            plan.and_then(|plan| Some((self.plan.insert(plan).follower.next_move(world, state)?, Source::Search)));
        if let Some((player_move, source)) = found.or(followed) {
            return Ok(Choice {
                player_move,
                source,
                planned_tick: Some(LAST_TICK + 1),
                simulated_ticks: meter.ticks(),
            });
        }
        let choice = self.planner.decide(world, state, meter.remaining())?;
        meter.add_search(choice.simulated_ticks);
        Ok(choice)
    }

    /// The moves of the plan that follow the last decision's move. Empty without a plan.
    pub fn ahead(&self) -> &[Move] {
        self.plan.as_ref().map_or(&[], |plan| plan.follower.moves.as_slice())
    }

    fn follow(&mut self, world: &World, state: &State) -> Option<Move> {
        let plan = self.plan.as_mut()?;
        let player_move = plan.follower.next_move(world, state);
        if player_move.is_none() {
            // A plan with more slack than the lost plan is unlikely.
            self.next_row = if plan.row < SLACK { 0 } else { plan.row };
            self.retry_ticks = RETRY_TICKS;
            self.postpone(state.tick());
            self.plan = None;
        }
        player_move
    }

    /// Continues to try the rows that are stricter than the plan's, or all rows without a plan. If
    /// the plan is guarded, tries no row until it must be renewed, then all rows of guarded plans.
    fn find(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Option<FilteredPlan> {
        let tick = state.tick();
        let end = match &self.plan {
            Some(plan) if plan.row < SLACK && tick < plan.renew_tick => 0,
            Some(plan) if plan.row < SLACK => SLACK,
            Some(plan) => plan.row,
            None => ATTEMPTS.len(),
        };
        if tick >= self.retry_tick {
            self.next_row = 0;
            self.postpone(tick);
        }
        while let Some(&row) = self.rows.iter().find(|row| (self.next_row..end).contains(row)) {
            if meter.check().is_err() {
                break;
            }
            self.next_row = row + 1;
            let found = self.attempt(row, world, state, meter);
            if found.is_some() {
                self.next_row = ATTEMPTS.len();
                return found;
            }
            if row >= SLACK {
                break;
            }
        }
        None
    }

    fn postpone(&mut self, tick: u16) {
        if self.rows.first().is_some_and(|&first| first < SLACK) {
            self.retry_tick = tick + RETRY_TICKS_IN_DOUBT;
        } else {
            self.retry_tick = tick.saturating_add(self.retry_ticks);
            self.retry_ticks = self.retry_ticks.saturating_mul(RETRY_GROWTH);
        }
    }

    fn attempt(&mut self, row: usize, world: &World, state: &State, meter: &mut BudgetMeter) -> Option<FilteredPlan> {
        let Attempt { ready_ticks, guard, guard_ticks, slack_moves, divisor } = ATTEMPTS[row];
        let tick = state.tick();
        let mut share = part(meter.remaining(), divisor);
        let readiness =
            if ready_ticks > 0 { Some(Readiness::new(world, tick, tick + ready_ticks, share)?) } else { None };
        let guard = guard.map(|when| Guard { when, until_tick: tick.saturating_add(guard_ticks) });
        let slack = Slack { moves: slack_moves };
        let mut filters: Vec<&dyn Filter> = Vec::new();
        filters.extend(guard.as_ref().map(|guard| guard as &dyn Filter));
        filters.extend(readiness.as_ref().map(|readiness| readiness as &dyn Filter));
        if slack_moves > 0 {
            filters.push(&slack);
            share = share.and(Budget::ticks(SLACK_STATES_MAX));
        }
        let mut search = SurvivalSearch::for_play(self.seed);
        let solution = search.solve_filtered(world, state, LAST_TICK + 1, share, &filters);
        meter.add_search(solution.simulated_ticks + readiness.as_ref().map_or(0, |readiness| readiness.ticks()));
        let ticks = if ready_ticks > 0 { ready_ticks } else { guard_ticks };
        (solution.outcome == Outcome::Survives).then(|| FilteredPlan {
            row,
            follower: PlanFollower::new(state, solution.moves),
            renew_tick: if tick + ticks > LAST_TICK { LAST_TICK } else { tick + ticks / 2 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: usize, attempt: &Attempt) -> String {
        let &Attempt { ready_ticks, guard, guard_ticks, slack_moves, divisor } = attempt;
        let ready = (ready_ticks > 0).then(|| "ready".to_owned());
        let guard = guard.map(|when| match when {
            GuardedTicks::Always => "guard in all ticks".to_owned(),
            GuardedTicks::OnMoves => "guard when threats move".to_owned(),
        });
        let slack = (slack_moves > 0).then(|| format!("slack {slack_moves}"));
        let filters: Vec<String> = ready.into_iter().chain(guard).chain(slack).collect();
        let ticks = match (ready_ticks, guard_ticks) {
            (0, 0 | LAST_TICK) => "to the end".to_owned(),
            (0, ticks) => ticks.to_string(),
            (ready, LAST_TICK) => format!("{ready}, guard to the end"),
            (ready, _) => ready.to_string(),
        };
        format!("| {number} | {} | {ticks} | 1/{divisor} |\n", filters.join(", "))
    }

    #[test]
    fn page_about_the_bot_prints_the_table() {
        let page = include_str!("../../docs/bot.md");
        let table: String = (1..).zip(&ATTEMPTS).map(|(number, attempt)| row(number, attempt)).collect();
        assert!(page.contains(&table), "expected in docs/bot.md:\n{table}");
    }
}
