//! The plan and decide stages use the first of these methods that applies:
//!
//! - `fallback`, which predicts nothing, if no time is left or the game cannot be simulated;
//! - if the moves of some threats cannot be predicted (*unmodelled* threats), `smitsimax`, or the
//!   cautious planner if there are too many such threats or the map is large;
//! - in a game joined late, until the threats' memories are known, a hedged plan (`hedge`), if one
//!   is found;
//! - a safe exploring step (`exploration`), if one is found;
//! - the bot's planner: by default, a survival plan with slack, which `exploration` checks once a
//!   tile has refused the player.
//!
//! Hedged plans, exploration, slack and guarded plans (see below) need the default planner and a
//! map of at most [`COPIED_TILES_MAX`] open tiles.
//!
//! In every state of a plan with slack `n`, the player survives the threats' next `n` moves if it
//! stands still (see [`SurvivalOptions::slack_moves`]), so a few commands may be late or lost.
//! Without slack, one late command can be fatal.
//!
//! The threats' next moves are in doubt if the bot has learnt rules in this game, if earlier games
//! cast doubt on the rules, or after an unexpected move that the bot is still trying to explain.
//! *Guarded* plans then avoid the threats' reach (see [`Guard`]) for as long as possible, to
//! survive an unexpected move and learn from it. In the first two cases, the bot prefers plans that
//! are also prepared for an early next phase (`readiness`). Once a plan may enter the threats'
//! reach, its moves are checked against other explanations (`conformant`). In a game joined late,
//! the moves of a plan without a hedge are checked until the memories are known.

use std::cell::RefCell;
use std::time::Instant;

use crate::game::{LAST_TICK, PlacementError, State, Tile, World};
use crate::planner::{
    Budget, CautiousRules, Choice, Guard, Outcome, Planner, PlannerFailure, PlannerSpec, SmitsimaxRules, Source,
    SurvivalOptions, SurvivalPlanner, SurvivalSearch,
};
use crate::search::{BudgetMeter, Generator, now};

use super::belief::Beliefs;
use super::conformant;
use super::deadline::part;
use super::decision::BotError;
use super::exploration::{Exploration, SearchLimits, check_plan};
use super::fallback::decide_from_positions;
use super::hedge::HedgedPlanner;
use super::learning::Learning;
use super::observation::Decoded;
use super::options::BotOptions;
use super::readiness::{EarlyPhase, Readiness};
use super::tracker::Tracker;

/// The largest map, in open tiles, on which hedged and guarded plans, exploration, slack and
/// playouts are fast enough.
const COPIED_TILES_MAX: usize = 1024;
/// Maximum states of the first search, several times more than it needs on most maps.
const FIRST_STATES_MAX: u64 = 40_000;
/// First interval between attempts to find more slack. Each failed attempt quadruples the interval,
/// and a loss of slack resets it.
const RETRY_TICKS: u16 = 16;
/// With more unmodelled threats than this, a `smitsimax` playout takes too long.
const PLAYED_OUT_MAX: usize = 32;
/// A `smitsimax` decision with this limit takes about five milliseconds.
const PLAYED_OUT_TICKS_MAX: u64 = 4_000;
/// Number of states drawn from the beliefs to check a move while the beliefs are ambiguous.
const DRAWN_STATES: usize = 16;
/// Unless [`Doubt`] is `None`, 1 / `CHECK_DIVISOR` of the remaining budget is reserved for checking
/// the chosen move.
const CHECK_DIVISOR: u32 = 4;
/// The kinds of guarded plans to search for, in this order, until a search succeeds.
const ATTEMPTS: [Attempt; 8] = [
    Attempt { is_ready: true, guard: Guard::Always, guard_ticks: LAST_TICK },
    Attempt { is_ready: true, guard: Guard::Always, guard_ticks: READY_TICKS },
    Attempt { is_ready: true, guard: Guard::OnMoves, guard_ticks: READY_TICKS },
    Attempt { is_ready: false, guard: Guard::Always, guard_ticks: LAST_TICK },
    Attempt { is_ready: false, guard: Guard::Always, guard_ticks: 120 },
    Attempt { is_ready: false, guard: Guard::OnMoves, guard_ticks: 120 },
    Attempt { is_ready: false, guard: Guard::Always, guard_ticks: 30 },
    Attempt { is_ready: false, guard: Guard::OnMoves, guard_ticks: 30 },
];
const READY_TICKS: u16 = 60;
/// Each attempt at a guarded plan gets 1 / `GUARD_DIVISOR` of the remaining budget.
const GUARD_DIVISOR: u32 = 6;
const GUARD_RETRY_TICKS: u16 = 4;

