//! Random maps for lockstep games and other tests.

use super::Dice;
use getaway::game::{Direction, Layout, MAX_THREATS, Position, Spawn, Style, Tile};
use getaway::map::{GeneratorKind, GeneratorOptions, generate};

/// Only maps with few open tiles get more threats than this, because the reference model is slow.
const MANY_THREATS: usize = 8;
const SIDE_MAX: i32 = 15;
const MANY_THREATS_MAX_OPEN_TILES: usize = 48;

/// Returns a random map of at most 17 x 15 tiles that [`World`](getaway::game::World) accepts.
pub fn random_layout(dice: &mut Dice) -> Layout {
    layout_of(dice, SIDE_MAX)
}

/// Returns a random map of at most 8 x 8 tiles, for exhaustive searches.
pub fn small_layout(dice: &mut Dice) -> Layout {
    layout_of(dice, 8)
}

fn layout_of(dice: &mut Dice, side_max: i32) -> Layout {
    let mut layout = match dice.below(12) {
        0 => noise(dice, side_max, 40),
        1 => noise(dice, side_max, 60),
        2 => noise(dice, side_max, 85),
        3 => shape(dice, side_max, |_, _, _| true),
        4 => shape(dice, side_max, |p, width, height| p.x == 0 || p.y == 0 || p.x == width - 1 || p.y == height - 1),
        5 => shape(dice, side_max, |p, _, _| p.x % 2 == 1 && p.y % 2 == 1),
        6..=7 => shape(dice, side_max, |p, _, _| p.x % 3 == 1 || p.y % 3 == 1),
        8..=9 if side_max == SIDE_MAX => generated(dice),
        _ => maze(dice, side_max),
    };
    if dice.one_in(2) {
        wall_in(&mut layout);
    }
    if dice.one_in(4) {
        add_see_through_tiles(&mut layout, dice);
    }
    place_player(&mut layout, dice);
    place_threats(&mut layout, dice);
    layout
}

fn blank(dice: &mut Dice, side_max: i32) -> Layout {
    let side =
        |dice: &mut Dice| if dice.one_in(12) { dice.between(1, 3) } else { dice.between(side_max / 3, side_max) };
    let (width, height) = (side(dice), side(dice));
    let tiles = vec![Tile::Wall; (width * height) as usize];
    Layout { width, height, tiles, player: Position::new(0, 0), threats: Vec::new() }
}

fn positions(layout: &Layout) -> impl Iterator<Item = Position> + use<> {
    let (width, height) = (layout.width, layout.height);
    (0..height).flat_map(move |y| (0..width).map(move |x| Position::new(x, y)))
}

fn set(layout: &mut Layout, position: Position, tile: Tile) {
    layout.tiles[(position.y * layout.width + position.x) as usize] = tile;
}

/// Opens tiles independently at random. Few open tiles form islands; many form halls with pillars.
fn noise(dice: &mut Dice, side_max: i32, open_percent: usize) -> Layout {
    let mut layout = blank(dice, side_max);
    for tile in &mut layout.tiles {
        if dice.below(100) < open_percent {
            *tile = Tile::Open;
        }
    }
    layout
}

/// Opens the tiles that `is_open` selects (a hall, a ring, one-tile cells, or a grid of streets),
/// with random exceptions.
fn shape(dice: &mut Dice, side_max: i32, is_open: impl Fn(Position, i32, i32) -> bool) -> Layout {
    let mut layout = blank(dice, side_max);
    let (width, height) = (layout.width, layout.height);
    for position in positions(&layout) {
        // On average, one tile in 25 is inverted, which joins cells and cuts streets.
        if is_open(position, width, height) != dice.one_in(25) {
            set(&mut layout, position, Tile::Open);
        }
    }
    layout
}

fn generated(dice: &mut Dice) -> Layout {
    let options = GeneratorOptions {
        kind: dice.pick(&[GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City]),
        width: 9 + 2 * dice.between(0, 4),
        height: 9 + 2 * dice.between(0, 3),
        threats: 0,
        braid_permille: dice.pick(&[0, 500, 1000]),
        ..GeneratorOptions::default()
    };
    let map = generate(&options, dice.below(1 << 16) as u64);
    map.expect("sizes from 9x9 have room for a player").layout
}

/// Returns a maze that may have loops and unconnected parts. Opens every tile with odd coordinates
/// and, unless they are off the map, its neighbours in two or three random directions, which may
/// repeat.
fn maze(dice: &mut Dice, side_max: i32) -> Layout {
    let mut layout = blank(dice, side_max);
    for position in positions(&layout).filter(|p| p.x % 2 == 1 && p.y % 2 == 1) {
        set(&mut layout, position, Tile::Open);
        for _ in 0..=1 + dice.below(2) {
            let way = position.towards(dice.pick(&Direction::ALL));
            if way.x < layout.width && way.y < layout.height {
                set(&mut layout, way, Tile::Open);
            }
        }
    }
    layout
}

