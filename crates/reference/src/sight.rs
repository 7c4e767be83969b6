use std::cmp::Reverse;

use getaway::game::{Direction, Layout, Position, Rules};

/// Returns true if the tiles share a row or column, and they and all tiles between them are open.
pub fn line_of_sight(layout: &Layout, from: Position, to: Position) -> bool {
    if from.x != to.x && from.y != to.y {
        return false;
    }
    let (left, right) = (from.x.min(to.x), from.x.max(to.x));
    let (top, bottom) = (from.y.min(to.y), from.y.max(to.y));
    (left..=right).all(|x| (top..=bottom).all(|y| layout.is_open(Position::new(x, y))))
}

/// Returns the posts of hawks: the `hawk_posts` intersections that see the most tiles, or all if
/// there are fewer. An intersection is an open tile that has at least three open neighbours and is
/// not on the map's edge. The order is by descending number of tiles seen, then by x, then by y.
pub fn best_intersections(layout: &Layout, rules: &Rules) -> Vec<Position> {
    let mut intersections = Vec::new();
    for x in 1..=layout.width - 2 {
        for y in 1..=layout.height - 2 {
            let position = Position::new(x, y);
            let exits =
                Direction::ALL.into_iter().filter(|&direction| layout.is_open(position.towards(direction))).count();
            if layout.is_open(position) && exits >= 3 {
                intersections.push(position);
            }
        }
    }
    intersections.sort_by_key(|&position| Reverse(tiles_in_view(layout, position)));
    intersections.truncate(rules.hawk_posts.into());
    intersections
}

fn tiles_in_view(layout: &Layout, position: Position) -> usize {
    [Direction::Up, Direction::Down, Direction::Left, Direction::Right]
        .into_iter()
        .map(|direction| {
            let mut tiles = 0;
            let mut tile = position.towards(direction);
            while layout.is_open(tile) {
                tiles += 1;
                tile = tile.towards(direction);
            }
            tiles
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::drawing::draw;
    use super::*;

    fn p(x: i32, y: i32) -> Position {
        Position::new(x, y)
    }

    #[test]
    fn sight_follows_rows_and_columns_until_a_wall() {
        let layout = draw(&["..~.#.", "....#.", "#....."]);
        assert!(line_of_sight(&layout, p(0, 0), p(3, 0)), "through a see-through tile");
        assert!(line_of_sight(&layout, p(3, 0), p(0, 0)), "both ways");
        assert!(line_of_sight(&layout, p(5, 2), p(5, 0)), "up a column");
        assert!(line_of_sight(&layout, p(1, 1), p(1, 1)), "its own tile");
        assert!(!line_of_sight(&layout, p(0, 0), p(5, 0)), "a wall between");
        assert!(!line_of_sight(&layout, p(0, 0), p(1, 1)), "neither row nor column");
    }

    #[test]
    fn intersections_need_three_exits_and_an_inner_tile() {
        // (2, 0) also has three open neighbours, but is on the edge.
        let layout = draw(&[".....", "##.##", ".....", "#.###"]);
        assert_eq!(best_intersections(&layout, &Rules::BLITZ_2025), [p(2, 2), p(1, 2)]);
        assert_eq!(
            best_intersections(&draw(&["####", "#..#", "#..#", "####"]), &Rules::BLITZ_2025),
            [],
            "a loop has none"
        );
        assert_eq!(best_intersections(&draw(&["."]), &Rules::BLITZ_2025), [], "a single tile has none either");
    }

    #[test]
    fn intersections_are_sorted_by_view_and_ties_keep_their_order() {
        // A dead end hangs from each intersection. Longer dead ends mean more tiles in view.
        let layout = draw(&[
            "#########", //
            ".........",
            "#.#.#.#.#",
            "###.###.#",
            "#########",
        ]);
        assert_eq!(best_intersections(&layout, &Rules::BLITZ_2025), [p(3, 1), p(7, 1), p(1, 1), p(5, 1)]);
    }

    #[test]
    fn only_ten_intersections_are_kept() {
        // 36 tiles see equally many tiles: enough to detect a sort that is unstable for long lists.
        let row = ".........";
        let hall = draw(&[row, row, row, row, "....#....", row, row, row, row]);
        let whole_view = (1..=7).flat_map(|x| (1..=7).map(move |y| p(x, y))).filter(|tile| tile.x != 4 && tile.y != 4);
        assert_eq!(best_intersections(&hall, &Rules::BLITZ_2025), whole_view.take(10).collect::<Vec<_>>());
    }
}
