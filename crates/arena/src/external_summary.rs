use serde::{Serialize, Serializer};

use super::game::PlayerSpec;
use super::phrases::counted;
use super::record::{FailureKind, GameRecord};
use super::series::{GameSlice, Series};
use getaway::protocol::Mistakes;

/// A bot without failures is reported if it misses at least this share of its ticks.
pub const LATE_SHARE: f64 = 0.05;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExternalSummary {
    pub planner: String,
    pub games: u64,
    /// Numbers of failed games in the order of [`FailureKind::ALL`].
    #[serde(flatten, serialize_with = "serialize_failed")]
    failed: [u64; FailureKind::ALL.len()],
    pub commands: u64,
    pub missed_ticks: u64,
    pub late_commands: u64,
    pub invalid_commands: u64,
    /// The mistakes in the bot's messages, by kind.
    pub mistakes: Mistakes,
    /// The first failure of each kind, with its map, sample (from 1), tick and description.
    pub failures: Vec<String>,
    /// The number of failures and the first of them, or how many ticks the bot missed; see
    /// [`Self::brief_trouble`].
    pub trouble: Option<String>,
}

fn serialize_failed<S: Serializer>(failed: &[u64; 5], serializer: S) -> Result<S::Ok, S::Error> {
    let names = ["crashed", "disconnected", "silent", "garbage", "over_limit"];
    serializer.collect_map(names.into_iter().zip(failed))
}

pub fn external_summaries(series: &Series, games: &GameSlice) -> Vec<ExternalSummary> {
    (0..series.names.len()).filter_map(|planner| external_summary(series, games, planner)).collect()
}

/// Summarises an external bot; `None` for a planner.
pub(super) fn external_summary(series: &Series, games: &GameSlice, planner: usize) -> Option<ExternalSummary> {
    let of = || ExternalSummary::of(series.names[planner].clone(), series.games_of(games, planner, None));
    matches!(series.players[planner], PlayerSpec::External(_)).then(of)
}

impl ExternalSummary {
    pub fn of<'a>(planner: String, games: impl Iterator<Item = &'a GameRecord>) -> Self {
        let mut summary = Self { planner, ..Self::default() };
        for game in games {
            let Some(record) = &game.external else { continue };
            summary.games += 1;
            summary.commands += u64::from(record.commands);
            summary.missed_ticks += u64::from(record.missed_ticks);
            summary.late_commands += u64::from(record.late_commands);
            summary.invalid_commands += u64::from(record.invalid_commands);
            summary.mistakes.merge(&record.mistakes);
            let Some(failure) = &record.failure else { continue };
            let failed = &mut summary.failed[failure.kind as usize];
            *failed += 1;
            if *failed == 1 {
                let (map, sample, tick) = (&game.map, game.sample + 1, failure.tick);
                let what = format!("{} on {map}, sample {sample}, tick {tick}: {}", failure.kind, failure.detail);
                summary.failures.push(what);
            }
        }
        let first = summary.failures.first().map_or_else(String::new, |first| format!("; first: {first}"));
        summary.trouble = summary.brief_trouble().map(|trouble| trouble + &first);
        summary
    }

    pub fn failed(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// True if the bot failed in at least half of its games, so the results say little about its
    /// play.
    pub fn is_broken(&self) -> bool {
        self.failed() > 0 && 2 * self.failed() >= self.games
    }

    /// Says in how many games the bot failed. Without failures, says how many ticks it missed if it
    /// missed at least [`LATE_SHARE`] of its ticks.
    pub fn brief_trouble(&self) -> Option<String> {
        let name = &self.planner;
        if self.failed() > 0 {
            let kinds = FailureKind::ALL.into_iter().zip(self.failed).filter(|(_, games)| *games > 0);
            let kinds: Vec<String> = kinds.map(|(kind, games)| format!("{kind} in {games}")).collect();
            return Some(format!("{name} {} of {}", kinds.join(" and "), counted(self.games, "game", "games")));
        }
        let ticks = self.commands + self.missed_ticks;
        let (missed, share) = (self.missed_ticks, self.missed_ticks as f64 / ticks.max(1) as f64);
        (share >= LATE_SHARE).then(|| {
            format!("{name} missed {missed} of {ticks} ticks ({:.0}%): no command for them came in time", 100.0 * share)
        })
    }
}
