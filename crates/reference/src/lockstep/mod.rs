//! Plays `getaway::game` and the reference model side by side on random maps. A [`RulesDraw`] and a
//! seed or a fuzzer's bytes determine a game, which ends early at the first difference or when the
//! bytes are used up. The comparison covers
//!
//! - before the first tick, the hawks' posts, the first steps of the paths and the line of sight
//!   between open tiles, and the initial states
//! - before every tick, the effect of each action and the legal moves
//! - after every tick, the states of the game and of every threat, including memory and seeds
//! - after the end of the game, another tick, which must have no effect

use std::fmt::{self, Debug};

use thiserror::Error;

use super::{Game, Threat, best_intersections, line_of_sight, shared_path_steps, shark_path_steps};
use getaway::game::{self, Action, Direction, LAST_TICK, Move, PlayError, Position, State, Status, World};

mod commands;
mod coverage;
mod dice;
mod layouts;
mod rules;
mod survival;

pub use commands::{disguise, random_action, random_command};
pub use coverage::Coverage;
pub use dice::Dice;
pub use layouts::{random_layout, small_layout};
pub use rules::{RulesDraw, random_rules};
pub use survival::surviving_plan;

/// Beam width of [`surviving_plan`].
const PLAN_WIDTH: usize = 48;

#[derive(Clone, Debug, PartialEq, Error)]
#[error("tick {tick}, {field}: game {game}, reference {reference}; actions of the tick: {actions}")]
pub struct Divergence {
    /// The tick that was played, or 0 for a difference before the first tick or after the end.
    pub tick: u16,
    pub field: String,
    pub game: String,
    pub reference: String,
    pub actions: String,
}

#[derive(Clone, Debug, PartialEq, Error)]
#[error(
    "seed {seed}, {divergence}\nto see it again: \
    cargo run --release --example lockstep -- --seed {seed} --games 1{}", if *draw == RulesDraw::Server { " --server-rules" } else { "" }
)]
pub struct Failure {
    pub draw: RulesDraw,
    pub seed: u64,
    pub divergence: Divergence,
}

/// Plays one game from a seed until the game ends. Returns the first divergence as an error.
pub fn play_seed(seed: u64, draw: RulesDraw, coverage: &mut Coverage) -> Result<(), Failure> {
    play(&mut Dice::from_seed(seed), draw, coverage).map_err(|divergence| Failure { draw, seed, divergence })
}

/// Plays one game until it ends or `dice` is exhausted. Returns the first divergence as an error.
pub fn play(dice: &mut Dice, draw: RulesDraw, coverage: &mut Coverage) -> Result<(), Divergence> {
    let layout = random_layout(dice);
    let rules = draw.draw(dice);
    let world = World::new(&layout, &rules).expect("random maps and rules are valid");
    coverage.pairs += compare_tables(&world)?;
    let mut plan = make_plan(&world, dice).into_iter();
    let mut pair = GamePair { state: world.start(), reference: Game::new(&layout, &rules), world: &world };
    pair.compare()?;
    let mut is_no_jump_catch = false;
    while !pair.reference.over() && !dice.is_exhausted() {
        let command = match plan.next() {
            Some(planned) => disguise(planned, &world, &pair.state, dice),
            None => random_command(&world, &pair.state, dice),
        };
        let before = pair.reference.clone();
        pair.tick(&command, coverage).map_err(|difference| difference.at(before.tick, &command))?;
        is_no_jump_catch = pair.reference.over() && before.tick == pair.reference.tick;
        coverage.count_tick(&before, &pair.reference);
    }
    if pair.reference.over() {
        pair.compare_end()?;
        coverage.count_end(&pair.reference, is_no_jump_catch);
    }
    Ok(())
}

/// The plan is sometimes cut short or empty, so that games end in every phase.
fn make_plan(world: &World, dice: &mut Dice) -> Vec<Move> {
    if dice.one_in(6) {
        return Vec::new();
    }
    let mut plan = surviving_plan(world, PLAN_WIDTH, dice.below(1 << 16) as u64);
    if dice.one_in(4) {
        plan.truncate(dice.below(usize::from(LAST_TICK)));
    }
    plan
}

struct Difference {
    field: String,
    game: String,
    reference: String,
}

impl Difference {
    fn at(self, tick: u16, command: &[Action]) -> Divergence {
        let Self { field, game, reference } = self;
        Divergence { tick, field, game, reference, actions: format!("{command:?}") }
    }
}

impl From<Difference> for Divergence {
    fn from(difference: Difference) -> Self {
        difference.at(0, &[])
    }
}

fn same<T: PartialEq + Debug>(field: impl fmt::Display, game: T, reference: T) -> Result<(), Difference> {
    if game == reference {
        return Ok(());
    }
    Err(Difference { field: field.to_string(), game: format!("{game:?}"), reference: format!("{reference:?}") })
}

