//! The sets of hypotheses about the styles, and how one move narrows them down.

use super::hawk::{Hawk, HawkSets};
use super::learner::Learner;
use super::observed_game::{ObservedGame, ThreatMemory};
use super::paths::{Deer, Owls, Sharks};
use super::picks::{Pick, Picks};
use super::streets::{Step, Streets};
use crate::game::{Rules, Style};

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
    /// The known posts of all games, in the format of [`Sets::posts`].
    pub(super) fn posts(&self) -> Vec<(u16, u16, u16)> {
        let of_game = self.games.last().into_iter().flat_map(|game| {
            let places = game.streets.intersections.len() as u16;
            let posts = game.hawks().flat_map(Hawk::known_posts);
            posts.map(move |(draw, place)| (draw, place, places))
        });
        self.sets.posts.iter().copied().chain(of_game).collect()
    }

    pub(super) fn reconcile(&mut self) {
        for _ in 0..2 {
            let found = self.hawks();
            let Sets { owls, hawks, .. } = &mut self.sets;
            *hawks = found;
            if let Some(owls) = owls {
                let shared = owls.orders().and(hawks.of_any_view().orders);
                if !shared.is_empty() {
                    owls.retain(shared);
                    hawks.0.iter_mut().for_each(|values| values.orders = values.orders.and(shared));
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
        let Sets { deer, picks, .. } = &mut self.sets;
        let options = deer.orders(0).or(deer.orders(1)).and(picks.orders());
        if picks.are_decisive() && !options.is_empty() {
            deer.retain(options);
            picks.retain(|_| options);
        }
    }
}

/// Drops hypotheses that contradict a threat's move. If no hypothesis explains the move, keeps all
/// and returns false. Exception: a pick of any option returns true, even if it leaves no seed.
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
