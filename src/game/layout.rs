//! The words of the game: positions, directions, styles, personalities, and the plain description of a map.
//!
//! A [`Layout`] is what a map's picture says and nothing more; the tables that make it fast are built from it elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A cell of the grid: `x` to the right, `y` **down**, both from 0 at the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Column.
    pub x: i32,
    /// Row, growing downwards.
    pub y: i32,
}

impl Position {
    /// The position at column `x` and row `y`.
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }

    /// The neighbouring position in `direction`, on the grid or not.
    #[must_use]
    pub const fn towards(self, direction: Direction) -> Self {
        let (dx, dy) = direction.delta();
        Self::new(self.x + dx, self.y + dy)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

/// One of the four directions, in the order in which options are always listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Direction {
    /// (-1, 0)
    Left = 0,
    /// (+1, 0)
    Right = 1,
    /// (0, -1)
    Up = 2,
    /// (0, +1)
    Down = 3,
}

impl Direction {
    /// Left, right, up, down: the order of options, of the shared path, and of the numbers 0 to 3.
    pub const ALL: [Self; 4] = [Self::Left, Self::Right, Self::Up, Self::Down];

    /// The step `(dx, dy)`.
    pub const fn delta(self) -> (i32, i32) {
        match self {
            Self::Left => (-1, 0),
            Self::Right => (1, 0),
            Self::Up => (0, -1),
            Self::Down => (0, 1),
        }
    }

    /// The opposite direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a threat is: how it chooses its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Style {
    /// Straight on while it can, then a random option (the server's `straitHead`).
    Bull,
    /// A random option on every move (`girouette`).
    Goldfish,
    /// Straight for where the player was (`aggressive`).
    Shark,
    /// Towards where it last looked at the player, once a minute (`surveillance`).
    Owl,
    /// Never turns back, greedy by distance (`le_fantome_orange_dans_pacman`).
    Deer,
    /// Chases what it sees, patrols intersections otherwise (`sheriff`).
    Hawk,
}

impl Style {
    /// Every style, in the order of the palette in which maps are drawn.
    pub const ALL: [Self; 6] = [Self::Bull, Self::Goldfish, Self::Shark, Self::Owl, Self::Deer, Self::Hawk];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bull => "bull",
            Self::Goldfish => "goldfish",
            Self::Shark => "shark",
            Self::Owl => "owl",
            Self::Deer => "deer",
            Self::Hawk => "hawk",
        }
    }

    /// The style with this name on the wire.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.name() == name)
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often threats move; all of them share it, and the tick alone decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Personality {
    /// A move every 5 ticks.
    Lazy,
    /// A move every 4 ticks.
    Tease,
    /// A move every 3 ticks.
    Awake,
    /// A move every 2 ticks.
    Hungry,
    /// A move every tick.
    Insane,
}

impl Personality {
    /// Every personality, from the slowest to the fastest.
    pub const ALL: [Self; 5] = [Self::Lazy, Self::Tease, Self::Awake, Self::Hungry, Self::Insane];

    /// The personality at a clock, which is the tick less one.
    pub const fn at_clock(clock: u16) -> Self {
        match clock {
            0..=300 => Self::Lazy,
            301..=500 => Self::Tease,
            501..=700 => Self::Awake,
            701..=900 => Self::Hungry,
            _ => Self::Insane,
        }
    }

    /// Ticks from one move to the next.
    pub const fn period_ticks(self) -> u8 {
        match self {
            Self::Lazy => 5,
            Self::Tease => 4,
            Self::Awake => 3,
            Self::Hungry => 2,
            Self::Insane => 1,
        }
    }

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lazy => "lazy",
            Self::Tease => "tease",
            Self::Awake => "awake",
            Self::Hungry => "hungry",
            Self::Insane => "insane",
        }
    }
}

impl fmt::Display for Personality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What stands in a cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// Nobody enters.
    Wall,
    /// Everybody may enter.
    Open,
    /// Open to threats, sight and paths, but the player can never step on it (a pixel that is not fully opaque).
    SeeThrough,
}

impl Tile {
    /// Whether threats, sight and paths pass: everything but a wall.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Wall)
    }

    /// The letter in drawings.
    pub const fn letter(self) -> char {
        match self {
            Self::Wall => '#',
            Self::Open => '.',
            Self::SeeThrough => '~',
        }
    }
}

/// Where a threat starts, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spawn {
    /// The style of the threat.
    pub style: Style,
    /// Its first tile.
    pub position: Position,
}

/// A map as its picture says: the tiles, the player's spawn, and the threats in the server's order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Columns.
    pub width: i32,
    /// Rows.
    pub height: i32,
    /// `width * height` tiles, row by row: the tile at (x, y) is `tiles[y * width + x]`.
    pub tiles: Vec<Tile>,
    /// Where the player starts.
    pub player: Position,
    /// The threats, listed row by row (y outer, x inner).
    pub threats: Vec<Spawn>,
}

impl Layout {
    /// The tile at a position; everything off the grid is a wall.
    pub fn tile(&self, position: Position) -> Tile {
        let Position { x, y } = position;
        if x < 0 || y < 0 || x >= self.width || y >= self.height {
            return Tile::Wall;
        }
        self.tiles[(y * self.width + x) as usize]
    }

