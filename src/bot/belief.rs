//! The beliefs about threats. Messages show a threat's position and direction, but not its hidden
//! state: the number of its random draws, and its memory. The tracker keeps *hypotheses* about each
//! threat's hidden state. In a game seen from tick 1, a threat of known style needs only one
//! hypothesis until a prediction is wrong. For each message, the tracker predicts the pose under
//! each hypothesis, and drops the hypotheses that the observed pose refutes. If it refutes all of
//! them, the tracker generates new ones. Plans use the *best* hypothesis, the first of those left.
//!
//! A threat of unknown style, or with too many mispredictions, is *unmodelled*: plans do not predict
//! its moves. Its hypotheses are of every style, unless the map is too large. Once the threats have
//! moved [`IDENTIFY_MOVES`] times, the most specific style that is left becomes the threat's style.

use std::cell::OnceCell;
use std::collections::HashSet;

use crate::game::{
    Direction, FIRST_TICK, LAST_TICK, Layout, Mover, Position, Spawn, Style, StyleMemory, Threat, World, WorldError,
};
use crate::inference::IDENTIFY_MOVES;
use crate::planner::ObservedThreat;
use crate::search::{Deadline, Generator};

use super::observation::{Observation, ObservedPose};
use super::records::KnownMap;

/// From this number on, each misprediction makes the threat unmodelled.
const MISPREDICTIONS_MAX: u32 = 3;
/// Maximum hypotheses per threat. Initially, even a hawk on the largest map has fewer, and so has an
/// unmodelled threat on a map of [`IDENTIFY_TILES_MAX`] tiles.
const HYPOTHESES_MAX: usize = 10_000;
/// Maximum predictions per observation, one per threat, hypothesis and tick. They take a few
/// milliseconds.
const HYPOTHESES_TOTAL_MAX: usize = 50_000;
/// Maximum hypotheses per threat after the deadline. Sixty threats then take under a millisecond.
const HYPOTHESES_MAX_LATE: usize = 64;
/// Maximum number of times that the best hypothesis may be wrong while another one is right. The
/// next time counts as a misprediction.
const BEST_WRONG_MAX: u32 = 8;

/// Approximate maximum number of hidden states per threat to check against a path. The checks take
/// about a millisecond.
const STATES_TRIED_MAX: usize = 600;
/// Maximum draw counts to try if the count is unknown. Under the server's rules, counts 1 to 24
/// cover every pick from up to four options.
const DRAWS_TRIED_MAX: u16 = 24;
const CATCHES_MAX: usize = 3;

/// The largest map, in open tiles, on which the tracker has time for a second world.
const IDENTIFY_TILES_MAX: usize = 1024;

#[derive(Debug)]
pub(super) struct Beliefs {
    threats: Vec<ThreatBelief>,
    pub world: World,
    /// Increases whenever `world` changes, so that planners for an older world can be replaced.
    pub world_count: u32,
    /// For each threat of `world`, its index in the messages.
    pub message_indices: Vec<usize>,
    pub best: Vec<Threat>,
    pub unmodelled: Vec<ObservedThreat>,
    /// A world with one threat of each style, for the hypotheses about unmodelled threats.
    styles_world: Option<World>,
}

pub(super) struct BeliefStep<'a> {
    pub first_tick: u16,
    /// The player's position at the start of each tick from `first_tick` to the tick of the
    /// observation. If empty, nothing is predicted.
    pub path: &'a [Position],
    pub observation: &'a Observation,
    /// For each threat whose style has changed: its index in the messages, and its new style.
    pub restyled: &'a [(usize, Option<Style>)],
    /// False right after missed messages, and for some time after the bot joins or rejoins a
    /// running game: a wrong prediction then does not count.
    pub counts_mispredictions: bool,
    /// True if a long gap has made all earlier hypotheses invalid.
    pub is_rejoin: bool,
}

