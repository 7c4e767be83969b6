//! Renders a series as a self-contained HTML page that works offline, or as a table.

use serde::Serialize;
use serde_json::{Value, json};

use super::comparison::{Comparison, pairs};
use super::eval::evaluate;
use super::external_summary::external_summaries;
use super::matches::Match;
use super::record::{GameRecord, Times};
use super::series::{Games, Series};
use super::sprt::SprtReport;
use super::tournament::Tournament;
use getaway::game::LAST_TICK;
use getaway::protocol::to_json;
use getaway_viewer::{for_script, with_head};

const CSV_HEADER: &str = "planner,spec,map,layout,sample,seed,score,final_tick,caught,moves,simulated_ticks,\
    mispredictions,missed_ticks,late_commands,invalid_commands,failure,failure_tick";
const TEMPLATE: &str = include_str!("report.html");
const DATA: &str = "{{DATA}}";
const REPLAYS: &str = "{{REPLAYS}}";

#[derive(Clone, Copy, Debug)]
pub struct ReportText<'a> {
    pub title: &'a str,
    /// The settings of the run as text, shown below the title.
    pub heading: &'a str,
    pub command: &'a str,
    /// Facts about the run as names and values, such as date, version and processor.
    pub facts: &'a [(&'static str, String)],
}

/// The result of a series, in addition to the results of its planners.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Judgement {
    Evaluation,
    Battle(Box<Match>),
    Tournament(Tournament),
}

impl Judgement {
    /// Describes the result of a comparison.
    pub fn sentence(&self) -> Option<String> {
        match self {
            Self::Evaluation => None,
            Self::Battle(battle) => Some(battle.verdict.sentence.clone()),
            Self::Tournament(tournament) => Some(tournament.sentence()),
        }
    }
}

/// The viewer and the replays that are embedded in the page.
#[derive(Clone, Debug, Default)]
pub struct ReportReplays {
    /// The HTML of the viewer: the parts before and after the data of a game.
    pub viewer: [String; 2],
    /// The data of each replay, as JSON that is escaped for a script element.
    pub replays: Vec<String>,
    /// For each game of the series, the index of its replay; `None` if the game has no replay.
    pub of_game: Vec<Option<usize>>,
}

impl ReportReplays {
    /// Each replay gets its own script element, so that the page parses a replay only to show it.
    fn html(&self) -> String {
        let script =
            |id: String, json: &str| format!("<script type=\"application/json\" id=\"{id}\">{json}</script>\n");
        let viewer = script("viewer".to_owned(), &for_script(&to_json(&self.viewer)));
        let replays = self.replays.iter().enumerate().map(|(index, json)| script(format!("replay-{index}"), json));
        std::iter::once(viewer).chain(replays).collect()
    }
}

fn sprt_curve(SprtReport { sides, ratios, low, high, .. }: &SprtReport) -> Value {
    let ratios: Vec<f64> = ratios.iter().map(|ratio| (ratio * 1e3).round() / 1e3).collect();
    json!({ "sides": sides, "ratios": ratios, "low": low, "high": high })
}

/// Renders the page of a series. `command_of` returns the command that replays the game at an
/// index, or `None` if there is no such command.
pub fn report(
    series: &Series,
    games: &Games,
    judgement: &Judgement,
    replays: Option<&ReportReplays>,
    text: ReportText<'_>,
    command_of: impl Fn(usize) -> Option<String>,
) -> String {
    let (outcome, tournament, sprt): (_, _, Vec<&SprtReport>) = match judgement {
        Judgement::Evaluation => (None, None, Vec::new()),
        Judgement::Battle(battle) => (Some(battle.verdict.outcome), None, battle.sprt.iter().collect()),
        Judgement::Tournament(found) => {
            (None, Some(found), found.pairs.iter().filter_map(|pair| pair.sprt.as_ref()).collect())
        }
    };
    let (maps, planners) = (0..series.maps.len(), 0..series.options.planners.len());
    // The decision times in milliseconds with their counts.
    let times = |planner: usize, map: usize| -> Vec<(f64, u64)> {
        let mut times = Times::default();
        series.games_of(games, planner, Some(map)).for_each(|game| times.merge(&game.times));
        times.counts_ms().collect()
    };
    // The comparisons by map (first over all maps), left planner and right planner.
    let against = |map: Option<usize>, left: usize| -> Vec<Comparison> {
        let comparison = |right: usize| Comparison::of(pairs(series, games, [left, right], map));
        planners.clone().map(comparison).collect()
    };
    let matrix = |map: Option<usize>| planners.clone().map(|left| against(map, left)).collect::<Vec<_>>();
    // The indices of the planner and the map, sample, seed, final tick, score, replay command, index of
    // the replay, failure.
    let row = |index: usize| {
        let (key, game) = (series.key(index), games[index].as_ref()?);
        let replay = replays.and_then(|replays| *replays.of_game.get(index)?);
        let failure = game.failure().map(|failure| format!("{}: {}", failure.kind, failure.detail));
        let GameRecord { sample, seed, final_tick, score, .. } = *game;
        Some(json!([key.planner, key.map, sample, seed, final_tick, score, command_of(index), replay, failure]))
    };
    let external = external_summaries(series, games);
    let troubles: Vec<String> = external.iter().filter_map(|bot| bot.trouble.clone()).collect();
    let data = json!({
        "title": text.title,
        "heading": text.heading,
        "command": text.command,
        "facts": text.facts,
        "sentence": judgement.sentence().or_else(|| (!troubles.is_empty()).then(|| troubles.join("; "))),
        "outcome": outcome,
        "troubles": troubles,
        "external": external,
        "is_repeatable": !series.options.budget.has_time(),
        "last_tick": LAST_TICK,
        "maps": series.maps.iter().map(|map| map.name.as_str()).collect::<Vec<&str>>(),
        "drawings": series.maps.iter().map(|map| map.world.layout().rows()).collect::<Vec<Vec<String>>>(),
        "tournament": tournament,
        // The course of each pair's sequential test.
        "sprt": sprt.into_iter().map(sprt_curve).collect::<Vec<Value>>(),
        "planners": evaluate(series, games),
        "times": planners.clone().map(|planner| maps.clone().map(|map| times(planner, map)).collect()).collect::<Vec<Vec<_>>>(),
        "matrix": std::iter::once(None).chain(maps.clone().map(Some)).map(matrix).collect::<Vec<_>>(),
        "games": (0..games.len()).filter_map(row).collect::<Vec<Value>>(),
    });
    let page = with_head(TEMPLATE);
    let (before, rest) = page.split_once(DATA).expect("the template has a placeholder for the data");
    let (between, after) = rest.split_once(REPLAYS).expect("the template has a placeholder for the replays");
    let replays = replays.map(ReportReplays::html).unwrap_or_default();
    [before, &for_script(&to_json(&data)), between, &replays, after].concat()
}

