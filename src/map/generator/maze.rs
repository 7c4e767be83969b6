//! Mazes: cells at odd coordinates, cut out by a random depth-first walk, then braided.

use super::{Dice, GeneratorOptions, Streets};
use crate::game::{Direction, Position};

/// A perfect maze (one path between any two cells), then as many of its dead ends opened as asked for.
pub(super) fn carve(options: &GeneratorOptions, dice: &mut Dice) -> Streets {
    let mut streets = Streets::new(options.width, options.height);
    walk(&mut streets, dice);
    braid(&mut streets, options.braid_permille, dice);
    streets
}

/// The walk goes on to a random cell that is still closed, and back where there is none.
fn walk(streets: &mut Streets, dice: &mut Dice) {
    let columns = (streets.width as usize - 1) / 2;
    let rows = (streets.height as usize - 1) / 2;
    let start = Position::new(2 * dice.below(columns) as i32 + 1, 2 * dice.below(rows) as i32 + 1);
    streets.set(start, true);
    let mut path = vec![start];
    while let Some(&cell) = path.last() {
        let closed: Vec<Direction> = cell_exits(streets, cell)
            .into_iter()
            .filter(|&direction| !streets.is_open(cell_towards(cell, direction)))
            .collect();
        if closed.is_empty() {
            path.pop();
            continue;
        }
        let direction = closed[dice.below(closed.len())];
        let next = cell_towards(cell, direction);
        streets.set(cell.towards(direction), true);
        streets.set(next, true);
        path.push(next);
    }
}

/// Opens dead ends, in random order, into a neighbouring cell; by preference into another dead end, which makes the
/// loops longer, as long as that does not remove one too many. Where only that is left, one too few are removed.
fn braid(streets: &mut Streets, permille: u32, dice: &mut Dice) {
    let mut dead_ends: Vec<Position> =
        streets.open_positions().into_iter().filter(|&cell| streets.open_neighbours(cell) == 1).collect();
    let mut to_remove = (dead_ends.len() * permille as usize + 500) / 1000;
    dice.shuffle(&mut dead_ends);
    for cell in dead_ends {
        if to_remove == 0 {
            return;
        }
        // Its neighbour may have been opened into it already.
        if streets.open_neighbours(cell) != 1 {
            continue;
        }
        let walled: Vec<Direction> = cell_exits(streets, cell)
            .into_iter()
            .filter(|&direction| !streets.is_open(cell.towards(direction)))
            .collect();
        let is_dead_end = |direction: &Direction| streets.open_neighbours(cell_towards(cell, *direction)) == 1;
        let (paired, single): (Vec<Direction>, Vec<Direction>) = walled.into_iter().partition(is_dead_end);
        let choices = if to_remove >= 2 && !paired.is_empty() { paired } else { single };
        if choices.is_empty() {
            continue;
        }
        let direction = choices[dice.below(choices.len())];
        to_remove = to_remove.saturating_sub(1 + usize::from(is_dead_end(&direction)));
        streets.set(cell.towards(direction), true);
    }
}

/// The cell two tiles away.
fn cell_towards(cell: Position, direction: Direction) -> Position {
    cell.towards(direction).towards(direction)
}

/// The directions in which there is another cell; at least two, the grid having at least three cells a side.
fn cell_exits(streets: &Streets, cell: Position) -> Vec<Direction> {
    Direction::ALL.into_iter().filter(|&direction| streets.index(cell_towards(cell, direction)).is_some()).collect()
}