#[derive(Default)]
pub(super) struct Planning {
    /// The planner, with the [`Beliefs::world_count`] and the doubt for which it was created.
    planner: Option<((u32, Doubt), ActivePlanner)>,
    exploration: Exploration,
    hedged: HedgedPlanner,
    doubt: Doubt,
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

enum ActivePlanner {
    Plain(Box<dyn Planner>),
    WithSlack(SlackPlanner),
    Guarded(Box<GuardedPlanner>),
}

pub(super) fn decide(
    tracked: Option<(&mut Tracker, &mut Planning, &Learning)>,
    cautious: &mut CautiousRules,
    decoded: &Decoded<'_>,
    options: &BotOptions,
    budget: Budget,
) -> Result<Choice, BotError> {
    let Some((tracker, planning, learning)) = tracked else {
        return Ok(decide_from_positions(cautious, decoded, None));
    };
    let is_late = budget.deadline.is_some_and(|deadline| now() >= deadline);
    let state = tracked_state(tracker).ok().filter(|state| !state.is_over());
    let (true, false, Some(state)) = (decoded.is_playable, is_late, state) else {
        // No time is left, the message is not playable, or the game breaks the rules, for example
        // by continuing after a catch.
        return Ok(decide_from_positions(cautious, decoded, Some(&tracker.map.layout)));
    };
    let Beliefs { world, unmodelled, .. } = &tracker.beliefs;
    if !unmodelled.is_empty() {
        if unmodelled.len() > PLAYED_OUT_MAX || world.open_tiles() > COPIED_TILES_MAX {
            return Ok(cautious.choose_with_predictions(world, &state, unmodelled, budget));
        }
        let budget = budget.and(Budget::ticks(PLAYED_OUT_TICKS_MAX));
        return Ok(planning.smitsimax.choose(world, &state, unmodelled, budget));
    }
    planning.doubt = Doubt::assess(tracker, options, learning);
    let mut meter = BudgetMeter::new(budget);
    if planning.doubt == Doubt::Memories && may_hedge(tracker, options) {
        let mut share = BudgetMeter::new(without_check_share(meter.remaining()));
        let choice = planning.hedged.decide(tracker, &state, options.seed, &mut share);
        meter.add_search(share.ticks());
        if let Some(choice) = choice {
            return Ok(choice);
        }
    }
    let planned = match planning.doubt {
        Doubt::None => planning.decide(tracker, &state, options, &mut meter),
        _ => {
            let mut share = BudgetMeter::new(without_check_share(meter.remaining()));
            let planned = planning.decide(tracker, &state, options, &mut share);
            meter.add_search(share.ticks());
            planned
        }
    };
    if let Some(failure) = planning.take_failure() {
        return Err(BotError::Planner(failure));
    }
    Ok(match planned {
        Ok(choice) => {
            let is_checked = planning.doubt != Doubt::None && !planning.is_guarded(&state);
            let choice = if is_checked { check(tracker, choice, learning, &mut meter) } else { choice };
            Choice { simulated_ticks: meter.ticks(), ..choice }
        }
        Err(_) => decide_from_positions(cautious, decoded, Some(&tracker.map.layout)),
    })
}

fn may_hedge(tracker: &Tracker, options: &BotOptions) -> bool {
    is_survival(options) && tracker.beliefs.world.open_tiles() <= COPIED_TILES_MAX && !tracker.map.should_explore()
}

fn without_check_share(budget: Budget) -> Budget {
    let now = now();
    let earlier = |deadline: Instant| deadline - deadline.saturating_duration_since(now) / CHECK_DIVISOR;
    let fewer = |ticks: u64| ticks - ticks / u64::from(CHECK_DIVISOR);
    Budget { deadline: budget.deadline.map(earlier), ticks: budget.ticks.map(fewer), ..budget }
}

fn check(tracker: &Tracker, choice: Choice, learning: &Learning, meter: &mut BudgetMeter) -> Choice {
    let Tracker { tick, player, beliefs, .. } = tracker;
    let Ok(state) = tracked_state(tracker) else { return choice };
    let mut random = Generator::from_seed(u64::from(*tick));
    let draws = if beliefs.is_ambiguous() { DRAWN_STATES } else { 0 };
    let drawn: Vec<State> = (0..draws)
        .filter_map(|_| beliefs.world.state_at(*tick, *player, &beliefs.draw(*tick, &mut random)).ok())
        .collect();
    let memories = std::iter::once(&state).chain(&drawn).map(|state| (&beliefs.world, state));
    let futures: Vec<(&World, &State)> = memories.chain(learning.futures(*tick)).collect();
    conformant::check(choice, &futures, meter)
}

/// Fails only in games that break the rules.
fn tracked_state(tracker: &Tracker) -> Result<State, PlacementError> {
    let Tracker { tick, player, beliefs, .. } = tracker;
    beliefs.world.state_at(*tick, *player, &beliefs.best)
}

impl Planning {
    fn take_failure(&mut self) -> Option<PlannerFailure> {
        let Some((_, ActivePlanner::Plain(planner))) = &self.planner else { return None };
        let failure = planner.failure()?.clone();
        self.planner = None;
        Some(failure)
    }

