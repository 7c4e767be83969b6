//! Renders a series as a self-contained HTML page that needs neither a network nor a server.

use serde::Serialize;

use super::eval::{PlannerEvaluation, evaluate};
use super::game::Times;
use super::matches::{Comparison, Match, pairs};
use super::series::{Games, Series};
use getaway::game::LAST_TICK;
use getaway::protocol::{for_script, to_json};

/// The page without its data.
const TEMPLATE: &str = include_str!("report.html");
/// The placeholder for the data.
const PLACEHOLDER: &str = "{{DATA}}";

/// The texts of a page.
#[derive(Clone, Copy, Debug)]
pub struct ReportText<'a> {
    /// The title.
    pub title: &'a str,
    /// A description of the setting.
    pub heading: &'a str,
    /// The command that made the page.
    pub command: &'a str,
}

/// The data of the page.
#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    heading: &'a str,
    command: &'a str,
    version: &'static str,
    sentence: Option<String>,
    is_repeatable: bool,
    last_tick: u16,
    maps: Vec<&'a str>,
    planners: Vec<PlannerEvaluation>,
    /// By planner and map: the histogram of decision times in milliseconds.
    times: Vec<Vec<Vec<(f64, u64)>>>,
    /// For all maps, then for each map: every planner against every other.
    matrix: Vec<Vec<Vec<Comparison>>>,
    games: Vec<GameRow>,
}

/// Planner, map, sample, seed, final tick, score, and the command to replay the game.
#[derive(Serialize)]
struct GameRow(usize, usize, u32, u64, u16, u32, String);

/// Renders the page of a series. `replay_command` returns the command that replays the game at an
/// index.
pub fn report(
    series: &Series,
    games: &Games,
    result: Option<&Match>,
    text: ReportText<'_>,
    replay_command: impl Fn(usize) -> Option<String>,
) -> String {
    let ReportText { title, heading, command } = text;
    let (maps, planners) = (0..series.maps().len(), 0..series.options().planners.len());
    let times = |planner: usize, map: usize| {
        let mut times = Times::default();
        series.games_of(games, planner, Some(map)).for_each(|game| times.merge(&game.times));
        times.counts_ms().collect()
    };
    let against = |map: Option<usize>, left: usize| {
        let comparison = |right: usize| Comparison::of(pairs(series, games, [left, right], map));
        planners.clone().map(comparison).collect()
    };
    let matrix = |map: Option<usize>| planners.clone().map(|left| against(map, left)).collect();
    let row = |index: usize| {
        let (key, game) = (series.key(index), games[index].as_ref()?);
        let command = replay_command(index).unwrap_or_default();
        Some(GameRow(key.planner, key.map, game.sample, game.seed, game.final_tick, game.score, command))
    };
    let data = Data {
        title,
        heading,
        command,
        version: env!("CARGO_PKG_VERSION"),
        sentence: result.map(Match::sentence),
        is_repeatable: !series.options().budget.has_time(),
        last_tick: LAST_TICK,
        maps: series.maps().iter().map(|map| map.name.as_str()).collect(),
        planners: evaluate(series, games),
        times: planners.clone().map(|planner| maps.clone().map(|map| times(planner, map)).collect()).collect(),
        matrix: [None].into_iter().chain(maps.clone().map(Some)).map(matrix).collect(),
        games: (0..games.len()).filter_map(row).collect(),
    };
    TEMPLATE.replacen(PLACEHOLDER, &for_script(&to_json(&data)), 1)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;

    use serde_json::Value;

    use super::*;
    use crate::series::SeriesOptions;
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
        let result = Match::of(&series, &games, [0, 1], None);
        let text = ReportText { title: "a {{DATA}} title", heading: "h", command: "c" };
        report(&series, &games, Some(&result), text, |index| Some(format!("play {index}")))
    }

    #[test]
    fn data_can_be_parsed_from_the_page() {
        let page = page();
        let begin = page.find("id=\"data\">").expect("the data") + "id=\"data\">".len();
        let end = begin + page[begin..].find("</script>").expect("its end");
        let data: Value = serde_json::from_str(&page[begin..end]).expect("JSON");
        assert_eq!(data["maps"][0], "</script><script>alert(1)</script>");
        assert_eq!(data["title"], "a {{DATA}} title");
        let games = data["games"].as_array().expect("games");
        assert_eq!((games.len(), &games[4][6]), (5, &Value::from("play 4")));
        // A missing game removes its pair and nothing else.
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
        assert_eq!(page.matches("<script").count(), 2);
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            let allowed = if outside == "http://" { 1 } else { 0 };
            assert_eq!(page.matches(outside).count(), allowed, "only the SVG namespace looks like an address");
        }
    }
}
