use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::game::play;
use super::series::{Games, Series, SeriesError};
use getaway::game::LAST_TICK;

impl Series {
    /// Estimates how long the missing games will take on `threads` threads, except for the games of
    /// external bots. Plays the first missing game of each planner for an equal share of `limit`,
    /// but for at least one decision. A game that is not over by then is assumed to last until tick
    /// 2001, so the estimate tends to be high.
    pub fn estimate(&self, games: &Games, threads: usize, limit: Duration) -> Result<Duration, SeriesError> {
        let is_missing = |index: &usize| games.get(*index).is_none_or(Option::is_none);
        let planners = self.options().planners.len();
        let share = limit / planners.max(1) as u32;
        let mut total = Duration::ZERO;
        for planner in 0..planners {
            let mut missing = (0..self.len()).filter(is_missing).filter(|&index| self.key(index).planner == planner);
            if let Some(first) = missing.next() {
                total += self.estimate_game(first, share)? * (1 + missing.count()) as u32;
            }
        }
        Ok(total / threads.max(1) as u32)
    }

    fn estimate_game(&self, index: usize, limit: Duration) -> Result<Duration, SeriesError> {
        // `bot` is `None` for external bots. An estimate does not start them, because a new process
        // could have side effects.
        let Some(mut bot) = self.bot(index)? else { return Ok(Duration::ZERO) };
        let world = &self.maps()[self.key(index).map].world;
        let start = Instant::now();
        // The first decision is timed separately, because some planners plan the whole game in it.
        let (mut decisions, mut first) = (0, Duration::ZERO);
        let played = play(world, &mut bot, |_, _| {
            decisions += 1;
            if decisions == 1 {
                first = start.elapsed();
            }
            if start.elapsed() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let elapsed = start.elapsed();
        Ok(match played.map_err(|source| self.aborted(index, source))? {
            ControlFlow::Continue(_) => elapsed,
            ControlFlow::Break(()) => whole_game(decisions, first, elapsed),
        })
    }
}

fn whole_game(decisions: u32, first: Duration, elapsed: Duration) -> Duration {
    if decisions == 1 {
        return elapsed * LAST_TICK.into();
    }
    first + (elapsed - first) / (decisions - 1) * u32::from(LAST_TICK - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::SeriesOptions;
    use getaway::game::{Layout, Rules};
    use getaway::map::Map;
    use getaway::search::Budget;

    const LIMIT: Duration = Duration::from_millis(20);

    fn series(drawing: &str, samples: u32, budget: Budget) -> Series {
        let (name, kind, difficulty) = ("map".to_owned(), String::new(), String::new());
        let map = Map { name, kind, difficulty, layout: Layout::parse(drawing).expect("a drawing") };
        let planners = vec!["sampling".to_owned()];
        let options = SeriesOptions { planners, samples, seed: 1, rules: Rules::BLITZ_2025, budget };
        Series::new(&[map], options).expect("a series")
    }

    #[test]
    fn long_game_is_extrapolated_from_its_start() {
        let drawing = "###############\n#P...........S#\n#.###########.#\n#.............#\n###############";
        let series = series(drawing, 3, Budget::time(Duration::from_millis(5)));
        let start = Instant::now();
        let estimate = series.estimate(&Games::new(), 1, LIMIT).expect("a time");
        let played = start.elapsed();
        // Compares with the measured time, because a busy machine lengthens both times.
        assert!(estimate > played && estimate < played * 3 * 2000, "{estimate:?} after {played:?}");
    }

    #[test]
    fn first_decision_is_not_extrapolated_where_there_are_others() {
        let seconds = Duration::from_secs;
        assert_eq!(whole_game(1, seconds(3), seconds(3)), seconds(3 * 2000));
        assert_eq!(whole_game(5, seconds(100), seconds(108)), seconds(100 + 2 * 1999));
    }

    #[test]
    fn played_games_do_not_count() {
        let series = series("#####\n#P.B#\n#####", 2, Budget::ticks(1));
        let mut games = Games::new();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let flow = series.play(&mut games, 1, &stop, |_, _| ControlFlow::<()>::Continue(()));
        assert!(flow.is_ok());
        assert_eq!(series.estimate(&games, 1, LIMIT).expect("a time"), Duration::ZERO);
        games[1] = None;
        let left = series.estimate(&games, 1, LIMIT).expect("a time");
        assert!(!left.is_zero() && left < series.estimate(&Games::new(), 1, LIMIT).expect("a time") * 20);
    }
}
