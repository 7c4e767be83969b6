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
    let (mut maps, mut failures) = (Vec::new(), Vec::new());
    for map in loaded {
        match map {
            Ok(map) => maps.push(map),
            Err(error) => failures.push(error.to_string()),
        }
    }
    match (is_list, args.json) {
        (false, _) if maps.is_empty() => {}
        (true, false) => write_table(maps.iter().map(table_row), out)?,
        (false, false) => write_drawings(&maps, out)?,
        (_, true) => {
            let rows = |map: &Map| (!is_list).then(|| map.layout.rows());
            let summaries = maps.iter().map(|map| MapSummary { rows: rows(map), ..MapSummary::new(map) });
            let summaries: Vec<MapSummary<'_>> = summaries.collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&summaries)?)?;
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
    threats: ThreatCounts<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<String>>,
}

/// Number of threats of each style, zeros included, so that every map has the same fields.
struct ThreatCounts<'a>(&'a Layout);

impl Serialize for ThreatCounts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Style::ALL.map(|style| (style.name(), count(self.0, style))))
    }
}

impl<'a> MapSummary<'a> {
    fn new(map: &'a Map) -> Self {
        let layout = &map.layout;
        Self {
            name: &map.name,
            r#type: &map.kind,
            difficulty: &map.difficulty,
            width: layout.width,
            height: layout.height,
            open_tiles: open_tiles(layout),
            threats: ThreatCounts(layout),
            rows: None,
        }
    }
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

fn write_drawings(maps: &[Map], out: &mut Terminal<impl Write>) -> Result {
    maps.iter().enumerate().try_for_each(|(index, map)| {
        if index > 0 {
            writeln!(out)?;
        }
        write_drawing(map, out)
    })
}

fn write_drawing(map: &Map, out: &mut Terminal<impl Write>) -> Result {
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
    let mut legend = vec![('P', "player".to_owned())];
    for style in Style::ALL {
        match count(layout, style) {
            0 => {}
            1 => legend.push((style.letter(), style.to_string())),
            count => legend.push((style.letter(), format!("{style} ({count})"))),
        }
    }
    for (index, (letter, meaning)) in legend.into_iter().enumerate() {
        write!(out, "{}", if index > 0 { "  " } else { "" })?;
        out.paint(symbol_paint(letter), &letter.to_string())?;
        write!(out, " {meaning}")?;
    }
    if layout.tiles.contains(&Tile::SeeThrough) {
        write!(out, "  ")?;
        out.paint(symbol_paint('~'), "░░")?;
        write!(out, " see-through (passable for threats, not for the player)")?;
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
