//! The bundled maps. They are compiled into the program, so it needs no `maps/` folder.

use super::{Map, decode_layout};

struct BundledMap {
    name: &'static str,
    layout: &'static [u8],
    meta: &'static [u8],
}

macro_rules! bundled {
    ($($name:literal),* $(,)?) => {
        &[$(BundledMap {
            name: $name,
            layout: include_bytes!(concat!("../../maps/", $name, "/layout.png")),
            meta: include_bytes!(concat!("../../maps/", $name, "/meta.json")),
        }),*]
    };
}

const BUNDLED: &[BundledMap] = bundled![
    "canal-quarter",
    "corner-shop",
    "crossroads",
    "cul-de-sacs",
    "harbour",
    "long-avenues",
    "market-square",
    "metropolis",
    "motorway",
    "old-town",
    "ring-road",
    "roundabout",
    "snail",
    "stadium",
    "twin-bridges",
];

pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    BUNDLED.iter().map(|map| map.name)
}

pub(crate) fn find(name: &str) -> Option<Map> {
    let BundledMap { name, layout, meta } = BUNDLED.iter().find(|map| map.name == name)?;
    let layout = decode_layout(layout).expect("bundled maps are valid");
    let meta: super::Meta = serde_json::from_slice(meta).expect("bundled maps are valid");
    Some(Map { name: (*name).to_owned(), kind: meta.kind, difficulty: meta.difficulty, layout })
}
