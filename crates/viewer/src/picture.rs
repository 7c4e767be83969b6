//! Renders replays in the page's style: a frame as a PNG, a range of frames as a GIF.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::str::FromStr;

use kurbo::{BezPath, PathEl};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use thiserror::Error;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Brush, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};

use super::drawing::{Colors, LayerStyle, Shape, TILE, angle, drawing, streets};
use super::recorded::Positions;
use super::replay::{Replay, phase, score_at};
use getaway::game::{Direction, Position, State, Status, World};

/// A divisor of 100, because a GIF stores delays in whole hundredths of a second.
const GIF_FRAMES_PER_SECOND: f64 = 20.0;
const GIF_FRAME_HUNDREDTHS: u16 = 5;
const LAST_GIF_FRAME_HUNDREDTHS: u16 = 200;
const MAX_SIDE: u32 = 4096;
/// Maximum sides of a tile and of the map in pixels. Tiles shrink to fit, but not below one pixel.
const PNG_TILE: u32 = 48;
const PNG_SIDE: u32 = 1600;
const GIF_TILE: u32 = 28;
const GIF_SIDE: u32 = 720;
const GIF_COLORS: usize = 255;
const PALETTE_FRAMES: usize = 24;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    #[error("no tick {tick} in this game: expected {first} to {last}")]
    Tick { tick: u32, first: u32, last: u32 },
    #[error("tick {from} is after tick {to}: expected the earlier tick first")]
    Backwards { from: u32, to: u32 },
    #[error("invalid image size: expected at least one pixel per tile, and at most {MAX_SIDE} pixels per side")]
    TooLarge,
    #[error("unknown layer {0}: expected plan, paths, arrival, deadly or trail")]
    Layer(String),
    #[error("{0}")]
    Write(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    pub plan: bool,
    pub paths: bool,
    pub arrival: bool,
    pub deadly: bool,
    pub trail: bool,
}

impl FromStr for Layers {
    type Err = PictureError;

    fn from_str(text: &str) -> Result<Self, PictureError> {
        let mut layers = Self::default();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            *match name {
                "plan" => &mut layers.plan,
                "paths" => &mut layers.paths,
                "arrival" => &mut layers.arrival,
                "deadly" => &mut layers.deadly,
                "trail" => &mut layers.trail,
                _ => return Err(PictureError::Layer(name.to_owned())),
            } = true;
        }
        Ok(layers)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Theme {
    #[default]
    Light,
    Dark,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct PictureOptions {
    pub layers: Layers,
    pub theme: Theme,
}

#[derive(Clone, Copy, Debug)]
pub struct GifOptions {
    pub from: Option<u32>,
    pub to: Option<u32>,
    /// Playback speed; speed 1 shows ten ticks per second.
    pub speed: f64,
}

pub fn png(replay: &Replay, tick: u32, options: PictureOptions) -> Result<Vec<u8>, PictureError> {
    let index = index_of(replay, tick)?;
    let renderer = Renderer::new(replay, options, tile_side(replay, PNG_TILE, PNG_SIDE)?);
    encode_png(&renderer.paint(index as f64)).map_err(|error| PictureError::Write(error.to_string()))
}

/// An image: three bytes per pixel (red, green, blue), row by row from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
    pub rgb: Vec<u8>,
}

/// Draws a state and its caption. A tile has `tile` by `tile` pixels, and the player faces
/// `heading`. Fails if the longer side of the map would have no pixels or more than 4,096.
pub fn pixels(world: &World, state: &State, heading: Direction, tile: u32) -> Result<Pixels, PictureError> {
    let replay = Replay::of_state(world, state);
    let tiles = replay.layout.width.max(replay.layout.height) as u32;
    if !(1..=MAX_SIDE).contains(&tiles.saturating_mul(tile)) {
        return Err(PictureError::TooLarge);
    }
    let renderer = Renderer { start_heading: heading, ..Renderer::new(&replay, PictureOptions::default(), tile) };
    let canvas = renderer.paint(0.0);
    Ok(Pixels { width: canvas.width(), height: canvas.height(), rgb: samples(&canvas) })
}

/// Omits the alpha channel, because every pixel of the canvas is opaque.
fn samples(canvas: &Pixmap) -> Vec<u8> {
    canvas.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect()
}

fn encode_png(canvas: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, canvas.width(), canvas.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&samples(canvas))?;
    writer.finish()?;
    Ok(bytes)
}

