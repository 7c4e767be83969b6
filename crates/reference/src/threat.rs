//! A threat: its memory, when it moves, and how each style chooses a move.

use super::navigation::{Navigation, UncachedNavigation};
use super::random::pick;
use super::sight::line_of_sight;
use getaway::game::{Direction, Layout, Personality, PhaseClocks, Position, Rules, Spawn, Style, View};

/// The state of a threat, and the rules that it follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Threat {
    /// The rules, which are constants on the server.
    pub rules: Rules,
    pub style: Style,
    pub position: Position,
    pub spawn: Position,
    /// The direction of its last move, or its initial direction.
    pub direction: Direction,
    pub seed: i32,
    /// Ticks since it last chose a move, or since the start.
    pub ticks_since_move: u8,
    pub personality: Personality,
    /// The player's position at this threat's last update, or (-1, -1) before its first update.
    pub stale_player: Position,
    pub memory: Memory,
}

/// The memory of owls and hawks; the other styles do not use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// Owl: the position where it saw the player at its last look.
    pub remembered: Option<Position>,
    /// Hawk: where it last saw the player, until the move after its arrival there, unless it then
    /// sees the player again.
    pub seen: Option<Position>,
    /// Hawk: the intersection picked as its post, until it sees the player, or the move after its
    /// arrival there.
    pub post: Option<Position>,
    /// Hawk: the number of its moves without a target, counted from 0, or from `-hawk_rest_moves`
    /// after it reached a post.
    pub idle_rounds: i32,
}

impl Threat {
    pub fn new(spawn: Spawn, rules: &Rules) -> Self {
        let mut seed = rules.first_seed;
        let direction = pick(&mut seed, rules.pick_scale, &rules.spawn_order).unwrap_or(Direction::Up);
        Self {
            rules: *rules,
            style: spawn.style,
            position: spawn.position,
            spawn: spawn.position,
            direction,
            seed,
            ticks_since_move: 0,
            personality: Personality::Lazy,
            stale_player: Position::new(-1, -1),
            memory: Memory::default(),
        }
    }

    /// Updates the threat after the player's move. `clock` is the tick minus one.
    pub fn update(&mut self, layout: &Layout, clock: u16, player: Position) {
        self.update_by(&UncachedNavigation::new(layout, &self.rules), layout, clock, player);
    }

    pub fn update_by(&mut self, navigation: &impl Navigation, layout: &Layout, clock: u16, player: Position) {
        if self.is_due(clock) {
            let seen = match self.view() {
                Some(View::Stale) => self.stale_player,
                Some(View::Present) | None => player,
            };
            let noticed = self.notices(layout, owls_look(&self.rules, clock), seen);
            self.act(navigation, layout, noticed);
        }
        // Set last, because a stale view is the player's position at the previous update.
        self.stale_player = player;
    }

    /// Updates the personality, counts a tick, and returns true if the threat chooses a move in
    /// this tick.
    pub fn is_due(&mut self, clock: u16) -> bool {
        self.personality = personality_at(self.rules.phase_clocks, clock);
        self.ticks_since_move += 1;
        let is_due = self.ticks_since_move >= self.period_ticks();
        if is_due {
            self.ticks_since_move = 0;
        }
        is_due
    }

    /// Returns the style's view of the player, or `None` for bulls and goldfish, which have none.
    pub fn view(&self) -> Option<View> {
        match self.style {
            Style::Bull | Style::Goldfish => None,
            Style::Deer => Some(self.rules.deer_view),
            Style::Shark => Some(self.rules.shark_view),
            Style::Owl => Some(self.rules.owl_view),
            Style::Hawk => Some(self.rules.hawk_view),
        }
    }

    /// Returns `player` if the threat notices a player at this position when it chooses a move.
    pub fn notices(&self, layout: &Layout, owls_look: bool, player: Position) -> Option<Position> {
        let notices = match self.style {
            Style::Bull | Style::Goldfish => false,
            Style::Deer | Style::Shark => true,
            Style::Owl => owls_look,
            Style::Hawk => line_of_sight(layout, self.position, player),
        };
        notices.then_some(player)
    }

    /// Chooses a move, and makes it if possible. The choice depends on the player only through
    /// `noticed`, and does not depend on the clock.
    pub fn act(&mut self, navigation: &impl Navigation, layout: &Layout, noticed: Option<Position>) {
        if let Some(direction) = self.choose(navigation, layout, noticed) {
            self.take(layout, direction);
        }
    }

