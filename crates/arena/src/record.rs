//! The record of a game, which a results file stores as one line of JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::phrases::counted;
use super::results::same;
use getaway::game::{LAST_TICK, Plan, Position, Rules, State, World, rules_fields};
use getaway::planner::Source;
use getaway::protocol::Mistakes;
use getaway::search::Budget;
use getaway_runs::fnv;
use getaway_runs::stats::nearest_rank;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCounts {
    /// Number of moves from an existing plan.
    pub plan: u32,
    /// Number of moves from a search in the same tick, a planner in Python or an external bot.
    pub search: u32,
    /// Number of other moves: those of a rule, and ticks without a command from an external bot.
    pub fallback: u32,
}

impl SourceCounts {
    pub fn add(&mut self, source: Source) {
        match source {
            Source::Plan => self.plan += 1,
            Source::Search => self.search += 1,
            _ => self.fallback += 1,
        }
    }
}

/// Histogram of decision times, rounded to two significant digits; the maximum is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// The number of decisions for each rounded time in nanoseconds.
    counts_ns: BTreeMap<u64, u64>,
    max_ns: u64,
}

impl Times {
    pub fn add(&mut self, elapsed: Duration) {
        let ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        *self.counts_ns.entry(two_digits(ns)).or_default() += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn merge(&mut self, other: &Self) {
        other.counts_ns.iter().for_each(|(&ns, count)| *self.counts_ns.entry(ns).or_default() += count);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The distinct rounded times in milliseconds, ascending, each with its number of decisions.
    pub fn counts_ms(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.counts_ns.iter().map(|(&ns, &count)| (ns as f64 / 1e6, count))
    }

    /// The `share` quantile, in milliseconds; 0 if there are no decisions.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        let total: u64 = self.counts_ns.values().sum();
        let (rank, mut passed) = (nearest_rank(total.max(1), share), 0);
        let reached = self.counts_ms().find(|&(_, count)| {
            passed += count;
            passed > rank
        });
        reached.map_or(0.0, |(ms, _)| ms)
    }

    /// The longest decision time in milliseconds; 0 if there are no decisions.
    pub fn max_ms(&self) -> f64 {
        self.max_ns as f64 / 1e6
    }
}

fn two_digits(number: u64) -> u64 {
    let unit = number.checked_ilog10().map_or(1, |log| 10u64.pow(log.saturating_sub(1)));
    (number / unit + u64::from(number % unit >= unit.div_ceil(2))) * unit
}

/// Processor time and memory of a planner or bot in a game. A value that cannot be measured is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub cpu_ms: u64,
    /// Peak memory of a bot's processes in KiB.
    pub memory_kib: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalRecord {
    /// The time limit per tick in milliseconds.
    pub tick_ms: u64,
    /// Ticks played with a command.
    pub commands: u32,
    /// Ticks played without a command.
    pub missed_ticks: u32,
    /// Commands that arrived after their tick was played.
    pub late_commands: u32,
    pub invalid_commands: u32,
    /// The mistakes in the bot's messages, by kind.
    #[serde(default, skip_serializing_if = "Mistakes::is_empty")]
    pub mistakes: Mistakes,
    /// The failure of the bot, if any; the remaining ticks were played without the bot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// The first tick without the bot.
    pub tick: u16,
    /// A description and, from the bot's log, the line that most likely names the error.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// The bot could not be started, exited before it connected, or exited with an error.
    Crash,
    /// The bot exited without an error, or closed its connection, before the game was over.
    Disconnect,
    /// The bot did not connect or register in time, or sent neither a command nor garbage for
    /// [`SILENT_TICKS_MAX`](super::SILENT_TICKS_MAX) ticks.
    Silence,
    /// The bot broke the protocol, for example with invalid JSON or too many messages per tick.
    Garbage,
    /// The bot exceeded the limit of [`ExternalOptions`](super::ExternalOptions) on memory or on processor time.
    Limit,
}

impl FailureKind {
    pub const ALL: [Self; 5] = [Self::Crash, Self::Disconnect, Self::Silence, Self::Garbage, Self::Limit];
}

impl fmt::Display for FailureKind {
    /// Writes the failure as a verb, such as "crashed".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verbs = ["crashed", "disconnected", "fell silent", "sent garbage", "exceeded a limit"];
        f.write_str(verbs[*self as usize])
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GameRecord {
    pub map: String,
    /// A fingerprint of the tiles and spawns. It shows whether a map of this name has changed.
    pub layout: String,
    /// The planner's given name, or its spec if it has none.
    pub planner: String,
    /// The planner, expression or bot behind a given name; `None` if `planner` is the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// Index of the game among the planner's games on this map, from 0.
    pub sample: u32,
    pub seed: u64,
    #[serde(flatten, with = "rules_fields")]
    pub rules: Rules,
    #[serde(flatten)]
    pub budget: Budget,
    /// The score: 5 points times the final tick.
    pub score: u32,
    /// The tick in which the game ended: 2001 if it is complete.
    pub final_tick: u16,
    pub caught: bool,
    /// A fingerprint of the player's positions by tick. The threats are deterministic, so two games on
    /// the same map with the same rules and fingerprint are equal, unless the 64-bit hashes collide.
    pub moves: String,
    /// The player's moves, which reproduce the game.
    pub line: Plan,
    pub simulated_ticks: u64,
    pub sources: SourceCounts,
    /// Number of mispredicted threat moves, as counted by the bot at the end of the game; 0 for
    /// external bots.
    pub mispredictions: u32,
    pub times: Times,
    #[serde(default)]
    pub cost: Cost,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalRecord>,
}

impl GameRecord {
    /// True if the game is complete and the bot did not fail. A player caught at the start of tick
    /// 2001 has survived.
    pub fn survived(&self) -> bool {
        self.final_tick > LAST_TICK && self.failure().is_none()
    }