/// Writes a GIF that repeats endlessly. Calls `on_frame` after each frame with the total number of
/// frames.
pub fn gif(
    replay: &Replay,
    range: GifOptions,
    options: PictureOptions,
    output: impl Write,
    on_frame: impl FnMut(usize),
) -> Result<(), PictureError> {
    let (first, last) = bounds(replay);
    let (from, to) = (range.from.unwrap_or(first), range.to.unwrap_or(last));
    let (start, end) = (index_of(replay, from)?, index_of(replay, to)?);
    if start > end {
        return Err(PictureError::Backwards { from, to });
    }
    let renderer = Renderer::new(replay, options, tile_side(replay, GIF_TILE, GIF_SIDE)?);
    let ticks_per_frame = style().ticks_per_second * range.speed / GIF_FRAMES_PER_SECOND;
    let steps = ((end - start) as f64 / ticks_per_frame).ceil() as usize;
    let playheads: Vec<f64> =
        (0..=steps).map(|step| (start as f64 + step as f64 * ticks_per_frame).min(end as f64)).collect();
    let failed = |error: io::Error| PictureError::Write(error.to_string());
    animate(&renderer, &playheads, output, on_frame).map_err(failed)
}

fn bounds(replay: &Replay) -> (u32, u32) {
    let tick = |frame: Option<&super::replay::Frame>| frame.map_or(0, |frame| frame.tick);
    (tick(replay.frames.first()), tick(replay.frames.last()))
}

fn index_of(replay: &Replay, tick: u32) -> Result<usize, PictureError> {
    let (first, last) = bounds(replay);
    replay.index_of_tick(tick).ok_or(PictureError::Tick { tick, first, last })
}

fn tile_side(replay: &Replay, most: u32, side: u32) -> Result<u32, PictureError> {
    let tiles = replay.layout.width.max(replay.layout.height).max(1) as u32;
    if tiles > MAX_SIDE {
        return Err(PictureError::TooLarge);
    }
    Ok((side / tiles).clamp(1, most))
}

fn style() -> &'static LayerStyle {
    &drawing().layers
}

struct Renderer<'a> {
    replay: &'a Replay,
    layers: Layers,
    theme: Theme,
    start_heading: Direction,
    tile: f32,
    streets: Pixmap,
}

impl<'a> Renderer<'a> {
    fn new(replay: &'a Replay, options: PictureOptions, tile: u32) -> Self {
        let (width, height) = (replay.layout.width as u32 * tile, replay.layout.height as u32 * tile);
        let mut canvas = Pixmap::new(width, height + caption_height(width) + legend_height(options.layers))
            .expect("sides between 1 and a few thousand");
        let PictureOptions { layers, theme } = options;
        let (start_heading, tile) = (Direction::Right, tile as f32);
        let mut renderer = Self { replay, layers, theme, start_heading, tile, streets: canvas.clone() };
        canvas.fill(renderer.color("paper"));
        renderer.draw(&mut canvas, &streets(&replay.layout, renderer.colors()), Transform::identity());
        renderer.streets = canvas;
        renderer
    }

