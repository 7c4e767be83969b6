//! Message in, move out: what a competitor runs.
//!
//! A [`Bot`] is given each message of the server and answers with a [`Decision`] before its budget is spent. It makes its own simulation of the game from
//! the first message, on maps that it has never seen, and compares it with every message after that; what it finds out about late commands,
//! missing messages, see-through tiles and threats that break the rules is in `pursuit`.
//!
//! The promise: any message gets a decision or one clear error, never a panic, and no later than the budget allows.
//! Nothing here runs in the background. What takes longer than a tick, the tables of the largest maps, is made in pieces, and
//! until it is there the bot plays by caution.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::game::{Action, Move, PlacementError, Position, Rules, State, Style, World, WorldBuilder};
use crate::planner::{self, Budget, CautiousRules, Choice, ObservedThreat, Planner, PlannerError, Sighting, Source};
use crate::protocol::{GameMessage, MessageMap, ProtocolError};

mod curiosity;
mod gap;
mod observation;
mod patience;
mod pursuit;
mod suspect;

use curiosity::{Curiosity, Effort, ask, doubt};
use observation::{Observation, is_playable, layout_of, window};
use patience::{PATIENCE_MOVES_MAX, Patience};
use pursuit::Pursuit;

/// The time for a decision unless another is given: three quarters of a tick of the real server.
pub const BUDGET_DEFAULT: Budget = Budget::time(Duration::from_millis(75));
/// What is kept of a budget when planning stops, and of a small one at most a quarter: planners look at the clock every few dozen microseconds, but the
/// system may look away for a time slice.
const MARGIN: Duration = Duration::from_millis(5);
/// Tiles whose routes are made between two looks at the clock: about half a millisecond on the largest map.
const TILES_A_PIECE: usize = 16;
/// Messages that are taken in at a time, however late it is, by a bot that catches up on a game: more than come meanwhile.
const CATCH_UP_MESSAGES_MIN: usize = 4;
/// Open tiles of a map at most for its tables to be copied within a decision, for what-ifs.
const COPIED_TILES_MAX: usize = 1024;
/// The longest budget: a day is as good as any.
const BUDGET_MAX: Duration = Duration::from_secs(86_400);
/// The share of a budget that may go into finding out what happened in ticks whose messages never came: one over this.
const GAP_SHARE: u32 = 4;

/// How a bot plays.
#[derive(Clone, Debug)]
pub struct BotOptions {
    /// The name of a planner or an expression: see [`planner::by_name`].
    pub planner: String,
    /// The time for a decision, from the call or from when the message arrived.
    pub budget: Budget,
    /// The seed of every random draw.
    pub seed: u64,
    /// The rules of the game.
    pub rules: Rules,
    /// How many moves of the threats the plans of `survival` try to be able to wait through, so that lost commands cost nothing; 0 for plans that
    /// merely survive. Other planners have no use for it.
    pub patience_moves: u8,
}

impl BotOptions {
    /// Whether the planner is the one that solves whole games.
    fn is_survival(&self) -> bool {
        self.planner == planner::DEFAULT_NAME
    }
}

impl Default for BotOptions {
    fn default() -> Self {
        Self {
            planner: planner::DEFAULT_NAME.to_owned(),
            budget: BUDGET_DEFAULT,
            seed: 0,
            rules: Rules::BLITZ_2025,
            patience_moves: PATIENCE_MOVES_MAX,
        }
    }
}

/// Why a message gets no decision.
#[derive(Debug, Error)]
pub enum BotError {
    /// The message contradicts itself.
    #[error("the message cannot be used: {0}")]
    Message(#[from] ProtocolError),
    /// There is no move to decide on.
    #[error("the message cannot be used: yourCharacter.position: expected an EMPTY tile, found {0}")]
    PlayerOffStreet(Position),
}

/// An answer to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The tick of the message.
    pub tick: u32,
    /// The move.
    pub player_move: Move,
    /// Where it came from.
    pub source: Source,
    /// The tick up to which the bot knows how to live, if it looked: 2001 when it knows the whole game.
    pub planned_tick: Option<u16>,
    /// States that the planner stepped for this decision.
    pub simulated_ticks: u64,
    /// The time from the message's arrival to the decision.
    pub elapsed: Duration,
}

