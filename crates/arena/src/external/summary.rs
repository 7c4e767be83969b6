use serde::Serialize;

use super::FailureKind;
use crate::game::GameRecord;
use crate::series::{Games, Series};

/// Statistics of an external bot over its games.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExternalSummary {
    /// The bot, as given.
    pub planner: String,
    /// Number of games.
    pub games: u64,
    /// Games lost by a crash.
    pub crashed: u64,
    /// Games lost by silence.
    pub silent: u64,
    /// Games lost by garbage.
    pub garbage: u64,
    /// Ticks played with a command.
    pub commands: u64,
    /// Ticks played without a command.
    pub missed_ticks: u64,
    /// Commands that arrived after their tick was played.
    pub late_commands: u64,
    /// Messages that are not commands.
    pub invalid_commands: u64,
    /// The first failure of each kind: map, sample (from 1), tick and description.
    pub failures: Vec<String>,
}

/// Summarises the external bots of a series, in the order of its planners.
pub fn external_summaries(series: &Series, games: &Games) -> Vec<ExternalSummary> {
    let is_external = |&planner: &usize| series.external_bot(planner).is_some();
    let of_planner = |planner: usize| {
        let name = series.options().planners[planner].clone();
        summary(name, series.games_of(games, planner, None))
    };
    (0..series.options().planners.len()).filter(is_external).map(of_planner).collect()
}

fn summary<'a>(planner: String, games: impl Iterator<Item = &'a GameRecord>) -> ExternalSummary {
    let mut summary = ExternalSummary { planner, ..ExternalSummary::default() };
    let mut seen: Vec<FailureKind> = Vec::new();
    for game in games {
        let Some(record) = &game.external else { continue };
        summary.games += 1;
        summary.commands += u64::from(record.commands);
        summary.missed_ticks += u64::from(record.missed_ticks);
        summary.late_commands += u64::from(record.late_commands);
        summary.invalid_commands += u64::from(record.invalid_commands);
        let Some(failure) = &record.failure else { continue };
        match failure.kind {
            FailureKind::Crash => summary.crashed += 1,
            FailureKind::Silence => summary.silent += 1,
            FailureKind::Garbage => summary.garbage += 1,
        }
        if !seen.contains(&failure.kind) {
            seen.push(failure.kind);
            let (map, sample, tick) = (&game.map, game.sample + 1, failure.tick);
            summary
                .failures
                .push(format!("{} on {map}, sample {sample}, tick {tick}: {}", failure.kind, failure.detail));
        }
    }
    summary
}

impl ExternalSummary {
    /// Number of games lost by a failure.
    pub fn failed(&self) -> u64 {
        self.crashed + self.silent + self.garbage
    }

    /// The failures in words; "no failures" without any.
    pub fn sentence(&self) -> String {
        let count = |count: u64, kind: FailureKind| (count > 0).then(|| format!("{} in {count}", kind.verb()));
        let failures = [
            count(self.crashed, FailureKind::Crash),
            count(self.silent, FailureKind::Silence),
            count(self.garbage, FailureKind::Garbage),
        ];
        let failures: Vec<String> = failures.into_iter().flatten().collect();
        let failures = if failures.is_empty() { "no failures".to_owned() } else { failures.join(", ") };
        let Self { planner, games, late_commands, missed_ticks, invalid_commands, .. } = self;
        let games = if *games == 1 { "1 game".to_owned() } else { format!("{games} games") };
        format!(
            "{planner}: {games}, {failures}; {late_commands} late commands, {missed_ticks} ticks without a command, \
             {invalid_commands} messages that are not commands"
        )
    }
}
