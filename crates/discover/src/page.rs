//! Renders a discovery as a self-contained HTML page without scripts.

use std::fmt::Write;

use getaway_viewer::with_head;

use crate::discovery::{BudgetCurve, Convergence, DiscoveryReport, Ranked};
use crate::ranking::Comparison;

const TEMPLATE: &str = include_str!("page.html");

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;
const COLOURS: usize = 7;

pub fn page(report: &DiscoveryReport, command: &str) -> String {
    let settings = &report.settings;
    let mut page = with_head(TEMPLATE);
    let mut add = |text: String| page.push_str(&text);
    add("<header><h1>Algorithm discovery</h1>\n".to_owned());
    add(format!(
        "<p class=\"soft\">{}: {} candidates ({} grammar, at most {} operators), {} plays of at most {} evaluations, seed {}; {} unseen problems</p>\n",
        escape(&settings.problem),
        report.arms,
        escape(&settings.grammar),
        settings.operators,
        report.plays_in_all,
        settings.budget_evals,
        settings.seed,
        settings.unseen,
    ));
    if let Some(winner) = report.ranking.iter().find(|row| row.name.is_none()) {
        add(format!(
            "<p class=\"sentence\">Discovered: <code>{}</code>, mean score {} on unseen problems.</p>\n",
            escape(&winner.expression),
            number(winner.mean)
        ));
    }
    add("</header>\n<main>\n".to_owned());
    add(section("Ranking on unseen problems", &ranking(&report.ranking)));
    add(section("The best discovered algorithm against the known searches", &comparisons(&report.comparisons)));
    add(section("The finalists' mean training scores by number of plays", &convergence(&report.convergence)));
    add(section("Mean score by budget", &budgets(&report.budgets)));
    add(format!(
        "</main>\n<footer class=\"soft\">Made by <code>{}</code> with getaway {}.</footer>\n</body>\n</html>\n",
        escape(command),
        env!("CARGO_PKG_VERSION")
    ));
    page
}

fn section(title: &str, content: &str) -> String {
    format!("<section><h2>{title}</h2>\n{content}</section>\n")
}

