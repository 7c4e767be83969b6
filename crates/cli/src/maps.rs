//! `getaway maps`: lists the maps, or draws the given ones.

use std::io::Write;

use anstyle::{AnsiColor, Style as Paint};
use clap::Args;
use serde::{Serialize, Serializer};

use getaway::game::{Layout, Style, Tile};
use getaway::map::{Map, MapEntry};

use super::table::write_table;
use super::{CliError, MapArgs, one_line};

const EXAMPLES: &str = "Examples:
  getaway maps --maps path/to/maps     list the bundled maps and those in a folder
  getaway maps roundabout              draw one
  getaway maps --json                  the list as JSON";

/// List the maps, or draw the given ones
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MapsArgs {
    /// Maps to draw, by name or by path
    #[arg(value_name = "MAP")]
    names: Vec<String>,
    #[command(flatten)]
    maps: MapArgs,
    /// Print a JSON array with one object per map
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &MapsArgs, out: &mut impl Write) -> Result<(), CliError> {
    if args.names.is_empty() { list(args, out) } else { draw(args, out) }
}

/// The JSON object of a map.
#[derive(Serialize)]
struct MapSummary<'a> {
    name: &'a str,
    r#type: &'a str,
    difficulty: &'a str,
    width: i32,
    height: i32,
    open_tiles: usize,
    threats: ThreatCounts<'a>,
    /// The drawing, only for maps that were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<String>>,
}

/// Number of threats by style; always with all styles, so that every map has the same fields.
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
            open_tiles: layout.tiles.iter().filter(|tile| tile.is_open()).count(),
            threats: ThreatCounts(layout),
            rows: None,
        }
    }
}

fn count(layout: &Layout, style: Style) -> usize {
    layout.threats.iter().filter(|spawn| spawn.style == style).count()
}

/// Lists every readable map; fails at the end if there were unreadable ones.
fn list(args: &MapsArgs, out: &mut impl Write) -> Result<(), CliError> {
    let mut maps = Vec::new();
    let mut failures = Vec::new();
    for entry in args.maps.library()?.list()? {
        match MapEntry::load(&entry) {
            Ok(map) => maps.push(map),
            Err(error) => failures.push(error.to_string()),
        }
    }
    if args.json {
        write_json(maps.iter().map(MapSummary::new).collect(), out)?;
    } else {
        write_list(&maps, out)?;
    }
    out.flush()?;
    match failures.as_slice() {
        [] => Ok(()),
        [failure] => Err(CliError::Input(failure.clone())),
        failures => Err(CliError::Input(format!("{} maps cannot be read: {}", failures.len(), failures.join("; ")))),
    }
}

fn draw(args: &MapsArgs, out: &mut impl Write) -> Result<(), CliError> {
    let maps = args.maps.load(&args.names)?;
    if args.json {
        let summaries = maps.iter().map(|map| MapSummary { rows: Some(map.layout.rows()), ..MapSummary::new(map) });
        return write_json(summaries.collect(), out);
    }
    for (index, map) in maps.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write_drawing(map, out)?;
    }
    Ok(())
}

fn write_json(maps: Vec<MapSummary<'_>>, out: &mut impl Write) -> Result<(), CliError> {
    serde_json::to_writer_pretty(&mut *out, &maps)?;
    Ok(writeln!(out)?)
}

fn write_list(maps: &[Map], out: &mut impl Write) -> Result<(), CliError> {
    let mut header = vec!["NAME".to_owned(), "SIZE".to_owned(), "OPEN".to_owned(), "THREATS".to_owned()];
    header.extend(Style::ALL.map(|style| style.name().to_uppercase()));
    header.push("DIFFICULTY".to_owned());
    let mut rows = vec![header];
    rows.extend(maps.iter().map(table_row));
    let difficulty = rows[0].len() - 1;
    write_table(&rows, &[0, difficulty], out)
}

fn table_row(map: &Map) -> Vec<String> {
    let layout = &map.layout;
    let open_tiles = layout.tiles.iter().filter(|tile| tile.is_open()).count();
    let mut row = vec![
        one_line(&map.name),
        format!("{}x{}", layout.width, layout.height),
        open_tiles.to_string(),
        layout.threats.len().to_string(),
    ];
    row.extend(Style::ALL.map(|style| match count(layout, style) {
        0 => "-".to_owned(),
        count => count.to_string(),
    }));
    row.push(one_line(&map.difficulty));
    row
}

/// Draws the map, two characters per tile so that tiles are about square, with a legend.
fn write_drawing(map: &Map, out: &mut impl Write) -> Result<(), CliError> {
    let layout = &map.layout;
    let MapSummary { open_tiles, .. } = MapSummary::new(map);
    let (name, difficulty) = (one_line(&map.name), one_line(&map.difficulty));
    writeln!(out, "{name}: {}x{}, {open_tiles} open tiles, {difficulty}", layout.width, layout.height)?;
    for row in layout.rows() {
        for symbol in row.chars() {
            let paint = symbol_paint(symbol);
            let text = match symbol {
                '#' => "██".to_owned(),
                '~' => "░░".to_owned(),
                '.' => "  ".to_owned(),
                letter => format!("{letter} "),
            };
            write!(out, "{paint}{text}{paint:#}")?;
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
    let mut explained: Vec<String> = legend
        .into_iter()
        .map(|(letter, meaning)| {
            let paint = symbol_paint(letter);
            format!("{paint}{letter}{paint:#} {meaning}")
        })
        .collect();
    if layout.tiles.contains(&Tile::SeeThrough) {
        let paint = symbol_paint('~');
        explained.push(format!("{paint}░░{paint:#} see-through (passable for threats, not for the player)"));
    }
    Ok(writeln!(out, "{}", explained.join("  "))?)
}

/// Colours close to those of the map's image.
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
