//! The drawing style of replays. The page and the image renderers read it from the same file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use getaway::game::{Direction, Layout, Tile};
use serde::Deserialize;

/// Side of a tile in the units of a drawing.
pub(crate) const TILE: i32 = 100;

pub(crate) const DRAWING: &str = include_str!("page/drawing.json");

/// The content of `page/drawing.json`. Colours are `#rrggbb`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drawing {
    /// The keys are `player`, `unknown` and the names of the threats' styles.
    pub sprites: BTreeMap<String, Sprite>,
    /// The marks of the page's timeline, which only the page draws.
    #[serde(rename = "marks")]
    _marks: serde::de::IgnoredAny,
    /// The keys are `light` and `dark`.
    pub themes: BTreeMap<String, Colors>,
    pub layers: LayerStyle,
}

/// A sprite that faces right, in a square of 100 by 100 units around (0, 0).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sprite {
    pub color: String,
    /// From bottom to top.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// SVG path data.
    pub d: String,
    pub paint: Paint,
    /// If given, the part is drawn as a line of this width and is not filled.
    #[serde(default)]
    pub line: Option<f32>,
}

/// The colours of a theme, by name.
pub(crate) type Colors = BTreeMap<String, String>;

/// A path and how to draw it. Pictures and SVGs consist of shapes.
#[derive(Clone, Debug)]
pub(crate) struct Shape<'a> {
    /// SVG path data, in hundredths of a tile.
    pub d: String,
    pub color: &'a str,
    pub opacity: f32,
    /// The width of the line; `None` if the path is filled.
    pub line: Option<f32>,
    /// The lengths of the line's dashes and gaps.
    pub dash: Option<[f32; 2]>,
}

impl<'a> Shape<'a> {
    pub fn filled(d: String, color: &'a str) -> Self {
        Self { d, color, opacity: 1.0, line: None, dash: None }
    }

    pub fn line(d: String, color: &'a str, width: f32) -> Self {
        Self { line: Some(width), ..Self::filled(d, color) }
    }
}

impl Sprite {
    /// The shapes around (0, 0), from bottom to top.
    pub fn shapes<'a>(&'a self, colors: &'a Colors) -> Vec<Shape<'a>> {
        let Outlines { body_halo, body, pale, ink_halo } = drawing().layers.outlines;
        let of = |part: &'a Part| {
            let color = match part.paint {
                Paint::Body => &self.color,
                Paint::Ink => &colors["ink"],
                Paint::Pale => &colors["pale"],
            };
            let lines = match (part.paint, part.line) {
                (Paint::Ink, Some(width)) => vec![(width + ink_halo, &colors["pale"]), (width, color)],
                (_, Some(width)) => vec![(width, color)],
                (Paint::Body, None) => vec![(body_halo, &colors["pale"]), (body, &colors["outline"])],
                (Paint::Pale, None) => vec![(pale, &colors["outline"])],
                (Paint::Ink, None) => Vec::new(),
            };
            let lines = lines.into_iter().map(|(width, color)| Shape::line(part.d.clone(), color, width));
            lines.chain(part.line.is_none().then(|| Shape::filled(part.d.clone(), color)))
        };
        self.parts.iter().flat_map(of).collect()
    }
}

/// The walls, the tiles, the dots in their middles, and the edges of the walls.
pub(crate) fn streets<'a>(layout: &Layout, colors: &'a Colors) -> Vec<Shape<'a>> {
    let (width, height) = (layout.width * TILE, layout.height * TILE);
    let [mut open, mut see_through, mut dots, mut edges] = [const { String::new() }; 4];
    for at in layout.open_positions() {
        let (x, y) = (at.x * TILE, at.y * TILE);
        let tiles = if layout.tile(at) == Tile::SeeThrough { &mut see_through } else { &mut open };
        let _ = write!(tiles, "M{x} {y}h{TILE}v{TILE}h-{TILE}z");
        let _ = write!(dots, "M{} {}h1", x + TILE / 2, y + TILE / 2);
        for direction in Direction::ALL.into_iter().filter(|&direction| !layout.is_open(at.towards(direction))) {
            let _ = match direction {
                Direction::Left => write!(edges, "M{x} {y}v{TILE}"),
                Direction::Right => write!(edges, "M{} {y}v{TILE}", x + TILE),
                Direction::Up => write!(edges, "M{x} {y}h{TILE}"),
                Direction::Down => write!(edges, "M{x} {}h{TILE}", y + TILE),
            };
        }
    }
    let filled = [("wall", format!("M0 0h{width}v{height}H0z")), ("street", open), ("see_through", see_through)];
    let filled = filled.into_iter().map(|(name, d)| Shape::filled(d, &colors[name]));
    let lines = [dots, edges].into_iter().map(|d| Shape::line(d, &colors["line"], 6.0));
    filled.chain(lines).filter(|shape| !shape.d.is_empty()).collect()
}