impl Beliefs {
    /// `world` must be built from the map's layout; unknown styles are `None`. After `deadline`,
    /// keeps at most [`HYPOTHESES_MAX_LATE`] hypotheses per threat. Fails if no world can be built
    /// with the modelled threats.
    pub fn new(
        world: World,
        map: &mut KnownMap,
        styles: &[Option<Style>],
        first: &Observation,
        deadline: Deadline,
    ) -> Result<Self, WorldError> {
        let limit = HypothesisLimit::new(styles.len(), deadline);
        let context = PriorContext::new(&map.layout, &world, first.tick, first.player, limit);
        let threats = styles.iter().zip(&first.threats);
        let threats = threats.map(|(&style, &observed)| ThreatBelief::new(style, observed, &context)).collect();
        let mut beliefs = Self {
            threats,
            world,
            world_count: 0,
            message_indices: Vec::new(),
            best: Vec::new(),
            unmodelled: Vec::new(),
            styles_world: None,
        };
        beliefs.rebuild_world(map)?;
        beliefs.summarize();
        Ok(beliefs)
    }

    pub fn mispredictions(&self) -> Vec<u32> {
        self.threats.iter().map(|threat| threat.mispredictions).collect()
    }

    pub fn is_ambiguous(&self) -> bool {
        let is_ambiguous = |threat: &ThreatBelief| {
            threat.hypotheses.len() > 1 || threat.hypotheses.iter().any(|hypothesis| !hypothesis.are_draws_known)
        };
        self.message_indices.iter().any(|&index| is_ambiguous(&self.threats[index]))
    }

    /// Draws a random hypothesis for each modelled threat. The first hypotheses, which are the
    /// likeliest, are drawn more often. If a draw count is unknown, draws the count, too. Does not
    /// draw a deer's home, because the world contains the home of the best hypothesis.
    pub fn draw(&self, tick: u16, random: &mut Generator) -> Vec<Threat> {
        let draws_max = usize::from(self.world.clock().moves_before(tick)) + 1;
        let mut draw = |&index: &usize| {
            let hypotheses = &self.threats[index].hypotheses;
            let most = 1 + random.below(hypotheses.len().max(1));
            let drawn = hypotheses.get(random.below(most))?;
            let draws = if drawn.are_draws_known { drawn.threat.draws } else { 1 + random.below(draws_max) as u16 };
            Some(Threat { draws, ..drawn.threat })
        };
        self.message_indices.iter().filter_map(&mut draw).collect()
    }

    /// The spawn and the best hypothesis of each modelled threat. A deer's spawn is its home.
    pub fn likeliest(&self) -> Vec<(Spawn, Threat)> {
        let hypotheses = self.message_indices.iter().filter_map(|&index| {
            let threat = &self.threats[index];
            threat.hypotheses.first().map(|hypothesis| threat.variant(hypothesis, hypothesis.threat.draws))
        });
        hypotheses.collect()
    }

    /// Finds a few hidden states that cause a catch on `path`, which starts in `tick`. For each,
    /// returns the number of moves on the path before the fatal move, the spawn (a deer's home) and
    /// the threat. `None` if `deadline` passes first.
    pub fn catches(&self, tick: u16, path: &[Position], deadline: Deadline) -> Option<Vec<(usize, Spawn, Threat)>> {
        let mut catches = Vec::new();
        for (world_index, &index) in self.message_indices.iter().enumerate() {
            catches.extend(self.threats[index].catches(&self.world, world_index, tick, path, deadline)?);
        }
        Some(catches)
    }

    fn set_styles(&mut self, step: &BeliefStep<'_>, player: Position, map: &mut KnownMap, deadline: Deadline) {
        let limit = HypothesisLimit::new(self.threats.len(), deadline);
        let context = PriorContext::new(&map.layout, &self.world, step.first_tick, player, limit);
        for &(index, style) in step.restyled {
            self.threats[index].set_style(style, &context);
        }
        self.refresh(map);
    }

