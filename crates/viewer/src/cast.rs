//! Shapes and colours: one description, which the page draws with `Path2D` and the pictures with their own painter.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The description, as the page reads it.
pub const CAST: &str = include_str!("page/cast.json");

/// The description, read. Colours are `#rrggbb` or `#rrggbbaa`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cast {
    /// By `player`, a style's name, or `unknown`.
    pub shapes: BTreeMap<String, Shape>,
    /// By `light` and `dark`.
    pub themes: BTreeMap<String, BTreeMap<String, String>>,
}

/// Who is drawn how: in a square of 100 by 100 around (0, 0), looking to the right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The colour of the body.
    pub color: String,
    /// What is drawn, the lowest first.
    pub parts: Vec<Part>,
}

/// A part of a shape.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Path data, as in SVG.
    pub d: String,
    /// What it is painted with: `body` the shape's colour with an outline, `ink` dark, `pale` light.
    pub paint: Paint,
    /// Drawn as a line of this width rather than filled.
    #[serde(default)]
    pub line: Option<f32>,
}

/// What a part is painted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Paint {
    /// The shape's colour, with an outline.
    Body,
    /// Dark.
    Ink,
    /// Light.
    Pale,
}

/// The description, read once.
pub(super) fn cast() -> &'static Cast {
    static READ: LazyLock<Cast> = LazyLock::new(|| serde_json::from_str(CAST).expect("a test reads it"));
    &READ
}

impl Cast {
    /// The shape of a style, or the one of those that nobody knows.
    pub fn shape(&self, style: &str) -> &Shape {
        self.shapes.get(style).unwrap_or(&self.shapes["unknown"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::Style;

    #[test]
    fn everybody_has_a_shape_and_a_colour_of_their_own() {
        let cast = cast();
        let names = Style::ALL.map(Style::name).into_iter().chain(["player", "unknown"]);
        let shapes: Vec<&Shape> = names.map(|name| &cast.shapes[name]).collect();
        for (index, shape) in shapes.iter().enumerate() {
            for other in &shapes[..index] {
                assert_ne!(shape.color, other.color);
                assert_ne!(shape.parts[0].d, other.parts[0].d);
            }
        }
        assert_eq!(cast.themes["light"].keys().collect::<Vec<_>>(), cast.themes["dark"].keys().collect::<Vec<_>>());
    }
}