    fn period_ticks(&self) -> u8 {
        match self.personality {
            Personality::Lazy => self.rules.period_ticks.lazy,
            Personality::Tease => self.rules.period_ticks.tease,
            Personality::Awake => self.rules.period_ticks.awake,
            Personality::Hungry => self.rules.period_ticks.hungry,
            Personality::Insane => self.rules.period_ticks.insane,
        }
    }

    /// Chooses a move, or `None` to stay. The threat's memory changes only here.
    fn choose(
        &mut self,
        navigation: &impl Navigation,
        layout: &Layout,
        noticed: Option<Position>,
    ) -> Option<Direction> {
        match self.style {
            Style::Goldfish => self.choose_goldfish(layout),
            Style::Bull => self.choose_bull(layout),
            Style::Deer => self.choose_deer(layout, noticed?),
            Style::Shark => self.choose_shark(navigation, noticed?),
            Style::Owl => self.choose_owl(navigation, noticed),
            Style::Hawk => self.choose_hawk(navigation, noticed),
        }
    }

    fn take(&mut self, layout: &Layout, direction: Direction) {
        let next = self.position.towards(direction);
        if layout.is_open(next) {
            self.position = next;
            self.direction = direction;
        }
    }

    fn options(&self, layout: &Layout) -> Vec<Direction> {
        self.rules
            .option_order
            .into_iter()
            .filter(|&direction| layout.is_open(self.position.towards(direction)))
            .collect()
    }

    /// Picks one of the options. Draws a number even if there are no options.
    fn choose_goldfish(&mut self, layout: &Layout) -> Option<Direction> {
        let options = self.options(layout);
        pick(&mut self.seed, self.rules.pick_scale, &options)
    }

    /// Goes straight ahead. In front of a wall, draws a number to pick one of the options.
    fn choose_bull(&mut self, layout: &Layout) -> Option<Direction> {
        let options = self.options(layout);
        if options.contains(&self.direction) {
            return Some(self.direction);
        }
        pick(&mut self.seed, self.rules.pick_scale, &options)
    }

    /// Minimises the straight-line distance to its target. A deer turns back only in a dead end.
    fn choose_deer(&self, layout: &Layout, player: Position) -> Option<Direction> {
        let options = self.options(layout);
        if options.len() == 1 {
            return Some(options[0]);
        }
        let is_far = squared_distance(self.position, player) > i64::from(self.rules.deer_shy_distance_squared);
        let target = if is_far { player } else { self.spawn };
        options
            .into_iter()
            .filter(|&direction| direction != self.direction.reverse())
            // Like the server, `min_by_key` returns the first of equal minima.
            .min_by_key(|&direction| squared_distance(self.position.towards(direction), target))
    }

    fn choose_shark(&self, navigation: &impl Navigation, player: Position) -> Option<Direction> {
        self.direction_to(navigation.shark_step(self.position, player)?)
    }

    fn choose_owl(&mut self, navigation: &impl Navigation, looked_at: Option<Position>) -> Option<Direction> {
        if looked_at.is_some() {
            self.memory.remembered = looked_at;
        }
        self.step_to(navigation, self.memory.remembered?)
    }

    /// Goes where it last saw the player, else to its post. With neither, waits, then picks a post.
    fn choose_hawk(&mut self, navigation: &impl Navigation, seen: Option<Position>) -> Option<Direction> {
        if seen.is_some() {
            self.memory.seen = seen;
            self.memory.post = None;
            self.memory.idle_rounds = 0;
        }
        if let Some(seen) = self.memory.seen {
            if seen == self.position {
                self.memory.seen = None;
                self.memory.idle_rounds = 0;
                return None;
            }
            return self.step_to(navigation, seen);
        }
        if let Some(post) = self.memory.post {
            if post == self.position {
                self.memory.post = None;
                self.memory.idle_rounds = -i32::from(self.rules.hawk_rest_moves);
                return None;
            }
            // A hawk with an unreachable post keeps the post and stays until it sees the player.
            return self.step_to(navigation, post);
        }
        self.memory.idle_rounds += 1;
        if self.memory.idle_rounds > i32::from(self.rules.hawk_patience_moves) {
            self.memory.post = pick(&mut self.seed, self.rules.pick_scale, &navigation.posts());
            self.memory.idle_rounds = 0;
        }
        None
    }

    fn step_to(&self, navigation: &impl Navigation, target: Position) -> Option<Direction> {
        self.direction_to(navigation.shared_step(self.position, target)?)
    }

