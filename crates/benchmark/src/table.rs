use std::fmt::Write as _;

use getaway::game::LAST_TICK;

use crate::{Results, Settings};

/// The summary of one run: a row of the table that compares runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub solver: String,
    /// Number of instances with a result.
    pub instances: usize,
    /// Number of instances with a line that survives, or with a proof that no line survives.
    pub decided: usize,
    /// Number of instances whose line is proven to be optimal.
    pub proven: usize,
    pub failed: usize,
    /// Mean of the ticks in which the lines end, over the instances with a result in every run. A
    /// failed answer counts as tick 0.
    pub mean_tick: f64,
    /// Mean rank among the runs on these instances; 1 is best. Runs with equal ticks get the mean
    /// of their ranks.
    pub mean_rank: f64,
}

fn is_decided(result: &Results) -> bool {
    result.final_tick.is_some_and(|tick| tick > LAST_TICK) || result.bound_tick.is_some_and(|bound| bound <= LAST_TICK)
}

fn is_proven(result: &Results) -> bool {
    result.final_tick.is_some() && result.final_tick == result.bound_tick
        || result.final_tick.is_some_and(|tick| tick > LAST_TICK)
}

/// Returns a row for each run. The run with the most proven instances comes first; ties are broken
/// by the number of decided instances, and then by the mean rank.
pub fn rows(runs: &[(Settings, Vec<Results>)]) -> Vec<Row> {
    let tick = |result: &Results| result.final_tick.unwrap_or(0);
    // Returns the tick of each run; `None` if a run has no result for the instance.
    let all_ticks = |instance: &str| -> Option<Vec<u16>> {
        let find = |run: &[Results]| run.iter().find(|result| result.instance == instance).map(tick);
        runs.iter().map(|(_, run)| find(run)).collect()
    };
    let rank = |own: u16, ticks: &[u16]| {
        let better = ticks.iter().filter(|&&other| other > own).count();
        let equal = ticks.iter().filter(|&&other| other == own).count();
        better as f64 + (equal as f64 + 1.0) / 2.0
    };
    let row = |(settings, results): &(Settings, Vec<Results>)| {
        let count = |holds: fn(&Results) -> bool| results.iter().filter(|result| holds(result)).count();
        let mean = |values: Vec<f64>| values.iter().fold(0.0, |sum, value| sum + value) / values.len().max(1) as f64;
        let compared = results.iter().filter_map(|result| Some((tick(result), all_ticks(&result.instance)?)));
        let (ticks, ranks) = compared.map(|(own, ticks)| (f64::from(own), rank(own, &ticks))).unzip();
        Row {
            solver: settings.solver.clone(),
            instances: results.len(),
            decided: count(is_decided),
            proven: count(is_proven),
            failed: count(|result| result.failure.is_some()),
            mean_tick: mean(ticks),
            mean_rank: mean(ranks),
        }
    };
    let mut rows: Vec<Row> = runs.iter().map(row).collect();
    rows.sort_by(|one, other| {
        let more = (other.proven, other.decided).cmp(&(one.proven, one.decided));
        more.then(one.mean_rank.total_cmp(&other.mean_rank))
    });
    rows
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 56.0;
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"];
const SECONDS_MIN: f64 = 0.001;
/// Possible distances between two labels of the axis of decided instances.
const COUNT_STEPS: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];

