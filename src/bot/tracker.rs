//! Tracks a game through its observations. If the rules are as expected, a game seen from its start
//! without gaps is tracked exactly, even if commands are late or lost, because the player's
//! position shows the move that was played. After missed messages, the tracker tries a number of
//! paths of the player until the predicted threats match the observed threats, or time runs out. If
//! a game breaks the rules, only the observed positions are reliable.

use std::collections::BTreeMap;

use crate::game::{
    Direction, FIRST_TICK, Layout, Position, Rules, Spawn, Style, Tile, World, WorldBuilder, WorldError,
};
use crate::inference::ObservedPose;
use crate::protocol::MessageMap;
use crate::search::Deadline;

use super::belief::{BeliefStep, Beliefs, LIKE_BEFORE};
use super::deadline::Deadlines;
use super::observation::Observation;
use super::options::BotOptions;
use super::reconstruct::{Gap, Path};
use super::records::{History, KnownMap, Sent};

/// Wrong predictions do not count for this long after the bot joins or rejoins a running game.
const GRACE_TICKS: u16 = 100;
/// A tile is assumed to be see-through once the probability that late commands caused all its
/// refusals falls below this minimum. With the initial share of late commands, two refusals
/// suffice.
const LATE_CHANCE_MIN: f64 = 1e-3;
/// The share of late commands starts as if one late and this many timely commands had been seen.
const PRIOR_COMMANDS: u32 = 50;
/// After a gap of at least this length, the tracker *rejoins* the game: it replaces its hypotheses,
/// as if the bot had joined late. It reconstructs the player's path through shorter gaps.
const REJOIN_TICKS: u16 = 200;
/// Queued observations to process per message even after the deadline, so that the queue shrinks.
const CATCH_UP_MESSAGES_MIN: usize = 4;

pub(super) enum Tracking {
    Building(Box<WorldBuilder>),
    /// While observations are queued, the tracker is behind the game.
    Following(Box<Tracker>),
}

#[derive(Debug)]
pub(super) struct Tracker {
    pub tick: u16,
    pub player: Position,
    pub map: KnownMap,
    pub beliefs: Beliefs,
    grace_until: u16,
    effective_commands: u32,
    /// The number of commands that failed to move the player to a tile that it had visited before.
    late_commands: u32,
}

pub(super) fn track(
    tracking: Option<Tracking>,
    map: &MessageMap,
    history: &mut History,
    options: &BotOptions,
    deadlines: Deadlines,
) -> Option<Tracking> {
    let mut inference = deadlines.decision;
    let mut restyled = Vec::new();
    let mut tracker = match tracking {
        Some(Tracking::Following(tracker)) => {
            if history.queue.len() == 1 {
                inference = deadlines.inference;
            }
            restyled = std::mem::take(&mut history.restyled);
            tracker
        }
        building => {
            let mut builder = match building {
                Some(Tracking::Building(builder)) => builder,
                _ => {
                    let first = history.queue.front()?;
                    let layout = layout_of(&map.layout(first.player), first, &history.styles());
                    Box::new(WorldBuilder::new(&layout, &options.rules).ok()?)
                }
            };
            while !builder.advance() {
                if deadlines.decision.is_past() {
                    return Some(Tracking::Building(builder));
                }
            }
            let first = history.queue.pop_front()?;
            history.forget_sent(first.tick);
            Box::new(Tracker::new(builder.finish(), &history.styles(), &first, deadlines.decision).ok()?)
        }
    };
    let mut processed = 0;
    while processed < CATCH_UP_MESSAGES_MIN || !deadlines.decision.is_past() {
        let Some(observation) = history.queue.pop_front() else { break };
        tracker.process(&observation, &restyled, &history.sent, Deadlines { inference, ..deadlines });
        history.forget_sent(tracker.tick);
        restyled.clear();
        processed += 1;
    }
    Some(Tracking::Following(tracker))
}

/// The layout of a game that begins with this observation. Threats of unknown style become
/// goldfish.
pub(super) fn layout_of(streets: &Layout, first: &Observation, styles: &[Option<Style>]) -> Layout {
    let spawn = |(style, threat): (&Option<Style>, &ObservedPose)| Spawn {
        style: style.unwrap_or(Style::Goldfish),
        position: threat.position,
    };
    let threats = styles.iter().zip(&first.threats).map(spawn).collect();
    Layout { player: first.player, threats, ..streets.clone() }
}

impl Tracker {
    /// Unknown styles are `None`. After `deadline`, only a few hypotheses per threat are kept. Fails
    /// if no world can be built with only the modelled threats.
    pub fn new(
        world: World,
        styles: &[Option<Style>],
        observation: &Observation,
        deadline: Deadline,
    ) -> Result<Self, WorldError> {
        let (tick, player) = (observation.tick, observation.player);
        let beliefs = Beliefs::new(world, styles, observation, deadline)?;
        let unvisited = beliefs.layout.open_positions().filter(|&position| position != player).collect();
        Ok(Self {
            tick,
            player,
            map: KnownMap { unvisited, refusals: BTreeMap::new() },
            beliefs,
            grace_until: if tick == FIRST_TICK { 0 } else { tick + GRACE_TICKS },
            effective_commands: 0,
            late_commands: 0,
        })
    }

