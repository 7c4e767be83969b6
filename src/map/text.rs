//! Layouts as text, a character a tile: what the terminal shows, what tests are written in.
//!
//! | character | tile | | character | tile |
//! |---|---|---|---|---|
//! | `#` | wall | | `G` | goldfish |
//! | `.` | open | | `S` | shark |
//! | `~` | see-through | | `O` | owl |
//! | `P` | player | | `D` | deer |
//! | `B` | bull | | `H` | hawk |

use thiserror::Error;

use crate::game::{Layout, Position, Spawn, Style, Tile};

use super::image::{LayoutError, check_limits};

/// Why a text is not a layout.
#[derive(Debug, Error)]
pub enum TextError {
    /// A character that means nothing.
    #[error("{character:?} at {position} is no tile: expected one of # . ~ P B G S O D H")]
    UnknownCharacter {
        /// The character.
        character: char,
        /// Where it stands.
        position: Position,
    },
    /// Rows of different lengths.
    #[error("row {row} is not as wide as the first one")]
    Ragged {
        /// From 0.
        row: usize,
    },
    /// The same as for a picture: no player, too many tiles, and so on.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// The letter that stands for a style.
pub const fn style_letter(style: Style) -> char {
    match style {
        Style::Bull => 'B',
        Style::Goldfish => 'G',
        Style::Shark => 'S',
        Style::Owl => 'O',
        Style::Deer => 'D',
        Style::Hawk => 'H',
    }
}

/// The layout as one string a row. Of several spawns on a tile the player is shown, then the first threat.
pub fn layout_to_rows(layout: &Layout) -> Vec<String> {
    let mut cells: Vec<char> = layout
        .tiles
        .iter()
        .map(|tile| match tile {
            Tile::Wall => '#',
            Tile::Open => '.',
            Tile::SeeThrough => '~',
        })
        .collect();
    let threats = layout.threats.iter().rev().map(|spawn| (spawn.position, style_letter(spawn.style)));
    for (position, letter) in threats.chain([(layout.player, 'P')]) {
        let is_on_grid = (0..layout.width).contains(&position.x) && (0..layout.height).contains(&position.y);
        if is_on_grid {
            cells[(position.y * layout.width + position.x) as usize] = letter;
        }
    }
    cells.chunks(layout.width.max(1) as usize).map(|row| row.iter().collect()).collect()
}

/// Reads rows of characters; blank lines and spaces around a row do not count. The limits of a picture hold here too.
pub fn layout_from_text(text: &str) -> Result<Layout, TextError> {
    let rows: Vec<Vec<char>> =
        text.lines().map(str::trim).filter(|row| !row.is_empty()).map(|row| row.chars().collect()).collect();
    let width = rows.first().map_or(0, Vec::len);
    let mut tiles = Vec::with_capacity(width * rows.len());
    let mut threats = Vec::new();
    let mut player = None;
    for (y, row) in rows.iter().enumerate() {
        if row.len() != width {
            return Err(TextError::Ragged { row: y });
        }
        for (x, &character) in row.iter().enumerate() {
            let position = Position::new(x as i32, y as i32);
            tiles.push(match character {
                '#' => Tile::Wall,
                '~' => Tile::SeeThrough,
                _ => Tile::Open,
            });
            match character {
                '#' | '.' | '~' => {}
                'P' => player = Some(position),
                _ => {
                    let style = Style::ALL.into_iter().find(|&style| style_letter(style) == character);
                    let style = style.ok_or(TextError::UnknownCharacter { character, position })?;
                    threats.push(Spawn { style, position });
                }
            }
        }
    }
    let player = player.ok_or(LayoutError::NoPlayer)?;
    let layout = Layout { width: width as i32, height: rows.len() as i32, tiles, player, threats };
    check_limits(&layout)?;
    Ok(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = "
        ##########
        #P.~BGSODH
        ##########
    ";

    #[test]
    fn text_comes_back_as_it_was() {
        let layout = layout_from_text(EVERYTHING).unwrap();
        assert_eq!(layout_to_rows(&layout), ["##########", "#P.~BGSODH", "##########"]);
        let styles: Vec<Style> = layout.threats.iter().map(|spawn| spawn.style).collect();
        assert_eq!(styles, Style::ALL);
        assert_eq!(layout.player, Position::new(1, 1));
    }

    #[test]
    fn what_is_not_a_map_is_said() {
        let error = |text| layout_from_text(text).unwrap_err().to_string();
        assert_eq!(error("P.x"), "'x' at (2, 0) is no tile: expected one of # . ~ P B G S O D H");
        assert_eq!(error("P..\n.."), "row 1 is not as wide as the first one");
        assert!(error("...").starts_with("no player"));
        assert!(error("").starts_with("no player"));
        assert!(error("P").starts_with("too few open tiles (1)"));
    }
}
