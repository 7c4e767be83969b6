//! How a replay is drawn: sprites, colours and layers, in one file that the page uses directly and
//! the image renderer through [`drawing`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The file's text, as embedded in the page.
pub(crate) const DRAWING: &str = include_str!("page/drawing.json");

/// The parsed file. Colours are `#rrggbb` or `#rrggbbaa`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drawing {
    /// Keyed by `player`, a style's name, or `unknown`.
    pub sprites: BTreeMap<String, Sprite>,
    /// Keyed by `light` and `dark`.
    pub themes: BTreeMap<String, BTreeMap<String, String>>,
    /// Measures and opacities of the layers and the sprites.
    pub layers: LayerStyle,
}

/// A sprite: a square of 100 by 100 around (0, 0), facing right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sprite {
    /// The colour of the body.
    pub color: String,
    /// Its parts, from bottom to top.
    pub parts: Vec<Part>,
}

/// A part of a sprite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// SVG path data.
    pub d: String,
    /// How it is painted.
    pub paint: Paint,
    /// If given, the path is stroked with this width instead of filled.
    #[serde(default)]
    pub line: Option<f32>,
}

/// How a part is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Paint {
    /// The sprite's colour, with an outline.
    Body,
    /// Dark.
    Ink,
    /// Light.
    Pale,
}

/// Durations, and sizes as shares of a tile's side.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LayerStyle {
    /// The real server's pace, which is speed 1.
    pub ticks_per_second: f64,
    /// Number of the player's next moves that are drawn.
    pub plan_ticks: usize,
    /// Number of a threat's next moves that are drawn.
    pub path_ticks: usize,
    /// Number of the player's last moves that are drawn.
    pub trail_ticks: usize,
    /// Arrivals at or above this are drawn with the same opacity.
    pub heat_ticks: f32,
    /// Opacity of a tile that a threat can reach at once.
    pub heat_opacity: f32,
    /// Opacity of the latest dot of the trail.
    pub trail_opacity: f32,
    /// Radius of the trail's dots: the oldest one, and the difference to the latest one.
    pub trail_radius: [f32; 2],
    /// Distance of the cross on a fatal tile from the tile's edge.
    pub deadly_inset: f32,
    /// Line width of the cross on a fatal tile.
    pub deadly_width: f32,
    /// Line width of a threat's predicted moves.
    pub path_width: f32,
    /// Line width of the player's plan.
    pub plan_width: f32,
    /// Width of the plan's outline, in line widths of the plan.
    pub plan_outline: f32,
    /// Dash and gap of the plan, in line widths of the plan.
    pub plan_dash: [f32; 2],
    /// Side of the player's sprite.
    pub player_size: f32,
    /// Side of a threat's sprite.
    pub threat_size: f32,
    /// Line widths around a sprite's parts, in hundredths of its side.
    pub outlines: Outlines,
}

/// Line widths around a sprite's parts, in hundredths of its side.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outlines {
    /// The halo that separates the body from dark streets.
    pub body_halo: f32,
    /// The outline of the body.
    pub body: f32,
    /// The outline of a pale part.
    pub pale: f32,
    /// The width that the halo adds to a dark line.
    pub ink_halo: f32,
}

/// The file, parsed once.
pub(crate) fn drawing() -> &'static Drawing {
    static PARSED: LazyLock<Drawing> = LazyLock::new(|| serde_json::from_str(DRAWING).expect("checked by a test"));
    &PARSED
}

impl Drawing {
    /// The sprite of a style, or the one for unknown styles.
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