    pub fn has_joined(&self) -> bool {
        self.grace_until > 0
    }

    /// `restyled` lists the threats whose style has changed. The deadline for inference ends the
    /// work on gaps. After the decision's deadline, only a few hypotheses per threat are kept.
    fn process(
        &mut self,
        observation: &Observation,
        restyled: &[(usize, Option<Style>)],
        sent: &[Sent],
        deadlines: Deadlines,
    ) {
        let ticks = observation.tick.saturating_sub(self.tick);
        let path = match ticks {
            0 | REJOIN_TICKS.. => Vec::new(),
            1 => {
                self.note_refusal(sent, observation.player);
                vec![self.player, observation.player]
            }
            _ => self.reconstruct_gap(sent, observation, deadlines.inference),
        };
        let first_tick = self.tick;
        (self.tick, self.player) = (observation.tick, observation.player);
        self.map.unvisited.remove(&self.player);
        self.map.refusals.remove(&self.player);
        // The path through a gap is a guess, so a wrong prediction at the end of the gap does not
        // count.
        let counts_mispredictions = ticks == 1 && self.tick > self.grace_until;
        let is_rejoin = ticks >= REJOIN_TICKS;
        if is_rejoin {
            self.grace_until = self.tick + GRACE_TICKS;
        }
        let step = BeliefStep { first_tick, path: &path, observation, restyled, counts_mispredictions, is_rejoin };
        self.beliefs.step(&step, deadlines.decision);
    }

    fn reconstruct_gap(&self, sent: &[Sent], observation: &Observation, deadline: Deadline) -> Path {
        let Beliefs { world, best, message_indices, .. } = &self.beliefs;
        let ticks = usize::from(observation.tick - self.tick);
        let gap = Gap { world, from: self.player, to: observation.player, first_tick: self.tick, ticks };
        let observed = message_indices.iter().map(|&index| observation.threats[index]);
        let threats: Vec<_> = best.iter().copied().zip(observed).collect();
        gap.find_path(sent, threats.len(), |path| gap.count_explained(path, &threats), deadline)
    }

    /// A command without effect was late or lost, or its target is see-through. A visited tile
    /// cannot be see-through. An unvisited tile is assumed to be see-through once late
    /// commands are too unlikely to explain its refusals (see `LATE_CHANCE_MIN`).
    fn note_refusal(&mut self, sent: &[Sent], player: Position) {
        let Some(sent) = sent.iter().find(|sent| sent.tick == self.tick) else { return };
        let Some(target) = sent.player_move.direction().map(|direction| self.player.towards(direction)) else { return };
        if player == target {
            self.effective_commands += 1;
        } else if self.beliefs.layout.tile(target) != Tile::Open {
            // The command was sent before the tile was closed.
        } else if !self.map.unvisited.contains(&target) {
            self.late_commands += 1;
        } else if player == self.player && sent.is_timely {
            let refusals = self.map.refusals.entry(target).or_insert(0);
            *refusals += 1;
            let commands = self.effective_commands + self.late_commands + PRIOR_COMMANDS;
            let late_share = f64::from(self.late_commands + 1) / f64::from(commands + 1);
            // Not `f64::powf`, because its last bit depends on the platform.
            if libm::pow(late_share, f64::from(*refusals)) < LATE_CHANCE_MIN {
                self.close(target);
            }
        }
    }

    /// Marks a tile as see-through. If the player would then have no exit, its commands must have
    /// been lost, so the tile stays open and its refusals are forgotten.
    fn close(&mut self, position: Position) {
        let neighbours = Direction::ALL.map(|direction| self.player.towards(direction));
        if !neighbours.iter().any(|&next| next != position && self.beliefs.layout.tile(next) == Tile::Open) {
            self.map.refusals.remove(&position);
            return;
        }
        self.beliefs.layout.set_tile(position, Tile::SeeThrough);
        self.map.unvisited.remove(&position);
    }

    /// Starts to track the game again, with other rules. Fails if no world can be built.
    pub fn restarted(&self, rules: &Rules, styles: &[Option<Style>], first: &Observation) -> Result<Self, WorldError> {
        let world = self.beliefs.world.rebuilt(&layout_of(&self.beliefs.layout, first, styles), rules)?;
        Self::new(world, styles, first, Deadline::NEVER)
    }

    /// Processes the rest of the observations, one per tick from tick 1 on. Returns false if `deadline`
    /// passes first.
    pub fn replay(&mut self, log: &[Observation], deadline: Deadline) -> bool {
        let deadlines = Deadlines { inference: deadline, learning: deadline, decision: deadline };
        for observation in &log[usize::from(self.tick)..] {
            if deadline.is_past() {
                return false;
            }
            self.process(observation, &[], &[], deadlines);
        }
        true
    }