    fn colors(&self) -> &'static Colors {
        &drawing().themes[if self.theme == Theme::Dark { "dark" } else { "light" }]
    }

    fn color(&self, name: &str) -> Color {
        color(&self.colors()[name])
    }

    /// Draws shapes, whose coordinates are first changed by `transform`.
    fn draw(&self, canvas: &mut Pixmap, shapes: &[Shape<'_>], transform: Transform) {
        let transform = transform.post_scale(self.tile / TILE as f32, self.tile / TILE as f32);
        for shape in shapes {
            let Some(path) = path_of(&shape.d) else { continue };
            let brush = brush(faded(color(shape.color), shape.opacity));
            let Some(width) = shape.line else {
                canvas.fill_path(&path, &brush, FillRule::Winding, transform, None);
                continue;
            };
            let dash = shape.dash.and_then(|dash| StrokeDash::new(dash.to_vec(), 0.0));
            let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
            canvas.stroke_path(
                &path,
                &brush,
                &Stroke { width, dash, line_cap, line_join, ..Stroke::default() },
                transform,
                None,
            );
        }
    }

    /// A width in hundredths of a tile that is at least `pixels`.
    fn width(&self, tiles: f32, pixels: f32) -> f32 {
        tiles.max(pixels / self.tile) * TILE as f32
    }

    fn paint(&self, playhead: f64) -> Pixmap {
        let mut canvas = self.streets.clone();
        let index = (playhead + 1e-9).floor() as usize;
        let fraction = (playhead - index as f64).max(0.0) as f32;
        let frames = &self.replay.frames;
        let positions = &frames[index].positions;
        let next = &frames[(index + 1).min(frames.len() - 1)].positions;
        self.draw(&mut canvas, &self.layers(index), Transform::identity());
        let catchers = self.catchers(index);
        let draw_threat = |canvas: &mut Pixmap, threat: usize| {
            let ((at, facing), (to, next_facing)) = (positions.threats[threat], next.threats[threat]);
            self.draw_actor(canvas, &self.replay.styles[threat], (at, to), (facing, next_facing), fraction);
        };
        (0..self.replay.styles.len())
            .filter(|threat| !catchers.contains(threat))
            .for_each(|threat| draw_threat(&mut canvas, threat));
        let facing = (self.heading(index), self.heading((index + 1).min(frames.len() - 1)));
        self.draw_actor(&mut canvas, "player", (positions.player, next.player), facing, fraction);
        // Catchers are drawn on top of the player.
        catchers.iter().for_each(|&threat| draw_threat(&mut canvas, threat));
        if !catchers.is_empty() {
            self.draw(&mut canvas, &self.ring(positions.player), Transform::identity());
        }
        self.caption(&mut canvas, index);
        self.legend(&mut canvas);
        canvas
    }

    fn catchers(&self, index: usize) -> Vec<usize> {
        if self.replay.status != Status::Caught || index + 1 != self.replay.frames.len() {
            return Vec::new();
        }
        let positions = &self.replay.frames[index].positions;
        let threats = positions.threats.iter().enumerate();
        threats.filter(|(_, (at, _))| *at == positions.player).map(|(threat, _)| threat).collect()
    }

    fn ring(&self, at: Position) -> [Shape<'static>; 2] {
        let ring =
            |(name, width): (&str, f32)| Shape::line(circle(at, 0.66), &self.colors()[name], self.width(width, 3.0));
        [("pale", 0.2), ("death", 0.12)].map(ring)
    }

    fn legend(&self, canvas: &mut Pixmap) {
        let entries = legend_entries(self.layers);
        let (size, raster) = (16, RasterHeight::Size16);
        let advance = get_raster_width(FontWeight::Bold, raster) as u32;
        let (mut left, top) = (size / 2, canvas.height().saturating_sub(LEGEND_HEIGHT) + (LEGEND_HEIGHT - size) / 2);
        for (words, color) in entries {
            fill_rect(canvas, left as f32, top as f32 + 3.0, 10.0, 10.0, self.color(color));
            left += 14;
            write_words(canvas, words, (left, top), raster, self.color("text"));
            left += (words.len() as u32 + 2) * advance;
        }
    }

    fn layers(&self, index: usize) -> Vec<Shape<'_>> {
        let (style, colors, mut shapes) = (style(), self.colors(), Vec::new());
        let annotation = self.replay.frames[index].annotation.as_ref();
        if let Some(annotation) = annotation.filter(|_| self.layers.arrival) {
            for (at, arrival) in self.replay.layout.open_positions().zip(&annotation.arrivals) {
                let closeness = arrival.map_or(0.0, |ticks| (1.0 - f32::from(ticks) / style.heat_ticks).max(0.0));
                let d = format!("M{} {}h{TILE}v{TILE}h-{TILE}z", at.x * TILE, at.y * TILE);
                shapes.push(Shape { opacity: style.heat_opacity * closeness, ..Shape::filled(d, &colors["heat"]) });
            }
        }
        if let Some(annotation) = annotation.filter(|_| self.layers.deadly) {
            let (inset, width) = (style.deadly_inset * TILE as f32, self.width(style.deadly_width, 1.5));
            let side = TILE as f32 - 2.0 * inset;
            for at in &annotation.deadly {
                let (x, y) = ((at.x * TILE) as f32 + inset, (at.y * TILE) as f32 + inset);
                let d = format!("M{x} {y}h{side}v{side}h-{side}zl{side} {side}m0 -{side}l-{side} {side}");
                shapes.push(Shape::line(d, &colors["death"], width));
            }
        }
        if self.layers.trail {
            for (age, frame) in self.replay.frames[..index].iter().rev().take(style.trail_ticks).enumerate() {
                let youth = 1.0 - (age + 1) as f32 / (style.trail_ticks + 1) as f32;
                let d = circle(frame.positions.player, style.trail_radius[0] + style.trail_radius[1] * youth);
                shapes.push(Shape { opacity: style.trail_opacity * youth, ..Shape::filled(d, &colors["trail"]) });
            }
        }
        if self.layers.paths {
            for (threat, name) in self.replay.styles.iter().enumerate() {
                let shift = ((threat as f32 + 0.5) / self.replay.styles.len() as f32 - 0.5) * 0.5;
                let d = self.future_path(index, style.path_ticks, shift, |positions| positions.threats[threat].0);
                shapes.push(Shape::line(d, &drawing().sprite(name).color, self.width(style.path_width, 1.5)));
            }
        }
        if self.layers.plan {
            let unit = self.width(style.plan_width, 1.5);
            let dash = Some(style.plan_dash.map(|length| unit * length));
            for (name, width) in [("outline", unit * style.plan_outline), ("plan", unit)] {
                let d = self.future_path(index, style.plan_ticks, 0.0, |positions| positions.player);
                shapes.push(Shape { dash, ..Shape::line(d, &colors[name], width) });
            }
        }
        shapes
    }

    /// `shift` is the line's offset to the right and down in tiles, which separates lines in the same
    /// street.
    fn future_path(&self, index: usize, ticks: usize, shift: f32, place: impl Fn(&Positions) -> Position) -> String {
        let now = std::iter::once(&self.replay.frames[index].positions);
        let mut d = String::new();
        for positions in now.chain(self.replay.following(index).take(ticks)) {
            let (x, y) = center(place(positions));
            let command = if d.is_empty() { 'M' } else { 'L' };
            let _ = write!(d, "{command}{} {}", x + shift * TILE as f32, y + shift * TILE as f32);
        }
        d
    }

    fn draw_actor(
        &self,
        canvas: &mut Pixmap,
        name: &str,
        (at, to): (Position, Position),
        (facing, next_facing): (Direction, Direction),
        fraction: f32,
    ) {
        let (dx, dy) = (to.x - at.x, to.y - at.y);
        let moved = if dx.abs() + dy.abs() == 1 { fraction } else { 0.0 };
        let (x, y) = center(at);
        let mut turn = f32::from(angle(next_facing) - angle(facing)).rem_euclid(360.0);
        if turn > 180.0 {
            turn -= 360.0;
        }
        let size = if name == "player" { style().player_size } else { style().threat_size };
        let transform = Transform::from_scale(size, size)
            .post_rotate(f32::from(angle(facing)) + turn * (fraction * 3.0).min(1.0))
            .post_translate(x + dx as f32 * moved * TILE as f32, y + dy as f32 * moved * TILE as f32);
        self.draw(canvas, &drawing().sprite(name).shapes(self.colors()), transform);
    }

    fn heading(&self, index: usize) -> Direction {
        let heading = self.replay.frames[..=index].windows(2).rev().find_map(|pair| {
            let (before, now) = (pair[0].positions.player, pair[1].positions.player);
            Direction::ALL.into_iter().find(|&direction| before.towards(direction) == now)
        });
        heading.unwrap_or(self.start_heading)
    }

    fn caption(&self, canvas: &mut Pixmap, index: usize) {
        let tick = self.replay.frames[index].tick;
        let is_last = index + 1 == self.replay.frames.len();
        let state = match self.replay.status {
            Status::Caught if is_last => match self.catchers(index).first() {
                Some(&threat) => format!("caught by the {}", self.replay.styles[threat]),
                None => "caught".to_owned(),
            },
            Status::Complete if is_last => "survived".to_owned(),
            _ => phase(&self.replay.rules, tick).map_or("", |phase| phase.name()).to_owned(),
        };
        let words = format!("tick {tick}  score {}  {state}", score_at(tick));
        let height = caption_height(canvas.width());
        let (size, raster) = font_size(canvas.width());
        let top = canvas.height() - height - legend_height(self.layers) + (height - size) / 2;
        write_words(canvas, &words, (size / 2, top), raster, self.color("text"));
    }
}

