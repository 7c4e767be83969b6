//! Hypotheses about sharks, deer and owls, narrowed down by their observed steps.

use super::orders::Orders;
use super::streets::{Step, Streets};
use crate::game::{Direction, Position};

const UNKNOWN: u16 = u16::MAX;
/// Maximum `owl_minute_ticks` to consider. In a game of 2,000 ticks, a longer cycle has the same
/// effect.
pub const OWL_MINUTE_MAX: u16 = 2000;

/// The orders under which the path from `tile` to `target` begins with `step`.
pub fn orders_of_step(streets: &Streets, target: u16, tile: u16, step: Option<Direction>) -> Orders {
    match (streets.nearer(target, tile), step) {
        (0, None) => Orders::ALL,
        (0, Some(_)) | (_, None) => Orders::NONE,
        (nearer, Some(direction)) => Orders::first(nearer, direction),
    }
}

/// For each view (0 stale, 1 present), the possible orders of the shark path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharks(pub [Orders; 2]);

impl Default for Sharks {
    fn default() -> Self {
        Self([Orders::ALL; 2])
    }
}

impl Sharks {
    pub fn after(self, streets: &Streets, step: &Step, threat: usize) -> Option<Self> {
        let (tile, direction) = step.threats[threat];
        let orders = |view: usize| self.0[view].and(orders_of_step(streets, step.player[view], tile, direction));
        let after = Self([orders(0), orders(1)]);
        (!after.0.iter().all(|orders| orders.is_empty())).then_some(after)
    }
}

/// For each view (0 stale, 1 present) and option order, the inclusive range of the possible values
/// of `deer_shy_distance_squared`. A range whose lower bound is above its upper bound is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deer(pub [Vec<(u32, u32)>; 2]);

impl Default for Deer {
    fn default() -> Self {
        Self([vec![(0, u32::MAX); 24], vec![(0, u32::MAX); 24]])
    }
}

impl Deer {
    pub fn after(&self, streets: &Streets, step: &Step, threat: usize, home: Option<Position>) -> Option<Self> {
        let (tile, direction) = step.threats[threat];
        let Some(facing) = step.facing[threat] else { return Some(self.clone()) };
        let options = streets.options(tile);
        if options.count_ones() <= 1 {
            let is_only = direction.map_or(0, |direction| 1 << direction as u8) == options;
            return is_only.then(|| self.clone());
        }
        let at = streets.position(tile);
        let mut after = self.clone();
        for (view, ranges) in after.0.iter_mut().enumerate() {
            let player = streets.position(step.player[view]);
            let distance_squared = squared_distance(at, player);
            let to_player = Ranking::new(at, options, facing, player);
            let to_home = home.map(|home| Ranking::new(at, options, facing, home));
            for ((_, order), range) in Orders::ALL.iter().zip(ranges.iter_mut()).filter(|(_, range)| range.0 <= range.1)
            {
                let chases = to_player.best(order) == direction;
                let goes_home = to_home.as_ref().is_none_or(|home| home.best(order) == direction);
                if !chases {
                    range.0 = range.0.max(distance_squared);
                }
                if !goes_home {
                    // The deer did not move home, so the player was beyond the shy distance.
                    match distance_squared.checked_sub(1) {
                        Some(most) => range.1 = range.1.min(most),
                        None => *range = (1, 0),
                    }
                }
            }
        }
        (!after.is_empty()).then_some(after)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().flatten().all(|(low, high)| low > high)
    }

    pub fn orders(&self, view: usize) -> Orders {
        let alive = self.0[view].iter().enumerate().filter(|(_, (low, high))| low <= high);
        alive.fold(Orders::NONE, |orders, (index, _)| orders.or(Orders::single(index)))
    }

    pub fn retain(&mut self, orders: Orders) {
        for ranges in &mut self.0 {
            for (index, range) in ranges.iter_mut().enumerate() {
                if orders.and(Orders::single(index)).is_empty() {
                    *range = (1, 0);
                }
            }
        }
    }
}

struct Ranking(Vec<(Direction, u32)>);

impl Ranking {
    fn new(at: Position, options: u8, facing: Direction, target: Position) -> Self {
        let is_option = |direction: &Direction| options >> *direction as u8 & 1 == 1 && *direction != facing.reverse();
        let ranked = Direction::ALL.into_iter().filter(is_option);
        Self(ranked.map(|direction| (direction, squared_distance(at.towards(direction), target))).collect())
    }

