//! Layouts, and *drawings*, the text form of layouts.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Position, Style};
use crate::files::Object;

/// The content of a grid cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// Impassable.
    Wall,
    /// Open to the player and to threats.
    Open,
    /// Open to threats, sight and paths, but not to the player. In images, its pixel is not opaque.
    SeeThrough,
}

impl Tile {
    /// True unless the tile is a wall. Only walls block threats, sight and paths.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Wall)
    }

    /// The character in drawings.
    pub const fn letter(self) -> char {
        match self {
            Self::Wall => '#',
            Self::Open => '.',
            Self::SeeThrough => '~',
        }
    }

    fn of_letter(letter: char) -> Option<Self> {
        [Self::Wall, Self::Open, Self::SeeThrough].into_iter().find(|tile| tile.letter() == letter)
    }
}

/// The style and the first tile of a threat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spawn {
    /// The threat's style.
    pub style: Style,
    /// The threat's first tile.
    pub position: Position,
}

/// A map. Its JSON form lists every spawn, but a drawing shows only one spawn per tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "LayoutParts", try_from = "Object<LayoutParts>")]
pub struct Layout {
    /// Columns.
    pub width: i32,
    /// Rows.
    pub height: i32,
    /// `width * height` tiles, row by row: the tile at (x, y) is `tiles[y * width + x]`.
    pub tiles: Vec<Tile>,
    /// The player's first tile.
    pub player: Position,
    /// The threats in map order, which is row by row in images and drawings.
    pub threats: Vec<Spawn>,
}

impl Layout {
    /// The tile at a position. Positions off the grid are walls.
    pub fn tile(&self, position: Position) -> Tile {
        self.place(position).map_or(Tile::Wall, |place| self.tiles[place])
    }

    /// Replaces the tile at a position. Does nothing if the position is off the grid.
    pub fn set_tile(&mut self, position: Position, tile: Tile) {
        if let Some(place) = self.place(position) {
            self.tiles[place] = tile;
        }
    }

    /// The index of a position in `tiles`; `None` off the grid or after the last tile.
    pub(super) fn place(&self, Position { x, y }: Position) -> Option<usize> {
        let is_on_grid = x >= 0 && y >= 0 && x < self.width && y < self.height;
        is_on_grid.then(|| (y * self.width + x) as usize).filter(|&place| place < self.tiles.len())
    }

    /// True unless the position is a wall or off the grid.
    pub fn is_open(&self, position: Position) -> bool {
        self.tile(position).is_open()
    }

    /// All positions without a wall, in the server's order: by `x`, then by `y`.
    pub fn open_positions(&self) -> impl Iterator<Item = Position> + '_ {
        (0..self.width)
            .flat_map(move |x| (0..self.height).map(move |y| Position::new(x, y)))
            .filter(|&position| self.is_open(position))
    }
}

#[derive(Serialize, Deserialize)]
struct LayoutParts {
    tiles: Vec<String>,
    player: (i32, i32),
    threats: Vec<(Style, i32, i32)>,
}

impl From<Layout> for LayoutParts {
    fn from(layout: Layout) -> Self {
        let row = |tiles: &[Tile]| tiles.iter().map(|tile| tile.letter()).collect();
        Self {
            tiles: layout.tiles.chunks(layout.width.max(1) as usize).map(row).collect(),
            player: (layout.player.x, layout.player.y),
            threats: layout.threats.iter().map(|spawn| (spawn.style, spawn.position.x, spawn.position.y)).collect(),
        }
    }
}

impl TryFrom<Object<LayoutParts>> for Layout {
    type Error = String;

    fn try_from(Object(parts): Object<LayoutParts>) -> Result<Self, String> {
        let tile =
            |letter| Tile::of_letter(letter).ok_or_else(|| format!("expected tiles ., ~ and #, found {letter:?}"));
        let (width, height) = (parts.tiles.first().map_or(0, |row| row.chars().count()), parts.tiles.len());
        if parts.tiles.iter().any(|row| row.chars().count() != width) {
            return Err("expected rows of equal length".to_owned());
        }
        let tiles = parts.tiles.iter().flat_map(|row| row.chars()).map(tile).collect::<Result<_, _>>()?;
        let spawn = |(style, x, y)| Spawn { style, position: Position::new(x, y) };
        Ok(Self {
            width: width as i32,
            height: height as i32,
            tiles,
            player: Position::new(parts.player.0, parts.player.1),
            threats: parts.threats.into_iter().map(spawn).collect(),
        })
    }
}

/// The error for an invalid drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DrawingError {
    /// An unknown letter.
    #[error("{letter:?} at {position} is not a tile: expected one of # . ~ or a capital P B G S O D H")]
    UnknownLetter {
        /// The letter.
        letter: char,
        /// The position of the letter.
        position: Position,
    },
    /// Rows of different lengths.
    #[error("row {row} has width {found}: expected {expected}, like the first row")]
    Ragged {
        /// Row number, from 1. Blank lines do not count.
        row: usize,
        /// Tiles in this row.
        found: usize,
        /// Tiles in the first row.
        expected: usize,
    },
    /// No player.
    #[error("the drawing has no player: expected a P")]
    NoPlayer,
}