    pub fn failure(&self) -> Option<&Failure> {
        self.external.as_ref()?.failure.as_ref()
    }

    /// The planner, expression or bot that played.
    pub fn spec(&self) -> &str {
        self.spec.as_deref().unwrap_or(&self.planner)
    }

    /// The score, or 0 if the bot failed.
    pub fn points(&self) -> u32 {
        if self.failure().is_some() { 0 } else { self.score }
    }

    /// The key by which the two games of a pair are compared: the higher score wins. A failed game
    /// loses to every game without a failure, and ties with other failed games.
    pub fn rank(&self) -> (bool, u32) {
        if self.failure().is_some() { (false, 0) } else { (true, self.score) }
    }

    /// Returns the record with the result of a game that went through `states`.
    pub(super) fn with_result(self, world: &World, states: &[State]) -> Self {
        let positions = states.iter().map(|state| world.player(state));
        let bytes: Vec<u8> =
            positions.flat_map(|Position { x, y }| [x.to_le_bytes(), y.to_le_bytes()].concat()).collect();
        let (last, moves) = (states.last().expect("the first state"), format!("{:016x}", fnv(&[&bytes])));
        Self { score: world.score(last), final_tick: last.tick(), caught: last.is_caught(), moves, ..self }
    }

    /// Replays the moves. Fails if they do not give the recorded result.
    pub fn states(&self, world: &World) -> Result<Vec<State>, String> {
        let states = world.states_along(&world.start(), &self.line.0);
        let moves = self.line.len();
        if !states.last().is_some_and(State::is_over) || states.len() - 1 != moves {
            let moves = counted(moves as u64, "move", "moves");
            return Err(format!("the game does not end exactly after its {moves}"));
        }
        let given = Self::default().with_result(world, &states);
        same("the score", self.score, "the moves give", given.score)?;
        same("the final tick", self.final_tick, "the moves give", given.final_tick)?;
        same("the field `caught`", self.caught, "the moves give", given.caught)?;
        same("the number of decisions", self.decisions() as usize, "the number of moves is", moves)?;
        same("the fingerprint", &self.moves, "the moves give", &given.moves)?;
        Ok(states)
    }

    pub fn decisions(&self) -> u32 {
        self.sources.plan + self.sources.search + self.sources.fallback
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::Move;

    impl GameRecord {
        /// The record without decision times and cost, which differ between runs.
        pub fn without_times(self) -> Self {
            Self { times: Times::default(), cost: Cost::default(), ..self }
        }
    }

    #[test]
    fn times_are_counted_and_quantiles_computed() {
        let mut times = Times::default();
        assert_eq!((times.quantile_ms(0.5), times.max_ms()), (0.0, 0.0));
        (1..=100).for_each(|us| times.add(Duration::from_micros(us)));
        assert_eq!([0.5, 0.99, 1.0].map(|share| times.quantile_ms(share)), [0.050, 0.099, 0.100]);
        let mut other = Times::default();
        other.add(Duration::from_nanos(123_456_789));
        other.merge(&times);
        assert_eq!((other.quantile_ms(1.0), other.max_ms()), (120.0, 123.456789));
        assert_eq!(other.counts_ms().map(|(_, count)| count).sum::<u64>(), 101);
    }

    #[test]
    fn times_are_rounded_to_two_digits() {
        let rounded = [0, 9, 10, 99, 104, 105, 995, 1049, 1050, u64::MAX].map(two_digits);
        assert_eq!(rounded, [0, 9, 10, 99, 100, 110, 1000, 1000, 1100, 18_000_000_000_000_000_000]);
    }

    #[test]
    fn record_is_one_line_and_round_trips() {
        let mut times = Times::default();
        times.add(Duration::from_micros(20));
        let record = GameRecord {
            map: "hall".to_owned(),
            layout: "00ff".to_owned(),
            planner: "greedy".to_owned(),
            spec: Some("select(0.2, simulate(greedy))".to_owned()),
            sample: 3,
            seed: 1 << 52,
            rules: Rules::NO_JUMP,
            budget: Budget::time(Duration::from_millis(5)),
            score: 10_005,
            final_tick: 2001,
            caught: true,
            moves: "00000000000000ff".to_owned(),
            line: Plan(vec![Move::Up, Move::Stay]),
            simulated_ticks: 77,
            sources: SourceCounts { plan: 1999, search: 1, fallback: 0 },
            mispredictions: 0,
            times,
            cost: Cost { cpu_ms: 12, memory_kib: 0 },
            external: None,
        };
        let line = serde_json::to_string(&record).expect("a record");
        assert!(line.contains(r#""budget_ms":5,"score":10005"#), "{line}");
        assert_eq!(serde_json::from_str::<GameRecord>(&line).expect("a record"), record);
        assert!(record.survived() && record.decisions() == 2000);
    }
}
