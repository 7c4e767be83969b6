//! The replay of the game in progress.
//!
//! Guarantees: the game's thread only stores states and notes, and never waits for an annotation.
//! The first thread that requests a frame annotates it for all clients, without holding the game's
//! lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::address::Address;
use super::pack::pack;
use super::replay::{ReplayBuilder, forecast};
use getaway::game::{State, World};
use getaway::recording::WireNotes;

/// Minimum time between forecasts, because each takes processor time that the bot may need.
const FORECAST_INTERVAL: Duration = Duration::from_millis(250);
/// A forecast that still holds is replaced only when it covers fewer future ticks than this.
const FORECAST_TICKS_MIN: usize = 20;

#[derive(Default)]
pub struct LiveReplay {
    game_count: AtomicU64,
    game: Mutex<Option<Game>>,
    built: Mutex<Option<Built>>,
}

struct Game {
    number: u64,
    title: String,
    subtitle: String,
    world: Arc<World>,
    states: Vec<State>,
    notes: Vec<(usize, WireNotes)>,
}

struct Built {
    number: u64,
    world: Arc<World>,
    builder: ReplayBuilder,
    note_count: usize,
    forecast_at: Option<Instant>,
}

type News = (Vec<State>, Vec<(usize, WireNotes)>);

impl LiveReplay {
    pub fn begin(&self, title: &str, subtitle: &str, world: Arc<World>) {
        let number = self.game_count.fetch_add(1, Ordering::Relaxed) + 1;
        let (title, subtitle) = (title.to_owned(), subtitle.to_owned());
        *lock(&self.game) = Some(Game { number, title, subtitle, world, states: Vec::new(), notes: Vec::new() });
    }

    pub fn push(&self, state: &State) {
        if let Some(game) = &mut *lock(&self.game) {
            game.states.push(state.clone());
        }
    }

    pub fn note(&self, wire: &WireNotes) {
        let is_plain = wire.command.is_some() && wire.late.is_empty() && wire.unreadable.is_empty();
        if let Some(game) = &mut *lock(&self.game)
            && !is_plain
        {
            let has_left = game.notes.last().is_some_and(|(_, before)| before.left.is_some());
            if !has_left {
                game.notes.push((game.states.len().saturating_sub(1), wire.clone()));
            }
        }
    }

    /// True from the first state of a game until the game is over.
    pub fn is_running(&self) -> bool {
        lock(&self.game).as_ref().is_some_and(|game| game.states.last().is_some_and(|state| !state.is_over()))
    }

    /// The packed replay of the current game: from frame `from` on if `game` is the number of this
    /// game, otherwise from the start. `None` before the first game.
    ///
    /// Takes tens of microseconds per new frame, and sometimes tens of milliseconds for a forecast.
    pub fn pack(&self, game: u64, from: usize) -> Option<(String, Vec<u8>)> {
        let mut built = lock(&self.built);
        let (states, notes) = self.catch_up(&mut built)?;
        let built = built.as_mut()?;
        for state in &states {
            built.builder.push(&built.world, state);
        }
        for (index, wire) in &notes {
            built.builder.note(*index, wire);
        }
        built.note_count += notes.len();
        built.update_forecast(&states);
        Some(pack(&built.builder.replay, built.number, if game == built.number { from } else { 0 }))
    }

    fn catch_up(&self, built: &mut Option<Built>) -> Option<News> {
        let game = lock(&self.game);
        let game = game.as_ref()?;
        if built.as_ref().is_none_or(|built| built.number != game.number) {
            let world = Arc::clone(&game.world);
            let builder = ReplayBuilder::new(&game.title, &game.subtitle, &world);
            *built = Some(Built { number: game.number, world, builder, forecast_at: None, note_count: 0 });
        }
        let Built { builder, world, note_count, .. } = built.as_mut()?;
        let frame_count = builder.replay.frames.len();
        if builder.replay.address.is_none() && game.states.last().is_some_and(State::is_over) {
            builder.replay.address = Address::of_states(&game.title, world, &game.states);
        }
        Some((game.states[frame_count..].to_vec(), game.notes[*note_count..].to_vec()))
    }
}

impl Built {
    fn update_forecast(&mut self, states: &[State]) {
        let Some(last) = states.last() else { return };
        let replay = &mut self.builder.replay;
        let expected = &mut replay.forecast;
        let played = states.len().min(expected.len());
        let follows = states.len() <= expected.len()
            && expected.get(played.wrapping_sub(1)) == replay.frames.last().map(|frame| &frame.positions);
        expected.drain(..played);
        if !follows {
            expected.clear();
        }
        let is_recent = self.forecast_at.is_some_and(|at| at.elapsed() < FORECAST_INTERVAL);
        if last.is_over() {
            expected.clear();
        } else if expected.len() < FORECAST_TICKS_MIN && !is_recent {
            *expected = forecast(&self.world, last);
            self.forecast_at = Some(Instant::now());
        }
    }
}

/// Locks a mutex even if it is poisoned, so that the replay continues after a request panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{Layout, Move, Rules};

    fn header(packed: &Option<(String, Vec<u8>)>) -> serde_json::Value {
        serde_json::from_str(&packed.as_ref().expect("a game").0).expect("JSON")
    }

    #[test]
    fn replay_grows_with_the_game_and_restarts_with_the_next() {
        let live = LiveReplay::default();
        assert_eq!(live.pack(0, 0), None, "no game yet");
        let world = Arc::new(
            World::new(&Layout::parse("P....\n.###.\n....S").expect("a drawing"), &Rules::BLITZ_2025).expect("a map"),
        );
        for number in 1..=2 {
            live.begin("map", "team", Arc::clone(&world));
            let mut state = world.start();
            assert_eq!(header(&live.pack(number - 1, 9))["count"], 0, "no state yet");
            live.push(&state);
            let first = header(&live.pack(number - 1, 9));
            assert_eq!((&first["game"], &first["from"], &first["count"]), (&number.into(), &0.into(), &1.into()));
            assert!(first["address"].is_null(), "the game has not ended");
            assert!(first["forecast"].as_u64() > Some(0) && first["status"] == "running" && first["isLive"] == true);
            for _ in 0..3 {
                world.step_unchecked(&mut state, Move::Stay);
                live.push(&state);
            }
            let next = header(&live.pack(number, 1));
            assert_eq!((&next["from"], &next["count"], &next["score"]), (&1.into(), &3.into(), &20.into()));
            while !state.is_over() {
                world.step_unchecked(&mut state, Move::Stay);
                live.push(&state);
            }
            let last = header(&live.pack(number, 4));
            assert_eq!(
                (&last["status"], &last["isLive"], &last["forecast"]),
                (&"caught".into(), &false.into(), &0.into())
            );
            assert_eq!(last["score"], world.score(&state));
            assert_eq!(last["address"]["moves"], state.tick() - 1);
        }
    }
}