impl Decision {
    /// The action to send; none to stay.
    pub fn action(&self) -> Option<Action> {
        self.player_move.direction().map(Action::Move)
    }
}

/// A player that is told the state before each tick and answers with a move.
///
/// ```
/// use getaway::bot::{Bot, BotOptions};
/// use getaway::game::{Layout, World};
/// use getaway::protocol::GameMessage;
///
/// let world = World::new(&Layout::parse("P...\n.##.\n...s")?, &Rules::BLITZ_2025)?;
/// let mut state = world.start();
/// let mut bot = Bot::new(BotOptions::default())?;
/// for _ in 0..100 {
///     let decision = bot.next_action(&GameMessage::of(&world, &state, "us"))?;
///     world.step(&mut state, decision.player_move);
/// }
/// assert!(!state.is_caught());
/// assert_eq!(bot.mispredictions(), [0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Bot {
    options: BotOptions,
    /// Made for the world of the game, with the number of that world: see [`Pursuit::world_count`].
    planning: Option<(u32, Planning)>,
    caution: CautiousRules,
    curiosity: Curiosity,
    game: Option<Game>,
    last: Option<(Observation, Decision)>,
}

/// What plans.
enum Planning {
    /// Any planner.
    Plain(Box<dyn Planner>),
    /// `survival`, with slack.
    Patient(Patience),
}

/// A game that is being played.
struct Game {
    map: MessageMap,
    styles: Vec<Option<Style>>,
    /// The tick of the last message that was taken in.
    tick: u32,
    stage: Stage,
}

/// What was seen, and what was sent then, tick after tick.
type Backlog = VecDeque<(Observation, Move)>;

/// How far the bot has come with a game.
enum Stage {
    /// The world is being made; what was seen and sent meanwhile waits.
    Building { builder: Box<WorldBuilder>, seen: Backlog },
    /// The world is there, and what waited is being taken in: the first of `seen` is what the pursuit knows already.
    CatchingUp { pursuit: Box<Pursuit>, seen: Backlog },
    /// The game is followed.
    Following(Box<Pursuit>),
}

impl Planning {
    fn new(options: &BotOptions, world: &World) -> Self {
        let planner = || planner::by_name(&options.planner, options.seed).expect("a name that Bot::new has checked");
        if options.is_survival() && options.patience_moves > 0 && world.open_tiles() <= COPIED_TILES_MAX {
            return Self::Patient(Patience::new(world, options.patience_moves, planner));
        }
        Self::Plain(planner())
    }
}

impl Bot {
    /// A bot that has not seen a game.
    ///
    /// # Errors
    /// When there is no such planner.
    pub fn new(mut options: BotOptions) -> Result<Self, PlannerError> {
        options.budget.time = Some(options.budget.time.unwrap_or(BUDGET_MAX).min(BUDGET_MAX));
        planner::by_name(&options.planner, options.seed)?;
        let (caution, curiosity) = (CautiousRules::new(), Curiosity::default());
        Ok(Self { options, planning: None, caution, curiosity, game: None, last: None })
    }

    /// How the bot plays.
    pub fn options(&self) -> &BotOptions {
        &self.options
    }

    /// Decides on a message that has just arrived.
    ///
    /// # Errors
    /// As for [`Bot::next_action_since`].
    pub fn next_action(&mut self, message: &GameMessage) -> Result<Decision, BotError> {
        self.next_action_since(message, Instant::now())
    }

    /// Decides on a message that arrived a while ago: the budget is counted from `arrival`.
    ///
    /// A message that came before gets the same decision. One whose tick goes back, or that shows another map or another number of threats,
    /// begins a new game.
    ///
    /// # Errors
    /// When the message contradicts itself, or the player stands on no open tile. The game goes on with the next message.
    pub fn next_action_since(&mut self, message: &GameMessage, arrival: Instant) -> Result<Decision, BotError> {
        let observation = Observation::of(message)?;
        let is_same_game = self.is_same_game(message, &observation);
        if let Some((last, decision)) = &self.last
            && is_same_game
            && *last == observation
        {
            return Ok(Decision { elapsed: arrival.elapsed(), ..*decision });
        }
        let choice = if is_playable(message, &observation) {
            self.follow(message, &observation, is_same_game, arrival);
            self.decide(message, &observation, arrival)
        } else {
            self.choose_blindly(message, &observation)
        };
        let elapsed = arrival.elapsed();
        self.remember(&observation, choice.player_move, elapsed <= self.budget_time());
        let Choice { player_move, source, planned_tick, simulated_ticks } = choice;
        let decision = Decision { tick: message.tick, player_move, source, planned_tick, simulated_ticks, elapsed };
        self.last = Some((observation, decision));
        Ok(decision)
    }

