//! Conformant moves: checks a planned move against other explanations of the game, with other rules
//! or hidden memories. Each explanation is a *future*: a world and a state. A move counts as fatal
//! in a future if no line is found that begins with this move and survives for [`FUTURE_TICKS`], or
//! for the rest of the game. Each future may have its own line, because later messages can show
//! which future is the true one.

use crate::game::{LAST_TICK, Move, State, World};
use crate::planner::{Choice, Source};
use crate::search::BudgetMeter;

use super::lines::longest_survival;

const FUTURE_TICKS: u16 = 40;
/// Maximum states of a search in a future. A move counts as fatal if its search reaches this limit.
/// Most searches need far fewer states.
const FUTURE_STATES_MAX: u64 = 1_000;
/// Maximum states of a search to the end of the game in the first future.
const END_STATES_MAX: u64 = 20_000;

/// If the chosen move is fatal in some future, replaces it with a move that is fatal in fewer
/// futures, if one is found. The new move must leave a line to the end of the game in the first
/// future, which is the best explanation.
pub(super) fn check(choice: Choice, futures: &[(&World, &State)], meter: &mut BudgetMeter) -> Choice {
    let Some(&(world, state)) = futures.first() else { return choice };
    let mut best = (count(choice.player_move, futures, meter), choice.player_move);
    if best.0 == futures.len() {
        return choice;
    }
    for player_move in world.moves(state).filter(|&player_move| player_move != choice.player_move) {
        let found = count(player_move, futures, meter);
        let is_better = found > best.0 && survives(world, state, player_move, (LAST_TICK, END_STATES_MAX), meter);
        if meter.check().is_err() {
            break;
        }
        if is_better {
            best = (found, player_move);
        }
    }
    if best.1 == choice.player_move {
        return choice;
    }
    Choice { player_move: best.1, source: Source::Search, ..choice }
}

fn count(player_move: Move, futures: &[(&World, &State)], meter: &mut BudgetMeter) -> usize {
    let limits = (FUTURE_TICKS, FUTURE_STATES_MAX);
    futures.iter().filter(|(world, state)| survives(world, state, player_move, limits, meter)).count()
}

fn survives(
    world: &World,
    state: &State,
    player_move: Move,
    (ticks, states_max): (u16, u64),
    meter: &mut BudgetMeter,
) -> bool {
    if state.is_over() {
        return true;
    }
    let until = (state.tick() + ticks).min(LAST_TICK + 1);
    longest_survival(world, &world.after(state, player_move), until, (states_max, 0), meter) >= until
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Direction, Layout, Position, Rules, Style, Threat};
    use crate::planner::Budget;

    #[test]
    fn move_into_a_dead_end_is_replaced_if_an_owl_may_be_heading_there() {
        let layout = Layout::parse(".....##\n.###.##\n..O.P..").expect("a drawing");
        let world = World::new(&layout, &Rules::NO_JUMP).expect("a map");
        let state = |remembered: Option<Position>| {
            let owl = Threat {
                style: Style::Owl,
                position: Position::new(2, 2),
                direction: Direction::Right,
                draws: 1,
                remembered,
                seen: None,
                post: None,
                idle_rounds: 0,
            };
            world.state_at(1031, layout.player, &[owl]).expect("a state")
        };
        let (waiting, coming) = (state(None), state(Some(Position::new(6, 2))));
        let planned = Choice { player_move: Move::Right, source: Source::Plan, planned_tick: None, simulated_ticks: 0 };
        let checked = |futures: &[(&World, &State)]| {
            check(planned, futures, &mut BudgetMeter::new(Budget::UNLIMITED)).player_move
        };
        assert_eq!(checked(&[(&world, &waiting)]), Move::Right);
        assert_eq!(checked(&[(&world, &waiting), (&world, &coming)]), Move::Up);
    }
}
