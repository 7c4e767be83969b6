//! The slow, literal reference model of the rules, against which [`getaway::game`] is tested.
//!
//! The model applies the rules in the server's order, without lookup tables. It uses only basic
//! types of [`getaway::game`], not its logic, so that the two models do not share mistakes.
//! Exception: [`lockstep`] uses both models.

mod command;
pub mod lockstep;
pub mod navigation;
mod paths;
mod random;
mod sight;
mod threat;

#[cfg(test)]
mod drawing;

use getaway::game::{Action, ActionError, Layout, Position, Rules};

pub use paths::{shared_path_step, shared_path_steps, shark_path, shark_path_steps};
pub use sight::{best_intersections, line_of_sight};
pub use threat::{Memory, Threat, owls_look};

/// The state of a game, with its map and rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    pub layout: Layout,
    pub rules: Rules,
    /// The next tick, from 1. After a no-jump catch, the tick of the catch.
    pub tick: u16,
    pub player: Position,
    /// The threats in map order.
    pub threats: Vec<Threat>,
}

impl Game {
    pub fn new(layout: &Layout, rules: &Rules) -> Self {
        // A rule that this pattern does not name is a compile error. Each comment says where the
        // model uses the rules below the comment.
        let Rules {
            // `Game::step`
            no_jump: _,
            // `Threat::update`
            period_ticks: _,
            phase_clocks: _,
            owl_minute_ticks: _,
            owl_window_ticks: _,
            // `paths`, `sight` and `Threat::update`
            option_order: _,
            shared_path_order: _,
            shark_path_order: _,
            deer_shy_distance_squared: _,
            hawk_posts: _,
            // `Threat::new` and `random`
            spawn_order: _,
            first_seed: _,
            pick_scale: _,
            // `Threat::update`
            deer_view: _,
            shark_view: _,
            owl_view: _,
            hawk_view: _,
            hawk_patience_moves: _,
            hawk_rest_moves: _,
            // Nowhere, because this rule does not affect the game.
            wire: _,
        } = rules;
        Self {
            layout: layout.clone(),
            rules: *rules,
            tick: 1,
            player: layout.player,
            threats: layout.threats.iter().map(|&spawn| Threat::new(spawn, rules)).collect(),
        }
    }

    pub fn caught(&self) -> bool {
        self.threats.iter().any(|threat| threat.position == self.player)
    }

    /// Returns true if the server's check at the start of a tick would end the game.
    pub fn over(&self) -> bool {
        self.caught() || self.tick > 2000
    }

    /// Returns the score, which is 5 times `tick`. The score is final once the game is over.
    pub fn score(&self) -> u32 {
        5 * u32::from(self.tick)
    }

    /// Returns the tile onto which the action moves the player, or `None` if the server refuses the
    /// action silently. Fails with the error that the server would log.
    pub fn try_action(&self, action: &Action) -> Result<Option<Position>, ActionError> {
        command::destination(&self.layout, &self.rules, self.player, action)
    }

    /// Plays one tick: moves the player and, unless a no-jump catch ends the game, the threats.
    /// Does nothing if the game is over.
    pub fn step(&mut self, actions: &[Action]) {
        self.step_by(actions, Threat::update);
    }

    /// Like [`Game::step`], with a caller's update of each threat.
    pub fn step_by(&mut self, actions: &[Action], update: impl Fn(&mut Threat, &Layout, u16, Position)) {
        if self.over() {
            return;
        }
        self.apply(actions);
        // In the no-jump variant, a step onto a threat ends the game before the threats move.
        if self.rules.no_jump && self.caught() {
            return;
        }
        let clock = self.tick - 1;
        for threat in &mut self.threats {
            update(threat, &self.layout, clock, self.player);
        }
        self.tick += 1;
    }

