//! Generates cities: streets around blocks of houses. Some streets between two junctions are
//! closed, some small blocks become plazas, and alleys lead into blocks. Every junction keeps at
//! least two streets, so alleys are the only dead ends. Braiding extends or fills alleys.

use super::dice::Dice;
use super::options::GeneratorOptions;
use super::streets::{Streets, positions_from};
use crate::game::{Direction, Position, StreetGraph};

const MIN_BLOCK: i32 = 2;
const MAX_BLOCK: i32 = 5;
const BUILT_OVER_ONE_IN: usize = 3;
const PLAZA_ONE_IN: usize = 8;
/// Maximum side of a plaza, without the streets around it.
const MAX_PLAZA: i32 = 3;
const ALLEY_ONE_IN: usize = 2;

/// A block of houses. Its bounds are inclusive.
#[derive(Clone, Copy)]
struct Block {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl Block {
    fn positions(self) -> impl Iterator<Item = Position> {
        (self.top..=self.bottom).flat_map(move |y| (self.left..=self.right).map(move |x| Position::new(x, y)))
    }
}

pub(super) fn carve(options: &GeneratorOptions, dice: &mut Dice) -> Streets {
    let mut streets = Streets::new(options.width, options.height);
    let columns = street_lines(options.width, dice);
    let rows = street_lines(options.height, dice);
    for y in 0..options.height {
        for x in 0..options.width {
            let is_inside = x > 0 && y > 0 && x < options.width - 1 && y < options.height - 1;
            let is_street = columns.contains(&x) || rows.contains(&y);
            streets.set(Position::new(x, y), is_inside && is_street);
        }
    }
    build_over(&mut streets, &columns, &rows, dice);

    let mut blocks: Vec<Block> = rows
        .windows(2)
        .flat_map(|rows| {
            columns.windows(2).map(|columns| Block {
                left: columns[0] + 1,
                right: columns[1] - 1,
                top: rows[0] + 1,
                bottom: rows[1] - 1,
            })
        })
        .collect();
    dice.shuffle(&mut blocks);
    let houses = open_plazas(&mut streets, blocks, dice);
    cut_alleys(&mut streets, houses, options.braid_permille, dice);
    streets
}

/// The coordinates of streets on one axis: one next to each outer wall and, if the walls are far
/// enough apart, others at random distances between them.
fn street_lines(side: i32, dice: &mut Dice) -> Vec<i32> {
    let last = side - 2;
    let mut lines = vec![1];
    let mut line = 1;
    while last - line > MAX_BLOCK + 1 {
        let longest = MAX_BLOCK.min(last - line - 2 - MIN_BLOCK);
        line += dice.between(MIN_BLOCK, longest) + 1;
        lines.push(line);
    }
    lines.push(last);
    lines
}

fn build_over(streets: &mut Streets, columns: &[i32], rows: &[i32], dice: &mut Dice) {
    let across = rows.iter().flat_map(|&y| columns.windows(2).map(move |x| (Position::new(x[0], y), Direction::Right)));
    let along = columns.iter().flat_map(|&x| rows.windows(2).map(move |y| (Position::new(x, y[0]), Direction::Down)));
    let mut segments: Vec<(Position, Direction)> = across.chain(along).collect();
    dice.shuffle(&mut segments);
    for (start, direction) in segments {
        if !dice.one_in(BUILT_OVER_ONE_IN) || streets.open_neighbours(start) < 3 {
            continue;
        }
        let is_junction = |position: Position| columns.contains(&position.x) && rows.contains(&position.y);
        let mut segment = Vec::new();
        let mut end = start.towards(direction);
        while !is_junction(end) {
            segment.push(end);
            end = end.towards(direction);
        }
        if streets.open_neighbours(end) < 3 {
            continue;
        }
        segment.iter().for_each(|&position| streets.set(position, false));
        let graph = StreetGraph::new(&streets.layout());
        if positions_from(&graph, start, 0).len() < graph.len() {
            segment.iter().for_each(|&position| streets.set(position, true));
        }
    }
}

fn open_plazas(streets: &mut Streets, blocks: Vec<Block>, dice: &mut Dice) -> Vec<Block> {
    let (plazas, houses): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(|block| {
        let is_small = block.right - block.left < MAX_PLAZA && block.bottom - block.top < MAX_PLAZA;
        let corner = Position::new(block.left, block.top);
        let opposite = Position::new(block.right, block.bottom);
        let has_street = streets.open_neighbours(corner) + streets.open_neighbours(opposite) > 0;
        is_small && has_street && dice.one_in(PLAZA_ONE_IN)
    });
    for position in plazas.into_iter().flat_map(Block::positions) {
        streets.set(position, true);
    }
    houses
}

/// Cuts alleys. Then, for a share of them, extends the alley to the street behind it, or fills the
/// alley if that street is closed.
fn cut_alleys(streets: &mut Streets, houses: Vec<Block>, braid_permille: u32, dice: &mut Dice) {
    let mut alleys = Vec::new();
    for block in houses {
        if dice.one_in(ALLEY_ONE_IN) {
            alleys.extend(cut_alley(streets, block, dice));
        }
    }
    let to_remove = (alleys.len() * braid_permille as usize + 500) / 1000;
    for alley in &alleys[..to_remove] {
        let behind = alley.last.towards(alley.direction);
        let is_street_behind = streets.is_open(behind.towards(alley.direction));
        if is_street_behind {
            streets.set(behind, true);
            continue;
        }
        let mut position = alley.first;
        while position != behind {
            streets.set(position, false);
            position = position.towards(alley.direction);
        }
    }
}

struct Alley {
    first: Position,
    last: Position,
    direction: Direction,
}

/// Cuts an alley into the block from a random side. Returns `None` if the street on that side is
/// closed, or if the block is too narrow to keep houses on both sides of the alley.
fn cut_alley(streets: &mut Streets, block: Block, dice: &mut Dice) -> Option<Alley> {
    let direction = Direction::ALL[dice.below(4)];
    let is_across = matches!(direction, Direction::Left | Direction::Right);
    let (low, high) = if is_across { (block.top, block.bottom) } else { (block.left, block.right) };
    if high - low < 2 {
        return None;
    }
    let line = dice.between(low + 1, high - 1);
    let (first, length) = match direction {
        Direction::Left => (Position::new(block.right, line), block.right - block.left),
        Direction::Right => (Position::new(block.left, line), block.right - block.left),
        Direction::Up => (Position::new(line, block.bottom), block.bottom - block.top),
        Direction::Down => (Position::new(line, block.top), block.bottom - block.top),
    };
    if !streets.is_open(first.towards(direction.reverse())) {
        return None;
    }
    let mut last = first;
    streets.set(first, true);
    for _ in 1..length {
        last = last.towards(direction);
        streets.set(last, true);
    }
    Some(Alley { first, last, direction })
}