    pub fn step(&mut self, step: &BeliefStep<'_>, map: &mut KnownMap, deadline: Deadline) {
        let observation = step.observation;
        if !step.restyled.is_empty() {
            let player = step.path.first().copied().unwrap_or(observation.player);
            self.set_styles(step, player, map, deadline);
        }
        let ticks = step.path.len().saturating_sub(1);
        let limit = HypothesisLimit::new(self.threats.len() * ticks, deadline);
        self.build_styles_world(map);
        for (pair, tick) in step.path.windows(2).zip(step.first_tick..) {
            let step = (tick, pair[0], pair[1]);
            for (world_index, &index) in self.message_indices.iter().enumerate() {
                self.threats[index].predict(&self.world, |_| world_index, step, limit);
            }
            for threat in self.threats.iter_mut().filter(|threat| threat.is_unmodelled()) {
                let Some(world) = &self.styles_world else { break };
                threat.predict(world, |style| style as usize, step, limit);
            }
        }
        let limit = HypothesisLimit::new(self.threats.len(), deadline);
        let context = PriorContext::new(&map.layout, &self.world, observation.tick, observation.player, limit);
        for (threat, &observed) in self.threats.iter_mut().zip(&observation.threats) {
            threat.update(observed, &context, step.counts_mispredictions);
            if step.is_rejoin {
                threat.reinitialise(observed, &context);
            }
        }
        self.refresh(map);
    }

    fn build_styles_world(&mut self, map: &KnownMap) {
        if !self.threats.iter().any(|threat| threat.is_unmodelled() && !threat.hypotheses.is_empty()) {
            return;
        }
        let world = self.styles_world.take_if(|world| world.layout().tiles != map.layout.tiles);
        if world.is_some() || self.styles_world.is_none() {
            let threats = Style::ALL.map(|style| Spawn { style, position: map.layout.player }).to_vec();
            let mut world = world.unwrap_or_else(|| self.world.clone());
            let is_built = world.set_layout(&Layout { threats, ..map.layout.clone() }).is_ok();
            self.styles_world = Some(world).filter(|_| is_built);
        }
    }

    pub fn refresh(&mut self, map: &mut KnownMap) {
        let is_outdated = || {
            let spawns = &self.world.layout().threats;
            self.message_indices.iter().zip(spawns).any(|(&index, spawn)| {
                let threat = &self.threats[index];
                threat.style != Some(spawn.style) || threat.spawn() != spawn.position
            })
        };
        if map.layout.tiles != self.world.layout().tiles || self.message_indices != self.predictable() || is_outdated()
        {
            // The streets and spawns come from a valid world, so rebuilding cannot fail.
            self.rebuild_world(map).expect("a world like the one before");
        }
        self.summarize();
    }

    fn predictable(&self) -> Vec<usize> {
        (0..self.threats.len()).filter(|&index| !self.threats[index].is_unmodelled()).collect()
    }

    fn rebuild_world(&mut self, map: &mut KnownMap) -> Result<(), WorldError> {
        self.message_indices = self.predictable();
        let spawn = |&index: &usize| {
            let threat = &self.threats[index];
            threat.style.map(|style| Spawn { style, position: threat.spawn() })
        };
        map.layout.threats = self.message_indices.iter().filter_map(spawn).collect();
        self.world_count += 1;
        self.world.set_layout(&map.layout)
    }

    fn summarize(&mut self) {
        let best = self.message_indices.iter().filter_map(|&index| self.threats[index].best().copied());
        self.best = best.collect();
        let unmodelled = self.threats.iter().filter(|threat| threat.is_unmodelled());
        self.unmodelled = unmodelled.map(|threat| ObservedThreat::at(threat.position)).collect();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Hypothesis {
    threat: Threat,
    /// False if the draw count is unknown. The next draw then splits the hypothesis into one
    /// hypothesis per possible count.
    are_draws_known: bool,
    /// The assumed home of a deer whose spawn is unknown.
    home: Option<Position>,
}

impl Hypothesis {
    fn agrees(&self, observed: ObservedPose) -> bool {
        observed.agrees(&self.threat)
    }
}

#[derive(Clone, Debug)]
struct PriorContext<'a> {
    layout: &'a Layout,
    world: &'a World,
    tick: u16,
    player: Position,
    limit: HypothesisLimit,
    tiles_by_distance: OnceCell<Vec<Position>>,
    player_steps: OnceCell<Vec<u16>>,
    last_look: OnceCell<Option<u16>>,
}

impl<'a> PriorContext<'a> {
    fn new(layout: &'a Layout, world: &'a World, tick: u16, player: Position, limit: HypothesisLimit) -> Self {
        Self {
            layout,
            world,
            tick,
            player,
            limit,
            tiles_by_distance: OnceCell::new(),
            player_steps: OnceCell::new(),
            last_look: OnceCell::new(),
        }
    }