    fn is_guarded(&self, state: &State) -> bool {
        matches!(&self.planner, Some((_, ActivePlanner::Guarded(planner))) if planner.is_guarded(state))
    }

    fn decide(
        &mut self,
        tracker: &mut Tracker,
        state: &State,
        options: &BotOptions,
        meter: &mut BudgetMeter,
    ) -> Result<Choice, PlacementError> {
        let explores = is_survival(options) && tracker.beliefs.world.open_tiles() <= COPIED_TILES_MAX;
        let has_safe_set = !tracker.map.excluded.is_empty();
        if explores && !has_safe_set {
            let share = Budget { ticks: halved(meter.remaining()).ticks, ..meter.remaining() };
            let explore = |limits: SearchLimits<'_>| self.exploration.explore(tracker, state, limits);
            if let Some(choice) = within(meter, share, options.seed, explore) {
                return Ok(choice);
            }
        }
        let share = if has_safe_set { halved(meter.remaining()) } else { meter.remaining() };
        let mut choice = self.plan(tracker, options, meter, share)?;
        if !choice.survives() && !tracker.map.excluded.is_empty() {
            let excluded = std::mem::take(&mut tracker.map.excluded);
            excluded.into_iter().for_each(|tile| tracker.map.layout.set_tile(tile, Tile::Open));
            tracker.beliefs.refresh(&mut tracker.map);
            choice = self.plan(tracker, options, meter, meter.remaining())?;
        }
        if !explores {
            return Ok(choice);
        }
        let left = meter.remaining();
        Ok(within(meter, left, options.seed, |limits| check_plan(tracker, choice, limits)))
    }