    fn apply(&mut self, actions: &[Action]) {
        for action in actions {
            if let Ok(Some(tile)) = self.try_action(action) {
                self.player = tile;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::drawing::draw;
    use super::*;
    use getaway::game::{Direction, Personality};

    fn quiet_game() -> (Vec<u16>, Vec<Personality>) {
        let mut game = Game::new(&draw(&["P#B"]), &Rules::BLITZ_2025);
        let (mut moves, mut personalities) = (Vec::new(), Vec::new());
        while !game.over() {
            let tick = game.tick;
            game.step(&[]);
            if game.threats[0].ticks_since_move == 0 {
                moves.push(tick);
            }
            personalities.push(game.threats[0].personality);
        }
        (moves, personalities)
    }

    #[test]
    fn threats_move_exactly_on_the_scheduled_ticks() {
        let expected: Vec<u16> = (5..=300)
            .step_by(5)
            .chain((304..=500).step_by(4))
            .chain((503..=701).step_by(3))
            .chain((703..=901).step_by(2))
            .chain(902..=2000)
            .collect();
        assert_eq!(quiet_game().0, expected);
    }

    #[test]
    fn personalities_change_at_clocks_301_501_701_and_901() {
        let (_, personalities) = quiet_game();
        let at = |clock: usize| personalities[clock];
        assert_eq!([at(0), at(300)], [Personality::Lazy; 2]);
        assert_eq!([at(301), at(500)], [Personality::Tease; 2]);
        assert_eq!([at(501), at(700)], [Personality::Awake; 2]);
        assert_eq!([at(701), at(900)], [Personality::Hungry; 2]);
        assert_eq!([at(901), at(1999)], [Personality::Insane; 2]);
    }

    #[test]
    fn a_complete_game_scores_10_005_and_stays_over() {
        let mut game = Game::new(&draw(&["P#B"]), &Rules::BLITZ_2025);
        for _ in 0..2000 {
            assert!(!game.over());
            game.step(&[]);
        }
        assert!(game.over() && !game.caught());
        assert_eq!((game.tick, game.score()), (2001, 10_005));
        let complete = game.clone();
        game.step(&[Action::Move(Direction::Right)]);
        assert_eq!(game, complete);
    }

    #[test]
    fn player_and_threat_can_swap_tiles_except_in_the_no_jump_variant() {
        // In tick 5, the goldfish can only move left, onto the tile that the player leaves.
        let layout = draw(&["P.G"]);
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let mut game = Game::new(&layout, &rules);
            for _ in 1..4 {
                game.step(&[]);
            }
            game.step(&[Action::Move(Direction::Right)]);
            assert_eq!((game.tick, game.over()), (5, false));
            game.step(&[Action::Move(Direction::Right)]);
            assert_eq!(game.player, Position::new(2, 0));
            let threat = game.threats[0].position;
            if rules.no_jump {
                assert!(game.caught() && game.over());
                assert_eq!((game.tick, game.score(), threat), (5, 25, Position::new(2, 0)));
            } else {
                assert!(!game.caught() && !game.over());
                assert_eq!((game.tick, threat), (6, Position::new(1, 0)));
            }
        }
    }

    #[test]
    fn catch_by_a_threat_counts_the_tick_in_which_it_happens() {
        let mut game = Game::new(&draw(&["PG"]), &Rules::BLITZ_2025);
        for _ in 0..5 {
            assert!(!game.over());
            game.step(&[]);
        }
        assert!(game.over() && game.caught());
        assert_eq!((game.tick, game.score()), (6, 30));
    }

    #[test]
    fn first_successful_move_counts() {
        let game = Game::new(&draw(&["###", "P..", "..."]), &Rules::BLITZ_2025);
        let after = |actions: &[Action]| {
            let mut game = game.clone();
            game.step(actions);
            game.player
        };
        let [left, right, up, down] = Direction::ALL;
        assert_eq!(after(&[]), Position::new(0, 1));
        assert_eq!(after(&[right, down].map(Action::Move)), Position::new(1, 1));
        assert_eq!(
            after(&[left, up, down, right].map(Action::Move)),
            Position::new(0, 2),
            "steps off the grid and into walls do not use up the move"
        );
        let failures = [
            Action::Unknown("{}".into()),
            Action::MoveNowhere("{}".into()),
            Action::MoveTo { x: 0.0, y: 0.0 },
            Action::MoveTo { x: 0.0, y: 1.0 },
            Action::MoveTo { x: 9.0, y: 1.0 },
        ];
        assert_eq!(
            after(&[&failures[..], &[down, right].map(Action::Move)].concat()),
            Position::new(0, 2),
            "errors are skipped"
        );
        assert_eq!(after(&[Action::MoveTo { x: 2.0, y: 1.0 }, Action::Move(right)]), Position::new(1, 1));
    }

    #[test]
    fn a_refused_step_onto_a_see_through_tile_does_not_use_up_the_move() {
        let mut game = Game::new(&draw(&["P~.", "#.#"]), &Rules::BLITZ_2025);
        game.step(&[Action::MoveTo { x: 2.0, y: 0.0 }, Action::Move(Direction::Right)]);
        assert_eq!(game.player, Position::new(0, 0));
        let mut game = Game::new(&draw(&["P~.", ".##"]), &Rules::BLITZ_2025);
        game.step(&[Action::MoveTo { x: 2.0, y: 0.0 }, Action::Move(Direction::Down)]);
        assert_eq!(game.player, Position::new(0, 1));
    }

    #[test]
    fn stale_player_is_updated_on_every_tick() {
        let mut game = Game::new(&draw(&["P...#S"]), &Rules::BLITZ_2025);
        assert_eq!(game.threats[0].stale_player, Position::new(-1, -1));
        for x in 1..=3 {
            game.step(&[Action::Move(Direction::Right)]);
            assert_eq!(game.threats[0].stale_player, Position::new(x, 0), "though it has not moved yet");
        }
    }
}
