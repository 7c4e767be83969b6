use std::io::Write;

use getaway_arena::{ExternalSummary, PlannerEvaluation};

use super::EntrantResults;
use crate::CliError;
use crate::output::{milliseconds, one_line, write_table};

pub(crate) fn write_costs(entrants: &EntrantResults, out: &mut impl Write) -> Result<(), CliError> {
    let EntrantResults { planners, external } = entrants;
    let headings =
        ["ENTRANT", "GAMES", "FAILED", "MISSED TICKS", "CPU MS/GAME", "PEAK MIB", "P50 MS", "P99 MS", "MAX MS"];
    let row = |evaluation: &PlannerEvaluation| {
        let games = &evaluation.overall;
        let bot = external.iter().find(|bot| bot.planner == evaluation.planner);
        let of_bot = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        vec![
            evaluation.planner.clone(),
            games.games.to_string(),
            of_bot(bot.map(ExternalSummary::failed)),
            of_bot(bot.map(|bot| bot.missed_ticks)),
            format!("{:.0}", games.cost.cpu_ms_mean),
            of_bot(bot.map(|_| games.cost.memory_mb_max)),
            milliseconds(games.decision_p50_ms),
            milliseconds(games.decision_p99_ms),
            milliseconds(games.decision_max_ms),
        ]
    };
    writeln!(out)?;
    write_table(headings, &[0], planners.iter().map(row), out)?;
    for bot in external {
        for failure in &bot.failures {
            writeln!(out, "{} {}", one_line(&bot.planner), one_line(failure))?;
        }
        if !bot.mistakes.is_empty() {
            writeln!(out, "{}: {}", one_line(&bot.planner), one_line(&bot.mistakes.words()))?;
        }
    }
    Ok(())
}
