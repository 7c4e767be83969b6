//! Renders the standing of a ladder as an HTML page.

use serde::Serialize;

use super::LadderStanding;
use getaway::protocol::to_json;
use getaway_viewer::{for_script, with_head};

const TEMPLATE: &str = include_str!("page.html");
const DATA: &str = "{{DATA}}";

#[derive(Clone, Debug, Serialize)]
pub struct LadderText<'a> {
    pub title: &'a str,
    /// The settings of the ladder, shown below the title.
    pub heading: &'a str,
    /// The time of the standing, as shown on the page.
    pub updated: &'a str,
    /// True if the ladder is running, in which case the page updates itself.
    pub is_running: bool,
}

/// Renders the page, on which each listed game links to `game.html#NUMBER`.
pub fn ladder_page(standing: &LadderStanding, text: &LadderText<'_>) -> String {
    let data = serde_json::json!({ "text": text, "standing": standing });
    with_head(TEMPLATE).replace(DATA, &for_script(&to_json(&data)))
}