    fn plan(
        &mut self,
        tracker: &Tracker,
        options: &BotOptions,
        meter: &mut BudgetMeter,
        share: Budget,
    ) -> Result<Choice, PlacementError> {
        let state = tracked_state(tracker)?;
        let world = &tracker.beliefs.world;
        let key = (tracker.beliefs.world_count, self.doubt);
        let planner = match &mut self.planner {
            Some((known, planner)) if *known == key => planner,
            planner => &mut planner.insert((key, ActivePlanner::new(options, world, self.doubt))).1,
        };
        let choice = match planner {
            ActivePlanner::Plain(planner) => planner.decide(world, &state, share),
            ActivePlanner::WithSlack(planner) => planner.decide(world, &state, share),
            ActivePlanner::Guarded(planner) => planner.decide(world, &state, share),
        };
        meter.add_search(choice.simulated_ticks);
        Ok(choice)
    }
}

fn is_survival(options: &BotOptions) -> bool {
    options.planner == PlannerSpec::default()
}

impl ActivePlanner {
    fn new(options: &BotOptions, world: &World, doubt: Doubt) -> Self {
        if is_survival(options) && world.open_tiles() <= COPIED_TILES_MAX {
            if matches!(doubt, Doubt::Surprise | Doubt::Rules) {
                return Self::Guarded(Box::new(GuardedPlanner::new(options, doubt == Doubt::Rules)));
            }
            if options.slack_moves > 0 {
                return Self::WithSlack(SlackPlanner::new(options));
            }
        }
        Self::Plain(options.planner.build(options.seed))
    }
}

/// One planner per level. Level `n` plans with slack `n`, so level 0 has no slack.
struct SlackPlanner {
    levels: Vec<SurvivalPlanner>,
    current_level: usize,
    retry_tick: u16,
    retry_interval_ticks: u16,
    has_begun: bool,
}

impl SlackPlanner {
    fn new(options: &BotOptions) -> Self {
        let seed = options.seed;
        let level =
            |slack_moves| SurvivalPlanner::new(SurvivalOptions { seed, slack_moves, ..SurvivalOptions::default() });
        Self {
            levels: (0..=options.slack_moves).map(level).collect(),
            current_level: 0,
            retry_tick: 0,
            retry_interval_ticks: RETRY_TICKS,
            has_begun: false,
        }
    }

    /// Follows the surviving plan found with the most slack or, if no plan survives, the plan of
    /// level 0.
    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice {
        let mut meter = BudgetMeter::new(budget);
        let choice = self.decide_within(world, state, &mut meter);
        Choice { simulated_ticks: meter.ticks(), ..choice }
    }

