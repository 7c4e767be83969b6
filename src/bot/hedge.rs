//! Hedged plans, for games that the bot joined late: for some ticks, they survive whatever the
//! threats remember. If very many memories are possible, only a sample of them is checked.
//!
//! Given the player's path, the threats' moves do not depend on each other. So a line survives
//! *every* combination of memories if it survives in a world with one copy of each threat per
//! memory. A few copies are usually enough: the first search uses only the likeliest memories, and
//! each further search adds copies with memories that defeat the previous line
//! (counterexample-guided refinement).
//!
//! A hedged plan follows such a line for some ticks, and then a line that survives under the
//! likeliest memories. The bot tries to renew the plan before its hedged part ends.

use crate::game::{LAST_TICK, Layout, MAX_THREATS, Move, Position, Spawn, State, Threat};
use crate::planner::{Choice, Source};
use crate::search::BudgetMeter;
use crate::solve::{Outcome, SurvivalSearch};

use super::deadline::part;
use super::tracker::Tracker;

const HEDGED_TICKS: u16 = 100;
const HEDGED_TICKS_MIN: u16 = 12;
/// A plan is due for renewal if it has fewer hedged ticks left than this, or does not survive the
/// game.
const RENEW_TICKS: u16 = 40;
const RETRY_TICKS: u16 = 4;
const ROUNDS_MAX: u64 = 20;
const SEARCH_DIVISOR: u32 = 6;

#[derive(Default)]
pub(super) struct HedgedPlanner {
    plan: Option<HedgedPlan>,
    retry_tick: u16,
}

struct HedgedPlan {
    tick: u16,
    player: Position,
    moves: Vec<Move>,
    final_tick: u16,
    hedged_until_tick: u16,
}

impl HedgedPlanner {
    pub fn decide(&mut self, tracker: &Tracker, state: &State, seed: u64, meter: &mut BudgetMeter) -> Option<Choice> {
        let tick = state.tick();
        self.plan = self.plan.take().and_then(|plan| plan.after(tick, tracker.player));
        let rank = self.plan.as_ref().map(HedgedPlan::rank);
        let is_fresh = self.plan.as_ref().is_some_and(HedgedPlan::is_fresh);
        let mut source = Source::Plan;
        if !is_fresh && tick >= self.retry_tick {
            match find(tracker, state, seed.wrapping_add(tick.into()), meter) {
                Some(plan) if Some(plan.rank()) > rank => {
                    self.plan = Some(plan);
                    source = Source::Search;
                }
                _ if self.plan.is_some() => self.retry_tick = tick + RETRY_TICKS,
                _ => {}
            }
        }
        let plan = self.plan.as_ref()?;
        let (player_move, planned_tick) = (plan.moves.first().copied()?, Some(plan.final_tick));
        Some(Choice { player_move, source, planned_tick, simulated_ticks: meter.ticks() })
    }
}

impl HedgedPlan {
    /// The key by which plans are compared. Hedged ticks beyond [`RENEW_TICKS`] only break ties.
    fn rank(&self) -> (u16, bool, u16) {
        let enough_tick = (self.tick + RENEW_TICKS).min(LAST_TICK);
        (self.hedged_until_tick.min(enough_tick), self.final_tick > LAST_TICK, self.hedged_until_tick)
    }

    fn is_fresh(&self) -> bool {
        self.final_tick > LAST_TICK && self.hedged_until_tick >= (self.tick + RENEW_TICKS).min(LAST_TICK)
    }

    fn after(mut self, tick: u16, player: Position) -> Option<Self> {
        let played = usize::from(tick.checked_sub(self.tick)?).min(self.moves.len());
        self.player = self.moves.drain(..played).fold(self.player, |at, player_move| at.after(player_move));
        self.tick = tick;
        let is_hedged = self.hedged_until_tick >= (tick + HEDGED_TICKS_MIN).min(LAST_TICK + 1);
        (self.player == player && is_hedged).then_some(self)
    }
}

