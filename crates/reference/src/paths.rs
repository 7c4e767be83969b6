//! The server's two ways to choose among shortest paths: the shared path and the shark path.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use getaway::game::{Direction, Layout, Position, Rules};

fn open_neighbours(layout: &Layout, order: [Direction; 4], position: Position) -> impl Iterator<Item = Position> {
    order.into_iter().map(move |direction| position.towards(direction)).filter(|&tile| layout.is_open(tile))
}

/// One value per tile, indexed `[x][y]` like the server's tiles.
#[derive(Debug, PartialEq)]
struct Columns<T>(Vec<Vec<T>>);

impl<T: Copy> Columns<T> {
    fn filled(layout: &Layout, value: T) -> Self {
        Self(vec![vec![value; layout.height as usize]; layout.width as usize])
    }
}

impl<T> Index<Position> for Columns<T> {
    type Output = T;

    fn index(&self, position: Position) -> &T {
        &self.0[position.x as usize][position.y as usize]
    }
}

impl<T> IndexMut<Position> for Columns<T> {
    fn index_mut(&mut self, position: Position) -> &mut T {
        &mut self.0[position.x as usize][position.y as usize]
    }
}

fn distances(layout: &Layout, target: Position) -> Columns<Option<u32>> {
    let mut distances = Columns::filled(layout, None);
    if !layout.is_open(target) {
        return distances;
    }
    distances[target] = Some(0);
    let mut queue = VecDeque::from([(target, 0)]);
    while let Some((tile, distance)) = queue.pop_front() {
        // The order of the neighbours does not affect the distances.
        for neighbour in open_neighbours(layout, Direction::ALL, tile) {
            if distances[neighbour].is_none() {
                distances[neighbour] = Some(distance + 1);
                queue.push_back((neighbour, distance + 1));
            }
        }
    }
    distances
}

/// Returns the next tile on the shared path of owls, hawks and `MOVE_TO`: the first neighbour in
/// `shared_path_order` that is one step nearer to `to`. Returns `None` if there is no path, or if
/// `from` is `to`.
pub fn shared_path_step(layout: &Layout, rules: &Rules, from: Position, to: Position) -> Option<Position> {
    if !layout.is_open(from) {
        return None;
    }
    nearer_neighbour(layout, rules, &distances(layout, to), from)
}

/// Returns [`shared_path_step`] from every open tile to `to`, computed with a single search.
pub fn shared_path_steps(layout: &Layout, rules: &Rules, to: Position) -> Vec<(Position, Option<Position>)> {
    let distances = distances(layout, to);
    layout.open_positions().map(|from| (from, nearer_neighbour(layout, rules, &distances, from))).collect()
}

fn nearer_neighbour(
    layout: &Layout,
    rules: &Rules,
    distances: &Columns<Option<u32>>,
    from: Position,
) -> Option<Position> {
    let nearer = distances[from]?.checked_sub(1)?;
    open_neighbours(layout, rules.shared_path_order, from).find(|&tile| distances[tile] == Some(nearer))
}

/// Returns the shark path without its first tile, `from`; `None` if there is no path.
pub fn shark_path(layout: &Layout, rules: &Rules, from: Position, to: Position) -> Option<Vec<Position>> {
    if !layout.is_open(from) || !layout.is_open(to) {
        return None;
    }
    follow_back(&shark_search(layout, rules, from), from, to)
}

/// Returns the first tile of [`shark_path`] from the open tile `from` to every open tile, computed
/// with a single search.
pub fn shark_path_steps(layout: &Layout, rules: &Rules, from: Position) -> Vec<(Position, Option<Position>)> {
    let came_from = shark_search(layout, rules, from);
    let first = |to| follow_back(&came_from, from, to).and_then(|path| path.first().copied());
    layout.open_positions().map(|to| (to, first(to))).collect()
}

fn follow_back(came_from: &Columns<Option<Position>>, from: Position, to: Position) -> Option<Vec<Position>> {
    let mut path = Vec::new();
    let mut tile = to;
    while tile != from {
        path.push(tile);
        tile = came_from[tile]?;
    }
    path.reverse();
    Some(path)
}

/// Returns, for every reachable tile except `from`, the previous tile on the shark path to it. Uses
/// the server's own search for the server's order, and a plain breadth-first search for other
/// orders.
fn shark_search(layout: &Layout, rules: &Rules, from: Position) -> Columns<Option<Position>> {
    if rules.shark_path_order == Rules::BLITZ_2025.shark_path_order {
        listed_search(layout, from)
    } else {
        ordered_search(layout, rules.shark_path_order, from)
    }
}

fn ordered_search(layout: &Layout, order: [Direction; 4], from: Position) -> Columns<Option<Position>> {
    let mut came_from = Columns::filled(layout, None);
    let mut queue = VecDeque::from([from]);
    while let Some(tile) = queue.pop_front() {
        for neighbour in open_neighbours(layout, order, tile) {
            if neighbour != from && came_from[neighbour].is_none() {
                came_from[neighbour] = Some(tile);
                queue.push_back(neighbour);
            }
        }
    }
    came_from
}

