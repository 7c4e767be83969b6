use super::{Budget, Decider, Solution, SurvivalOptions};
use crate::game::{Move, State, World};

/// The verdict on a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The move.
    pub player_move: Move,
    /// The longest known line that begins with the move, with its outcome and bound.
    pub solution: Solution,
}

/// Returns a verdict on each distinct move, in the order of [`World::moves`], or no verdicts if the
/// game is over. For each move, a new [`Decider`] gets the full `budget`.
pub fn judge_moves(world: &World, state: &State, options: SurvivalOptions, budget: Budget) -> Vec<Verdict> {
    let judge = |(player_move, next): (Move, State)| {
        let mut solution = Decider::new(options).solve(world, &next, budget);
        solution.moves.insert(0, player_move);
        Verdict { player_move, solution }
    };
    world.successors(state).map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{LAST_TICK, Layout, Rules};
    use crate::planner::Outcome;

    fn longest(world: &World, state: &State, until: u16) -> u16 {
        if state.is_over() || state.tick() >= until {
            return state.tick();
        }
        world.successors(state).map(|(_, next)| longest(world, &next, until)).max().unwrap_or(state.tick())
    }

    #[test]
    fn verdicts_agree_with_playing_every_line() {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let world = World::new(&Layout::parse("..P..S").expect("a drawing"), &rules).expect("a map");
            for tick in [1, 650, 950] {
                let threats: Vec<_> = world.threats(&world.start()).collect();
                let mut state = world.state_at(tick, world.layout().player, &threats).expect("a state");
                for _ in 0..12 {
                    let verdicts = judge_moves(&world, &state, SurvivalOptions::default(), Budget::ticks(200_000));
                    let moves: Vec<Move> = verdicts.iter().map(|verdict| verdict.player_move).collect();
                    let expected: Vec<Move> = world.moves(&state).filter(|_| !state.is_over()).collect();
                    assert_eq!(moves, expected);
                    for Verdict { player_move, solution } in &verdicts {
                        let mut end = state.clone();
                        assert_eq!(world.play_moves(&mut end, &solution.moves), solution.moves.len());
                        assert_eq!((end.tick(), solution.moves.first()), (solution.final_tick, Some(player_move)));
                        let horizon = state.tick() + 9;
                        let known = longest(&world, &world.after(&state, *player_move), horizon);
                        match solution.outcome {
                            Outcome::Doomed => assert!(solution.bound.min(horizon) >= known),
                            _ => assert_eq!(known, horizon),
                        }
                    }
                    let Some(best) = verdicts.iter().max_by_key(|verdict| verdict.solution.final_tick) else { break };
                    world.step(&mut state, best.player_move);
                }
            }
        }
    }

    #[test]
    fn last_tick_is_survived_by_every_move() {
        let world = World::new(&Layout::parse("P.").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let state = world.state_at(LAST_TICK, world.layout().player, &[]).expect("a state");
        let verdicts = judge_moves(&world, &state, SurvivalOptions::default(), Budget::UNLIMITED);
        assert!(verdicts.iter().all(|verdict| verdict.solution.outcome == Outcome::Survives));
        assert_eq!(verdicts.len(), 2);
        let over = world.after(&state, Move::Stay);
        assert!(judge_moves(&world, &over, SurvivalOptions::default(), Budget::UNLIMITED).is_empty());
    }
}