/// Returns an SVG that plots, for each run, the number of instances decided within a given time
/// per instance. The time axis is logarithmic.
pub fn cactus(runs: &[(Settings, Vec<Results>)]) -> String {
    let curves: Vec<Vec<f64>> = runs.iter().map(|(_, results)| times(results)).collect();
    let most = curves.iter().map(Vec::len).max().unwrap_or(0).max(1) as f64;
    let longest = curves.iter().flatten().copied().fold(10.0 * SECONDS_MIN, f64::max);
    let x =
        |seconds: f64| MARGIN + (seconds / SECONDS_MIN).ln() / (longest / SECONDS_MIN).ln() * (WIDTH - 1.5 * MARGIN);
    let y = |count: f64| HEIGHT - MARGIN - count / most * (HEIGHT - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\"><rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, colour: &str, text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>")
            .expect("text");
    };
    let mut tenfold = SECONDS_MIN;
    while tenfold <= longest {
        text(x(tenfold), HEIGHT - MARGIN + 20.0, "middle", "#333333", &format!("{tenfold} s"));
        tenfold *= 10.0;
    }
    text(WIDTH / 2.0, HEIGHT - 10.0, "middle", "#333333", "time per instance");
    let step = COUNT_STEPS.into_iter().find(|&step| most <= 5.0 * step).unwrap_or(most);
    let mut count = 0.0_f64;
    while count <= most {
        text(MARGIN - 8.0, y(count) + 4.0, "end", "#333333", &count.to_string());
        count += step;
    }
    text(MARGIN - 30.0, MARGIN - 24.0, "start", "#333333", "decided instances");
    for (at, (settings, _)) in runs.iter().enumerate() {
        text(MARGIN + 10.0, MARGIN + 18.0 * at as f64, "start", COLOURS[at % COLOURS.len()], &settings.solver);
    }
    for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        let mut path = format!("M{:.1} {:.1}", x(SECONDS_MIN), y(0.0));
        for (at, &seconds) in curve.iter().enumerate() {
            write!(path, "H{:.1}V{:.1}", x(seconds), y(at as f64 + 1.0)).expect("text");
        }
        writeln!(svg, "<path d=\"{path}H{:.1}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>", x(longest))
            .expect("text");
    }
    svg + "</svg>\n"
}

fn times(results: &[Results]) -> Vec<f64> {
    let decided = results.iter().filter(|result| is_decided(result));
    let mut times: Vec<f64> = decided.map(|result| result.seconds.max(SECONDS_MIN)).collect();
    times.sort_by(f64::total_cmp);
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(solver: &str, ticks: &[Option<u16>]) -> (Settings, Vec<Results>) {
        let settings = Settings { solver: solver.into(), track: "t".into(), time_limit_s: 1.0, memory_mib: 1 };
        let result = |(at, &final_tick): (usize, &Option<u16>)| Results {
            instance: at.to_string(),
            final_tick,
            bound_tick: final_tick.map(|_| 700),
            seconds: 0.5,
            failure: final_tick.is_none().then(|| "crashes".to_owned()),
        };
        (settings, ticks.iter().enumerate().map(result).collect())
    }

    #[test]
    fn equal_ticks_share_a_rank_and_failures_come_last() {
        let runs = [run("b", &[Some(700), None]), run("a", &[Some(700), Some(600)])];
        let rows = rows(&runs);
        assert_eq!((&*rows[0].solver, &*rows[1].solver), ("a", "b"));
        assert_eq!((rows[0].mean_rank, rows[1].mean_rank), (1.25, 1.75));
        assert_eq!((rows[0].proven, rows[1].proven, rows[1].failed), (1, 1, 1));
        assert_eq!((rows[0].decided, rows[0].mean_tick, rows[1].mean_tick), (2, 650.0, 350.0));
        let shorter = super::rows(&[run("d", &[Some(700), Some(600)]), run("e", &[Some(650)])]);
        let means = shorter.iter().map(|row| (&*row.solver, row.instances, row.mean_tick, row.mean_rank));
        assert_eq!(means.collect::<Vec<_>>(), [("d", 2, 700.0, 1.0), ("e", 1, 650.0, 2.0)], "one common instance");
        let empty = super::rows(&[run("c", &[])]);
        assert_eq!(format!("{} {}", empty[0].mean_tick, empty[0].mean_rank), "0 0");
        let svg = cactus(&runs);
        assert_eq!(svg.matches("<path").count(), 2);
    }
}