    /// Whether threats, sight and paths pass there.
    pub fn is_open(&self, position: Position) -> bool {
        self.tile(position).is_open()
    }

    /// Every position of the grid that is open, by `x`, then by `y` (x outer), the server's order of tiles.
    pub fn open_positions(&self) -> impl Iterator<Item = Position> + '_ {
        (0..self.width)
            .flat_map(move |x| (0..self.height).map(move |y| Position::new(x, y)))
            .filter(|&position| self.is_open(position))
    }
}

impl Style {
    /// The letter that stands for the style in drawings.
    pub const fn letter(self) -> char {
        match self {
            Self::Bull => 'B',
            Self::Goldfish => 'G',
            Self::Shark => 'S',
            Self::Owl => 'O',
            Self::Deer => 'D',
            Self::Hawk => 'H',
        }
    }
}

/// Why a drawing is not a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DrawingError {
    /// A letter that means nothing.
    #[error("{letter:?} at {position} is no tile: expected one of # . ~ P B G S O D H")]
    UnknownLetter {
        /// The letter.
        letter: char,
        /// Where it stands.
        position: Position,
    },
    /// Rows of different lengths.
    #[error("row {row} is {found} tiles wide: expected {expected}, like the first one")]
    Ragged {
        /// From 1.
        row: usize,
        /// Its tiles.
        found: usize,
        /// The first row's.
        expected: usize,
    },
    /// Nobody to play.
    #[error("the drawing has no player: expected a P")]
    NoPlayer,
}

/// Drawings: a letter a tile, what the terminal shows and tests are written in.
impl Layout {
    /// Reads a drawing: a line a row, `#` wall, `.` open, `~` see-through, `P` the player, `B` bull, `G` goldfish, `S` shark, `O` owl,
    /// `D` deer, `H` hawk, in either case. Blank lines and spaces around a row do not count.
    ///
    /// # Errors
    /// When a letter is unknown, the rows differ in length, or there is no player.
    pub fn parse(drawing: &str) -> Result<Self, DrawingError> {
        let rows: Vec<Vec<char>> =
            drawing.lines().map(str::trim).filter(|row| !row.is_empty()).map(|row| row.chars().collect()).collect();
        let width = rows.first().map_or(0, Vec::len);
        let mut player = None;
        let mut threats = Vec::new();
        let mut tiles = Vec::with_capacity(width * rows.len());
        for (y, row) in rows.iter().enumerate() {
            if row.len() != width {
                return Err(DrawingError::Ragged { row: y + 1, found: row.len(), expected: width });
            }
            for (x, &letter) in row.iter().enumerate() {
                let position = Position::new(x as i32, y as i32);
                tiles.push(match letter {
                    '#' => Tile::Wall,
                    '~' => Tile::SeeThrough,
                    _ => Tile::Open,
                });
                match letter.to_ascii_uppercase() {
                    '#' | '.' | '~' => {}
                    'P' => player = Some(position),
                    upper => {
                        let style = Style::ALL.into_iter().find(|style| style.letter() == upper);
                        let style = style.ok_or(DrawingError::UnknownLetter { letter, position })?;
                        threats.push(Spawn { style, position });
                    }
                }
            }
        }
        let player = player.ok_or(DrawingError::NoPlayer)?;
        Ok(Self { width: width as i32, height: rows.len() as i32, tiles, player, threats })
    }

    /// The layout as one string a row. Of several spawns on a tile the player is shown, then the first threat.
    pub fn rows(&self) -> Vec<String> {
        let mut letters: Vec<char> = self.tiles.iter().map(|tile| tile.letter()).collect();
        let threats = self.threats.iter().rev().map(|spawn| (spawn.position, spawn.style.letter()));
        for (position, letter) in threats.chain([(self.player, 'P')]) {
            let on_grid = (0..self.width).contains(&position.x) && (0..self.height).contains(&position.y);
            if on_grid {
                letters[(position.y * self.width + position.x) as usize] = letter;
            }
        }
        letters.chunks(self.width.max(1) as usize).map(|row| row.iter().collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_comes_back_as_it_was() {
        let layout = Layout::parse("\n  ##########\n  #P.~BGSODh\n\n  ##########\n").unwrap();
        assert_eq!(layout.rows(), ["##########", "#P.~BGSODH", "##########"]);
        let styles: Vec<Style> = layout.threats.iter().map(|spawn| spawn.style).collect();
        assert_eq!(styles, Style::ALL);
        assert_eq!(layout.player, Position::new(1, 1));
    }

    #[test]
    fn what_is_not_a_drawing_is_said() {
        let error = |text| Layout::parse(text).unwrap_err().to_string();
        assert_eq!(error("P.x"), "'x' at (2, 0) is no tile: expected one of # . ~ P B G S O D H");
        assert_eq!(error("P..\n.."), "row 2 is 2 tiles wide: expected 3, like the first one");
        assert!(error("...").contains("no player"));
        assert!(error("").contains("no player"));
    }
}
