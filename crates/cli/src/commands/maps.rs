use std::io::Write;

use anstyle::{AnsiColor, Style as Paint};
use clap::Args;
use serde::{Serialize, Serializer};

use getaway::game::{Layout, Style, Tile};
use getaway::map::{Map, MapEntry, MapError};

use crate::arguments::MapArgs;
use crate::output::{Say, Terminal, or_dash, write_table};
use crate::{CliError, Result, invalid};

/// List the maps, or draw the given ones
#[derive(Args)]
pub(crate) struct MapsArgs {
    /// Maps to draw, by name or by path
    #[arg(value_name = "MAP")]
    names: Vec<String>,
    #[command(flatten)]
    maps: MapArgs,
    /// Print a JSON array with one object per map
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &MapsArgs, out: &mut Terminal<impl Write>) -> Result {
    let (library, is_list) = (args.maps.library()?, args.names.is_empty());
    let loaded: Vec<Result<Map, MapError>> = if is_list {
        library.list()?.iter().map(MapEntry::load).collect()
    } else {
        args.names.iter().map(|name| library.find(name)).collect()
    };
    let mut failures = Vec::new();
    let loaded = loaded.into_iter().map(|map| map.map_err(|error| failures.push(error.to_string())));
    let maps: Vec<Map> = loaded.filter_map(Result::ok).collect();
    match (is_list, args.json) {
        (false, _) if maps.is_empty() => {}
        (true, false) => write_table(maps.iter().map(table_row), out)?,
        (false, false) => maps.iter().enumerate().try_for_each(|(index, map)| write_drawing(index, map, out))?,
        (_, true) => {
            let summaries = maps.iter().map(|Map { name, kind, difficulty, layout }| MapSummary {
                name,
                r#type: kind,
                difficulty,
                width: layout.width,
                height: layout.height,
                open_tiles: open_tiles(layout),
                threats: layout,
                rows: (!is_list).then(|| layout.rows()),
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&summaries.collect::<Vec<_>>())?)?;
        }
    }
    out.flush()?;
    match &failures[..] {
        [] => Ok(()),
        [failure] => Err(CliError::Input(failure.clone())),
        failures => Err(invalid!("{} maps cannot be read: {}", failures.len(), failures.join("; "))),
    }
}

#[derive(Serialize)]
struct MapSummary<'a> {
    name: &'a str,
    r#type: &'a str,
    difficulty: &'a str,
    width: i32,
    height: i32,
    open_tiles: usize,
    #[serde(serialize_with = "threat_counts")]
    threats: &'a Layout,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<String>>,
}

/// Writes the number of threats of each style, zeros included, so that every map has the same fields.
fn threat_counts<S: Serializer>(layout: &Layout, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Style::ALL.map(|style| (style.name(), count(layout, style))))
}

pub(super) fn open_tiles(layout: &Layout) -> usize {
    layout.tiles.iter().filter(|tile| tile.is_open()).count()
}

fn count(layout: &Layout, style: Style) -> usize {
    layout.threats.iter().filter(|spawn| spawn.style == style).count()
}

fn table_row(map: &Map) -> Vec<(String, String)> {
    let layout = &map.layout;
    let mut row = vec![
        ("<NAME".to_owned(), map.name.clone()),
        ("SIZE".to_owned(), format!("{}x{}", layout.width, layout.height)),
        ("OPEN".to_owned(), open_tiles(layout).to_string()),
        ("THREATS".to_owned(), layout.threats.len().to_string()),
    ];
    row.extend(Style::ALL.map(|style| {
        let number = count(layout, style);
        (style.name().to_uppercase(), or_dash((number > 0).then(|| number.to_string())))
    }));
    row.push(("<DIFFICULTY".to_owned(), map.difficulty.clone()));
    row
}

fn write_drawing(index: usize, map: &Map, out: &mut Terminal<impl Write>) -> Result {
    if index > 0 {
        writeln!(out)?;
    }
    let layout = &map.layout;
    let open_tiles = open_tiles(layout);
    let difficulty = if map.difficulty.is_empty() { String::new() } else { format!(", {}", map.difficulty) };
    out.say(format!("{}: {}x{}, {open_tiles} open tiles{difficulty}", map.name, layout.width, layout.height))?;
    for row in layout.rows() {
        for symbol in row.chars() {
            let text = match symbol {
                '#' => "██".to_owned(),
                '~' => "░░".to_owned(),
                '.' => "  ".to_owned(),
                letter => format!("{letter} "),
            };
            out.paint(symbol_paint(symbol), &text)?;
        }
        writeln!(out)?;
    }
    let mut legend = vec![('P', "P".to_owned(), "player".to_owned())];
    for style in Style::ALL {
        let meaning = match count(layout, style) {
            0 => continue,
            1 => style.to_string(),
            count => format!("{style} ({count})"),
        };
        legend.push((style.letter(), style.letter().to_string(), meaning));
    }
    if layout.tiles.contains(&Tile::SeeThrough) {
        legend.push(('~', "░░".to_owned(), "see-through (passable for threats, not for the player)".to_owned()));
    }
    for (index, (symbol, text, meaning)) in legend.into_iter().enumerate() {
        write!(out, "{}", if index > 0 { "  " } else { "" })?;
        out.paint(symbol_paint(symbol), &text)?;
        write!(out, " {meaning}")?;
    }
    Ok(writeln!(out)?)
}

fn symbol_paint(symbol: char) -> Paint {
    let color = match symbol {
        '#' => AnsiColor::BrightBlack,
        'P' => AnsiColor::BrightBlue,
        'B' => AnsiColor::BrightRed,
        'G' => AnsiColor::BrightMagenta,
        'S' => AnsiColor::BrightYellow,
        'O' => AnsiColor::Green,
        'D' => AnsiColor::BrightGreen,
        'H' => AnsiColor::Yellow,
        '~' => AnsiColor::Cyan,
        _ => return Paint::new(),
    };
    let paint = Paint::new().fg_color(Some(color.into()));
    if symbol.is_ascii_alphabetic() { paint.bold() } else { paint }
}