impl Layout {
    /// Parses a drawing with one line per row: `#` is a wall, `.` an open tile, `~` a see-through
    /// tile and `P` the player. If there are several `P`s, the last one counts, as in an image. A
    /// threat is drawn as the first letter of its style, in capitals. Ignores blank lines, and spaces
    /// around a row.
    ///
    /// # Errors
    /// If a letter is unknown, the rows differ in length, or the player is missing.
    pub fn parse(drawing: &str) -> Result<Self, DrawingError> {
        let rows: Vec<Vec<char>> =
            drawing.lines().map(str::trim).filter(|row| !row.is_empty()).map(|row| row.chars().collect()).collect();
        let width = rows.first().map_or(0, Vec::len);
        let mut player = None;
        let mut threats = Vec::new();
        let mut tiles = Vec::with_capacity(rows.iter().map(Vec::len).sum());
        for (y, row) in rows.iter().enumerate() {
            if row.len() != width {
                return Err(DrawingError::Ragged { row: y + 1, found: row.len(), expected: width });
            }
            for (x, &letter) in row.iter().enumerate() {
                let position = Position::new(x as i32, y as i32);
                let tile = Tile::of_letter(letter);
                tiles.push(tile.unwrap_or(Tile::Open));
                match letter {
                    _ if tile.is_some() => {}
                    'P' => player = Some(position),
                    _ => {
                        let style = Style::ALL.into_iter().find(|style| style.letter() == letter);
                        let style = style.ok_or(DrawingError::UnknownLetter { letter, position })?;
                        threats.push(Spawn { style, position });
                    }
                }
            }
        }
        let player = player.ok_or(DrawingError::NoPlayer)?;
        Ok(Self { width: width as i32, height: rows.len() as i32, tiles, player, threats })
    }

    /// The rows of the drawing. On a shared tile, the player hides all threats, and a threat hides
    /// those after it in map order.
    pub fn rows(&self) -> Vec<String> {
        let mut letters: Vec<char> = self.tiles.iter().map(|tile| tile.letter()).collect();
        let threats = self.threats.iter().rev().map(|spawn| (spawn.position, spawn.style.letter()));
        let drawn = threats.chain([(self.player, 'P')]).filter_map(|(at, letter)| Some((self.place(at)?, letter)));
        drawn.for_each(|(place, letter)| letters[place] = letter);
        letters.chunks(self.width.max(1) as usize).map(|row| row.iter().collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_round_trips() {
        let layout = Layout::parse("\n  ##########\n  #P.~BGSODH\n\n  ##########\n").unwrap();
        assert_eq!(layout.rows(), ["##########", "#P.~BGSODH", "##########"]);
        let styles: Vec<Style> = layout.threats.iter().map(|spawn| spawn.style).collect();
        assert_eq!(styles, Style::ALL);
        assert_eq!(layout.player, Position::new(1, 1));
    }

    #[test]
    fn json_keeps_what_a_drawing_cannot_show() {
        let mut layout = Layout::parse("P.~\n#.S").unwrap();
        layout.threats.push(Spawn { style: Style::Bull, position: Position::new(2, 1) });
        layout.threats.push(Spawn { style: Style::Owl, position: Position::new(2, 0) });
        let json = serde_json::to_string(&layout).unwrap();
        assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
        let error = |json: &str| serde_json::from_str::<Layout>(json).unwrap_err().to_string();
        assert!(error(&json.replace('~', "?")).starts_with("expected tiles ., ~ and #, found '?'"));
        assert!(error(&json.replace('~', "")).starts_with("expected rows of equal length"));
    }

    #[test]
    fn wrong_size_is_no_panic() {
        let mut layout = Layout::parse("P.\n.S").unwrap();
        layout.height = 9;
        layout.player = Position::new(0, 8);
        assert_eq!((layout.tile(layout.player), layout.rows().len()), (Tile::Wall, 2));
        layout.set_tile(layout.player, Tile::Open);
    }

    #[test]
    fn ragged_drawing_needs_memory_only_for_its_letters() {
        // A grid with this many columns and rows would take a terabyte.
        let drawing = format!("{}{}", "P".repeat(1 << 20), "\n.".repeat(1 << 20));
        assert!(Layout::parse(&drawing).unwrap_err().to_string().starts_with("row 2 has width 1: "));
    }

    #[test]
    fn invalid_drawing_is_reported() {
        let error = |text| Layout::parse(text).unwrap_err().to_string();
        assert_eq!(error("P.x"), "'x' at (2, 0) is not a tile: expected one of # . ~ or a capital P B G S O D H");
        assert!(error("P.o").starts_with("'o' at (2, 0) is not a tile: "));
        assert!(error("p..").starts_with("'p' at (0, 0) is not a tile: "));
        assert_eq!(error("P..\n.."), "row 2 has width 2: expected 3, like the first row");
        assert!(error("...").contains("no player"));
        assert!(error("").contains("no player"));
    }
}