fn table(names: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head: String = names.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let row = |cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = rows.map(row).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn label(name: Option<&str>, expression: &str) -> String {
    let expression = format!("<code>{}</code>", escape(expression));
    name.map_or(expression.clone(), |name| format!("{}: {expression}", escape(name)))
}

fn ranking(rows: &[Ranked]) -> String {
    let row = |row: &Ranked| {
        vec![
            label(row.name.as_deref(), &row.expression),
            number(row.mean),
            format!("{} to {}", number(row.low), number(row.high)),
            row.plays.map_or(String::new(), |plays| plays.to_string()),
            row.training_mean.map_or(String::new(), number),
        ]
    };
    table(&["algorithm", "mean", "95% interval", "training plays", "training mean"], rows.iter().map(row))
        + "<p class=\"soft\">The intervals are Student's t-intervals. Known searches were designed by people.</p>\n"
}

fn comparisons(rows: &[Comparison]) -> String {
    let row = |row: &Comparison| {
        let difference = row.difference.map_or((String::new(), String::new()), |interval| {
            (number(interval.estimate), format!("{} to {}", number(interval.low), number(interval.high)))
        });
        let counts = format!("{}, {}, {}", row.wins, row.ties, row.losses);
        vec![
            label(Some(&row.right), &row.right_expression),
            difference.0,
            difference.1,
            counts,
            p_value(row.p_corrected),
        ]
    };
    table(&["against", "difference", "95% interval", "wins, ties, losses", "p, corrected"], rows.iter().map(row))
        + "<p class=\"soft\">The scores are paired by problem. The p-values of Student's paired t-test are corrected by Holm's method for the comparisons of all finalists with all known searches.</p>\n"
}

fn p_value(p: f64) -> String {
    if p < 1e-15 {
        "&lt; 1e-15".to_owned()
    } else if p < 0.001 {
        format!("{p:.1e}")
    } else {
        format!("{p:.3}")
    }
}

fn convergence(curves: &[Convergence]) -> String {
    let lines: Vec<Curve> = curves
        .iter()
        .map(|curve| Curve {
            label: format!("<code>{}</code>", escape(&curve.expression)),
            points: curve.points.iter().map(|&(made, mean)| (made as f64, mean)).collect(),
        })
        .collect();
    chart(&lines, "plays of the bandit", Scale::Linear)
}

fn budgets(curves: &[BudgetCurve]) -> String {
    let lines: Vec<Curve> = curves
        .iter()
        .map(|curve| Curve {
            label: label(curve.name.as_deref(), &curve.expression),
            points: curve.points.iter().map(|&(budget, mean, ..)| (budget as f64, mean)).collect(),
        })
        .collect();
    chart(&lines, "evaluations per problem", Scale::Logarithmic)
}

struct Curve {
    label: String,
    points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
}

fn chart(lines: &[Curve], x_label: &str, scale: Scale) -> String {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    if points().next().is_none() {
        return "<p class=\"soft\">No data.</p>\n".to_owned();
    }
    let along = |x: f64| if scale == Scale::Logarithmic { x.ln() } else { x };
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low < high { (low, high) } else { (low - 1.0, high + 1.0) }
    };
    let (x_low, x_high) = range(&mut points().map(|(x, _)| along(x)));
    let (y_low, y_high) = range(&mut points().map(|(_, y)| y));
    let x_of = |x: f64| LEFT + (along(x) - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT);
    let y_of = |y: f64| HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM);
    let mut svg =
        format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"mean score by {x_label}\">\n");
    for step in 0..=4 {
        let y = y_low + (y_high - y_low) * f64::from(step) / 4.0;
        let at = y_of(y);
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            number(y)
        );
    }
    for step in 0..=4 {
        let x = x_low + (x_high - x_low) * f64::from(step) / 4.0;
        let x = if scale == Scale::Logarithmic { x.exp() } else { x };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{:.0}</text>",
            x_of(x),
            HEIGHT - BOTTOM + 16.0,
            x
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{x_label}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 4.0
    );
    let mut legend = String::from("<ul class=\"legend\">\n");
    for (index, line) in lines.iter().enumerate() {
        let style = format!("k{} d{}", index % COLOURS, index / COLOURS % 4);
        let path: Vec<String> = line.points.iter().map(|&(x, y)| format!("{:.1},{:.1}", x_of(x), y_of(y))).collect();
        let _ = writeln!(svg, "<polyline class=\"{style}\" points=\"{}\"/>", path.join(" "));
        let _ = writeln!(
            legend,
            "<li><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><line class=\"{style}\" x1=\"0\" x2=\"26\" y1=\"5\" y2=\"5\" stroke-width=\"3\"/></svg>{}</li>",
            line.label
        );
    }
    svg + "</svg>\n" + &legend + "</ul>\n"
}

fn number(value: f64) -> String {
    if value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::DistributionBank;
    use crate::{Budgets, Discovery, Settings, Vocabulary};
    use getaway_problems::morpion::Morpion;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn page_has_every_algorithm_and_is_self_contained() {
        let bank = DistributionBank::new(Morpion::named("4D").expect("a variant"), 1);
        let settings = Settings {
            problem: "<b>".to_owned(),
            grammar: "paper".to_owned(),
            operators: 1,
            budget_evals: 20,
            plays: 5,
            c: 5.0,
            seed: 1,
            unseen: 10,
            finalists: 3,
        };
        let arms = Vocabulary::paper().candidates(1).expressions;
        let mut discovery = Discovery::new(settings, arms, &bank, None).expect("no file");
        let report = discovery.run(1, Budgets::Several, &AtomicBool::new(false), |_| {}).expect("a report");
        assert_eq!((report.ranking.len(), report.comparisons.len(), report.budgets.len()), (9, 6, 9));
        let page = page(&report, "getaway discover --problem morpion-4d");
        for row in &report.ranking {
            assert!(page.contains(&row.expression), "{}", row.expression);
        }
        assert_eq!(page.matches("<polyline").count(), 3 + 9);
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"));
        for outside in ["http://", "https://", "src=", "@import", "url(", "<script"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