    /// By threat, in the order of the messages, how often it did something else than was predicted, in this game.
    pub fn mispredictions(&self) -> Vec<u32> {
        match &self.game {
            Some(Game { stage: Stage::Following(pursuit) | Stage::CatchingUp { pursuit, .. }, .. }) => {
                pursuit.mispredictions().collect()
            }
            Some(game) => vec![0; game.styles.len()],
            None => Vec::new(),
        }
    }

    /// Whether a message belongs to the game before it.
    fn is_same_game(&self, message: &GameMessage, observation: &Observation) -> bool {
        self.game.as_ref().is_some_and(|game| {
            game.tick <= observation.tick && game.styles.len() == observation.threats.len() && game.map == message.map
        })
    }

    /// When planning must stop.
    fn deadline(&self, arrival: Instant) -> Instant {
        let budget = self.budget_time();
        arrival + budget.saturating_sub(MARGIN.min(budget / 4))
    }

    /// The time for a decision.
    fn budget_time(&self) -> Duration {
        self.options.budget.time.unwrap_or(BUDGET_MAX)
    }

    /// Takes in a message, the first of a game or not.
    fn follow(&mut self, message: &GameMessage, observation: &Observation, is_same_game: bool, arrival: Instant) {
        let styles: Vec<Option<Style>> = message.threats.iter().map(|threat| threat.style.known()).collect();
        let known = self.game.take().filter(|_| is_same_game);
        let mut game = match known {
            Some(game) => game,
            None => {
                self.planning = None;
                self.curiosity = Curiosity::default();
                // The limits have been checked, so this is a world.
                let Ok(builder) = WorldBuilder::new(&layout_of(message), &self.options.rules) else { return };
                let stage = Stage::Building { builder: Box::new(builder), seen: Backlog::new() };
                Game { map: message.map.clone(), styles: styles.clone(), tick: observation.tick, stage }
            }
        };
        game.tick = observation.tick;
        let styles_before = std::mem::replace(&mut game.styles, styles);
        let deadline = self.deadline(arrival);
        game.stage = match game.stage {
            Stage::Building { builder, seen } => match build(builder, seen, &game.styles, observation, deadline) {
                Some(stage) => stage,
                None => return,
            },
            Stage::CatchingUp { mut pursuit, seen } => {
                pursuit.restyle(&styles_before, &game.styles, deadline);
                catch_up(pursuit, seen, observation, deadline)
            }
            Stage::Following(mut pursuit) => {
                pursuit.restyle(&styles_before, &game.styles, deadline);
                pursuit.observe(observation, arrival + self.budget_time() / GAP_SHARE, deadline);
                Stage::Following(pursuit)
            }
        };
        self.game = Some(game);
    }

    /// Decides on a game that is followed as well as it can be.
    fn decide(&mut self, message: &GameMessage, observation: &Observation, arrival: Instant) -> Choice {
        let deadline = self.deadline(arrival);
        let limit = Budget { deadline: Some(deadline), time: None, ..self.options.budget };
        let Some(Game { stage: Stage::Following(pursuit), .. }) = &mut self.game else {
            return self.choose_blindly(message, observation);
        };
        let state = match pursuit.state() {
            Ok(state) if !state.is_over() && Instant::now() < deadline => state,
            // Late, or a threat stands on the player and the game goes on: not by the rules.
            _ => return self.choose_blindly(message, observation),
        };
        let strangers = pursuit.strangers();
        if !strangers.is_empty() {
            return self.caution.choose_with_predictions(pursuit.world(), &state, &strangers, limit);
        }
        let plan = |planning: &mut _, pursuit: &Pursuit| {
            Ok::<_, PlacementError>(plan(planning, &self.options, pursuit, &pursuit.state()?, limit))
        };
        let is_curious = self.options.is_survival() && pursuit.world().open_tiles() <= COPIED_TILES_MAX;
        let effort = Effort { limit, seed: self.options.seed };
        if is_curious {
            self.curiosity.find_refuge(pursuit, &state, effort);
            if let Some(choice) = ask(pursuit, &state, effort) {
                return choice;
            }
        }
        let mut choice = plan(&mut self.planning, pursuit);
        if choice.as_ref().is_ok_and(|choice| !choice.survives()) && pursuit.trust_unvisited() {
            choice = plan(&mut self.planning, pursuit);
        }
        match choice {
            Ok(choice) if is_curious => doubt(pursuit, choice, effort),
            Ok(choice) => choice,
            Err(_) => self.choose_blindly(message, observation),
        }
    }