fn find(tracker: &Tracker, state: &State, seed: u64, meter: &mut BudgetMeter) -> Option<HedgedPlan> {
    let (tick, beliefs) = (state.tick(), &tracker.beliefs);
    let mut world = beliefs.world.clone();
    let enough_tick = (tick + HEDGED_TICKS).min(LAST_TICK + 1);
    let enough_moves = usize::from(enough_tick - tick);
    let min_moves = usize::from(HEDGED_TICKS_MIN).min(enough_moves);
    let mut copies: Vec<(Spawn, Threat)> = beliefs.likeliest();
    let likeliest = copies.len();
    let mut best: Option<HedgedPlan> = None;
    for round in 0..ROUNDS_MAX {
        let (spawns, threats): (Vec<Spawn>, Vec<Threat>) = copies.iter().copied().unzip();
        world.set_layout(&Layout { threats: spawns, ..beliefs.layout.clone() }).ok()?;
        let start = world.state_at(tick, tracker.player, &threats).ok()?;
        let seed = seed.wrapping_mul(ROUNDS_MAX).wrapping_add(round);
        let share = part(meter.remaining(), SEARCH_DIVISOR);
        let found = SurvivalSearch::for_play(seed).solve_until(&world, &start, enough_tick, share);
        meter.add_search(found.simulated_ticks);
        let mut moves = found.moves;
        moves.truncate(enough_moves);
        let states = world.states_along(&start, &moves);
        // If the line ends in a catch, its last move is fatal, so that move is removed.
        let survived = states.iter().take_while(|state| !state.is_caught()).count() - 1;
        moves.truncate(survived);
        let path: Vec<Position> = states[..=survived].iter().map(|state| world.player(state)).collect();
        let Some(catches) = beliefs.catches(tick, &path, meter.remaining().into()) else { break };
        let hedged = catches.iter().map(|&(moves, _, _)| moves).min().unwrap_or(survived);
        let hedged_until_tick = tick + hedged as u16;
        if hedged >= min_moves {
            let mut after = state.clone();
            beliefs.world.play(&mut after, &moves);
            let rest =
                SurvivalSearch::for_play(seed).solve(&beliefs.world, &after, part(meter.remaining(), SEARCH_DIVISOR));
            meter.add_search(rest.simulated_ticks);
            moves.extend(rest.moves);
            let (player, final_tick) = (tracker.player, rest.final_tick);
            let plan = HedgedPlan { tick, player, moves, final_tick, hedged_until_tick };
            if best.as_ref().is_none_or(|best| plan.rank() > best.rank()) {
                best = Some(plan);
            }
        }
        let is_hopeless = survived < min_moves && found.outcome == Outcome::Doomed;
        let is_enough = best.as_ref().is_some_and(|best| best.is_fresh() && best.hedged_until_tick == enough_tick);
        if is_hopeless || is_enough || meter.check().is_err() {
            break;
        }
        copies.extend(catches.into_iter().map(|(_, spawn, threat)| (spawn, threat)));
        let surplus = copies.len().saturating_sub(MAX_THREATS);
        copies.drain(likeliest..(likeliest + surplus).min(copies.len()));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::observation::Observation;
    use super::*;
    use crate::game::World;
    use crate::game::{Direction, Rules, Style};
    use crate::inference::ObservedPose;
    use crate::search::{Budget, Deadline};

    #[test]
    fn hedged_part_of_a_plan_survives_whatever_an_owl_and_a_hawk_remember() {
        let layout = Layout::parse(
            "
            #############
            #O.........H#
            #.##.###.##.#
            #.#.......#.#
            #...##.##...#
            #.#...P...#.#
            #.##.###.##.#
            #...........#
            #############",
        )
        .expect("a drawing");
        let world = World::new(&layout, &Rules::NO_JUMP).expect("a map");
        let tick = 1031;
        let poses: Vec<ObservedPose> = layout
            .threats
            .iter()
            .map(|spawn| ObservedPose { position: spawn.position, direction: Some(Direction::Up) })
            .collect();
        let first = Observation { tick, player: layout.player, threats: poses, personality: None };
        let styles: Vec<Option<Style>> = layout.threats.iter().map(|spawn| Some(spawn.style)).collect();
        let tracker = Tracker::new(world.clone(), &styles, &first, Deadline::NEVER).expect("a tracker");
        let state = world.state_at(tick, layout.player, &tracker.beliefs.best).expect("a state");
        let mut meter = BudgetMeter::new(Budget::ticks(200_000));
        let plan = find(&tracker, &state, 1, &mut meter).expect("a plan");
        let hedged = &plan.moves[..usize::from(plan.hedged_until_tick - tick)];
        assert!(hedged.len() >= usize::from(HEDGED_TICKS_MIN), "{} ticks", hedged.len());
        let mut memories = 0;
        for tile in layout.open_positions() {
            for style in [Style::Owl, Style::Hawk] {
                let recall = |threat: &Threat| match style {
                    Style::Owl if threat.style == style => Threat { remembered: Some(tile), ..*threat },
                    _ if threat.style == style => Threat { seen: Some(tile), post: None, idle_rounds: 0, ..*threat },
                    _ => *threat,
                };
                let threats: Vec<Threat> = tracker.beliefs.best.iter().map(recall).collect();
                let mut state = world.state_at(tick, layout.player, &threats).expect("a state");
                world.play(&mut state, hedged);
                // The owl looked in the previous tick, and the player has since moved at most once.
                let is_possible = style == Style::Hawk || tile.manhattan_distance(layout.player) <= 1;
                assert!(!state.is_caught() || !is_possible, "a {style} that remembers {tile}");
                memories += 1;
            }
        }
        assert!(memories > 100, "{memories} memories");
    }
}
