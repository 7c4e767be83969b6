//! Generates mazes and labyrinths: a spanning tree joins cells at odd coordinates, and braiding
//! opens dead ends. A maze's tree is uniformly random. About 30% of its cells are dead ends, so
//! braiding creates many loops. A labyrinth's tree comes from a depth-first search. A labyrinth has
//! longer corridors and fewer loops than a maze. In the no-jump variant, the player survives on
//! fewer labyrinths than mazes.

use super::dice::Dice;
use super::options::GeneratorOptions;
use super::streets::Streets;
use crate::game::{Direction, Position};

pub(super) fn carve_maze(options: &GeneratorOptions, dice: &mut Dice) -> Streets {
    let mut streets = Streets::new(options.width, options.height);
    wander(&mut streets, dice);
    braid(&mut streets, options.braid_permille, dice);
    streets
}

pub(super) fn carve_labyrinth(options: &GeneratorOptions, dice: &mut Dice) -> Streets {
    let mut streets = Streets::new(options.width, options.height);
    walk(&mut streets, dice);
    braid(&mut streets, options.braid_permille, dice);
    streets
}

fn cells(streets: &Streets) -> (usize, usize) {
    ((streets.width as usize - 1) / 2, (streets.height as usize - 1) / 2)
}

fn random_cell(streets: &Streets, dice: &mut Dice) -> Position {
    let (columns, rows) = cells(streets);
    Position::new(2 * dice.below(columns) as i32 + 1, 2 * dice.below(rows) as i32 + 1)
}

/// Wilson's algorithm (*Generating random spanning trees more quickly than the cover time*, 1996):
/// adds loop-erased random walks to the tree. Keeping only each cell's last exit erases the loops.
fn wander(streets: &mut Streets, dice: &mut Dice) {
    let (columns, rows) = cells(streets);
    let root = random_cell(streets, dice);
    streets.set(root, true);
    let index = |cell: Position| (cell.y as usize / 2) * columns + cell.x as usize / 2;
    let mut way_out = vec![Direction::Up; columns * rows];
    for start in (0..columns * rows).map(|i| Position::new(2 * (i % columns) as i32 + 1, 2 * (i / columns) as i32 + 1))
    {
        let mut cell = start;
        while !streets.is_open(cell) {
            let exits = cell_exits(streets, cell);
            way_out[index(cell)] = exits[dice.below(exits.len())];
            cell = cell_towards(cell, way_out[index(cell)]);
        }
        let mut cell = start;
        while !streets.is_open(cell) {
            let direction = way_out[index(cell)];
            streets.set(cell, true);
            streets.set(cell.towards(direction), true);
            cell = cell_towards(cell, direction);
        }
    }
}

fn walk(streets: &mut Streets, dice: &mut Dice) {
    let start = random_cell(streets, dice);
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

/// Removes `permille` thousandths of the dead ends, in random order, by opening walls. Where
/// possible, joins two dead ends. If only one more is to be removed, skips dead ends that could
/// only be joined to another one.
fn braid(streets: &mut Streets, permille: u32, dice: &mut Dice) {
    let mut dead_ends: Vec<Position> =
        streets.open_positions().into_iter().filter(|&cell| streets.open_neighbours(cell) == 1).collect();
    let mut to_remove = (dead_ends.len() * permille as usize + 500) / 1000;
    dice.shuffle(&mut dead_ends);
    for cell in dead_ends {
        if to_remove == 0 {
            return;
        }
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

fn cell_towards(cell: Position, direction: Direction) -> Position {
    cell.towards(direction).towards(direction)
}

/// The directions of adjacent cells: at least two, as the grid has at least three cells per side.
fn cell_exits(streets: &Streets, cell: Position) -> Vec<Direction> {
    Direction::ALL.into_iter().filter(|&direction| streets.index(cell_towards(cell, direction)).is_some()).collect()
}
