//! The drawing style of replays. The page and the image renderers read it from the same file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use getaway::game::Direction;
use serde::Deserialize;

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
    pub themes: BTreeMap<String, BTreeMap<String, String>>,
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

#[derive(Clone, Copy)]
pub(crate) struct Inks<C> {
    pub body: C,
    pub ink: C,
    pub pale: C,
    pub outline: C,
}

impl Paint {
    pub fn fill<C>(self, inks: Inks<C>) -> C {
        match self {
            Self::Body => inks.body,
            Self::Ink => inks.ink,
            Self::Pale => inks.pale,
        }
    }

    pub fn strokes<C: Copy>(self, line: Option<f32>, inks: Inks<C>) -> Vec<(f32, C)> {
        let outlines = &drawing().layers.outlines;
        match (self, line) {
            (Self::Ink, Some(width)) => vec![(width + outlines.ink_halo, inks.pale), (width, inks.ink)],
            (_, Some(width)) => vec![(width, self.fill(inks))],
            (Self::Body, None) => vec![(outlines.body_halo, inks.pale), (outlines.body, inks.outline)],
            (Self::Pale, None) => vec![(outlines.pale, inks.outline)],
            (Self::Ink, None) => Vec::new(),
        }
    }
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
}