const LEGEND_HEIGHT: u32 = 24;

fn legend_entries(layers: Layers) -> Vec<(&'static str, &'static str)> {
    let entries = [
        (layers.plan, "plan", "plan"),
        (layers.paths, "paths", "line"),
        (layers.arrival, "arrival", "heat"),
        (layers.deadly, "deadly", "death"),
        (layers.trail, "trail", "trail"),
    ];
    entries.into_iter().filter(|(is_drawn, ..)| *is_drawn).map(|(_, words, color)| (words, color)).collect()
}

fn font_size(width: u32) -> (u32, RasterHeight) {
    if width >= 600 { (24, RasterHeight::Size24) } else { (16, RasterHeight::Size16) }
}

fn legend_height(layers: Layers) -> u32 {
    if legend_entries(layers).is_empty() { 0 } else { LEGEND_HEIGHT }
}

fn caption_height(width: u32) -> u32 {
    font_size(width).0 * 3 / 2
}

fn write_words(canvas: &mut Pixmap, words: &str, (left, top): (u32, u32), raster: RasterHeight, color: Color) {
    let advance = get_raster_width(FontWeight::Bold, raster) as u32;
    let width = canvas.width();
    for (place, letter) in words.chars().enumerate() {
        let x = left + place as u32 * advance;
        let Some(letter) = get_raster(letter, FontWeight::Bold, raster).filter(|_| x + advance <= width) else {
            continue;
        };
        for (row, line) in letter.rows().enumerate() {
            for (column, &shade) in line.iter().enumerate().filter(|&(_, &shade)| shade > 0) {
                let (x, y) = ((x + column as u32) as f32, (top + row as u32) as f32);
                fill_rect(canvas, x, y, 1.0, 1.0, faded(color, f32::from(shade) / 255.0));
            }
        }
    }
}