    fn moves_before(&self, tick: u16) -> u16 {
        self.world.clock().moves_before(tick)
    }

    /// True if a step along the shared path to `target` may have led the threat to this pose.
    fn is_led_to(&self, position: Position, direction: Direction, target: Position) -> bool {
        let (graph, before) = (self.world.graph(), position.towards(direction.reverse()));
        let (Some(before), Some(target)) = (graph.tile(before), graph.tile(target)) else { return false };
        let nearer = self.world.route_bits(target, before);
        let mut order = self.world.rules().shared_path_order.into_iter();
        order.find(|&step| nearer >> step as u8 & 1 == 1) == Some(direction)
    }

    /// True if the player may have been on this tile when the owls last looked.
    fn could_be_seen(&self, tile: Position) -> bool {
        let Some(looked) = *self.last_look.get_or_init(|| self.find_last_look()) else { return false };
        let graph = self.world.graph();
        let (Some(player), Some(tile)) = (graph.tile(self.player), graph.tile(tile)) else { return true };
        let steps = self.player_steps.get_or_init(|| graph.distances(Mover::Player, player));
        steps[usize::from(tile)] <= self.tick - looked
    }

    fn find_last_look(&self) -> Option<u16> {
        let clock = self.world.clock();
        (FIRST_TICK..self.tick).rev().find(|&tick| clock.threats_move(tick) && clock.owls_look(tick))
    }

