use std::sync::LazyLock;

use crate::game::Direction;

/// The 24 orders of the directions; [`Direction::ALL`] comes first.
static ORDERS: LazyLock<Vec<[Direction; 4]>> = LazyLock::new(|| {
    let mut orders = Vec::new();
    for a in 0..4 {
        for b in (0..4).filter(|&b| b != a) {
            for c in (0..4).filter(|&c| c != a && c != b) {
                orders.push([a, b, c, 6 - a - b - c].map(|direction| Direction::ALL[direction]));
            }
        }
    }
    orders
});

/// For each set of directions (as bits), place and direction: the orders in which the direction is at
/// this place among the directions in the set.
static PLACES: LazyLock<[[[Orders; 4]; 4]; 16]> = LazyLock::new(|| {
    let mut table = [[[Orders::NONE; 4]; 4]; 16];
    for (set, places) in table.iter_mut().enumerate() {
        for (index, order) in ORDERS.iter().enumerate() {
            let listed = order.iter().filter(|&&direction| set >> direction as usize & 1 == 1);
            listed.zip(places.iter_mut()).for_each(|(&direction, place)| place[direction as usize].0 |= 1 << index);
        }
    }
    table
});

/// A set of orders of the four directions, with one bit per order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Orders(u32);

impl Orders {
    /// Every order.
    pub const ALL: Self = Self((1 << 24) - 1);
    /// No order.
    pub const NONE: Self = Self(0);

    /// The set that contains only the order with this index, from 0 to 23.
    pub fn single(index: usize) -> Self {
        Self(1 << index)
    }

    /// The orders in which `direction` comes first among the directions in `set` (as bits). Empty
    /// if `direction` is not in `set`.
    pub fn first(set: u8, direction: Direction) -> Self {
        Self::with_option_at(set, 0, direction)
    }

    /// The orders in which `direction` is at this place (from 0) among the directions in `options`
    /// (as bits).
    pub fn with_option_at(options: u8, place: usize, direction: Direction) -> Self {
        PLACES[usize::from(options & 15)][place][direction as usize]
    }

    /// True if the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of orders.
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The orders in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The orders in at least one of the two sets.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if the set contains `order`.
    pub fn contains(self, order: [Direction; 4]) -> bool {
        self.0 >> index_of(order) & 1 == 1
    }

    /// The set that contains only this order.
    pub fn of(order: [Direction; 4]) -> Self {
        Self::single(index_of(order))
    }

    /// Each order of the set, with its index.
    pub fn iter(self) -> impl Iterator<Item = (usize, [Direction; 4])> {
        ORDERS.iter().copied().enumerate().filter(move |(index, _)| self.0 >> index & 1 == 1)
    }

    /// The orders of the set, sorted by Kendall tau distance from `order`.
    pub fn nearest_to(self, order: [Direction; 4]) -> Vec<[Direction; 4]> {
        let mut found: Vec<[Direction; 4]> = self.iter().map(|(_, order)| order).collect();
        found.sort_by_key(|other| inversions(order, *other));
        found
    }
}

pub fn index_of(order: [Direction; 4]) -> usize {
    ORDERS.iter().position(|other| *other == order).unwrap_or(0)
}

fn inversions(left: [Direction; 4], right: [Direction; 4]) -> usize {
    let place = |order: [Direction; 4], direction| order.iter().position(|other| *other == direction);
    let pairs = (0..4).flat_map(|a| (a + 1..4).map(move |b| (left[a], left[b])));
    pairs.filter(|&(a, b)| place(right, a) > place(right, b)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_directions_narrow_down_the_orders() {
        assert_eq!(Orders::ALL.len(), 24);
        assert_eq!(Orders::ALL.iter().next(), Some((0, Direction::ALL)));
        let left_before_up = Orders::first(0b0101, Direction::Left);
        assert_eq!(left_before_up.len(), 12);
        assert!(Orders::first(0b0101, Direction::Down).is_empty());
        let all: Vec<_> = [(0b0101, Direction::Left), (0b1010, Direction::Right), (0b0011, Direction::Left)].to_vec();
        let orders = all.into_iter().fold(Orders::ALL, |orders, (set, first)| orders.and(Orders::first(set, first)));
        assert!(orders.contains(Direction::ALL));
        assert_eq!(orders.nearest_to(Direction::ALL)[0], Direction::ALL);
    }
}
