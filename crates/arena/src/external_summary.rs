use serde::Serialize;

use super::game::PlayerSpec;
use super::phrases::counted;
use super::record::{FailureKind, GameRecord};
use super::series::{Games, Series};
use getaway::protocol::Mistakes;

/// A bot without failures that misses at least this share of its ticks is reported as late.
pub const LATE_SHARE: f64 = 0.05;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExternalSummary {
    pub planner: String,
    pub games: u64,
    pub crashed: u64,
    pub disconnected: u64,
    pub silent: u64,
    pub garbage: u64,
    pub over_limit: u64,
    pub commands: u64,
    pub missed_ticks: u64,
    pub late_commands: u64,
    pub invalid_commands: u64,
    /// The mistakes in the bot's messages, by kind.
    pub mistakes: Mistakes,
    /// The first failure of each kind, with its map, sample (from 1), tick and description.
    pub failures: Vec<String>,
    /// The number of failures and the first of them, or how often the bot was late; see
    /// [`Self::brief_trouble`].
    pub trouble: Option<String>,
}

pub fn external_summaries(series: &Series, games: &Games) -> Vec<ExternalSummary> {
    (0..series.names().len()).filter_map(|planner| external_summary(series, games, planner)).collect()
}

/// Summarises an external bot; `None` for a planner.
pub(crate) fn external_summary(
    series: &Series,
    games: &[Option<GameRecord>],
    planner: usize,
) -> Option<ExternalSummary> {
    let of = || ExternalSummary::of(series.names()[planner].clone(), series.games_of(games, planner, None));
    matches!(series.player(planner), PlayerSpec::External(_)).then(of)
}

impl ExternalSummary {
    pub fn of<'a>(planner: String, games: impl Iterator<Item = &'a GameRecord>) -> Self {
        let mut summary = Self { planner, ..Self::default() };
        let mut seen: Vec<FailureKind> = Vec::new();
        for game in games {
            let Some(record) = &game.external else { continue };
            summary.games += 1;
            summary.commands += u64::from(record.commands);
            summary.missed_ticks += u64::from(record.missed_ticks);
            summary.late_commands += u64::from(record.late_commands);
            summary.invalid_commands += u64::from(record.invalid_commands);
            summary.mistakes.merge(&record.mistakes);
            let Some(failure) = &record.failure else { continue };
            *summary.games_failed_by(failure.kind) += 1;
            if !seen.contains(&failure.kind) {
                seen.push(failure.kind);
                let (map, sample, tick) = (&game.map, game.sample + 1, failure.tick);
                summary
                    .failures
                    .push(format!("{} on {map}, sample {sample}, tick {tick}: {}", failure.kind, failure.detail));
            }
        }
        summary.trouble = summary.trouble_words();
        summary
    }

    fn games_failed_by(&mut self, kind: FailureKind) -> &mut u64 {
        match kind {
            FailureKind::Crash => &mut self.crashed,
            FailureKind::Disconnect => &mut self.disconnected,
            FailureKind::Silence => &mut self.silent,
            FailureKind::Garbage => &mut self.garbage,
            FailureKind::Limit => &mut self.over_limit,
        }
    }

    pub fn failed(&self) -> u64 {
        self.crashed + self.disconnected + self.silent + self.garbage + self.over_limit
    }

    /// True if the bot failed in at least half of its games, so the results say little about its
    /// play.
    pub fn is_broken(&self) -> bool {
        self.failed() > 0 && 2 * self.failed() >= self.games
    }

    /// Says in how many games the bot failed. Without failures, says how often it was late if it
    /// missed at least [`LATE_SHARE`] of its ticks.
    pub fn brief_trouble(&self) -> Option<String> {
        let name = &self.planner;
        if self.failed() > 0 {
            let counts = [self.crashed, self.disconnected, self.silent, self.garbage, self.over_limit];
            let kinds = FailureKind::ALL.into_iter().zip(counts).filter(|(_, games)| *games > 0);
            let kinds: Vec<String> = kinds.map(|(kind, games)| format!("{kind} in {games}")).collect();
            return Some(format!("{name} {} of {}", kinds.join(" and "), counted(self.games, "game", "games")));
        }
        let ticks = self.commands + self.missed_ticks;
        let (missed, share) = (self.missed_ticks, self.missed_ticks as f64 / ticks.max(1) as f64);
        let is_late = share >= LATE_SHARE;
        is_late.then(|| {
            format!("{name} was late: {missed} of {ticks} ticks ({:.0}%) passed without its command", 100.0 * share)
        })
    }

    fn trouble_words(&self) -> Option<String> {
        let first = self.failures.first().map_or_else(String::new, |first| format!("; first: {first}"));
        Some(self.brief_trouble()? + &first)
    }
}