    fn best(&self, order: [Direction; 4]) -> Option<Direction> {
        let place = |direction| order.iter().position(|other| *other == direction);
        self.0
            .iter()
            .min_by_key(|&&(direction, distance)| (distance, place(direction)))
            .map(|&(direction, _)| direction)
    }
}

pub fn squared_distance(a: Position, b: Position) -> u32 {
    let (dx, dy) = ((a.x - b.x).unsigned_abs(), (a.y - b.y).unsigned_abs());
    dx.saturating_mul(dx).saturating_add(dy.saturating_mul(dy))
}

/// An inclusive range of values of `owl_window_ticks` under which owls remember the same tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRange {
    pub from: u16,
    pub to: u16,
    /// The remembered tile, the tile count if there is none, or [`UNKNOWN`].
    memory: u16,
    pub orders: Orders,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owls {
    /// For each view and each `owl_minute_ticks` from 1, the possible windows in ascending order.
    pub minutes: [Vec<Vec<WindowRange>>; 2],
}

impl Owls {
    pub fn new(streets: &Streets) -> Self {
        let windows =
            |minute| vec![WindowRange { from: 0, to: minute, memory: streets.nowhere(), orders: Orders::ALL }];
        let minutes: Vec<Vec<WindowRange>> = (1..=OWL_MINUTE_MAX).map(windows).collect();
        Self { minutes: [minutes.clone(), minutes] }
    }

    pub fn forget(&mut self) {
        self.minutes.iter_mut().flatten().flatten().for_each(|windows| windows.memory = UNKNOWN);
    }

    pub fn look(&mut self, step: &Step) {
        let clock = step.tick.saturating_sub(1);
        for (view, minutes) in self.minutes.iter_mut().enumerate() {
            let seen = step.player[view];
            for (windows, minute) in minutes.iter_mut().zip(1..) {
                look(windows, clock % minute, seen);
            }
        }
    }

    /// Drops hypotheses that contradict the step. If all of them do, keeps all and returns false.
    pub fn update(&mut self, streets: &Streets, step: &Step, threat: usize) -> bool {
        let (tile, direction) = step.threats[threat];
        // Computed once per tile, because there may be far more hypotheses than tiles.
        let orders: Vec<Orders> =
            (0..=streets.nowhere()).map(|memory| orders_of_step(streets, memory, tile, direction)).collect();
        let orders_of = |memory: u16| orders.get(usize::from(memory)).copied().unwrap_or(Orders::ALL);
        let all = || self.minutes.iter().flatten().flatten();
        if !all().any(|window| !window.orders.and(orders_of(window.memory)).is_empty()) {
            return false;
        }
        for windows in self.minutes.iter_mut().flatten() {
            windows.iter_mut().for_each(|window| window.orders = window.orders.and(orders_of(window.memory)));
            windows.retain(|window| !window.orders.is_empty());
        }
        true
    }

    pub fn restart(&mut self, nowhere: u16) {
        self.minutes.iter_mut().flatten().flatten().for_each(|windows| windows.memory = nowhere);
    }

    pub fn orders(&self) -> Orders {
        let windows = self.minutes.iter().flatten().flatten();
        windows.fold(Orders::NONE, |orders, window| orders.or(window.orders))
    }

    pub fn retain(&mut self, orders: Orders) {
        for windows in self.minutes.iter_mut().flatten() {
            windows.iter_mut().for_each(|window| window.orders = window.orders.and(orders));
            windows.retain(|window| !window.orders.is_empty());
        }
    }
}

/// Applies a look in tick `second` (from 0) of the owls' cycle: owls with a window longer than
/// `second` remember `seen` from now on. Splits a range that contains both such windows and others.
fn look(windows: &mut Vec<WindowRange>, second: u16, seen: u16) {
    if let Some(index) = windows.iter().position(|window| window.from <= second && second < window.to) {
        let shorter = WindowRange { to: second, ..windows[index] };
        windows[index].from = second + 1;
        windows.insert(index, shorter);
    }
    windows.iter_mut().filter(|window| window.from > second).for_each(|window| window.memory = seen);
    windows.dedup_by(|next, window| {
        let is_same = next.memory == window.memory && next.orders == window.orders && window.to + 1 == next.from;
        if is_same {
            window.to = next.to;
        }
        is_same
    });
}