/// The middle of a tile in hundredths of a tile.
fn center(at: Position) -> (f32, f32) {
    ((at.x as f32 + 0.5) * TILE as f32, (at.y as f32 + 0.5) * TILE as f32)
}

/// A circle around the middle of a tile; the radius is in tiles.
fn circle(at: Position, radius: f32) -> String {
    let ((x, y), r) = (center(at), radius * TILE as f32);
    format!("M{} {y}a{r} {r} 0 1 0 {1} 0a{r} {r} 0 1 0 -{1} 0z", x - r, 2.0 * r)
}

/// Parses SVG path data; `None` if it is invalid. A test checks that all sprites have valid data.
fn path_of(data: &str) -> Option<Path> {
    let mut path = PathBuilder::new();
    let f = |point: kurbo::Point| (point.x as f32, point.y as f32);
    for element in BezPath::from_svg(data).ok()? {
        match element {
            PathEl::MoveTo(to) => path.move_to(f(to).0, f(to).1),
            PathEl::LineTo(to) => path.line_to(f(to).0, f(to).1),
            PathEl::QuadTo(by, to) => path.quad_to(f(by).0, f(by).1, f(to).0, f(to).1),
            PathEl::CurveTo(a, b, to) => path.cubic_to(f(a).0, f(a).1, f(b).0, f(b).1, f(to).0, f(to).1),
            PathEl::ClosePath => path.close(),
        }
    }
    path.finish()
}

fn color(text: &str) -> Color {
    let number = u32::from_str_radix(text.trim_start_matches('#'), 16).unwrap_or_default();
    let [_, red, green, blue] = number.to_be_bytes();
    Color::from_rgba8(red, green, blue, 255)
}

fn faded(mut color: Color, alpha: f32) -> Color {
    color.set_alpha(alpha);
    color
}

fn brush(color: Color) -> Brush<'static> {
    let mut brush = Brush::default();
    brush.set_color(color);
    brush
}

fn fill_rect(canvas: &mut Pixmap, x: f32, y: f32, width: f32, height: f32, color: Color) {
    if let Some(rect) = Rect::from_xywh(x, y, width, height) {
        // The edges lie on whole pixels, so they need no anti-aliasing.
        let brush = Brush { anti_alias: false, ..brush(color) };
        canvas.fill_rect(rect, &brush, Transform::identity(), None);
    }
}

