//! A series as a page to look at: one file that needs nothing else, neither a network nor a server.

use serde::Serialize;

use super::battle::{Battle, Comparison, pairs};
use super::eval::{PlannerEvaluation, evaluate};
use super::game::Times;
use super::series::{Games, Series};
use getaway::game::LAST_TICK;
use getaway::protocol::{for_script, to_json};

/// The page but for its data.
const TEMPLATE: &str = include_str!("report.html");
/// Where the data belongs.
const PLACE: &str = "{{DATA}}";

/// What a page says besides numbers.
#[derive(Clone, Copy, Debug)]
pub struct ReportText<'a> {
    /// What the series is about.
    pub title: &'a str,
    /// The setting, in words.
    pub heading: &'a str,
    /// The command that made the page.
    pub command: &'a str,
}

/// What the page draws.
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
    /// By planner and map: milliseconds, and how many decisions took about so long.
    times: Vec<Vec<Vec<(f64, u64)>>>,
    /// On all maps, then on each: every planner against every planner.
    matrix: Vec<Vec<Vec<Comparison>>>,
    games: Vec<GameRow>,
}

/// Planner, map, sample, seed, final tick, score, and the command that plays it again.
#[derive(Serialize)]
struct GameRow(usize, usize, u32, u64, u16, u32, String);

/// The page of a series. `replay` gives the command that plays the game at an index again.
pub fn report(
    series: &Series,
    games: &Games,
    battle: Option<&Battle>,
    text: ReportText<'_>,
    replay: impl Fn(usize) -> Option<String>,
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
        let (place, game) = (series.place(index), games[index].as_ref()?);
        let command = replay(index).unwrap_or_default();
        Some(GameRow(place.planner, place.map, game.sample, game.seed, game.final_tick, game.score, command))
    };
    let data = Data {
        title,
        heading,
        command,
        version: env!("CARGO_PKG_VERSION"),
        sentence: battle.map(Battle::sentence),
        is_repeatable: series.options().budget.time_ms.is_none(),
        last_tick: LAST_TICK,
        maps: series.maps().iter().map(|map| map.name.as_str()).collect(),
        planners: evaluate(series, games),
        times: planners.clone().map(|planner| maps.clone().map(|map| times(planner, map)).collect()).collect(),
        matrix: [None].into_iter().chain(maps.clone().map(Some)).map(matrix).collect(),
        games: (0..games.len()).filter_map(row).collect(),
    };
    TEMPLATE.replacen(PLACE, &for_script(&to_json(&data)), 1)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;

    use serde_json::Value;

    use super::*;
    use crate::game::Budget;
    use crate::series::SeriesOptions;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;

    fn page() -> String {
        let layout = Layout::parse("P....\n.###.\n....S").expect("a drawing");
        let name = "</script><script>alert(1)</script>".to_owned();
        let map = Map { name, kind: String::new(), difficulty: String::new(), layout };
        let planners = vec!["random".to_owned(), "safest".to_owned()];
        let options =
            SeriesOptions { planners, samples: 3, seed: 1, rules: Rules::BLITZ_2025, budget: Budget::evaluations(1) };
        let series = Series::new(&[map], options).expect("a series");
        let mut games = Games::new();
        let flow = series.play(&mut games, 1, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
        assert!(flow.is_ok());
        games[5] = None;
        let battle = Battle::of(&series, &games, [0, 1], None);
        let text = ReportText { title: "a {{DATA}} title", heading: "h", command: "c" };
        report(&series, &games, Some(&battle), text, |index| Some(format!("play {index}")))
    }

    #[test]
    fn the_data_comes_back_out_of_the_page() {
        let page = page();
        let begin = page.find("id=\"data\">").expect("the data") + "id=\"data\">".len();
        let end = begin + page[begin..].find("</script>").expect("its end");
        let data: Value = serde_json::from_str(&page[begin..end]).expect("JSON");
        assert_eq!(data["maps"][0], "</script><script>alert(1)</script>");
        assert_eq!(data["title"], "a {{DATA}} title");
        let games = data["games"].as_array().expect("games");
        assert_eq!((games.len(), &games[4][6]), (5, &Value::from("play 4")));
        // The game that is missing leaves its pair out, and nothing else.
        let pairs = |left: usize, right: usize| {
            let cell = &data["matrix"][0][left][right];
            ["wins", "ties", "losses"].map(|count| cell[count].as_u64().expect("a count")).iter().sum::<u64>()
        };
        assert_eq!((pairs(0, 1), pairs(1, 0), pairs(0, 0)), (2, 2, 3));
        let decisions = data["times"][1][0].as_array().expect("times");
        assert!(!decisions.is_empty());
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = page();
        assert_eq!(page.matches("<script").count(), 2);
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            let allowed = if outside == "http://" { 1 } else { 0 };
            assert_eq!(page.matches(outside).count(), allowed, "{outside}: only the name of SVG looks like an address");
        }
    }
}