/// The server's search. Returns, for each tile, the neighbour from which its cost was last lowered,
/// if any.
fn listed_search(layout: &Layout, from: Position) -> Columns<Option<Position>> {
    let mut came_from = Columns::filled(layout, None);
    let mut cost = Columns::filled(layout, f64::INFINITY);
    cost[from] = 0.0;
    let mut unseen: Vec<Position> = Vec::new();
    for x in 0..layout.width {
        for y in 0..layout.height {
            if layout.is_open(Position::new(x, y)) {
                unseen.push(Position::new(x, y));
            }
        }
    }
    while !unseen.is_empty() {
        // Before each pop, the server sorts the list stably by descending cost, and infinite costs
        // are equal. So each pop takes the last-listed of the tiles with the lowest cost.
        unseen.sort_by(|&a, &b| cost[b].total_cmp(&cost[a]));
        let Some(tile) = unseen.pop() else { break };
        let next_cost = cost[tile] + 1.0;
        for neighbour in open_neighbours(layout, Direction::ALL, tile) {
            if next_cost < cost[neighbour] {
                cost[neighbour] = next_cost;
                came_from[neighbour] = Some(tile);
            }
        }
    }
    came_from
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::drawing::draw;
    use super::*;
    use getaway::game::Tile;

    fn p(x: i32, y: i32) -> Position {
        Position::new(x, y)
    }

    #[test]
    fn shared_path_prefers_left_then_right_then_up_then_down() {
        let room = draw(&["...", "...", "..."]);
        let step = |to| shared_path_step(&room, &Rules::BLITZ_2025, p(1, 1), to);
        assert_eq!(step(p(0, 0)), Some(p(0, 1)), "left before up");
        assert_eq!(step(p(0, 2)), Some(p(0, 1)), "left before down");
        assert_eq!(step(p(2, 0)), Some(p(2, 1)), "right before up");
        assert_eq!(step(p(2, 2)), Some(p(2, 1)), "right before down");
        // Both ways around the walls are equally long, and up comes before down.
        let ring = draw(&[".....", ".###.", "....."]);
        assert_eq!(shared_path_step(&ring, &Rules::BLITZ_2025, p(0, 1), p(4, 1)), Some(p(0, 0)));
    }

    #[test]
    fn shared_path_is_none_at_the_target_and_without_a_path() {
        let islands = draw(&["..#.", ".~#."]);
        assert_eq!(shared_path_step(&islands, &Rules::BLITZ_2025, p(0, 0), p(0, 0)), None, "already there");
        assert_eq!(shared_path_step(&islands, &Rules::BLITZ_2025, p(0, 0), p(3, 0)), None, "another island");
        assert_eq!(shared_path_step(&islands, &Rules::BLITZ_2025, p(0, 0), p(2, 0)), None, "a wall");
        assert_eq!(shared_path_step(&islands, &Rules::BLITZ_2025, p(0, 0), p(-1, -1)), None, "off the grid");
        assert_eq!(shared_path_step(&islands, &Rules::BLITZ_2025, p(-1, 0), p(0, 0)), None, "from off the grid");
        assert_eq!(shared_path_step(&islands, &Rules::BLITZ_2025, p(1, 0), p(1, 1)), Some(p(1, 1)), "see-through");
    }

    #[test]
    fn shark_path_prefers_right_down_up_left() {
        let room = draw(&["...", "...", "..."]);
        let first = |to| shark_path(&room, &Rules::BLITZ_2025, p(1, 1), to).unwrap()[0];
        assert_eq!(first(p(0, 0)), p(1, 0), "up before left, unlike the shared path");
        assert_eq!(first(p(0, 2)), p(1, 2), "down before left, unlike the shared path");
        assert_eq!(first(p(2, 0)), p(2, 1), "right before up");
        assert_eq!(first(p(2, 2)), p(2, 1), "right before down");
    }

    #[test]
    fn shark_path_is_complete_and_none_without_a_path() {
        let islands = draw(&["...#.", "##.#."]);
        assert_eq!(shark_path(&islands, &Rules::BLITZ_2025, p(0, 0), p(2, 1)), Some(vec![p(1, 0), p(2, 0), p(2, 1)]));
        assert_eq!(shark_path(&islands, &Rules::BLITZ_2025, p(0, 0), p(0, 0)), Some(vec![]), "already there");
        assert_eq!(shark_path(&islands, &Rules::BLITZ_2025, p(0, 0), p(4, 0)), None, "another island");
        assert_eq!(shark_path(&islands, &Rules::BLITZ_2025, p(0, 0), p(3, 0)), None, "a wall");
        assert_eq!(shark_path(&islands, &Rules::BLITZ_2025, p(0, 0), p(-1, -1)), None, "off the grid");
    }

    fn any_layout() -> impl Strategy<Value = Layout> {
        (1..10_i32, 1..10_i32).prop_flat_map(|(width, height)| {
            let tile = prop_oneof![1 => Just(Tile::Wall), 2 => Just(Tile::Open), 1 => Just(Tile::SeeThrough)];
            prop::collection::vec(tile, (width * height) as usize).prop_map(move |tiles| Layout {
                width,
                height,
                tiles,
                player: p(0, 0),
                threats: Vec::new(),
            })
        })
    }

    proptest! {
        #[test]
        fn shark_path_equals_breadth_first_search_in_the_order_right_down_up_left(layout in any_layout()) {
            for from in layout.open_positions() {
                let order = Rules::BLITZ_2025.shark_path_order;
                prop_assert_eq!(listed_search(&layout, from), ordered_search(&layout, order, from), "from {}", from);
            }
        }

        #[test]
        fn both_paths_are_shortest(layout in any_layout()) {
            for from in layout.open_positions() {
                for to in layout.open_positions() {
                    let mut steps = 0;
                    let mut tile = from;
                    while let Some(next) = shared_path_step(&layout, &Rules::BLITZ_2025, tile, to) {
                        tile = next;
                        steps += 1;
                    }
                    let shared = (tile == to).then_some(steps);
                    prop_assert_eq!(shark_path(&layout, &Rules::BLITZ_2025, from, to).map(|path| path.len()), shared);
                }
            }
        }
    }
}