fn animate(renderer: &Renderer, playheads: &[f64], output: impl Write, mut done: impl FnMut(usize)) -> io::Result<()> {
    let mut palette = Palette::of(renderer, playheads);
    let (width, height) = (renderer.streets.width() as u16, renderer.streets.height() as u16);
    let failed = |error: gif::EncodingError| io::Error::other(error.to_string());
    let mut encoder = gif::Encoder::new(output, width, height, &palette.colors.concat()).map_err(failed)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
    let mut shown = vec![None; usize::from(width) * usize::from(height)];
    for (number, &playhead) in playheads.iter().enumerate() {
        let pixels: Vec<u8> = palette.indices(&renderer.paint(playhead));
        let delay = if number + 1 == playheads.len() { LAST_GIF_FRAME_HUNDREDTHS } else { GIF_FRAME_HUNDREDTHS };
        encoder.write_frame(&difference(&mut shown, &pixels, width.into(), delay)).map_err(failed)?;
        done(playheads.len());
    }
    Ok(())
}

/// The smallest rectangle that contains all changes, with unchanged pixels transparent.
fn difference(shown: &mut [Option<u8>], pixels: &[u8], width: usize, delay: u16) -> gif::Frame<'static> {
    let changed = |index: &usize| shown[*index] != Some(pixels[*index]);
    let indices: Vec<(usize, usize)> =
        (0..pixels.len()).filter(changed).map(|index| (index % width, index / width)).collect();
    // If nothing has changed, the frame is a single transparent pixel.
    let bounds = |axis: fn(&(usize, usize)) -> usize| {
        let (least, most) = (indices.iter().map(axis).min(), indices.iter().map(axis).max());
        (least.unwrap_or(0), most.unwrap_or(0))
    };
    let ((left, right), (top, bottom)) = (bounds(|place| place.0), bounds(|place| place.1));
    let mut buffer = Vec::with_capacity((right - left + 1) * (bottom - top + 1));
    for y in top..=bottom {
        for index in y * width + left..=y * width + right {
            let same = shown[index] == Some(pixels[index]);
            buffer.push(if same { GIF_COLORS as u8 } else { pixels[index] });
            shown[index] = Some(pixels[index]);
        }
    }
    gif::Frame {
        delay,
        left: left as u16,
        top: top as u16,
        width: (right - left + 1) as u16,
        height: (bottom - top + 1) as u16,
        transparent: Some(GIF_COLORS as u8),
        dispose: gif::DisposalMethod::Keep,
        buffer: buffer.into(),
        ..gif::Frame::default()
    }
}

struct Palette {
    colors: Vec<[u8; 3]>,
    known: HashMap<[u8; 3], u8>,
}

impl Palette {
    fn of(renderer: &Renderer, playheads: &[f64]) -> Self {
        let mut counts: HashMap<[u8; 3], usize> = HashMap::new();
        let stride = playheads.len().div_ceil(PALETTE_FRAMES).max(1);
        for &playhead in playheads.iter().step_by(stride) {
            for pixel in renderer.paint(playhead).pixels() {
                *counts.entry([pixel.red(), pixel.green(), pixel.blue()]).or_default() += 1;
            }
        }
        let mut ranked: Vec<([u8; 3], usize)> = counts.into_iter().collect();
        ranked.sort_by_key(|&(color, count)| (std::cmp::Reverse(count), color));
        let mut colors: Vec<[u8; 3]> = ranked.into_iter().map(|(color, _)| color).take(GIF_COLORS).collect();
        let known = colors.iter().enumerate().map(|(index, &color)| (color, index as u8)).collect();
        // The last entry is transparent and stands for unchanged pixels.
        colors.resize(GIF_COLORS + 1, [0; 3]);
        Self { colors, known }
    }

    fn indices(&mut self, canvas: &Pixmap) -> Vec<u8> {
        let Self { colors, known } = self;
        let nearest = |color: [u8; 3]| {
            let distance = |other: &[u8; 3]| -> i32 {
                color.iter().zip(other).map(|(&a, &b)| (i32::from(a) - i32::from(b)).pow(2)).sum()
            };
            (0..GIF_COLORS).min_by_key(|&index| distance(&colors[index])).unwrap_or(0) as u8
        };
        let pixels = canvas.pixels().iter().map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]);
        pixels.map(|color| *known.entry(color).or_insert_with(|| nearest(color))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sprite_can_be_parsed() {
        for (name, sprite) in &drawing().sprites {
            assert!(sprite.parts.iter().all(|part| path_of(&part.d).is_some()), "{name}");
        }
    }
}
