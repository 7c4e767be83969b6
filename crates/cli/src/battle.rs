//! `getaway battle`: which of two planners is better, and how sure that is.

use std::io::Write;
use std::ops::ControlFlow;

use clap::Args;
use serde::Serialize;

use getaway_arena::stats::{Sprt, Tally, Verdict};
use getaway_arena::{Battle, Comparison, Games, Referee, p_value};

use super::arena::{SeriesArgs, Session, Setting};
use super::eval::between;
use super::number;
use super::table::write_table;
use super::{CliError, one_line};

const EXAMPLES: &str = "Examples:
  getaway battle survival uct-greedy                      ten pairs on each of our maps
  getaway battle uct-greedy sampling --maps path/to/maps --samples 25 --report report.html
  getaway battle 'select(0.3, simulate(greedy))' uct-greedy --sprt --samples 1000 --resume results.jsonl";

/// Compare two planners in paired games: the same map, the same seed
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BattleArgs {
    /// The planner whose wins are counted: a name or an expression
    #[arg(value_name = "LEFT")]
    left: String,
    /// The planner that it is compared with
    #[arg(value_name = "RIGHT")]
    right: String,
    /// Maps, by name or by path; without any, all those of every --maps DIR, or else our own
    #[arg(value_name = "MAP")]
    names: Vec<String>,
    #[command(flatten)]
    series: SeriesArgs,
    /// Stop as soon as Wald's sequential test has an answer; --samples is then the most that are played
    #[arg(long)]
    sprt: bool,
    /// H0: the share of decisive pairs that LEFT wins
    #[arg(long, value_name = "SHARE", default_value_t = Sprt::default().p0, requires = "sprt", value_parser = number::any)]
    sprt_p0: f64,
    /// H1: the share of decisive pairs that LEFT wins
    #[arg(long, value_name = "SHARE", default_value_t = Sprt::default().p1, requires = "sprt", value_parser = number::any)]
    sprt_p1: f64,
    /// How often H1 may win though H0 is true
    #[arg(long, value_name = "RATE", default_value_t = Sprt::default().alpha, requires = "sprt", value_parser = number::any)]
    sprt_alpha: f64,
    /// How often H0 may win though H1 is true
    #[arg(long, value_name = "RATE", default_value_t = Sprt::default().beta, requires = "sprt", value_parser = number::any)]
    sprt_beta: f64,
}

/// What programs read.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    setting: Setting,
    #[serde(flatten)]
    battle: &'a Battle,
    sentence: String,
}

pub(super) fn run(args: &BattleArgs, out: &mut impl Write) -> Result<(), CliError> {
    let mut referee = args.sprt()?.map(Referee::new);
    let mut session = Session::new(&args.series, &args.names, vec![args.left.clone(), args.right.clone()])?;
    session.play(|_, games| match referee.as_mut().map(|referee| referee.look(games)) {
        Some(Verdict::H0 | Verdict::H1) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(running_score(games)),
    })?;
    if let Some(referee) = &referee {
        referee.dismiss(&mut session.games);
    }
    let battle = Battle::of(&session.series, &session.games, [0, 1], referee.map(|referee| referee.report()));
    session.write_report(&format!("{} against {}", args.left, args.right), Some(&battle))?;
    if args.series.json {
        let report = Report { setting: session.setting(), battle: &battle, sentence: battle.sentence() };
        serde_json::to_writer(&mut *out, &report)?;
        writeln!(out)?;
    } else {
        writeln!(out, "{} against {}: {}", one_line(&args.left), one_line(&args.right), session.heading())?;
        write_battle(&battle, out)?;
    }
    session.end()
}

impl BattleArgs {
    fn sprt(&self) -> Result<Option<Sprt>, CliError> {
        let sprt = Sprt { p0: self.sprt_p0, p1: self.sprt_p1, alpha: self.sprt_alpha, beta: self.sprt_beta };
        if !sprt.is_sound() {
            let Sprt { p0, p1, alpha, beta } = sprt;
            return Err(CliError::Input(format!(
                "--sprt-p0 {p0}, --sprt-p1 {p1}, --sprt-alpha {alpha} and --sprt-beta {beta} make no test: \
                 expected 0 < p0 < p1 < 1 and positive error rates that add up to less than 1"
            )));
        }
        Ok(self.sprt.then_some(sprt))
    }
}

/// Wins, ties and losses so far.
fn running_score(games: &Games) -> String {
    let mut tally = Tally::default();
    for pair in games.chunks_exact(2) {
        if let [Some(left), Some(right)] = pair {
            tally.add(left.score, right.score);
        }
    }
    format!("{} won, {} tied, {} lost", tally.wins, tally.ties, tally.losses)
}

fn write_battle(battle: &Battle, out: &mut impl Write) -> Result<(), CliError> {
    let heads =
        ["MAP", "WINS", "TIES", "LOSSES", "WIN SHARE", "95% INTERVAL", "POINTS MORE", "95% INTERVAL", "SIGN TEST"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(battle.maps.iter().map(|map| row(&one_line(&map.map), &map.comparison)));
    rows.push(row("all maps", &battle.overall));
    writeln!(out)?;
    write_table(&rows, &[0], out)?;
    writeln!(out)?;
    if let Some(sprt) = battle.sprt {
        let (ratio, low, high) = (sprt.log_likelihood_ratio, sprt.low, sprt.high);
        writeln!(out, "SPRT: log-likelihood ratio {ratio:.2}; H0 wins at {low:.2}, H1 at {high:.2}")?;
    }
    Ok(writeln!(out, "{}", one_line(&battle.sentence()))?)
}

fn row(name: &str, comparison: &Comparison) -> Vec<String> {
    let Tally { wins, ties, losses } = comparison.tally;
    let share = comparison.win_share;
    let points = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    vec![
        name.to_owned(),
        wins.to_string(),
        ties.to_string(),
        losses.to_string(),
        format!("{:.3}", share.estimate),
        format!("{:.3} to {:.3}", share.low, share.high),
        points(comparison.score_difference_mean.map(|mean| format!("{mean:.0}"))),
        points(comparison.score_difference.map(between)),
        p_value(comparison.p_value),
    ]
}
