//! The plain description of a map, and drawings of it.
//!
//! A [`Layout`] holds exactly what a map's image encodes; the lookup tables are built from it in
//! `tables`.

use thiserror::Error;

use super::{Position, Style};

/// The content of a grid cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// Impassable.
    Wall,
    /// Open to the player and to threats.
    Open,
    /// Open to threats, sight and paths, but the player can never step on it (a pixel that is not
    /// fully opaque).
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

/// A map as its image encodes it: the tiles, the player's spawn, and the threats in the server's
/// order.
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

    /// Changes the tile at a position; does nothing off the grid.
    pub fn set_tile(&mut self, position: Position, tile: Tile) {
        let Position { x, y } = position;
        if x >= 0 && y >= 0 && x < self.width && y < self.height {
            self.tiles[(y * self.width + x) as usize] = tile;
        }
    }

    /// Whether threats, sight and paths pass there.
    pub fn is_open(&self, position: Position) -> bool {
        self.tile(position).is_open()
    }

    /// Every position of the grid that is open, by `x`, then by `y` (x outer), the server's order
    /// of tiles.
    pub fn open_positions(&self) -> impl Iterator<Item = Position> + '_ {
        (0..self.width)
            .flat_map(move |x| (0..self.height).map(move |y| Position::new(x, y)))
            .filter(|&position| self.is_open(position))
    }
}

/// Why a drawing cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DrawingError {
    /// An unknown letter.
    #[error("{letter:?} at {position} is not a tile: expected one of # . ~ P B G S O D H")]
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
    /// No player.
    #[error("the drawing has no player: expected a P")]
    NoPlayer,
}

/// Drawings, one letter per tile: the terminal shows them and the tests use them.
impl Layout {
    /// Parses a drawing: one line per row, `#` wall, `.` open, `~` see-through, `P` the player, and
    /// the letters of the styles. Blank lines and spaces around a row are ignored.
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

    /// The layout as one string per row. On a tile with several spawns the player is shown, else
    /// the first threat.
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
    fn drawing_round_trips() {
        let layout = Layout::parse("\n  ##########\n  #P.~BGSODh\n\n  ##########\n").unwrap();
        assert_eq!(layout.rows(), ["##########", "#P.~BGSODH", "##########"]);
        let styles: Vec<Style> = layout.threats.iter().map(|spawn| spawn.style).collect();
        assert_eq!(styles, Style::ALL);
        assert_eq!(layout.player, Position::new(1, 1));
    }

    #[test]
    fn invalid_drawing_is_reported() {
        let error = |text| Layout::parse(text).unwrap_err().to_string();
        assert_eq!(error("P.x"), "'x' at (2, 0) is not a tile: expected one of # . ~ P B G S O D H");
        assert_eq!(error("P..\n.."), "row 2 is 2 tiles wide: expected 3, like the first one");
        assert!(error("...").contains("no player"));
        assert!(error("").contains("no player"));
    }
}