    fn direction_to(&self, neighbour: Position) -> Option<Direction> {
        Direction::ALL.into_iter().find(|&direction| self.position.towards(direction) == neighbour)
    }
}

/// Returns true if owls look when they move at this clock: on the server, in the first ten of every
/// sixty ticks.
pub fn owls_look(rules: &Rules, clock: u16) -> bool {
    clock % rules.owl_minute_ticks < rules.owl_window_ticks
}

fn personality_at(phases: PhaseClocks, clock: u16) -> Personality {
    if clock > phases.insane {
        Personality::Insane
    } else if clock > phases.hungry {
        Personality::Hungry
    } else if clock > phases.awake {
        Personality::Awake
    } else if clock > phases.tease {
        Personality::Tease
    } else {
        Personality::Lazy
    }
}

fn squared_distance(a: Position, b: Position) -> i64 {
    i64::from(a.x - b.x).pow(2) + i64::from(a.y - b.y).pow(2)
}

#[cfg(test)]
mod tests {
    use super::super::drawing::draw;
    use super::*;

    /// A clock at which threats move in every tick and owls do not look.
    const INSANE: u16 = 930;

    const NOWHERE: Position = Position::new(-1, -1);

    fn p(x: i32, y: i32) -> Position {
        Position::new(x, y)
    }

    fn threat(layout: &Layout, direction: Direction) -> Threat {
        Threat { direction, ..Threat::new(layout.threats[0], &Rules::BLITZ_2025) }
    }

    #[test]
    fn every_threat_spawns_facing_up_with_seed_1() {
        for style in Style::ALL {
            let spawned = Threat::new(Spawn { style, position: p(3, 4) }, &Rules::BLITZ_2025);
            assert_eq!((spawned.direction, spawned.seed), (Direction::Up, 1), "{style}");
            assert_eq!((spawned.position, spawned.spawn, spawned.stale_player), (p(3, 4), p(3, 4), p(-1, -1)));
            assert_eq!((spawned.ticks_since_move, spawned.personality), (0, Personality::Lazy));
        }
    }

