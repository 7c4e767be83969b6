//! The sets of hypotheses about the styles, and how one move narrows them down.

use super::hawk::HawkSets;
use super::hawk_explanation::FEW_POSTS_MAX;
use super::learner::Learner;
use super::observed_game::{ObservedGame, ThreatMemory};
use super::paths::{Deer, Owls, Sharks};
use super::picks::{Pick, Picks, pick};
use super::streets::{Step, Streets};
use crate::game::{Rules, Style};
use crate::search::Deadline;

#[derive(Clone, Debug)]
pub(super) struct Sets {
    pub sharks: Sharks,
    pub deer: Deer,
    pub owls: Option<Owls>,
    pub hawks: HawkSets,
    pub picks: Picks,
    /// The known posts of earlier games: draw number, rank, and number of the map's intersections.
    pub posts: Vec<(u16, u16, u16)>,
}

impl Sets {
    pub fn new(expected: &Rules) -> Self {
        Self {
            sharks: Sharks::default(),
            deer: Deer::default(),
            owls: None,
            hawks: HawkSets::ANY,
            picks: Picks::new(expected),
            posts: Vec::new(),
        }
    }
}

impl Learner {
    /// The known posts of all games, in the format of [`Sets::posts`]. `None` if the deadline
    /// passes first.
    pub(super) fn posts(&self, deadline: Deadline) -> Option<Vec<(u16, u16, u16)>> {
        let mut posts = self.sets.posts.clone();
        if let Some(game) = self.games.last() {
            let places = game.streets.intersections.len() as u16;
            for hawk in game.hawks() {
                if deadline.is_past() {
                    return None;
                }
                posts.extend(hawk.known_posts().into_iter().map(|(draw, place)| (draw, place, places)));
            }
        }
        Some(posts)
    }

    pub(super) fn reconcile(&mut self) {
        let Sets { deer, owls, hawks, picks, .. } = &mut self.sets;
        for _ in 0..2 {
            for hawk in self.games.last().into_iter().flat_map(ObservedGame::hawks) {
                let both = hawks.and(&hawk.sets());
                // A hawk that contradicts earlier hawks does not change the sets.
                if both.patience != 0 && both.rest != 0 && both.orders.iter().any(|orders| !orders.is_empty()) {
                    *hawks = both;
                }
            }
            if let Some(owls) = owls {
                let shared = owls.orders().and(hawks.orders[0].or(hawks.orders[1]));
                if !shared.is_empty() {
                    owls.retain(shared);
                    hawks.orders = hawks.orders.map(|orders| orders.and(shared));
                }
            }
            for hawk in self.games.last_mut().into_iter().flat_map(ObservedGame::hawks_mut) {
                let mut kept = hawk.clone();
                kept.retain(hawks);
                if !kept.hypotheses.is_empty() {
                    *hawk = kept;
                }
            }
        }
        let options = deer.orders(0).or(deer.orders(1)).and(picks.orders());
        if !options.is_empty() {
            deer.retain(options);
            picks.retain(|_| options);
        }
    }
}

/// Drops hypotheses that contradict a threat's move. If no hypothesis explains the move, keeps all
/// and returns false.
pub(super) fn game_step(
    sets: &mut Sets,
    streets: &Streets,
    step: &Step,
    (threat, style): (usize, Style),
    ThreatMemory { home, hawk, draws }: &mut ThreatMemory,
) -> bool {
    let (tile, direction) = step.threats[threat];
    let options = streets.options(tile);
    let mut picks = |sets: &mut Sets| {
        let draw = *draws;
        *draws = draws.map(|draws| draws + 1);
        match (draw, direction) {
            (_, None) => options == 0,
            (None, Some(_)) => true,
            (Some(draw), Some(direction)) if options >> direction as u8 & 1 == 1 => {
                sets.picks.add(Pick { draw, options, direction });
                true
            }
            _ => false,
        }
    };
    match style {
        Style::Shark => sets.sharks.after(streets, step, threat).map(|after| sets.sharks = after).is_some(),
        Style::Deer => sets.deer.after(streets, step, threat, *home).map(|after| sets.deer = after).is_some(),
        Style::Owl => sets.owls.as_mut().is_none_or(|owls| owls.update(streets, step, threat)),
        Style::Hawk => {
            let after = hawk.as_ref().and_then(|hawk| hawk.after(streets, step, threat));
            after.map(|after| *hawk = Some(after)).is_some()
        }
        Style::Goldfish => picks(sets),
        Style::Bull => match step.facing[threat] {
            Some(facing) if options >> facing as u8 & 1 == 1 => direction == Some(facing),
            Some(_) => picks(sets),
            None => {
                *draws = None;
                true
            }
        },
    }
}

/// The distinguishable values of `hawk_posts` with which this first seed and scale pick these posts.
pub(super) fn post_counts(posts: &[(u16, u16, u16)], first_seed: i32, scale: f64) -> Vec<u16> {
    let most = posts.iter().map(|&(.., places)| places).max().unwrap_or(0).max(FEW_POSTS_MAX as u16);
    let explains = |count: u16| {
        posts.iter().all(|&(draw, place, places)| {
            let len = usize::from(count.min(places));
            pick(first_seed, draw.into(), scale, len) == usize::from(place) && place < count
        })
    };
    (1..=most).filter(|&count| posts.is_empty() || explains(count)).collect()
}