/// Returns the played games as CSV (RFC 4180): a header, and one line per game in the order of the
/// series. Times are left out, so reruns of built-in planners with a budget in ticks give the same
/// bytes.
pub fn csv(series: &Series, games: &Games) -> String {
    let names = &series.names;
    let lines = games.iter().enumerate().filter_map(|(index, game)| {
        let name = &names[series.key(index).planner];
        Some(csv_line(name, game.as_ref()?) + "\r\n")
    });
    std::iter::once(format!("{CSV_HEADER}\r\n")).chain(lines).collect()
}

fn csv_line(name: &str, game: &GameRecord) -> String {
    let external = game.external.clone().unwrap_or_default();
    let failure = game.failure();
    let cells = [
        csv_quoted(name),
        csv_quoted(game.spec()),
        csv_quoted(&game.map),
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

fn csv_quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::series::SeriesOptions;
    use crate::verdict::MARGIN_DEFAULT;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;
    use getaway::search::Budget;

    fn page() -> String {
        let layout = Layout::parse("P....\n.###.\n....S").expect("a drawing");
        let name = "</script><script>alert(1)</script>".to_owned();
        let map = Map { name, kind: String::new(), difficulty: String::new(), layout };
        let planners = vec!["random".to_owned(), "safest".to_owned()];
        let options =
            SeriesOptions { planners, samples: 3, seed: 1, rules: Rules::BLITZ_2025, budget: Budget::ticks(1) };
        let series = Series::new(&[map], options).expect("a series");
        let mut games = Games::new();
        let flow = series.play(&mut games, 1, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
        assert!(flow.is_ok());
        games[5] = None;
        let result = Match::of(&series, &games, [0, 1], None, MARGIN_DEFAULT);
        let facts = [("version", "1".to_owned())];
        let text = ReportText { title: "a {{DATA}} title", heading: "h", command: "c", facts: &facts };
        let replays = ReportReplays {
            viewer: ["<script>before</script>", "after"].map(str::to_owned),
            replays: ["{}", "{\"header\":1}"].map(str::to_owned).to_vec(),
            of_game: vec![Some(1), None, Some(0), None, Some(1), None],
        };
        let result = Judgement::Battle(Box::new(result));
        report(&series, &games, &result, Some(&replays), text, |index| Some(format!("play {index}")))
    }

    fn data_of(page: &str, id: &str) -> Value {
        let (_, rest) = page.split_once(&format!("id=\"{id}\">")).expect("the element");
        serde_json::from_str(rest.split_once("</script>").expect("its end").0).expect("JSON")
    }

    #[test]
    fn data_can_be_parsed_from_the_page() {
        let page = page();
        let data = data_of(&page, "data");
        assert_eq!(data["maps"][0], "</script><script>alert(1)</script>");
        assert_eq!(data["title"], "a {{DATA}} title");
        let games = data["games"].as_array().expect("games");
        assert_eq!((games.len(), &games[4][6]), (5, &Value::from("play 4")));
        assert_eq!((&games[1][7], &games[4][7]), (&Value::Null, &Value::from(1)));
        assert_eq!(data_of(&page, "replay-1")["header"], 1);
        assert_eq!(data_of(&page, "viewer")[0], "<script>before</script>");
        assert_eq!((&data["drawings"][0][1], &data["facts"][0][1]), (&Value::from(".###."), &Value::from("1")));
        let pairs = |left: usize, right: usize| {
            let cell = &data["matrix"][0][left][right];
            ["wins", "ties", "losses"].map(|count| cell[count].as_u64().expect("a count")).iter().sum::<u64>()
        };
        assert_eq!((pairs(0, 1), pairs(1, 0), pairs(0, 0)), (2, 2, 3));
        let decisions = data["times"][1][0].as_array().expect("times");
        assert!(!decisions.is_empty());
    }

    #[test]
    fn page_is_self_contained() {
        let page = page();
        assert_eq!(page.matches("<script").count(), 5, "the data, the viewer, two replays, the program");
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            let allowed = if outside == "http://" { 1 } else { 0 };
            assert_eq!(page.matches(outside).count(), allowed, "only the SVG namespace looks like an address");
        }
    }

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(
            ["a b", "select(0.2, x)", "say \"hi\""].map(csv_quoted),
            ["a b", "\"select(0.2, x)\"", "\"say \"\"hi\"\"\""]
        );
        assert_eq!(CSV_HEADER.split(',').count(), 17);
    }
}