/// The clockwise angle from `Right` to the direction, in degrees.
pub(crate) const fn angle(direction: Direction) -> i16 {
    match direction {
        Direction::Right => 0,
        Direction::Down => 90,
        Direction::Left => 180,
        Direction::Up => 270,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Paint {
    Body,
    Ink,
    Pale,
}

/// Durations are in ticks; sizes are fractions of a tile's side unless stated otherwise.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayerStyle {
    /// The pace at playback speed 1.
    pub ticks_per_second: f64,
    pub plan_ticks: usize,
    pub path_ticks: usize,
    pub trail_ticks: usize,
    /// A tile is shaded if a threat can reach it in fewer ticks than this.
    pub heat_ticks: f32,
    /// Opacity of the shading on a threat's own tile.
    pub heat_opacity: f32,
    pub trail_opacity: f32,
    /// Base radius of a dot of the trail, and an extra radius, which shrinks to 0 as the dot ages.
    pub trail_radius: [f32; 2],
    /// Distance from the crossed box on a deadly tile to the tile's edge.
    pub deadly_inset: f32,
    pub deadly_width: f32,
    pub path_width: f32,
    pub plan_width: f32,
    /// Width of the plan's outline as a multiple of `plan_width`.
    pub plan_outline: f32,
    /// Lengths of the plan's dashes and gaps as multiples of `plan_width`.
    pub plan_dash: [f32; 2],
    pub player_size: f32,
    pub threat_size: f32,
    pub outlines: Outlines,
}

/// Widths of the lines around a sprite's parts, in hundredths of the sprite's side.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outlines {
    pub body_halo: f32,
    pub body: f32,
    pub pale: f32,
    /// Added to the width of a part that is drawn as a dark line.
    pub ink_halo: f32,
}

pub(crate) fn drawing() -> &'static Drawing {
    static PARSED: LazyLock<Drawing> = LazyLock::new(|| serde_json::from_str(DRAWING).expect("checked by a test"));
    &PARSED
}

impl Drawing {
    pub fn sprite(&self, style: &str) -> &Sprite {
        self.sprites.get(style).unwrap_or(&self.sprites["unknown"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::Style;

    #[test]
    fn every_actor_has_its_own_sprite_and_colour() {
        let drawing = drawing();
        let names = Style::ALL.map(Style::name).into_iter().chain(["player", "unknown"]);
        let sprites: Vec<&Sprite> = names.map(|name| &drawing.sprites[name]).collect();
        for (index, sprite) in sprites.iter().enumerate() {
            for other in &sprites[..index] {
                assert_ne!(sprite.color, other.color);
                assert_ne!(sprite.parts[0].d, other.parts[0].d);
            }
        }
        let [light, dark] = ["light", "dark"].map(|theme| drawing.themes[theme].keys().collect::<Vec<_>>());
        assert_eq!(light, dark);
    }

    #[test]
    fn style_sheet_has_the_colours_of_the_drawing() {
        let tokens = include_str!("page/tokens.css");
        let drawing = drawing();
        let sprites = drawing.sprites.iter().filter(|(name, _)| *name != "unknown");
        for (name, Sprite { color, .. }) in sprites {
            assert!(tokens.contains(&format!("--{name}: {color};")), "{name}");
        }
        let [light, dark] = ["light", "dark"].map(|theme| &drawing.themes[theme]);
        for name in ["wall", "street", "paper", "text"] {
            assert!(tokens.contains(&format!("--{name}: light-dark({}, {});", light[name], dark[name])), "{name}");
        }
    }
}
