//! A game as it is followed through its messages.
//!
//! The promise: a game that keeps the rules is followed exactly, whatever became of our commands. Where the player stands says which move was
//! played, so a command that came too late is a tick without one and nothing else. Ticks whose messages never came are played with
//! the commands that were sent, without, and with whatever else leads to where the player stands, until the threats stand where they are seen. A
//! game that does not keep the rules is followed as it is seen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use crate::game::{
    Direction, FIRST_TICK, Layout, Move, PlacementError, Position, Spawn, State, Style, Tile, World, WorldError,
};
use crate::planner::ObservedThreat;

use super::gap::{Gap, Path};
use super::observation::{Observation, Seen};
use super::suspect::{Allowance, Scene, Suspect};

/// Ticks after joining a game that is under way in which a surprise is put down to our own ignorance.
const JOINING_TICKS: u16 = 100;
/// The chance that every command into a tile came late, below which the tile is taken for one that the player cannot enter. With the share of
/// late commands that is expected at first, it takes two refusals.
const LATE_CHANCE_MIN: f64 = 1e-3;
/// Commands in time that are taken for granted, beside one late one, when the share of late commands is estimated.
const COMMANDS_ASSUMED: u32 = 50;

/// Ticks that a gap may have: after a longer one the game is joined anew.
const GAP_TICKS_MAX: u16 = 200;
/// Ticks of which it is remembered what was seen.
const SEEN_TICKS_MAX: usize = 200;
/// Open tiles of a map at most for strangers to be compared with the styles: on larger ones that takes too long.
const TRIAL_TILES_MAX: usize = 1024;
/// Commands that are remembered at most, while no message can be observed.
const SENT_MAX: usize = 16;

/// A command that was sent and whose effect has not been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub tick: u16,
    pub player_move: Move,
    /// Whether it took no longer than it may.
    pub is_timely: bool,
}

/// A game that is followed.
#[derive(Debug)]
pub(super) struct Pursuit {
    /// The map as far as it is known: tiles that refused the player are see-through.
    layout: Layout,
    /// The map with the threats that can be predicted, and no others.
    world: World,
    /// Threats in the order of the messages.
    suspects: Vec<Suspect>,
    /// World's place -> message's place.
    cast: Vec<usize>,
    tick: u16,
    player: Position,
    sent: Vec<Sent>,
    /// The last observations, of consecutive ticks.
    seen: Vec<Observation>,
    /// A world for strangers to be tried in.
    probe: Option<World>,
    /// Until when surprises are put down to our own ignorance.
    joining_until: u16,
    /// By tile, how many commands into it had no effect, one after another.
    refusals: BTreeMap<Position, u32>,
    /// Tiles where the player has been.
    visited: BTreeSet<Position>,
    /// Commands that took effect.
    effective_commands: u32,
    /// Commands into tiles that the player can enter, without effect.
    late_commands: u32,
    /// Tiles that are taken for see-through only because the player has never been there.
    shunned: Vec<Position>,
    /// Whether the layout has changed since the world was made.
    has_new_streets: bool,
    /// Counts the worlds: whoever keeps something about a world keeps this number with it.
    pub world_count: u32,
}

impl Pursuit {
    /// Begins with the first message of a game, or the first that came. `world` has been made of `layout`; styles that are not known are `None`.
    /// After `deadline` little is guessed.
    ///
    /// # Errors
    /// When the world cannot be made: the caller has checked that it can.
    pub fn new(
        layout: Layout,
        world: World,
        styles: &[Option<Style>],
        observation: &Observation,
        deadline: Instant,
    ) -> Result<Self, WorldError> {
        let (tick, player) = (observation.clock_tick(), observation.player);
        let scene = Scene::new(&layout, tick, player, styles.len(), deadline);
        let suspects = styles.iter().zip(&observation.threats).map(|(&style, &seen)| Suspect::new(style, seen, &scene));
        let mut pursuit = Self {
            suspects: suspects.collect(),
            layout,
            world,
            cast: Vec::new(),
            tick,
            player,
            sent: Vec::new(),
            seen: vec![observation.clone()],
            probe: None,
            joining_until: if tick == FIRST_TICK { 0 } else { tick + JOINING_TICKS },
            refusals: BTreeMap::new(),
            visited: BTreeSet::from([player]),
            effective_commands: 0,
            late_commands: 0,
            shunned: Vec::new(),
            has_new_streets: false,
            world_count: 0,
        };
        pursuit.recast()?;
        Ok(pursuit)
    }