    /// Decides from where everybody stands.
    fn choose_blindly(&mut self, message: &GameMessage, observation: &Observation) -> Choice {
        // A threat may be said to be anywhere.
        let at = |position: Position, from: Position| {
            Position::new(position.x.saturating_sub(from.x), position.y.saturating_sub(from.y))
        };
        let (layout, from) = match &self.game {
            Some(Game { map, stage: Stage::Following(pursuit), .. }) if *map == message.map => {
                (pursuit.layout().clone(), Position::new(0, 0))
            }
            _ => window(message),
        };
        let pursuers: Vec<ObservedThreat> =
            observation.threats.iter().map(|seen| ObservedThreat::at(at(seen.position, from))).collect();
        let player = at(observation.player, from);
        self.caution.choose(&layout, &Sighting { tick: observation.clock_tick(), player, threats: &pursuers })
    }

    /// Keeps what was sent until its effect is seen.
    fn remember(&mut self, observation: &Observation, player_move: Move, is_timely: bool) {
        match &mut self.game {
            Some(Game { stage: Stage::Building { seen, .. } | Stage::CatchingUp { seen, .. }, .. }) => {
                seen.push_back((observation.clone(), player_move));
            }
            Some(Game { stage: Stage::Following(pursuit), .. }) => {
                pursuit.send(observation.clock_tick(), player_move, is_timely);
            }
            None => {}
        }
    }
}

/// Asks what plans for the pursuit's world, and makes that first if the world is another than before.
fn plan(
    planning: &mut Option<(u32, Planning)>,
    options: &BotOptions,
    pursuit: &Pursuit,
    state: &State,
    limit: Budget,
) -> Choice {
    let planning = match planning {
        Some((world_count, planning)) if *world_count == pursuit.world_count => planning,
        planning => {
            let made = Planning::new(options, pursuit.world());
            &mut planning.insert((pursuit.world_count, made)).1
        }
    };
    match planning {
        Planning::Plain(planner) => planner.decide(pursuit.world(), state, limit),
        Planning::Patient(patience) => patience.decide(state, limit),
    }
}

/// Goes on with the world; once it is there, takes in what was seen meanwhile, `now` last.
fn build(
    mut builder: Box<WorldBuilder>,
    seen: Backlog,
    styles: &[Option<Style>],
    now: &Observation,
    deadline: Instant,
) -> Option<Stage> {
    while !builder.advance(TILES_A_PIECE) {
        if Instant::now() >= deadline {
            return Some(Stage::Building { builder, seen });
        }
    }
    let layout = builder.layout().clone();
    let first = seen.front().map_or(now, |(first, _)| first);
    let pursuit = Pursuit::new(layout, builder.finish(), styles, first, deadline).ok()?;
    Some(catch_up(Box::new(pursuit), seen, now, deadline))
}

/// Takes in what was seen, `now` last; what there is no time for waits for the next message.
fn catch_up(mut pursuit: Box<Pursuit>, mut seen: Backlog, now: &Observation, deadline: Instant) -> Stage {
    let mut taken = 0;
    while taken < CATCH_UP_MESSAGES_MIN || Instant::now() < deadline {
        let Some((before, player_move)) = seen.pop_front() else { return Stage::Following(pursuit) };
        pursuit.send(before.clock_tick(), player_move, false);
        pursuit.observe(seen.front().map_or(now, |(later, _)| later), deadline, deadline);
        taken += 1;
    }
    if seen.is_empty() { Stage::Following(pursuit) } else { Stage::CatchingUp { pursuit, seen } }
}