    fn decide_within(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Choice {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first && let Some(choice) = self.try_highest(world, state, meter) {
            return choice;
        }
        let choice = self.reduce_slack(world, state, meter);
        if choice.survives() && state.tick() >= self.retry_tick {
            self.increase_slack(world, state, choice, meter)
        } else {
            choice
        }
    }

    fn run(&mut self, level: usize, world: &World, state: &State, share: Budget, meter: &mut BudgetMeter) -> Choice {
        let choice = self.levels[level].decide(world, state, share);
        meter.add_search(choice.simulated_ticks);
        choice
    }

    fn try_highest(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Option<Choice> {
        let highest = self.levels.len() - 1;
        let share = halved(meter.remaining()).and(Budget::ticks(FIRST_STATES_MAX));
        let choice = self.run(highest, world, state, share, meter);
        choice.survives().then(|| {
            self.current_level = highest;
            choice
        })
    }

    fn reduce_slack(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Choice {
        loop {
            let left = meter.remaining();
            let share = if self.current_level > 0 { halved(left) } else { left };
            let choice = self.run(self.current_level, world, state, share, meter);
            if choice.survives() || self.current_level == 0 {
                return choice;
            }
            self.current_level -= 1;
            self.retry_tick = state.tick() + RETRY_TICKS;
            self.retry_interval_ticks = RETRY_TICKS;
        }
    }

    fn increase_slack(&mut self, world: &World, state: &State, mut choice: Choice, meter: &mut BudgetMeter) -> Choice {
        let mut share = BudgetMeter::new(halved(meter.remaining()));
        while self.current_level + 1 < self.levels.len() {
            let tried = self.run(self.current_level + 1, world, state, share.remaining(), &mut share);
            if !tried.survives() {
                self.retry_tick = state.tick().saturating_add(self.retry_interval_ticks);
                self.retry_interval_ticks = self.retry_interval_ticks.saturating_mul(4);
                break;
            }
            self.current_level += 1;
            choice = tried;
        }
        meter.add_search(share.ticks());
        choice
    }
}

struct GuardedPlanner {
    seed: u64,
    is_ready: bool,
    guarded: Option<GuardedPlan>,
    retry_tick: u16,
    early: Option<EarlyPhase>,
    slack: SlackPlanner,
}

struct Attempt {
    is_ready: bool,
    guard: Guard,
    guard_ticks: u16,
}

struct GuardedPlan {
    planner: SurvivalPlanner,
    renew_tick: u16,
    /// The first tick in which the plan no longer counts as guarded or ready.
    until_tick: u16,
}

impl GuardedPlanner {
    fn new(options: &BotOptions, is_ready: bool) -> Self {
        Self {
            seed: options.seed,
            is_ready,
            guarded: None,
            retry_tick: 0,
            early: None,
            slack: SlackPlanner::new(options),
        }
    }

    fn is_guarded(&self, state: &State) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| state.tick() < guarded.until_tick)
    }

    fn decide(&mut self, world: &World, state: &State, budget: Budget) -> Choice {
        let mut meter = BudgetMeter::new(budget);
        let choice = self.decide_within(world, state, &mut meter);
        Choice { simulated_ticks: meter.ticks(), ..choice }
    }

    fn decide_within(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Choice {
        let is_fresh = self.guarded.as_ref().is_some_and(|guarded| state.tick() < guarded.renew_tick);
        if is_fresh && let Some(choice) = self.follow(world, state, meter) {
            return choice;
        }
        if state.tick() >= self.retry_tick {
            if let Some(choice) = self.find(world, state, meter) {
                return choice;
            }
            self.retry_tick = state.tick() + GUARD_RETRY_TICKS;
        }
        if let Some(choice) = self.follow(world, state, meter) {
            return choice;
        }
        let choice = self.slack.decide(world, state, meter.remaining());
        meter.add_search(choice.simulated_ticks);
        choice
    }

    fn follow(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Option<Choice> {
        let guarded = self.guarded.as_mut()?;
        let choice = guarded.planner.decide(world, state, part(meter.remaining(), GUARD_DIVISOR));
        meter.add_search(choice.simulated_ticks);
        if !choice.survives() {
            self.guarded = None;
        }
        choice.survives().then_some(choice)
    }

    fn find(&mut self, world: &World, state: &State, meter: &mut BudgetMeter) -> Option<Choice> {
        let tick = state.tick();
        if self.is_ready && !self.early.as_ref().is_some_and(|early| early.is_next(world, tick)) {
            self.early = EarlyPhase::new(world, tick);
        }
        for Attempt { is_ready, guard, guard_ticks } in ATTEMPTS {
            let early = self.early.as_ref().filter(|_| is_ready);
            if is_ready && early.is_none() {
                continue;
            }
            let share = part(meter.remaining(), GUARD_DIVISOR);
            let readiness = early.map(|early| early.until(tick.saturating_add(READY_TICKS), share));
            let is_hopeless =
                |world: &World, state: &State| readiness.as_ref().is_some_and(|it| it.is_hopeless(world, state));
            let guard_until_tick = tick.saturating_add(guard_ticks);
            let options = SurvivalOptions { seed: self.seed, guard, guard_until_tick, ..SurvivalOptions::default() };
            let mut search = SurvivalSearch::new(options.for_play());
            let solution = search.solve_pruned(world, state, LAST_TICK + 1, share, Some(&is_hopeless));
            meter.add_search(solution.simulated_ticks + readiness.as_ref().map_or(0, Readiness::ticks));
            if solution.outcome != Outcome::Survives {
                continue;
            }
            let ticks = if is_ready { READY_TICKS } else { guard_ticks };
            let (renew_tick, until_tick) = match tick.saturating_add(ticks) {
                until_tick if until_tick > LAST_TICK => (LAST_TICK, until_tick),
                until_tick => (tick + ticks / 2, until_tick),
            };
            let mut planner = SurvivalPlanner::new(SurvivalOptions { seed: self.seed, ..SurvivalOptions::default() });
            planner.set_plan(state, solution.moves, solution.final_tick);
            let choice = planner.decide(world, state, share);
            self.guarded = Some(GuardedPlan { planner, renew_tick, until_tick });
            return Some(Choice { source: Source::Search, ..choice });
        }
        None
    }
}

fn within<T>(meter: &mut BudgetMeter, share: Budget, seed: u64, search: impl FnOnce(SearchLimits<'_>) -> T) -> T {
    let shared = RefCell::new(BudgetMeter::new(share));
    let found = search(SearchLimits { meter: &shared, seed });
    meter.add_search(shared.into_inner().ticks());
    found
}

fn halved(budget: Budget) -> Budget {
    part(budget, 2)
}