    pub fn world(&self) -> &World {
        &self.world
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The predictable threats where they are now, in the world; a placement fails only in games that break the rules.
    pub fn state(&self) -> Result<State, PlacementError> {
        self.state_in(&self.world)
    }

    /// The same in a world with the same threats.
    pub fn state_in(&self, world: &World) -> Result<State, PlacementError> {
        let leads: Vec<_> = self.cast.iter().filter_map(|&index| self.suspects[index].lead().copied()).collect();
        world.state_at(self.tick, self.player, &leads)
    }

    /// The threats that cannot be predicted.
    pub fn strangers(&self) -> Vec<ObservedThreat> {
        let strangers = self.suspects.iter().filter(|suspect| suspect.is_stranger());
        strangers.map(|suspect| ObservedThreat::at(suspect.position)).collect()
    }

    /// The tile that a move leads to, if the player has never been there.
    pub fn question(&self, player_move: Move) -> Option<Position> {
        let target = self.player.towards(player_move.direction()?);
        (!self.visited.contains(&target)).then_some(target)
    }

    /// The first step on a shortest way to a tile where the player has never been, through tiles where he has.
    pub fn step_to_unvisited(&self) -> Option<Move> {
        let mut reached = BTreeSet::from([self.player]);
        let mut queue = VecDeque::from([(self.player, None)]);
        while let Some((position, first_step)) = queue.pop_front() {
            if !self.visited.contains(&position) {
                return first_step;
            }
            for direction in Direction::ALL {
                let next = position.towards(direction);
                if self.layout.tile(next) == Tile::Open && reached.insert(next) {
                    queue.push_back((next, first_step.or(Some(Move::from(direction)))));
                }
            }
        }
        None
    }

    /// The world if this tile, too, is see-through.
    pub fn world_without(&self, tile: Position) -> Option<World> {
        self.closed_world(std::iter::once(tile))
    }

    /// The world if the player can go only where he has been, and where a move leads.
    pub fn visited_world(&self, player_move: Move) -> Option<World> {
        let target = player_move.direction().map_or(self.player, |direction| self.player.towards(direction));
        self.closed_world(self.unvisited().filter(|&position| position != target))
    }

    /// The world if these tiles, too, are see-through.
    fn closed_world(&self, tiles: impl Iterator<Item = Position>) -> Option<World> {
        let mut layout = self.layout.clone();
        for position in tiles {
            *layout.tiles.get_mut(self.tile_index(position)?)? = Tile::SeeThrough;
        }
        let mut world = self.world.clone();
        world.set_layout(&layout).ok().map(|()| world)
    }

    /// Takes every tile where the player has never been for closed.
    pub fn shun_unvisited(&mut self) {
        let unvisited: Vec<Position> = self.unvisited().collect();
        self.paint(&unvisited, Tile::SeeThrough);
        self.shunned.extend(unvisited);
        self.refresh();
    }

    /// Takes the tiles that are shunned for open again; returns whether there were any.
    pub fn trust_unvisited(&mut self) -> bool {
        let shunned = std::mem::take(&mut self.shunned);
        self.paint(&shunned, Tile::Open);
        self.refresh();
        !shunned.is_empty()
    }

    /// Changes the streets; the world follows with the next refresh.
    fn paint(&mut self, tiles: &[Position], tile: Tile) {
        for &position in tiles {
            if let Some(index) = self.tile_index(position) {
                self.layout.tiles[index] = tile;
                self.has_new_streets = true;
            }
        }
    }

    /// Whether some tile has refused the player, and there are others of which it is not known.
    pub fn is_curious(&self) -> bool {
        let has_refused = !self.refusals.is_empty() || self.layout.tiles.contains(&Tile::SeeThrough);
        has_refused && self.unvisited().next().is_some()
    }

    /// How many tiles the player has been on.
    pub fn visited_count(&self) -> usize {
        self.visited.len()
    }

    /// Tiles not taken for closed where the player has never been.
    fn unvisited(&self) -> impl Iterator<Item = Position> + '_ {
        let open = self.layout.open_positions().filter(|&position| self.layout.tile(position) == Tile::Open);
        open.filter(|position| !self.visited.contains(position))
    }