fn compare_tables(world: &World) -> Result<u64, Difference> {
    let (layout, rules) = (world.layout(), world.rules());
    let neighbour = |from: Position, step: Option<Direction>| step.map(|direction| from.towards(direction));
    same("best intersections", world.best_intersections(), best_intersections(layout, rules))?;
    let mut pairs = 0;
    for here in layout.open_positions() {
        for (from, step) in shared_path_steps(layout, rules, here) {
            same(
                format_args!("shared path from {from} to {here}"),
                neighbour(from, world.shared_step(from, here)),
                step,
            )?;
            pairs += 1;
        }
        for (to, step) in shark_path_steps(layout, rules, here) {
            same(format_args!("shark path from {here} to {to}"), neighbour(here, world.shark_step(here, to)), step)?;
            same(format_args!("sight from {here} to {to}"), world.sees(here, to), line_of_sight(layout, here, to))?;
        }
    }
    Ok(pairs)
}

struct GamePair<'a> {
    world: &'a World,
    state: State,
    reference: Game,
}

impl GamePair<'_> {
    fn tick(&mut self, command: &[Action], coverage: &mut Coverage) -> Result<(), Difference> {
        self.compare_moves()?;
        for (index, action) in command.iter().enumerate() {
            self.compare_action(index, action, coverage)?;
        }
        let before = self.reference.player;
        let player_move = self.world.step_command(&mut self.state, command);
        self.reference.step(command);
        let step = Direction::ALL.into_iter().find(|&d| before.towards(d) == self.reference.player);
        same("the player's move", player_move, Ok(step.map_or(Move::Stay, Move::from)))?;
        self.compare()
    }

    fn compare_action(&self, index: usize, action: &Action, coverage: &mut Coverage) -> Result<(), Difference> {
        let found = self.world.attempt(&self.state, action);
        let found = found.map(|step| step.map(|direction| self.reference.player.towards(direction)));
        coverage.actions += 1;
        coverage.action_errors += u64::from(found.is_err());
        coverage.refusals += u64::from(found == Ok(None));
        same(format_args!("action {index}"), found, self.reference.try_action(action))
    }

    fn compare_moves(&self) -> Result<(), Difference> {
        let open = |&direction: &Direction| matches!(self.reference.try_action(&Action::Move(direction)), Ok(Some(_)));
        let open = Direction::ALL.into_iter().filter(open).map(Move::from).chain([Move::Stay]);
        let found: Vec<Move> = self.world.legal_moves(&self.state).collect();
        same("moves", found, open.collect())
    }

    fn compare(&self) -> Result<(), Difference> {
        let Self { world, state, reference } = self;
        same("tick", state.tick(), reference.tick)?;
        same("player", world.player(state), reference.player)?;
        same("over", state.is_over(), reference.over())?;
        same("caught", state.is_caught(), reference.caught())?;
        let status = match (reference.tick > 2000, reference.caught()) {
            (true, _) => Status::Complete,
            (false, true) => Status::Caught,
            (false, false) => Status::Running,
        };
        same("status", state.status(), status)?;
        same("score", world.score(state), reference.score())?;
        same("number of threats", world.threat_count(), reference.threats.len())?;
        for (index, (found, expected)) in world.threats(state).zip(&reference.threats).enumerate() {
            self.compare_threat(index, &found, expected)?;
        }
        Ok(())
    }

    fn compare_threat(&self, index: usize, found: &game::Threat, expected: &Threat) -> Result<(), Difference> {
        let (world, state, reference) = (self.world, &self.state, &self.reference);
        let memory = &expected.memory;
        let field = |name: &'static str| Field { index, threat: expected, name };
        same(field("style"), found.style, expected.style)?;
        same(field("position"), found.position, expected.position)?;
        same(field("direction"), found.direction, expected.direction)?;
        same(field("seed"), world.rules().first_seed + i32::from(found.draws), expected.seed)?;
        same(field("ticks_since_move"), world.ticks_since_move(state), expected.ticks_since_move)?;
        same(field("personality"), world.reported_personality(state), expected.personality)?;
        // If an owl with a stale view looks at tick 1, it remembers (-1, -1). `game` stores `None`.
        let remembered = memory.remembered.filter(|&place| reference.layout.is_open(place));
        same(field("remembered"), found.remembered, remembered)?;
        same(field("seen"), found.seen, memory.seen)?;
        same(field("post"), found.post, memory.post)?;
        same(field("idle_rounds"), i32::from(found.idle_rounds), memory.idle_rounds)?;
        // `game` does not store the stale position. Between ticks, the stale position is the
        // player's position, except before the first tick and after a no-jump catch.
        if reference.tick > 1 && !(reference.rules.no_jump && reference.over()) {
            same(field("stale player"), world.player(state), expected.stale_player)?;
        }
        Ok(())
    }

    fn compare_end(&mut self) -> Result<(), Difference> {
        let (state, reference) = (self.state.clone(), self.reference.clone());
        let command = Direction::ALL.map(Action::Move);
        self.reference.step(&command);
        same("a tick after the end", self.world.step_command(&mut self.state, &command), Err(PlayError::GameOver))?;
        same("the state after the end", self.state == state, self.reference == reference)?;
        self.compare()
    }
}

struct Field<'a> {
    index: usize,
    threat: &'a Threat,
    name: &'static str,
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "threat {} ({}), {}", self.index, self.threat.style, self.name)
    }
}
