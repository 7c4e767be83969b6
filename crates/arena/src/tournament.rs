//! Tournaments compare planners in pairs, on the same maps and seeds.
//!
//! A game has one player, so N planners play at most N games per map and seed, and each game can
//! count in several pairs. The result does not depend on the order in which the games were played.

use std::cell::Cell;
use std::rc::Rc;

use serde::Serialize;

use super::comparison::Comparison;
use super::eval::Summary;
use super::external_summary::external_summaries;
use super::matches::{Match, is_deterministic};
use super::rating::{RatedPairs, ranked, ratings};
use super::series::{Games, Series};
use super::sprt::{SprtMonitor, SprtReport};
use super::verdict::{Outcome, Verdict, further_words};
use getaway_runs::stats::{Interval, Sprt, WinDrawLoss};

/// The description of the rating model, which is printed under the standing.
pub const RATING_MODEL: &str = "Bradley-Terry on distinct pairs, a tie as half a win, with one prior tie of each \
    entrant against a rating of 0; mean 0; 400 points are odds of 10 to 1; 95% intervals clustered by map";

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TournamentOptions {
    /// True if only the pairs that include the first planner are compared.
    pub gauntlet: bool,
    /// The sequential test that ends pairs early. A planner plays until all its pairs have ended.
    pub sprt: Option<Sprt>,
}

/// Tracks which games a tournament still needs.
#[derive(Debug)]
pub struct TournamentMonitor {
    pairs: Vec<SprtMonitor>,
    /// For each planner, the number of games, from the start of the series, that its pairs need.
    needed: Rc<[Cell<usize>]>,
}

impl TournamentMonitor {
    pub fn new(series: &Series, options: TournamentOptions) -> Self {
        let planners = series.names.len();
        let firsts = if options.gauntlet { 1 } else { planners };
        let sides = (0..firsts).flat_map(|one| (one + 1..planners).map(move |other| [one, other]));
        let pairs = sides.map(|sides| SprtMonitor::new(options.sprt, sides)).collect();
        Self { pairs, needed: (0..planners).map(|_| Cell::new(series.units(None).count())).collect() }
    }

    /// Evaluates new games. Returns true if the tournament needs games that are missing.
    pub fn update(&mut self, series: &Series, games: &Games) -> bool {
        let all = series.units(None).count();
        // A single planner has no pair, but plays all its games.
        let least = if self.pairs.is_empty() { all } else { 0 };
        self.needed.iter().for_each(|needed| needed.set(least));
        for pair in &mut self.pairs {
            pair.update(series, games);
            for needed in pair.sides.map(|side| &self.needed[side]) {
                needed.set(needed.get().max(pair.pairs_needed().unwrap_or(all)));
            }
        }
        let is_wanted = self.wanted();
        (0..series.len()).any(|index| games.get(index).is_none_or(Option::is_none) && is_wanted(index))
    }

    /// Returns a function that checks whether the game at an index is needed, according to the
    /// latest [`Self::update`].
    pub fn wanted(&self) -> impl Fn(usize) -> bool + use<> {
        let needed = Rc::clone(&self.needed);
        move |index| index / needed.len() < needed[index % needed.len()].get()
    }

    /// The report of each pair's sequential test, if there is one, in the order of the pairs.
    pub fn sprt_reports(&self) -> Vec<Option<SprtReport>> {
        self.pairs.iter().map(SprtMonitor::report).collect()
    }