    /// The place of a tile in the layout, if it is an open one.
    fn tile_index(&self, position: Position) -> Option<usize> {
        self.layout.is_open(position).then_some((position.y * self.layout.width + position.x) as usize)
    }

    /// How often each threat did what was not predicted.
    pub fn mispredictions(&self) -> impl Iterator<Item = u32> + '_ {
        self.suspects.iter().map(|suspect| suspect.mispredictions)
    }

    /// Remembers what was sent in a tick, in answer to the last observation or to a message that could not be observed.
    pub fn send(&mut self, tick: u16, player_move: Move, is_timely: bool) {
        self.sent.retain(|sent| sent.tick != tick);
        self.sent.push(Sent { tick, player_move, is_timely });
        if self.sent.len() > SENT_MAX {
            self.sent.remove(0);
        }
    }

    /// Takes in that the messages give threats other styles than before.
    pub fn restyle(&mut self, before: &[Option<Style>], styles: &[Option<Style>], deadline: Instant) {
        if before == styles {
            return;
        }
        let scene = Scene::new(&self.layout, self.tick, self.player, self.suspects.len(), deadline);
        for (suspect, (before, &style)) in self.suspects.iter_mut().zip(before.iter().zip(styles)) {
            if *before != style {
                suspect.restyle(style, &scene);
            }
        }
        self.refresh();
    }

    /// Takes in what is seen at a later tick, or again at the same one. Gaps and strangers are puzzled over until `puzzle_until`, and after
    /// `deadline` little is guessed.
    pub fn observe(&mut self, observation: &Observation, puzzle_until: Instant, deadline: Instant) {
        let ticks = observation.clock_tick().saturating_sub(self.tick);
        match ticks {
            0 => self.arrive(observation, false, deadline),
            1 => {
                self.note_refusal(observation.player);
                self.play(&[self.player, observation.player], deadline);
                self.arrive(observation, self.tick > self.joining_until, deadline);
            }
            GAP_TICKS_MAX.. => self.rejoin(observation, deadline),
            _ => {
                let path = self.explain_gap(observation, puzzle_until);
                self.play(&path, deadline);
                // Where a path is a guess, so are the minds that it leads to.
                self.arrive(observation, false, deadline);
            }
        }
        self.keep(observation, ticks == 1);
        self.try_strangers(puzzle_until);
        self.refresh();
    }

    /// Remembers what was seen, as long as no tick is missing.
    fn keep(&mut self, observation: &Observation, is_next: bool) {
        if !is_next {
            self.seen.clear();
        } else if self.seen.len() == SEEN_TICKS_MAX {
            self.seen.remove(0);
        }
        self.seen.push(observation.clone());
    }

    /// Compares strangers with the styles that we know.
    fn try_strangers(&mut self, deadline: Instant) {
        let is_to_be_tried = |suspect: &Suspect| suspect.is_to_be_tried(self.tick);
        if !self.suspects.iter().any(is_to_be_tried) || self.world.open_tiles() > TRIAL_TILES_MAX {
            return;
        }
        let probe = self.probe.get_or_insert_with(|| self.world.clone());
        for (index, suspect) in self.suspects.iter_mut().enumerate() {
            if suspect.is_to_be_tried(self.tick) {
                suspect.try_styles(index, &self.seen, &self.layout, probe, deadline);
            }
        }
    }

    /// Begins anew, but for what is known about the map and the spawns.
    fn rejoin(&mut self, observation: &Observation, deadline: Instant) {
        self.arrive(observation, false, deadline);
        self.joining_until = self.tick + JOINING_TICKS;
        let scene = Scene::new(&self.layout, self.tick, self.player, self.suspects.len(), deadline);
        for (suspect, &seen) in self.suspects.iter_mut().zip(&observation.threats) {
            suspect.rejoin(seen, &scene);
        }
    }

    /// Lets the threats play the ticks from one position of the player to the next.
    fn play(&mut self, path: &[Position], deadline: Instant) {
        let allowance = Allowance::new(self.cast.len() * (path.len() - 1), deadline);
        for step in path.windows(2) {
            for (place, &index) in self.cast.iter().enumerate() {
                let played = (self.tick, step[0], step[1]);
                self.suspects[index].advance(&self.world, place, played, allowance);
            }
            self.tick += 1;
        }
    }

    /// Compares with what is seen and takes that as true.
    fn arrive(&mut self, observation: &Observation, counts: bool, deadline: Instant) {
        self.tick = observation.clock_tick();
        self.player = observation.player;
        self.visited.insert(self.player);
        self.refusals.remove(&self.player);
        self.sent.clear();
        let scene = Scene::new(&self.layout, self.tick, self.player, self.suspects.len(), deadline);
        for (suspect, &seen) in self.suspects.iter_mut().zip(&observation.threats) {
            suspect.settle(seen, &scene, counts);
        }
    }

    /// A path of the player through the ticks whose messages never came.
    fn explain_gap(&self, observation: &Observation, deadline: Instant) -> Path {
        let predicted: Vec<(usize, &Suspect, Seen)> = (self.cast.iter().enumerate())
            .map(|(place, &index)| (place, &self.suspects[index], observation.threats[index]))
            .collect();
        let count_right = |path: &Path| {
            let is_right = |&(place, suspect, seen): &(usize, &Suspect, Seen)| {
                let Some(&lead) = suspect.lead() else { return false };
                let ticks = path.windows(2).zip(self.tick..);
                let after = ticks.fold(lead, |threat, (step, tick)| {
                    self.world.threat_after(place, &threat, tick, step[0], step[1]).unwrap_or(threat)
                });
                after.position == seen.position && seen.direction.is_none_or(|direction| direction == after.direction)
            };
            predicted.iter().filter(|threat| is_right(threat)).count()
        };
        let ticks = usize::from(observation.clock_tick() - self.tick);
        let gap = Gap { layout: &self.layout, from: self.player, to: observation.player, first_tick: self.tick, ticks };
        gap.explain(&self.sent, predicted.len(), count_right, deadline)
    }

    /// A command into an open tile that the player then is not on: late, or the tile is see-through, which messages do not tell. A tile on which
    /// the player has been is not; one that refuses him again and again is.
    fn note_refusal(&mut self, player: Position) {
        let Some(sent) = self.sent.iter().find(|sent| sent.tick == self.tick) else { return };
        let Some(target) = sent.player_move.direction().map(|direction| self.player.towards(direction)) else { return };
        if player == target {
            self.effective_commands += 1;
        } else if self.visited.contains(&target) {
            self.late_commands += 1;
        } else if player == self.player && sent.is_timely && self.layout.tile(target) == Tile::Open {
            let refusals = self.refusals.entry(target).or_insert(0);
            *refusals += 1;
            let commands = self.effective_commands + self.late_commands + COMMANDS_ASSUMED;
            let late_share = f64::from(self.late_commands + 1) / f64::from(commands + 1);
            if late_share.powf(f64::from(*refusals)) < LATE_CHANCE_MIN {
                self.close(target);
            }
        }
    }

    /// Takes a tile for see-through, unless that would leave the player nowhere to go: then it is the commands that do not arrive.
    fn close(&mut self, position: Position) {
        let neighbours = Direction::ALL.map(|direction| self.player.towards(direction));
        if !neighbours.iter().any(|&next| next != position && self.layout.tile(next) == Tile::Open) {
            self.refusals.remove(&position);
            return;
        }
        self.paint(&[position], Tile::SeeThrough);
    }

    /// Makes the world anew if other threats are predictable than before, or if the streets have changed.
    fn refresh(&mut self) {
        let is_miscast = || {
            let spawns = &self.world.layout().threats;
            self.cast.iter().zip(spawns).any(|(&index, spawn)| {
                let suspect = &self.suspects[index];
                suspect.style != Some(spawn.style) || suspect.spawn() != spawn.position
            })
        };
        if self.has_new_streets || self.cast != self.predictable() || is_miscast() {
            // The streets and spawns are those of a world that was made before, so this one can be made too.
            self.recast().expect("a world like the one before");
        }
    }

    fn predictable(&self) -> Vec<usize> {
        (0..self.suspects.len()).filter(|&index| !self.suspects[index].is_stranger()).collect()
    }

    fn recast(&mut self) -> Result<(), WorldError> {
        self.cast = self.predictable();
        let spawn = |&index: &usize| {
            let suspect = &self.suspects[index];
            suspect.style.map(|style| Spawn { style, position: suspect.spawn() })
        };
        self.layout.threats = self.cast.iter().filter_map(spawn).collect();
        self.world_count += 1;
        self.has_new_streets = false;
        self.world.set_layout(&self.layout)
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::SeedableRng;

    use super::*;
    use crate::game::Rules;
    use crate::search::{Generator, below};

    const DRAWING: &str = "
        #################
        #P..............#
        #.##.###.###.##.#
        #....#.....#....#
        #.##...#o#...##.#
        #.#..#.....#..#.#
        #...##.#.#.##...#
        #.#......d....#.#
        #b..#.g...h.#..s#
        #################";

    fn observation(world: &World, state: &State) -> Observation {
        let see = |threat: crate::game::Threat| Seen { position: threat.position, direction: Some(threat.direction) };
        let threats = world.threats(state).map(see).collect();
        Observation { tick: state.tick().into(), player: world.player(state), threats }
    }

    fn pursuit(layout: &Layout, world: &World, state: &State) -> Pursuit {
        let styles: Vec<Option<Style>> = layout.threats.iter().map(|threat| Some(threat.style)).collect();
        Pursuit::new(layout.clone(), world.clone(), &styles, &observation(world, state), far_deadline()).expect("a map")
    }

    fn far_deadline() -> Instant {
        Instant::now() + std::time::Duration::from_secs(60)
    }

    /// Plays random games with what `fate` makes of each command: the moves of this tick and of those whose messages do not come. After
    /// every message that does, the state must be the server's.
    fn follow(fate: impl Fn(&mut Generator, Move) -> Vec<Move>) {
        let layout = Layout::parse(DRAWING).expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let mut ticks = 0;
        for seed in 0..60 {
            let mut random = Generator::seed_from_u64(seed);
            let mut state = world.start();
            let mut pursuit = pursuit(&layout, &world, &state);
            loop {
                let moves: Vec<Move> = world.moves(&state).collect();
                let sent = moves[below(&mut random, moves.len())];
                pursuit.send(state.tick(), sent, true);
                for player_move in fate(&mut random, sent) {
                    if !state.is_over() {
                        world.step(&mut state, player_move);
                    }
                }
                if state.is_over() {
                    break;
                }
                pursuit.observe(&observation(&world, &state), far_deadline(), far_deadline());
                assert_eq!(pursuit.state().as_ref(), Ok(&state), "seed {seed}, tick {}", state.tick());
                assert_eq!(pursuit.mispredictions().sum::<u32>(), 0);
                ticks += 1;
            }
        }
        assert!(ticks > 500, "{ticks} messages in all games");
    }

    #[test]
    fn late_commands_leave_the_state_exact() {
        follow(|random, sent| vec![if below(random, 3) == 0 { Move::Stay } else { sent }]);
    }

    #[test]
    fn missing_messages_leave_the_state_exact() {
        follow(|random, sent| {
            let mut moves = vec![if below(random, 3) == 0 { Move::Stay } else { sent }];
            moves.extend(vec![Move::Stay; below(random, 6)]);
            moves
        });
    }

    #[test]
    fn a_tile_that_refuses_twice_is_closed_and_one_that_was_visited_is_not() {
        let layout = Layout::parse("P..\n...").expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let mut state = world.start();
        let mut pursuit = pursuit(&layout, &world, &state);
        for (player_move, becomes) in [
            // Late twice, but it is seen to work in between.
            (Move::Right, Move::Stay),
            (Move::Right, Move::Right),
            (Move::Left, Move::Left),
            (Move::Right, Move::Stay),
            (Move::Right, Move::Stay),
            (Move::Down, Move::Stay),
        ] {
            pursuit.send(state.tick(), player_move, true);
            world.step(&mut state, becomes);
            pursuit.observe(&observation(&world, &state), far_deadline(), far_deadline());
            assert!(!pursuit.layout().tiles.contains(&Tile::SeeThrough));
        }
        // Commands have been late before, so two refusals prove nothing yet.
        for _ in 0..2 {
            pursuit.send(state.tick(), Move::Down, true);
            world.step(&mut state, Move::Stay);
            pursuit.observe(&observation(&world, &state), far_deadline(), far_deadline());
        }
        assert_eq!(pursuit.layout().tile(Position::new(0, 1)), Tile::SeeThrough);
    }
}