    fn tiles_by_distance(&self) -> &[Position] {
        self.tiles_by_distance.get_or_init(|| {
            let mut tiles: Vec<Position> = self.layout.open_positions().collect();
            tiles.sort_by_key(|tile| tile.manhattan_distance(self.player));
            tiles
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct HypothesisLimit {
    hypotheses_max: usize,
    deadline: Deadline,
}

impl HypothesisLimit {
    /// Divides the total limit by `threats`: the number of threats or, for a prediction, the number
    /// of threats times the number of predicted ticks.
    fn new(threats: usize, deadline: Deadline) -> Self {
        Self { hypotheses_max: (HYPOTHESES_TOTAL_MAX / threats.max(1)).clamp(1, HYPOTHESES_MAX), deadline }
    }

    fn now(&self) -> usize {
        let is_late = self.hypotheses_max > HYPOTHESES_MAX_LATE && self.deadline.is_past();
        if is_late { HYPOTHESES_MAX_LATE } else { self.hypotheses_max }
    }
}

/// Whether a threat is assumed to have kept the rules so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conduct {
    /// The threat has followed its style and the rules. The draw count of a goldfish is then known,
    /// and fewer memories of owls and hawks are possible.
    ByTheRules,
    Unknown,
}

#[derive(Clone, Debug)]
struct ThreatBelief {
    /// `None` if the threat is unmodelled.
    style: Option<Style>,
    first_position: Position,
    is_spawn_known: bool,
    position: Position,
    direction: Direction,
    /// Best first. If the threat is unmodelled, the hypotheses are of all styles, the most specific
    /// first.
    hypotheses: Vec<Hypothesis>,
    /// The number of observations that no hypothesis predicted, or at which `best_wrong_count`
    /// exceeded its maximum. Includes only those with [`BeliefStep::counts_mispredictions`].
    mispredictions: u32,
    best_wrong_count: u32,
    /// For an unmodelled threat, the number of moves that threats had made when its hypotheses were
    /// generated.
    unmodelled_since_moves: u16,
}

impl ThreatBelief {
    fn new(style: Option<Style>, observed: ObservedPose, context: &PriorContext<'_>) -> Self {
        let mut belief = Self {
            style,
            first_position: observed.position,
            is_spawn_known: context.tick == FIRST_TICK,
            position: observed.position,
            direction: observed.direction.unwrap_or(Direction::Up),
            hypotheses: Vec::new(),
            mispredictions: 0,
            best_wrong_count: 0,
            unmodelled_since_moves: 0,
        };
        belief.generate(context, Conduct::ByTheRules);
        belief
    }

    fn spawn(&self) -> Position {
        self.hypotheses.first().and_then(|best| best.home).unwrap_or(self.first_position)
    }

    fn is_unmodelled(&self) -> bool {
        self.style.is_none()
    }

    fn best(&self) -> Option<&Threat> {
        self.hypotheses.first().map(|hypothesis| &hypothesis.threat)
    }

    fn variant(&self, hypothesis: &Hypothesis, draws: u16) -> (Spawn, Threat) {
        let position = hypothesis.home.unwrap_or_else(|| self.spawn());
        let threat = Threat { draws, ..hypothesis.threat };
        (Spawn { style: threat.style, position }, threat)
    }

    fn catches(
        &self,
        world: &World,
        world_index: usize,
        tick: u16,
        path: &[Position],
        deadline: Deadline,
    ) -> Option<Vec<(usize, Spawn, Threat)>> {
        let draws_max = (1 + world.clock().moves_before(tick)).min(DRAWS_TRIED_MAX);
        let states: usize = self
            .hypotheses
            .iter()
            .map(|hypothesis| if hypothesis.are_draws_known { 1 } else { usize::from(draws_max) })
            .sum();
        let stride = states.div_ceil(STATES_TRIED_MAX).max(1);
        let mut catches = Vec::new();
        for hypothesis in self.hypotheses.iter().step_by(stride) {
            let draws = match hypothesis.are_draws_known {
                true => hypothesis.threat.draws..=hypothesis.threat.draws,
                false => 1..=draws_max,
            };
            if deadline.is_past() {
                return None;
            }
            for draws in draws {
                let (spawn, threat) = self.variant(hypothesis, draws);
                let moves = moves_before_catch(world, world_index, (threat, hypothesis.home), tick, path);
                catches.extend(moves.map(|moves| (moves, spawn, threat)));
            }
        }
        catches.sort_by_key(|&(moves, _, _)| moves);
        catches.dedup_by_key(|&mut (moves, _, _)| moves);
        catches.truncate(CATCHES_MAX);
        Some(catches)
    }

    /// Predicts a tick in which the player moves from `stale` to `now`. Drops hypotheses beyond
    /// `limit`.
    fn predict(
        &mut self,
        world: &World,
        index_of: impl Fn(Style) -> usize,
        (tick, stale, now): (u16, Position, Position),
        limit: HypothesisLimit,
    ) {
        let draws = 1..=1 + world.clock().moves_before(tick);
        let step =
            |threat: &Threat| world.threat_after(index_of(threat.style), threat, tick, stale, now).unwrap_or(*threat);
        let step_deer = |deer: &Threat, home| world.deer_after(deer, home, tick, stale, now).unwrap_or(*deer);
        let mut predicted = Vec::with_capacity(self.hypotheses.len());
        let hypotheses_max = limit.now();
        for hypothesis in &self.hypotheses {
            if predicted.len() >= hypotheses_max {
                break;
            }
            let threat = match hypothesis.home {
                Some(home) => step_deer(&hypothesis.threat, home),
                None => step(&hypothesis.threat),
            };
            if hypothesis.are_draws_known || threat.draws == hypothesis.threat.draws {
                predicted.push(Hypothesis { threat, ..*hypothesis });
                continue;
            }
            let threats = draws.clone().map(|draws| step(&Threat { draws, ..hypothesis.threat }));
            let hypotheses = threats.map(|threat| Hypothesis { threat, are_draws_known: true, home: None });
            predicted.extend(hypotheses.take(hypotheses_max - predicted.len()));
        }
        self.hypotheses = predicted;
    }

    /// Drops hypotheses that the observation refutes. After a misprediction, generates new ones or,
    /// if there have been too many mispredictions, makes the threat unmodelled. Mispredictions
    /// count only if `counts` is true.
    fn update(&mut self, observed: ObservedPose, context: &PriorContext<'_>, counts: bool) {
        self.position = observed.position;
        self.direction = observed.direction.or(self.best().map(|best| best.direction)).unwrap_or(self.direction);
        let agrees = |hypothesis: &Hypothesis| hypothesis.agrees(observed);
        if self.is_unmodelled() {
            self.hypotheses.retain(agrees);
            self.identify(context);
            return;
        }
        let is_best_right = agrees(&self.hypotheses[0]);
        if self.hypotheses.iter().any(agrees) {
            self.hypotheses.retain(agrees);
            if self.hypotheses.len() > 1 {
                // Hypotheses can become equal, for example after an owl has looked at the player.
                let mut known = HashSet::new();
                self.hypotheses.retain(|hypothesis| known.insert(*hypothesis));
            }
            self.best_wrong_count += u32::from(!is_best_right);
            if self.best_wrong_count <= BEST_WRONG_MAX || !counts {
                return;
            }
        }
        self.best_wrong_count = 0;
        self.mispredictions += u32::from(counts);
        if self.mispredictions >= MISPREDICTIONS_MAX {
            self.set_style(None, context);
            return;
        }
        self.regenerate(context);
    }

    /// Adopts the most specific style that explains enough moves. If no style explains them, starts
    /// again.
    fn identify(&mut self, context: &PriorContext<'_>) {
        let moves = context.moves_before(context.tick);
        let Some(&Hypothesis { threat: Threat { style, .. }, .. }) = self.hypotheses.first() else {
            self.generate(context, Conduct::Unknown);
            return;
        };
        if moves >= self.unmodelled_since_moves + IDENTIFY_MOVES {
            self.style = Some(style);
            self.hypotheses.retain(|hypothesis| hypothesis.threat.style == style);
        }
    }

    fn regenerate(&mut self, context: &PriorContext<'_>) {
        let (position, direction) = (self.position, self.direction);
        let kept = self.hypotheses.iter().map(|hypothesis| Hypothesis {
            threat: Threat { position, direction, ..hypothesis.threat },
            ..*hypothesis
        });
        let mut known = HashSet::new();
        let prior = self.style.map_or_else(Vec::new, |style| self.prior(style, context, Conduct::Unknown));
        let all: Vec<Hypothesis> = kept.chain(prior).collect();
        let all = all.into_iter().filter(|hypothesis| known.insert(*hypothesis));
        self.hypotheses = all.take(context.limit.now()).collect();
    }

    fn reinitialise(&mut self, observed: ObservedPose, context: &PriorContext<'_>) {
        self.position = observed.position;
        self.direction = observed.direction.unwrap_or(self.direction);
        self.generate(context, Conduct::ByTheRules);
    }

    /// Replaces all hypotheses.
    fn generate(&mut self, context: &PriorContext<'_>, conduct: Conduct) {
        if let Some(style) = self.style {
            self.hypotheses = self.prior(style, context, conduct);
            return;
        }
        self.hypotheses.clear();
        self.unmodelled_since_moves = context.moves_before(context.tick);
        if context.world.open_tiles() > IDENTIFY_TILES_MAX {
            return;
        }
        let mut styles = Style::ALL;
        styles.sort_by_key(|style| style.specificity_rank());
        for style in styles {
            let prior = self.prior(style, context, Conduct::Unknown).into_iter();
            let home = |home: Option<Position>| home.or(Some(self.first_position)).filter(|_| style == Style::Deer);
            let with_home = prior.map(|hypothesis| Hypothesis { home: home(hypothesis.home), ..hypothesis });
            self.hypotheses.extend(with_home);
        }
        self.hypotheses.truncate(context.limit.now());
    }

    fn set_style(&mut self, style: Option<Style>, context: &PriorContext<'_>) {
        self.style = style;
        self.best_wrong_count = 0;
        self.generate(context, Conduct::Unknown);
    }

    /// Returns the possible hidden states of a threat of this style, likeliest first.
    fn prior(&self, style: Style, context: &PriorContext<'_>, conduct: Conduct) -> Vec<Hypothesis> {
        let keeps_rules = conduct == Conduct::ByTheRules;
        let moves = context.moves_before(context.tick);
        let are_draws_known = moves == 0 || !style.draws() || (style.draws_every_move() && keeps_rules);
        let blank = Threat {
            style,
            position: self.position,
            direction: self.direction,
            draws: if style.draws_every_move() { 1 + moves } else { 1 },
            remembered: None,
            seen: None,
            post: None,
            idle_rounds: 0,
        };
        let hypothesis = |threat| Hypothesis { threat, are_draws_known, home: None };
        if moves == 0 && self.is_spawn_known {
            return vec![hypothesis(blank)];
        }
        // Tiles are sorted by distance to the player. If the threat has kept the rules, tiles
        // towards which its last step may have led come first.
        let max = context.limit.now();
        let tiles = || context.tiles_by_distance().iter();
        let likeliest_first = || {
            let mut sorted: Vec<&Position> = tiles().collect();
            if keeps_rules {
                sorted.sort_by_cached_key(|&&tile| !context.is_led_to(self.position, self.direction, tile));
            }
            sorted
        };
        let remembers = |&tile: &Position| Threat { remembered: Some(tile), ..blank };
        let has_seen = |&tile: &Position| Threat { seen: Some(tile), ..blank };
        let patrols = |&tile: &Position| Threat { post: Some(tile), ..blank };
        let waits = |idle_rounds: i8| Threat { idle_rounds, ..blank };
        let with_home = |&home: &Position| Hypothesis { home: Some(home), ..hypothesis(blank) };
        match style.memory() {
            StyleMemory::Spawn if !self.is_spawn_known => tiles().map(with_home).take(max).collect(),
            StyleMemory::Nothing | StyleMemory::Spawn => vec![hypothesis(blank)],
            StyleMemory::LastLook => {
                let looked = likeliest_first().into_iter().filter(|tile| !keeps_rules || context.could_be_seen(**tile));
                looked.map(remembers).chain([blank]).map(hypothesis).take(max).collect()
            }
            StyleMemory::Target => {
                let rules = context.world.rules();
                let (patience, rest) = (rules.hawk_patience_moves as i8, rules.hawk_rest_moves as i8);
                let idle = (0..=patience).chain(-rest..0).map(waits);
                let sightings = likeliest_first().into_iter().map(has_seen);
                if keeps_rules {
                    let posts = context.world.best_intersections().into_iter().map(|tile| patrols(&tile));
                    return idle.chain(posts).chain(sightings).map(hypothesis).take(max).collect();
                }
                let walks = sightings.chain(tiles().map(patrols));
                idle.chain(walks).map(hypothesis).take(max).collect()
            }
        }
    }
}

fn moves_before_catch(
    world: &World,
    world_index: usize,
    (mut threat, home): (Threat, Option<Position>),
    tick: u16,
    path: &[Position],
) -> Option<usize> {
    for (moves, (pair, tick)) in path.windows(2).zip(tick..=LAST_TICK).enumerate() {
        let (stale, now) = (pair[0], pair[1]);
        if world.rules().no_jump && threat.position == now {
            return Some(moves);
        }
        let next = match home {
            Some(home) => world.deer_after(&threat, home, tick, stale, now),
            None => world.threat_after(world_index, &threat, tick, stale, now),
        };
        threat = next.unwrap_or(threat);
        if threat.position == now {
            return Some(moves);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::game::Rules;
    use crate::search::{ManualTimeSource, TimeSource, install};

    #[test]
    fn late_tracker_keeps_few_hypotheses_and_threats_share_the_limit() {
        let layout = Layout::parse(&vec![".".repeat(30); 30].join("\n").replacen('.', "P", 1)).expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let observed = ObservedPose { position: Position::new(20, 20), direction: Some(Direction::Up) };
        let hypotheses = |threats, deadline| {
            let limit = HypothesisLimit::new(threats, deadline);
            let context = PriorContext::new(&layout, &world, 500, layout.player, limit);
            ThreatBelief::new(Some(Style::Hawk), observed, &context).hypotheses.len()
        };
        let clock = install(ManualTimeSource::new());
        let deadline = |ms| Deadline::new(clock.now() + Duration::from_millis(ms), clock.now());
        let (now, later) = (deadline(0), deadline(1));
        // Eleven counts of idle rounds, ten posts, and each of the 900 tiles as the last sighting.
        assert_eq!(hypotheses(6, later), 11 + 10 + 900);
        assert_eq!(hypotheses(60, later), HYPOTHESES_TOTAL_MAX / 60);
        assert_eq!(hypotheses(6, now), HYPOTHESES_MAX_LATE);
    }
}