fn wall_in(layout: &mut Layout) {
    let (width, height) = (layout.width, layout.height);
    for position in positions(layout) {
        if position.x == 0 || position.y == 0 || position.x == width - 1 || position.y == height - 1 {
            set(layout, position, Tile::Wall);
        }
    }
}

fn add_see_through_tiles(layout: &mut Layout, dice: &mut Dice) {
    let percent = dice.pick(&[5, 20, 60]);
    for tile in &mut layout.tiles {
        if tile.is_open() && dice.below(100) < percent {
            *tile = Tile::SeeThrough;
        }
    }
}

fn place_player(layout: &mut Layout, dice: &mut Dice) {
    let opaque: Vec<Position> = positions(layout).filter(|&p| layout.tile(p) == Tile::Open).collect();
    if opaque.is_empty() {
        layout.player = Position::new(dice.between(0, layout.width - 1), dice.between(0, layout.height - 1));
        set(layout, layout.player, Tile::Open);
    } else {
        layout.player = dice.pick(&opaque);
    }
}

/// Usually places a few threats far from the player. Some maps get no threats, many threats, or one
/// next to the player.
fn place_threats(layout: &mut Layout, dice: &mut Dice) {
    let (player, mut open): (_, Vec<Position>) = (layout.player, layout.open_positions().collect());
    let count = match dice.below(32) {
        0 if open.len() <= MANY_THREATS_MAX_OPEN_TILES => MAX_THREATS,
        1..=3 if open.len() <= MANY_THREATS_MAX_OPEN_TILES => dice.between(MANY_THREATS as i32 + 1, 20) as usize,
        4..=7 => dice.below(MANY_THREATS + 1),
        _ => 1 + dice.below(4),
    };
    // The rules let a threat start on the player's tile, although map images and drawings cannot
    // show such a start.
    if !dice.one_in(64) {
        open.retain(|&position| position != player);
    }
    if open.is_empty() {
        return;
    }
    let styles = if dice.one_in(4) { vec![dice.pick(&Style::ALL)] } else { Style::ALL.to_vec() };
    let nearby: Vec<Position> =
        Direction::ALL.map(|d| player.towards(d)).into_iter().filter(|&p| layout.is_open(p)).collect();
    let is_close = dice.one_in(8) && !nearby.is_empty();
    let far: Vec<Position> =
        open.iter().copied().filter(|p| (p.x - player.x).abs() + (p.y - player.y).abs() > 5).collect();
    for index in 0..count {
        let style = dice.pick(&styles);
        let position = match index {
            0 if is_close => dice.pick(&nearby),
            _ if far.is_empty() || dice.one_in(8) => dice.pick(&open),
            _ => dice.pick(&far),
        };
        layout.threats.push(Spawn { style, position });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{Rules, World};

    #[test]
    fn every_map_is_playable_and_every_special_case_occurs() {
        let layouts: Vec<Layout> = (0..2000).map(|seed| random_layout(&mut Dice::from_seed(seed))).collect();
        for (seed, layout) in layouts.iter().enumerate() {
            World::new(layout, &Rules::BLITZ_2025).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
        let some = |what: &str, is: &dyn Fn(&Layout) -> bool| assert!(layouts.iter().any(is), "{what}");
        let exits =
            |layout: &Layout, p: Position| Direction::ALL.into_iter().filter(|&d| layout.is_open(p.towards(d))).count();
        some("a single tile", &|layout| layout.tiles.len() == 1);
        some("an open border", &|layout| layout.tiles[0].is_open());
        some("see-through tiles", &|layout| layout.tiles.contains(&Tile::SeeThrough));
        some("a one-tile cell", &|layout| layout.open_positions().any(|p| exits(layout, p) == 0));
        some("a threat in a cell", &|layout| layout.threats.iter().any(|t| exits(layout, t.position) == 0));
        some("no threats", &|layout| layout.threats.is_empty());
        some("the maximum number of threats", &|layout| layout.threats.len() == MAX_THREATS);
        some("a threat on the player", &|layout| layout.threats.iter().any(|t| t.position == layout.player));
        some("streets without an intersection", &|layout| {
            layout.threats.len() > 1
                && layout.open_positions().count() > 20
                && layout.open_positions().all(|p| exits(layout, p) <= 2)
        });
    }
}