    /// Replaces the beliefs about the threats.
    pub fn adopt(&mut self, beliefs: Beliefs) {
        let before = std::mem::replace(&mut self.beliefs, beliefs);
        self.beliefs.layout = before.layout;
        self.beliefs.world_count += before.world_count + 1;
        self.beliefs.refresh().expect(LIKE_BEFORE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Move, State};
    use crate::search::Random;

    const DRAWING: &str = "
        #################
        #P..............#
        #.##.###.###.##.#
        #....#.....#....#
        #.##...#O#...##.#
        #.#..#.....#..#.#
        #...##.#.#.##...#
        #.#......D....#.#
        #B..#.G...H.#..S#
        #################";

    fn observation(world: &World, state: &State) -> Observation {
        let observe =
            |threat: crate::game::Threat| ObservedPose { position: threat.position, direction: Some(threat.direction) };
        Observation {
            tick: state.tick(),
            player: world.player(state),
            threats: world.threats(state).map(observe).collect(),
            personality: None,
        }
    }

    struct Tracked {
        tracker: Tracker,
        history: History,
    }

    impl Tracked {
        fn new(layout: &Layout, world: &World, state: &State) -> Self {
            let styles: Vec<Option<Style>> = layout.threats.iter().map(|threat| Some(threat.style)).collect();
            let first = observation(world, state);
            let tracker = Tracker::new(world.clone(), &styles, &first, far_deadlines().decision);
            Self { tracker: tracker.expect("a map"), history: History::default() }
        }

        fn send(&mut self, tick: u16, player_move: Move) {
            self.history.sent.push(Sent { tick, player_move, is_timely: true });
        }

        fn observe(&mut self, world: &World, state: &State) {
            self.tracker.process(&observation(world, state), &[], &self.history.sent, far_deadlines());
            self.history.forget_sent(self.tracker.tick);
        }

        fn state(&self) -> State {
            let Tracker { tick, player, ref beliefs, .. } = self.tracker;
            beliefs.world.state_at(tick, player, &beliefs.best).expect("a state")
        }
    }

    fn far_deadlines() -> Deadlines {
        Deadlines { inference: Deadline::NEVER, learning: Deadline::NEVER, decision: Deadline::NEVER }
    }

    /// Plays games in which `delivery` turns each command into the moves played before the next
    /// message. After every message, the tracked state must equal the server's state.
    fn track_games(delivery: impl Fn(&mut Random, Move) -> Vec<Move>) {
        let layout = Layout::parse(DRAWING).expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let mut ticks = 0;
        for seed in 0..60 {
            let mut random = Random::from_seed(seed);
            let mut state = world.start();
            let mut tracked = Tracked::new(&layout, &world, &state);
            loop {
                let moves: Vec<Move> = world.legal_moves(&state).collect();
                let sent = moves[random.below(moves.len())];
                tracked.send(state.tick(), sent);
                for player_move in delivery(&mut random, sent) {
                    if !state.is_over() {
                        world.step_unchecked(&mut state, player_move);
                    }
                }
                if state.is_over() {
                    break;
                }
                tracked.observe(&world, &state);
                assert_eq!(tracked.state(), state, "seed {seed}, tick {}", state.tick());
                assert_eq!(tracked.tracker.beliefs.mispredictions().iter().sum::<u32>(), 0);
                ticks += 1;
            }
        }
        assert!(ticks > 500, "{ticks} messages in all games");
    }

    #[test]
    fn late_commands_leave_the_state_exact() {
        track_games(|random, sent| vec![if random.below(3) == 0 { Move::Stay } else { sent }]);
    }

    #[test]
    fn missed_messages_leave_the_state_exact() {
        track_games(|random, sent| {
            let mut moves = vec![if random.below(3) == 0 { Move::Stay } else { sent }];
            moves.extend(vec![Move::Stay; random.below(6)]);
            moves
        });
    }

    #[test]
    fn refused_tile_closes_after_two_refusals_unless_visited() {
        let layout = Layout::parse("P..\n...").expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let mut state = world.start();
        let mut tracked = Tracked::new(&layout, &world, &state);
        for (sent, played) in [
            (Move::Right, Move::Stay),
            (Move::Right, Move::Right),
            (Move::Left, Move::Left),
            (Move::Right, Move::Stay),
            (Move::Right, Move::Stay),
            (Move::Down, Move::Stay),
        ] {
            tracked.send(state.tick(), sent);
            world.step_unchecked(&mut state, played);
            tracked.observe(&world, &state);
            assert!(!tracked.tracker.beliefs.layout.tiles.contains(&Tile::SeeThrough));
        }
        // After two late commands, the tile closes only at its third refusal.
        for _ in 0..2 {
            tracked.send(state.tick(), Move::Down);
            world.step_unchecked(&mut state, Move::Stay);
            tracked.observe(&world, &state);
        }
        assert_eq!(tracked.tracker.beliefs.layout.tile(Position::new(0, 1)), Tile::SeeThrough);
    }
}