    #[test]
    fn a_lazy_threat_moves_on_every_fifth_update() {
        let layout = draw(&["G."]);
        let mut goldfish = threat(&layout, Direction::Up);
        let xs: Vec<i32> = (0..10)
            .map(|clock| {
                goldfish.update(&layout, clock, p(9, 9));
                goldfish.position.x
            })
            .collect();
        assert_eq!(xs, [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn goldfish_draws_even_without_options() {
        let layout = draw(&["G#"]);
        let mut goldfish = threat(&layout, Direction::Up);
        goldfish.update(&layout, INSANE, p(9, 9));
        assert_eq!((goldfish.position, goldfish.direction, goldfish.seed), (p(0, 0), Direction::Up, 2));
    }

    #[test]
    fn goldfish_picks_among_its_options_in_their_order() {
        // Seed 1 draws 0.7098, which picks the third of four options and the second of two.
        let layout = draw(&["...", ".G.", "..."]);
        assert_eq!(threat(&layout, Direction::Left).choose_goldfish(&layout), Some(Direction::Up));
        let layout = draw(&["###", ".G#", "#.#"]);
        assert_eq!(threat(&layout, Direction::Up).choose_goldfish(&layout), Some(Direction::Down));
    }

    #[test]
    fn bull_draws_only_before_a_wall() {
        let layout = draw(&["..B.."]);
        let mut bull = threat(&layout, Direction::Left);
        bull.update(&layout, INSANE, p(9, 9));
        bull.update(&layout, INSANE, p(9, 9));
        assert_eq!((bull.position, bull.direction, bull.seed), (p(0, 0), Direction::Left, 1));
        bull.update(&layout, INSANE, p(9, 9));
        assert_eq!((bull.position, bull.direction, bull.seed), (p(1, 0), Direction::Right, 2));
        let walled = draw(&["B#"]);
        let mut bull = threat(&walled, Direction::Up);
        bull.update(&walled, INSANE, p(9, 9));
        assert_eq!(
            (bull.position, bull.direction, bull.seed),
            (p(0, 0), Direction::Up, 2),
            "walled in, it draws as well"
        );
    }

    #[test]
    fn deer_takes_its_only_option_even_backwards() {
        let layout = draw(&[".D#"]);
        assert_eq!(threat(&layout, Direction::Right).choose_deer(&layout, NOWHERE), Some(Direction::Left));
        let layout = draw(&["D#"]);
        assert_eq!(threat(&layout, Direction::Right).choose_deer(&layout, NOWHERE), None, "walled in, it stays");
    }

    #[test]
    fn deer_does_not_turn_back_when_it_has_a_choice() {
        let layout = draw(&["..D.."]);
        let mut deer = threat(&layout, Direction::Right);
        deer.stale_player = p(-20, 0);
        assert_eq!(deer.choose_deer(&layout, deer.stale_player), Some(Direction::Right));
    }

    #[test]
    fn deer_ties_go_to_the_earliest_option() {
        let layout = draw(&["...", ".D.", "..."]);
        let mut deer = threat(&layout, Direction::Up);
        for (stale, expected) in [
            (p(11, -9), Direction::Right), // right and up tie
            (p(-9, -9), Direction::Left),  // left and up tie
            (p(1, 11), Direction::Left),   // down is behind it; left and right tie
        ] {
            deer.stale_player = stale;
            assert_eq!(deer.choose_deer(&layout, deer.stale_player), Some(expected), "player at {stale}");
        }
    }

    #[test]
    fn deer_goes_home_unless_the_player_is_farther_than_six() {
        let layout = draw(&["D..........."]);
        let mut deer = threat(&layout, Direction::Up);
        deer.position = p(4, 0);
        deer.stale_player = p(10, 0);
        assert_eq!(deer.choose_deer(&layout, deer.stale_player), Some(Direction::Left), "36 is not more than 36");
        deer.stale_player = p(10, 1);
        assert_eq!(deer.choose_deer(&layout, deer.stale_player), Some(Direction::Right), "37 is");
        deer.stale_player = p(-1, 4);
        assert_eq!(
            deer.choose_deer(&layout, deer.stale_player),
            Some(Direction::Left),
            "the target may lie off the grid"
        );
    }

    #[test]
    fn shark_chases_where_the_player_was() {
        let layout = draw(&["..S.."]);
        let mut shark = threat(&layout, Direction::Up);
        shark.update(&layout, INSANE, p(0, 0));
        assert_eq!(shark.position, p(2, 0), "it has not seen the player's position yet");
        shark.update(&layout, INSANE, p(4, 0));
        assert_eq!(shark.position, p(1, 0), "it goes where the player was");
        shark.update(&layout, INSANE, p(4, 0));
        assert_eq!(shark.position, p(2, 0));
        assert_eq!(shark.seed, 1, "without any draw");
    }

    #[test]
    fn shark_stays_when_unreachable_or_on_the_spot() {
        let layout = draw(&["S.#."]);
        let mut shark = threat(&layout, Direction::Up);
        for stale in [p(3, 0), p(0, 0), p(2, 0)] {
            shark.stale_player = stale;
            assert_eq!(
                shark.choose_shark(&UncachedNavigation::new(&layout, &Rules::BLITZ_2025), shark.stale_player),
                None,
                "player at {stale}"
            );
        }
    }

    #[test]
    fn owl_looks_only_in_its_window() {
        let layout = draw(&["..O.."]);
        for (clock, looks) in [(960, true), (969, true), (970, false), (1019, false), (1020, true)] {
            let mut owl = threat(&layout, Direction::Up);
            owl.update(&layout, clock, p(0, 0));
            assert_eq!(owl.memory.remembered.is_some(), looks, "clock {clock}");
            assert_eq!(owl.position, if looks { p(1, 0) } else { p(2, 0) }, "clock {clock}");
        }
    }

    #[test]
    fn owl_looks_only_when_it_moves() {
        let layout = draw(&["..O.."]);
        let mut owl = threat(&layout, Direction::Up);
        for clock in 0..4 {
            owl.update(&layout, clock, p(0, 0));
            assert_eq!(owl.memory.remembered, None, "at clock {clock}, owls look, but this owl does not move");
        }
        owl.update(&layout, 4, p(4, 0));
        assert_eq!((owl.memory.remembered, owl.position), (Some(p(4, 0)), p(3, 0)));
    }

    #[test]
    fn owl_keeps_going_to_what_it_remembers_and_waits_there() {
        let layout = draw(&["...O.#."]);
        let mut owl = threat(&layout, Direction::Up);
        owl.memory.remembered = Some(p(1, 0));
        let xs: Vec<i32> = (INSANE..INSANE + 4)
            .map(|clock| {
                owl.update(&layout, clock, p(4, 0));
                owl.position.x
            })
            .collect();
        assert_eq!(xs, [2, 1, 1, 1]);
        owl.memory.remembered = Some(p(6, 0));
        owl.update(&layout, INSANE, p(4, 0));
        assert_eq!((owl.position, owl.memory.remembered), (p(1, 0), Some(p(6, 0))), "unreachable: it stays");
    }

    fn hawk_layout() -> Layout {
        draw(&["###.#####", "#H...##.#", "###.#####"])
    }

    #[test]
    fn hawk_chases_what_it_sees_and_forgets_it_on_arrival() {
        let layout = hawk_layout();
        let mut hawk = threat(&layout, Direction::Up);
        hawk.memory = Memory { post: Some(p(3, 1)), idle_rounds: 4, ..Memory::default() };
        hawk.update(&layout, INSANE, p(3, 1));
        assert_eq!(hawk.position, p(2, 1));
        assert_eq!(hawk.memory, Memory { seen: Some(p(3, 1)), ..Memory::default() }, "the post is dropped");
        hawk.update(&layout, INSANE, p(3, 0));
        assert_eq!(
            (hawk.position, hawk.memory.seen),
            (p(3, 1), Some(p(3, 1))),
            "it goes to where it last saw the player"
        );
        hawk.memory.idle_rounds = 3;
        hawk.update(&layout, INSANE, p(7, 1));
        assert_eq!((hawk.position, hawk.memory), (p(3, 1), Memory::default()), "it has arrived and found nothing");
    }

    #[test]
    fn hawk_picks_a_post_after_six_idle_moves() {
        let layout = hawk_layout();
        let mut hawk = threat(&layout, Direction::Up);
        for idle in 1..=5 {
            hawk.update(&layout, INSANE, p(7, 1));
            assert_eq!((hawk.memory.idle_rounds, hawk.memory.post), (idle, None));
        }
        hawk.update(&layout, INSANE, p(7, 1));
        assert_eq!((hawk.memory.idle_rounds, hawk.memory.post, hawk.seed), (0, Some(p(3, 1)), 2));
        assert_eq!(hawk.position, p(1, 1), "it sets off for the post on its next move");
    }

    #[test]
    fn hawk_waits_longer_after_reaching_its_post() {
        let layout = hawk_layout();
        let mut hawk = threat(&layout, Direction::Up);
        hawk.memory.post = Some(p(3, 1));
        hawk.update(&layout, INSANE, p(7, 1));
        hawk.update(&layout, INSANE, p(7, 1));
        assert_eq!(
            (hawk.position, hawk.memory.post),
            (p(3, 1), Some(p(3, 1))),
            "the arrival is noticed one move later"
        );
        hawk.update(&layout, INSANE, p(7, 1));
        assert_eq!(hawk.memory, Memory { idle_rounds: -5, ..Memory::default() });
        let rounds = (1..50).find(|_| {
            hawk.update(&layout, INSANE, p(7, 1));
            hawk.memory.post.is_some()
        });
        assert_eq!(rounds, Some(11));
    }

    #[test]
    fn hawk_keeps_a_post_it_cannot_reach() {
        let layout = hawk_layout();
        let mut hawk = threat(&layout, Direction::Up);
        hawk.memory.post = Some(p(7, 1));
        let before = hawk.clone();
        for _ in 0..50 {
            hawk.update(&layout, INSANE, p(3, 0));
        }
        assert_eq!((hawk.position, hawk.memory, hawk.seed), (before.position, before.memory, before.seed));
        hawk.update(&layout, INSANE, p(4, 1));
        assert_eq!((hawk.position, hawk.memory.post), (p(2, 1), None), "until it sees the player");
    }

    #[test]
    fn hawk_without_intersections_draws_but_gets_no_post() {
        let layout = draw(&["H.#."]);
        let mut hawk = threat(&layout, Direction::Up);
        for _ in 0..12 {
            hawk.update(&layout, INSANE, p(3, 0));
        }
        assert_eq!((hawk.memory, hawk.seed, hawk.position), (Memory::default(), 3, p(0, 0)));
    }

    #[test]
    fn blocked_direction_changes_nothing() {
        let layout = draw(&["B#"]);
        let mut bull = threat(&layout, Direction::Up);
        bull.take(&layout, Direction::Right);
        assert_eq!((bull.position, bull.direction), (p(0, 0), Direction::Up));
    }
}
