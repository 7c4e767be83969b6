use getaway::game::{Layout, Position, Spawn, Style, Tile};

/// Parses a drawing. `#` is a wall, `~` is a see-through tile, and every other character is an open
/// tile. `P` marks the player; without it, the player starts at (0, 0). The capital initial of a style
/// (`B` for bull) marks a threat.
pub(super) fn draw(rows: &[&str]) -> Layout {
    let mut layout = Layout {
        width: rows[0].len() as i32,
        height: rows.len() as i32,
        tiles: Vec::new(),
        player: Position::new(0, 0),
        threats: Vec::new(),
    };
    for (y, row) in rows.iter().enumerate() {
        assert_eq!(row.len(), rows[0].len(), "rows of one width");
        for (x, letter) in row.chars().enumerate() {
            let position = Position::new(x as i32, y as i32);
            layout.tiles.push(match letter {
                '#' => Tile::Wall,
                '~' => Tile::SeeThrough,
                _ => Tile::Open,
            });
            if letter == 'P' {
                layout.player = position;
            }
            let style = Style::ALL.into_iter().find(|style| style.name().starts_with(letter.to_ascii_lowercase()));
            if let Some(style) = style.filter(|_| letter.is_ascii_uppercase()) {
                layout.threats.push(Spawn { style, position });
            }
        }
    }
    layout
}