    /// Returns how many pairs the sequential test has decided, and how many pairs there are.
    pub fn decided(&self) -> (usize, usize) {
        (self.pairs.iter().filter_map(SprtMonitor::pairs_needed).count(), self.pairs.len())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tournament {
    pub model: &'static str,
    /// The entrants, best rating first.
    pub standing: Vec<Standing>,
    /// The compared pairs of entrants, sorted by the place of the left entrant, then by that of the
    /// right entrant. The left entrant has the better place.
    pub pairs: Vec<TournamentPair>,
    /// One text per bot that failed or missed many ticks.
    pub troubles: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    pub place: usize,
    pub planner: String,
    /// The index of the entrant among the planners of the series.
    pub index: usize,
    pub rating: Interval,
    #[serde(flatten)]
    pub counts: WinDrawLoss,
    /// True if the entrant played several games on some map, and all its games on each map are
    /// identical.
    #[serde(rename = "draws_nothing")]
    pub is_deterministic: bool,
    pub games: Summary,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TournamentPair {
    pub left: String,
    pub right: String,
    /// The indices of the left and the right entrant among the planners of the series.
    pub sides: [usize; 2],
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The report of the sequential test. Wins of `sprt_left` raise its likelihood ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtReport>,
    /// The entrant of this pair that comes first in the options of the series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt_left: Option<String>,
    /// The verdict on the left entrant. It does not use the sequential test.
    pub verdict: Verdict,
}

impl Tournament {
    /// Evaluates the games; `margin` is the smallest mean score difference that matters, in points.
    pub fn of(series: &Series, games: &Games, monitor: &TournamentMonitor, margin: f64) -> Self {
        let is_wanted = monitor.wanted();
        let games: Games =
            games.iter().enumerate().map(|(index, game)| game.clone().filter(|_| is_wanted(index))).collect();
        let names = &series.names;
        let match_of = |pair: &SprtMonitor, sides: [usize; 2]| {
            let end = pair.pairs_needed().map_or(games.len(), |pairs| games.len().min(pairs * names.len()));
            Match::of(series, &games[..end], sides, None, margin)
        };
        let mut rated = Vec::new();
        let mut counts = vec![WinDrawLoss::default(); names.len()];
        for pair in &monitor.pairs {
            let ([left, right], Match { overall, maps, .. }) = (pair.sides, match_of(pair, pair.sides));
            counts[left] = counts[left].plus(overall.counts);
            counts[right] = counts[right].plus(overall.counts.reversed());
            let counts = maps.iter().map(|map| map.comparison.counts).enumerate();
            rated.extend(counts.map(|(map, counts)| RatedPairs { map, sides: pair.sides, counts }));
        }
        let ratings = ratings(names.len(), &rated);
        let order = ranked(&ratings);
        let standing = order.iter().enumerate().map(|(place, &planner)| Standing {
            place: place + 1,
            planner: names[planner].clone(),
            index: planner,
            rating: ratings[planner],
            counts: counts[planner],
            is_deterministic: is_deterministic(series, &games, planner),
            games: Summary::of(series.games_of(&games, planner, None)),
        });
        let place = |planner: usize| order.iter().position(|&other| other == planner);
        let pairs = monitor.pairs.iter().map(|pair| {
            let mut sides = pair.sides;
            sides.sort_by_key(|&side| place(side));
            let Match { left, right, overall: comparison, verdict, .. } = match_of(pair, sides);
            let sprt = pair.report();
            let sprt_left = sprt.as_ref().map(|_| names[pair.sides[0]].clone());
            TournamentPair { left, right, sides, comparison, sprt, sprt_left, verdict }
        });
        let mut pairs: Vec<TournamentPair> = pairs.collect();
        pairs.sort_by_key(|pair| pair.sides.map(place));
        let troubles = external_summaries(series, &games).into_iter().filter_map(|bot| bot.trouble).collect();
        Self { model: RATING_MODEL, standing: standing.collect(), pairs, troubles }
    }

    /// Describes the failures and missed ticks of bots, and names the best-rated entrant and the entrants
    /// that it is not shown to beat.
    pub fn sentence(&self) -> String {
        let Some((first, others)) = self.standing.split_first() else { return String::new() };
        let close = |Standing { planner: name, index, .. }: &Standing| {
            let pair = self.pairs.iter().find(|pair| pair.sides == [first.index, *index])?;
            let (verdict, pairs) = (&pair.verdict, &pair.comparison);
            let further = further_words(pairs, verdict.margin, [verdict.further, verdict.further_for_margin]).next();
            let further = further.map(|words| format!("; {words}"));
            match verdict.outcome {
                Outcome::Better => None,
                Outcome::Failed => Some(format!("{name} (too many failed games)")),
                // Ratings count wins. In points, one large loss can outweigh many narrow wins.
                Outcome::Worse => Some(format!("{name} (which scores more points)")),
                Outcome::Equal => Some(format!("{name} (equal within {:.0} points)", verdict.margin)),
                _ if pairs.identical_pairs == pairs.pairs_played => Some(format!("{name} (identical games)")),
                _ => Some(format!("{name} (too few games{})", further.unwrap_or_default())),
            }
        };
        let close: Vec<String> = others.iter().filter_map(close).collect();
        let winner = format!("{} has the best rating of {} entrants", first.planner, self.standing.len());
        let claim = match &close[..] {
            [] => format!("{winner}, and is better than every other entrant it was compared with."),
            close => format!("{winner}, but is not shown to be better than {}.", close.join(", ")),
        };
        let troubles = self.troubles.iter().map(|trouble| format!("{trouble}."));
        troubles.chain([claim]).collect::<Vec<String>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::eval::MeanCost;
    use crate::series::SeriesOptions;
    use crate::verdict::MARGIN_DEFAULT;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;
    use getaway::search::Budget;
    use getaway_runs::Workers;

    fn series(samples: u32) -> Series {
        let layout = |rows: &str| Layout::parse(rows).expect("a drawing");
        let map = |name: &str, rows: &str| {
            let (name, kind, difficulty) = (name.to_owned(), String::new(), String::new());
            Map { name, kind, difficulty, layout: layout(rows) }
        };
        let maps = [map("hall", "P....\n.###.\n....S"), map("ring", "#######\n#P....#\n#.###.#\n#....S#\n#######")];
        let planners = ["random", "safest", "sampling", "lookahead:3"].map(str::to_owned).to_vec();
        let options = SeriesOptions { planners, samples, seed: 1, rules: Rules::BLITZ_2025, budget: Budget::ticks(60) };
        Series::new(&maps, options).expect("a series")
    }

    fn play(series: &Series, options: TournamentOptions, threads: usize, first: &Games) -> (Tournament, usize) {
        let mut monitor = TournamentMonitor::new(series, options);
        let mut games = first.clone();
        let mut played = 0;
        let is_wanted = monitor.wanted();
        let flow = series.play_wanted(
            &mut games,
            Workers::Threads(threads),
            &AtomicBool::new(false),
            &is_wanted,
            &mut || {},
            |_, games| {
                played += 1;
                let goes_on = monitor.update(series, games);
                if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            },
        );
        assert!(flow.is_ok());
        monitor.update(series, &games);
        (Tournament::of(series, &games, &monitor, MARGIN_DEFAULT), played)
    }

    fn without_times(mut tournament: Tournament) -> Tournament {
        for standing in &mut tournament.standing {
            let games = &mut standing.games;
            (games.decision_p50_ms, games.decision_p99_ms, games.decision_max_ms) = (0.0, 0.0, 0.0);
            games.cost = MeanCost::default();
        }
        tournament
    }

    #[test]
    fn standing_is_ordered_and_every_pair_compared() {
        let (tournament, played) = play(&series(6), TournamentOptions::default(), 2, &Games::new());
        assert_eq!((played, tournament.pairs.len()), (4 * 2 * 6, 6));
        assert_eq!(tournament.standing.last().map(|last| last.planner.as_str()), Some("random"));
        assert!(tournament.standing.is_sorted_by(|one, other| one.rating.estimate >= other.rating.estimate));
        let sum: f64 = tournament.standing.iter().map(|standing| standing.rating.estimate).sum();
        assert!(sum.abs() < 1e-6, "the mean rating is 0");
        let wins: u64 = tournament.standing.iter().map(|standing| standing.counts.wins).sum();
        let losses: u64 = tournament.standing.iter().map(|standing| standing.counts.losses).sum();
        assert_eq!(wins, losses);
        let safest = tournament.standing.iter().find(|standing| standing.planner == "safest").expect("an entrant");
        assert!(safest.is_deterministic && safest.games.distinct_games == 2);
    }

    #[test]
    fn sentence_names_entrants_that_the_best_rated_is_not_shown_to_beat() {
        let (mut tournament, _) = play(&series(1), TournamentOptions::default(), 1, &Games::new());
        let sides = [0, 1].map(|place| tournament.standing[place].index);
        let best = tournament.pairs.iter().position(|pair| pair.sides == sides).expect("the best two");
        let second = tournament.standing[1].planner.clone();
        for (outcome, reason) in
            [(Outcome::Worse, "which scores more points"), (Outcome::Failed, "too many failed games")]
        {
            tournament.pairs[best].verdict.outcome = outcome;
            let sentence = tournament.sentence();
            assert!(sentence.contains(&format!("{second} ({reason})")), "{sentence}");
        }
    }

    #[test]
    fn gauntlet_compares_the_first_with_every_other() {
        let options = TournamentOptions { gauntlet: true, sprt: None };
        let (tournament, _) = play(&series(2), options, 1, &Games::new());
        assert_eq!(tournament.pairs.len(), 3);
        assert!(tournament.pairs.iter().all(|pair| pair.sides.contains(&0)));
    }

    #[test]
    fn pairs_that_are_decided_end_early_and_resuming_changes_nothing() {
        let options = TournamentOptions { gauntlet: false, sprt: Some(Sprt { p0: 0.4, p1: 0.6, ..Sprt::default() }) };
        let series = series(30);
        let (whole, played) = play(&series, options, 1, &Games::new());
        assert!(played < series.len(), "{played} of {} games", series.len());
        assert!(whole.pairs.iter().any(|pair| pair.comparison.pairs_played < 60));
        let whole = without_times(whole);
        assert_eq!(without_times(play(&series, options, 3, &Games::new()).0), whole);
        // A killed run can leave unneeded games, and gaps between games.
        let mut all = Games::new();
        let flow = series.play(&mut all, 2, &AtomicBool::new(false), |_, _| ControlFlow::<()>::Continue(()));
        assert!(flow.is_ok());
        for step in [2, 3, 7] {
            let some = all.iter().enumerate().map(|(index, game)| game.clone().filter(|_| index % step == 0)).collect();
            assert_eq!(without_times(play(&series, options, 2, &some).0), whole, "games {step} apart");
        }
    }
}
