//! Generates braided mazes, labyrinths and cities. The same options, seed and index give the
//! same map, byte for byte, on every machine, because the generator draws only integers, with fixed
//! algorithms. All open tiles are connected. No threat starts within 5 steps of the player.

use thiserror::Error;

use crate::game::{Layout, MAX_OPEN_TILES, MAX_THREATS, Spawn, StreetGraph, Style};

use super::Map;
use super::limits::{LayoutError, MAX_SIDE, check_limits};

mod city;
mod dice;
mod maze;
mod options;
mod streets;

use dice::Dice;
pub use options::{GeneratorKind, GeneratorOptions};
use streets::{Streets, positions_from};

/// The minimum distance between a threat's spawn and the player's on a generated map, in steps.
const MIN_PLAYER_DISTANCE: u16 = 6;

/// The minimum side. On a 7x7 map, a threat can still start 6 steps from the player.
const MIN_SIDE: i32 = 7;
/// Streets usually fill more than a quarter of a map, so most larger maps would exceed the limit on
/// open tiles.
const MAX_AREA: i32 = 4 * MAX_OPEN_TILES as i32;

/// The error for a map that cannot be generated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GeneratorError {
    /// The size is out of range.
    #[error(
        "size {width}x{height} is out of range: expected {MIN_SIDE} to {MAX_SIDE} per side and at most {MAX_AREA} tiles in total"
    )]
    Size {
        /// Requested number of columns.
        width: i32,
        /// Requested number of rows.
        height: i32,
    },
    /// A side of a maze or labyrinth is even. Walls and streets alternate, so sides must be odd.
    #[error("size {width}x{height} is invalid for a maze or labyrinth: expected odd numbers")]
    EvenMaze {
        /// Requested number of columns.
        width: i32,
        /// Requested number of rows.
        height: i32,
    },
    /// The braid exceeds 1000 thousandths.
    #[error("braid {permille} is out of range: expected 0 to 1000 thousandths")]
    Braid {
        /// The requested share of dead ends to remove, in thousandths.
        permille: u32,
    },
    /// The options request threats, but have no styles to choose from.
    #[error("no styles to choose from: expected at least one style, or 0 threats instead of {threats}")]
    NoStyles {
        /// Requested number of threats.
        threats: usize,
    },
    /// For every possible spawn of the player, too few tiles are far enough away for the threats.
    #[error(
        "{width}x{height} has no room for {threats} threats at least {MIN_PLAYER_DISTANCE} steps from the player: \
         expected a larger size or fewer threats"
    )]
    NoRoom {
        /// Requested number of columns.
        width: i32,
        /// Requested number of rows.
        height: i32,
        /// Requested number of threats.
        threats: usize,
    },
    /// The map violates a limit that applies to all maps.
    #[error(transparent)]
    Limits(#[from] LayoutError),
}

/// Generates the map with this seed and index 0.
pub fn generate(options: &GeneratorOptions, seed: u64) -> Result<Map, GeneratorError> {
    generate_nth(options, seed, 0)
}

/// Generates the map with this seed and index. The map's name contains the kind, size, seed and
/// index, but no other options.
pub fn generate_nth(options: &GeneratorOptions, seed: u64, index: u64) -> Result<Map, GeneratorError> {
    check_options(options)?;
    let mut dice = Dice::new(seed, index);
    let streets = match options.kind {
        GeneratorKind::Maze => maze::carve_maze(options, &mut dice),
        GeneratorKind::Labyrinth => maze::carve_labyrinth(options, &mut dice),
        GeneratorKind::City => city::carve(options, &mut dice),
    };
    let layout = populate(streets, options, &mut dice)?;
    check_limits(&layout)?;
    Ok(Map {
        name: format!("{}-{}x{}-s{seed}-{index:04}", options.kind, options.width, options.height),
        kind: "challenge".to_owned(),
        difficulty: difficulty(&layout).to_owned(),
        layout,
    })
}

fn check_options(options: &GeneratorOptions) -> Result<(), GeneratorError> {
    let GeneratorOptions { width, height, threats, braid_permille: permille, .. } = *options;
    let sides = MIN_SIDE..=MAX_SIDE as i32;
    if !sides.contains(&width) || !sides.contains(&height) || width * height > MAX_AREA {
        return Err(GeneratorError::Size { width, height });
    }
    if options.kind != GeneratorKind::City && (width % 2 == 0 || height % 2 == 0) {
        return Err(GeneratorError::EvenMaze { width, height });
    }
    if permille > 1000 {
        return Err(GeneratorError::Braid { permille });
    }
    if threats > MAX_THREATS {
        return Err(LayoutError::TooManyThreats { threats }.into());
    }
    if threats > 0 && options.styles.is_empty() {
        return Err(GeneratorError::NoStyles { threats });
    }
    Ok(())
}

fn difficulty(layout: &Layout) -> &'static str {
    let open_tiles = layout.tiles.iter().filter(|tile| tile.is_open()).count();
    match open_tiles / layout.threats.len().max(1) {
        0..20 => "hard",
        20..40 => "medium",
        _ => "easy",
    }
}

fn populate(streets: Streets, options: &GeneratorOptions, dice: &mut Dice) -> Result<Layout, GeneratorError> {
    let GeneratorOptions { width, height, threats, .. } = *options;
    let mut starts = streets.open_positions();
    // Checked first, because the next search can take quadratic time in the number of open tiles.
    if starts.len() > MAX_OPEN_TILES {
        return Err(LayoutError::TooManyOpenTiles { open_tiles: starts.len() }.into());
    }
    dice.shuffle(&mut starts);
    let mut layout = streets.layout();
    let graph = StreetGraph::new(&layout);
    let room = starts.into_iter().find_map(|player| {
        let far = positions_from(&graph, player, MIN_PLAYER_DISTANCE);
        (far.len() >= threats).then_some((player, far))
    });
    let Some((player, mut far)) = room else {
        return Err(GeneratorError::NoRoom { width, height, threats });
    };
    dice.shuffle(&mut far);
    far.truncate(threats);
    // The server lists threats row by row.
    far.sort_by_key(|position| (position.y, position.x));

    let styles = deal_styles(&options.styles, threats, dice);
    layout.player = player;
    layout.threats = far.into_iter().zip(styles).map(|(position, style)| Spawn { style, position }).collect();
    Ok(layout)
}

fn deal_styles(deck: &[Style], count: usize, dice: &mut Dice) -> Vec<Style> {
    let mut dealt = Vec::with_capacity(count + deck.len());
    while dealt.len() < count {
        let mut round = deck.to_vec();
        dice.shuffle(&mut round);
        dealt.extend(round);
    }
    dealt.truncate(count);
    dealt
}
