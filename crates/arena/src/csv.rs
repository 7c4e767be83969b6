use super::record::GameRecord;
use super::series::{Games, Series};

const HEADER: &str = "planner,spec,map,layout,sample,seed,score,final_tick,caught,moves,simulated_ticks,mispredictions,\
    missed_ticks,late_commands,invalid_commands,failure,failure_tick";

/// Returns the played games as CSV (RFC 4180): a header, and one line per game in the order of the
/// series. Times are left out, so reruns of built-in planners with a budget in ticks give the same
/// bytes.
pub fn csv(series: &Series, games: &Games) -> String {
    let names = series.names();
    let lines = games.iter().enumerate().filter_map(|(index, game)| {
        let name = &names[series.key(index).planner];
        Some(line(name, game.as_ref()?) + "\r\n")
    });
    std::iter::once(format!("{HEADER}\r\n")).chain(lines).collect()
}

fn line(name: &str, game: &GameRecord) -> String {
    let external = game.external.clone().unwrap_or_default();
    let failure = game.failure();
    let cells = [
        quoted(name),
        quoted(game.spec()),
        quoted(&game.map),
        game.layout.clone(),
        (game.sample + 1).to_string(),
        game.seed.to_string(),
        game.score.to_string(),
        game.final_tick.to_string(),
        game.caught.to_string(),
        game.moves.clone(),
        game.simulated_ticks.to_string(),
        game.mispredictions.to_string(),
        external.missed_ticks.to_string(),
        external.late_commands.to_string(),
        external.invalid_commands.to_string(),
        failure.map_or_else(String::new, |failure| failure.kind.to_string()),
        failure.map_or_else(String::new, |failure| failure.tick.to_string()),
    ];
    cells.join(",")
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(
            ["a b", "select(0.2, x)", "say \"hi\""].map(quoted),
            ["a b", "\"select(0.2, x)\"", "\"say \"\"hi\"\"\""]
        );
        assert_eq!(HEADER.split(',').count(), 17);
    }
}
