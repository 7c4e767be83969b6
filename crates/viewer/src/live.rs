//! A game that is being played, for whoever asks about it.
//!
//! The promise: the game hands over each state and goes on; what there is to know about it is worked out only when somebody asks, by whoever
//! asks, once for all, and never under a lock that the game takes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::film::{Crew, Film, look_ahead};
use super::pack::pack;
use getaway::game::{State, World};

/// Time from one look ahead to the next at least: each takes some milliseconds of a machine that has a game to play.
const LOOK_AHEAD_PAUSE: Duration = Duration::from_millis(250);
/// A look ahead that the game still follows serves for as long as so many ticks of it are left.
const AHEAD_TICKS_MIN: usize = 20;

/// A game that is being played: the latest one.
#[derive(Default)]
pub struct Live {
    begun: AtomicU64,
    game: Mutex<Option<Game>>,
    filmed: Mutex<Option<Filmed>>,
}

/// What the game leaves here.
struct Game {
    number: u64,
    title: String,
    subtitle: String,
    world: Arc<World>,
    states: Vec<State>,
}

/// What has been made of it.
struct Filmed {
    number: u64,
    world: Arc<World>,
    film: Film,
    crew: Crew,
    /// When it was last looked ahead.
    looked: Option<Instant>,
}

impl Live {
    /// A game begins; the one before is forgotten.
    pub fn begin(&self, title: &str, subtitle: &str, world: Arc<World>) {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let (title, subtitle) = (title.to_owned(), subtitle.to_owned());
        *lock(&self.game) = Some(Game { number, title, subtitle, world, states: Vec::new() });
    }

    /// The game has come to this state.
    pub fn push(&self, state: &State) {
        if let Some(game) = &mut *lock(&self.game) {
            game.states.push(state.clone());
        }
    }

    /// The film so far, packed, from a moment on; all of it if `game` is not the game that is played. `None` before the first game.
    ///
    /// Takes some tens of microseconds for each moment that nobody has asked about before, and at times some milliseconds to look ahead.
    pub fn pack(&self, game: u64, from: usize) -> Option<(String, Vec<u8>)> {
        let mut filmed = lock(&self.filmed);
        let states = self.catch_up(&mut filmed)?;
        let filmed = filmed.as_mut()?;
        for state in &states {
            filmed.film.shoot(&filmed.world, state, &mut filmed.crew);
        }
        filmed.look_ahead(&states);
        Some(pack(&filmed.film, filmed.number, if game == filmed.number { from } else { 0 }))
    }

    /// Begins a new film if there is a new game, and gives the states that are not in the film.
    fn catch_up(&self, filmed: &mut Option<Filmed>) -> Option<Vec<State>> {
        let game = lock(&self.game);
        let game = game.as_ref()?;
        if filmed.as_ref().is_none_or(|filmed| filmed.number != game.number) {
            let world = Arc::clone(&game.world);
            let film = Film::new(&game.title, &game.subtitle, &world);
            let crew = Crew::new(&world);
            *filmed = Some(Filmed { number: game.number, world, film, crew, looked: None });
        }
        let known = filmed.as_ref().map_or(0, |filmed| filmed.film.moments.len());
        Some(game.states[known..].to_vec())
    }
}

impl Filmed {
    /// Looks ahead from the last state, unless the game goes on as was foreseen.
    fn look_ahead(&mut self, states: &[State]) {
        let Some(last) = states.last() else { return };
        let ahead = &mut self.film.ahead;
        let played = states.len().min(ahead.len());
        let follows = states.len() <= ahead.len()
            && ahead.get(played.wrapping_sub(1)) == self.film.moments.last().map(|moment| &moment.frame);
        ahead.drain(..played);
        if !follows {
            ahead.clear();
        }
        let is_fresh = self.looked.is_some_and(|looked| looked.elapsed() < LOOK_AHEAD_PAUSE);
        if last.is_over() {
            ahead.clear();
        } else if ahead.len() < AHEAD_TICKS_MIN && !is_fresh {
            *ahead = look_ahead(&self.world, last);
            self.looked = Some(Instant::now());
        }
    }
}

/// Nothing under these locks can be left half-done in a way that a later look would not mend.
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
    fn the_film_grows_with_the_game_and_starts_again_with_the_next() {
        let live = Live::default();
        assert_eq!(live.pack(0, 0), None, "no game yet");
        let world = Arc::new(
            World::new(&Layout::parse("P....\n.###.\n....s").expect("a drawing"), &Rules::BLITZ_2025).expect("a map"),
        );
        for number in 1..=2 {
            live.begin("map", "team", Arc::clone(&world));
            let mut state = world.start();
            live.push(&state);
            let first = header(&live.pack(number - 1, 9));
            assert_eq!((&first["game"], &first["from"], &first["count"]), (&number.into(), &0.into(), &1.into()));
            assert!(first["ahead"].as_u64() > Some(0) && first["ending"] == "running");
            for _ in 0..3 {
                world.step(&mut state, Move::Stay);
                live.push(&state);
            }
            let next = header(&live.pack(number, 1));
            assert_eq!((&next["from"], &next["count"], &next["score"]), (&1.into(), &3.into(), &20.into()));
            while !state.is_over() {
                world.step(&mut state, Move::Stay);
                live.push(&state);
            }
            let last = header(&live.pack(number, 4));
            assert_eq!((&last["ending"], &last["ahead"]), (&"caught".into(), &0.into()));
            assert_eq!(last["score"], world.score(&state));
        }
    }
}
