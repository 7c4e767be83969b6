//! Films as pictures: a moment as a PNG, a stretch as a GIF. The same shapes, colours and layers as in the page.

use std::collections::HashMap;
use std::io::{self, Write};
use std::str::FromStr;

use kurbo::{BezPath, PathEl};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use thiserror::Error;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Brush, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};

use super::cast::{Paint, Shape, cast};
use super::film::{Ending, Film, Frame, phase};
use getaway::game::{Direction, POINTS_PER_TICK, Position};

/// The real server's pace, which is what a speed of 1 means.
const TICKS_PER_SECOND: f64 = 10.0;
/// Frames of a GIF a second: hundredths of a second are what the format counts in.
const FRAMES_PER_SECOND: f64 = 20.0;
const FRAME_HUNDREDTHS: u16 = 5;
/// How long the last frame of a GIF stays.
const LAST_FRAME_HUNDREDTHS: u16 = 200;
/// Pixels of a picture's side at most.
const MAX_SIDE: u32 = 4096;
/// Pixels of a tile: the most for a PNG and for a GIF, less where the map is large.
const PNG_TILE: u32 = 48;
const PNG_SIDE: u32 = 1600;
const GIF_TILE: u32 = 28;
const GIF_SIDE: u32 = 720;
/// Colours of a GIF, and one more for "as before".
const GIF_COLORS: usize = 255;
/// Frames of a GIF from which its colours are taken.
const PALETTE_FRAMES: usize = 24;
const TRAIL_TICKS: usize = 50;
const PLAN_TICKS: usize = 40;
const PATH_TICKS: usize = 30;
/// Timings from here on are all the same to the eye.
const HEAT_TICKS: f32 = 24.0;

/// Why there is no picture.
#[derive(Debug, Error)]
pub enum PictureError {
    /// No moment has this tick.
    #[error("tick {tick}: not in this game, expected {first} to {last}")]
    Tick {
        /// What was asked for.
        tick: u32,
        /// The first tick that there is.
        first: u32,
        /// The last one.
        last: u32,
    },
    /// The stretch ends before it begins.
    #[error("from tick {from} to tick {to}: expected the end not to be before the start")]
    Backwards {
        /// The start.
        from: u32,
        /// The end.
        to: u32,
    },
    /// A map whose picture would be larger than is of use.
    #[error("the map is too large for a picture, expected at most {MAX_SIDE} tiles a side")]
    TooLarge,
    /// A word that names no layer.
    #[error("no layer named {0}: expected plan, paths, timing, deadly or trail")]
    Layer(String),
    /// The picture cannot be written.
    #[error("{0}")]
    Write(String),
}

/// What is drawn besides the streets and everybody on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Where the player goes next.
    pub plan: bool,
    /// Where the threats go next.
    pub paths: bool,
    /// How soon a threat could be where.
    pub timing: bool,
    /// Where death waits.
    pub deadly: bool,
    /// Where the player has been.
    pub trail: bool,
}

impl FromStr for Layers {
    type Err = PictureError;

    /// Names with commas between: `plan,trail`.
    fn from_str(text: &str) -> Result<Self, PictureError> {
        let mut layers = Self::default();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            *match name {
                "plan" => &mut layers.plan,
                "paths" => &mut layers.paths,
                "timing" => &mut layers.timing,
                "deadly" => &mut layers.deadly,
                "trail" => &mut layers.trail,
                _ => return Err(PictureError::Layer(name.to_owned())),
            } = true;
        }
        Ok(layers)
    }
}

/// Which colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    #[default]
    Light,
    /// Light on dark.
    Dark,
}

/// How pictures are drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct PictureOptions {
    /// What is drawn.
    pub layers: Layers,
    /// Which colours.
    pub theme: Theme,
}

/// Which part of a film becomes a GIF.
#[derive(Clone, Copy, Debug)]
pub struct GifOptions {
    /// The first tick; the film's first unless given.
    pub from: Option<u32>,
    /// The last tick; the film's last unless given.
    pub to: Option<u32>,
    /// How fast: 1 is ten ticks a second.
    pub speed: f64,
}

/// A moment as a PNG: the last one of a tick.
///
/// # Errors
/// When there is no such tick, or the picture cannot be written.
pub fn png(film: &Film, tick: u32, options: PictureOptions) -> Result<Vec<u8>, PictureError> {
    let index = index_of(film, tick)?;
    let painter = Painter::new(film, options, tile_side(film, PNG_TILE, PNG_SIDE)?);
    encode_png(&painter.paint(index as f64)).map_err(|error| PictureError::Write(error.to_string()))
}

fn encode_png(canvas: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, canvas.width(), canvas.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // Nothing is see-through where the whole canvas has been painted.
    let samples: Vec<u8> =
        canvas.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&samples)?;
    writer.finish()?;
    Ok(bytes)
}

/// A stretch as a GIF that is repeated for ever. Gives the number of its frames.
///
/// # Errors
/// When there are no such ticks, or the picture cannot be written.
pub fn gif(
    film: &Film,
    stretch: GifOptions,
    options: PictureOptions,
    output: impl Write,
) -> Result<usize, PictureError> {
    let (first, last) = bounds(film);
    let (from, to) = (stretch.from.unwrap_or(first), stretch.to.unwrap_or(last));
    let (start, end) = (index_of(film, from)?, index_of(film, to)?);
    if start > end {
        return Err(PictureError::Backwards { from, to });
    }
    let painter = Painter::new(film, options, tile_side(film, GIF_TILE, GIF_SIDE)?);
    let ticks_per_frame = TICKS_PER_SECOND * stretch.speed / FRAMES_PER_SECOND;
    let steps = ((end - start) as f64 / ticks_per_frame).ceil() as usize;
    let playheads: Vec<f64> =
        (0..=steps).map(|step| (start as f64 + step as f64 * ticks_per_frame).min(end as f64)).collect();
    let failed = |error: io::Error| PictureError::Write(error.to_string());
    animate(&painter, &playheads, output).map_err(failed)?;
    Ok(playheads.len())
}

fn bounds(film: &Film) -> (u32, u32) {
    let tick = |moment: Option<&super::film::Moment>| moment.map_or(0, |moment| moment.tick);
    (tick(film.moments.first()), tick(film.moments.last()))
}

fn index_of(film: &Film, tick: u32) -> Result<usize, PictureError> {
    let (first, last) = bounds(film);
    film.index_of_tick(tick).ok_or(PictureError::Tick { tick, first, last })
}

/// Pixels of a tile, an even number where there is room for it.
fn tile_side(film: &Film, most: u32, side: u32) -> Result<u32, PictureError> {
    let tiles = film.layout.width.max(film.layout.height).max(1) as u32;
    if tiles > MAX_SIDE {
        return Err(PictureError::TooLarge);
    }
    Ok((side / tiles).clamp(1, most))
}

/// A part of a shape, ready to be drawn.
struct DrawnPart {
    path: Path,
    paint: Paint,
    line: Option<f32>,
}

/// Draws one film.
struct Painter<'a> {
    film: &'a Film,
    layers: Layers,
    theme: Theme,
    tile: f32,
    /// The streets, which never change, with room for the words below them.
    streets: Pixmap,
    shapes: HashMap<&'a str, Vec<DrawnPart>>,
}

impl<'a> Painter<'a> {
    fn new(film: &'a Film, options: PictureOptions, tile: u32) -> Self {
        let names = film.styles.iter().map(String::as_str).chain(["player"]);
        let shapes = names.map(|name| (name, paths_of(cast().shape(name)))).collect();
        let (width, height) = (film.layout.width as u32 * tile, film.layout.height as u32 * tile);
        let streets = Pixmap::new(width, height + caption_height(width)).expect("sides between 1 and a few thousand");
        let mut painter =
            Self { film, layers: options.layers, theme: options.theme, tile: tile as f32, streets, shapes };
        painter.streets = painter.draw_streets();
        painter
    }

    /// A colour of the theme.
    fn color(&self, name: &str) -> Color {
        let theme = if self.theme == Theme::Dark { "dark" } else { "light" };
        color(&cast().themes[theme][name])
    }

    fn draw_streets(&self) -> Pixmap {
        let mut canvas = self.streets.clone();
        let layout = &self.film.layout;
        let tile = self.tile;
        canvas.fill(self.color("paper"));
        fill_rect(&mut canvas, 0.0, 0.0, layout.width as f32 * tile, layout.height as f32 * tile, self.color("wall"));
        let edge = (tile / 24.0).round().max(1.0);
        let dot = (tile / 16.0).round().max(1.0);
        for at in layout.open_positions() {
            let (x, y) = (at.x as f32 * tile, at.y as f32 * tile);
            let street = if layout.tile(at) == getaway::game::Tile::SeeThrough { "see_through" } else { "street" };
            fill_rect(&mut canvas, x, y, tile, tile, self.color(street));
            let middle = ((tile - dot) / 2.0).floor();
            fill_rect(&mut canvas, x + middle, y + middle, dot, dot, self.color("line"));
            for direction in Direction::ALL.into_iter().filter(|&direction| !layout.is_open(at.towards(direction))) {
                let (left, top, width, height) = match direction {
                    Direction::Left => (x, y, edge, tile),
                    Direction::Right => (x + tile - edge, y, edge, tile),
                    Direction::Up => (x, y, tile, edge),
                    Direction::Down => (x, y + tile - edge, tile, edge),
                };
                fill_rect(&mut canvas, left, top, width, height, self.color("line"));
            }
        }
        canvas
    }

    /// The film at a time between two moments.
    fn paint(&self, playhead: f64) -> Pixmap {
        let mut canvas = self.streets.clone();
        let index = (playhead + 1e-9).floor() as usize;
        let share = (playhead - index as f64).max(0.0) as f32;
        let moments = &self.film.moments;
        let frame = &moments[index].frame;
        let next = &moments[(index + 1).min(moments.len() - 1)].frame;
        self.draw_layers(&mut canvas, index);
        for (threat, style) in self.film.styles.iter().enumerate() {
            let ((at, looks), (to, turns)) = (frame.threats[threat], next.threats[threat]);
            self.draw_actor(&mut canvas, style, (at, to), (looks, turns), share);
        }
        let looks = (self.heading(index), self.heading((index + 1).min(moments.len() - 1)));
        self.draw_actor(&mut canvas, "player", (frame.player, next.player), looks, share);
        self.caption(&mut canvas, index);
        canvas
    }

    fn draw_layers(&self, canvas: &mut Pixmap, index: usize) {
        let insight = self.film.moments[index].insight.as_ref();
        if let Some(insight) = insight.filter(|_| self.layers.timing) {
            let heat = self.color("heat");
            for (at, timing) in self.film.layout.open_positions().zip(&insight.timings) {
                let closeness = timing.map_or(0.0, |ticks| (1.0 - f32::from(ticks) / HEAT_TICKS).max(0.0));
                let (x, y) = (at.x as f32 * self.tile, at.y as f32 * self.tile);
                fill_rect(canvas, x, y, self.tile, self.tile, faded(heat, 0.72 * closeness));
            }
        }
        if let Some(insight) = insight.filter(|_| self.layers.deadly) {
            insight.deadly.iter().for_each(|&at| self.draw_deadly(canvas, at));
        }
        if self.layers.trail {
            self.draw_trail(canvas, index);
        }
        if self.layers.paths {
            for (threat, style) in self.film.styles.iter().enumerate() {
                let shift = ((threat as f32 + 0.5) / self.film.styles.len() as f32 - 0.5) * self.tile * 0.5;
                let place = |frame: &Frame| frame.threats[threat].0;
                let width = (self.tile / 12.0).max(1.5);
                self.draw_way(canvas, index, PATH_TICKS, place, color(&cast().shape(style).color), width, shift, None);
            }
        }
        if self.layers.plan {
            let unit = (self.tile / 11.0).max(1.5);
            let dash = Some([unit * 0.1, unit * 2.6]);
            for (name, width) in [("outline", unit * 1.7), ("plan", unit)] {
                self.draw_way(canvas, index, PLAN_TICKS, |frame| frame.player, self.color(name), width, 0.0, dash);
            }
        }
    }

    /// A frame and a cross: seen without its colour too.
    fn draw_deadly(&self, canvas: &mut Pixmap, at: Position) {
        let (x, y) = (at.x as f32 * self.tile, at.y as f32 * self.tile);
        let (near, far) = (self.tile * 0.1, self.tile * 0.9);
        let mut path = PathBuilder::new();
        path.move_to(x + near, y + near);
        for (right, down) in [(far, near), (far, far), (near, far), (near, near), (far, far)] {
            path.line_to(x + right, y + down);
        }
        path.move_to(x + far, y + near);
        path.line_to(x + near, y + far);
        let stroke = Stroke { width: (self.tile / 14.0).max(1.5), ..Stroke::default() };
        stroke_path(canvas, path, &stroke, self.color("death"));
    }

    fn draw_trail(&self, canvas: &mut Pixmap, index: usize) {
        for (age, moment) in self.film.moments[..index].iter().rev().take(TRAIL_TICKS).enumerate() {
            let youth = 1.0 - (age + 1) as f32 / (TRAIL_TICKS + 1) as f32;
            let (x, y) = self.center(moment.frame.player);
            if let Some(dot) = PathBuilder::from_circle(x, y, self.tile * (0.05 + 0.1 * youth)) {
                let brush = brush(faded(self.color("trail"), 0.6 * youth));
                canvas.fill_path(&dot, &brush, FillRule::Winding, Transform::identity(), None);
            }
        }
    }

    /// A line through somebody's places in the ticks to come.
    #[expect(clippy::too_many_arguments, reason = "what a line looks like is given where it is drawn, twice")]
    fn draw_way(
        &self,
        canvas: &mut Pixmap,
        index: usize,
        ticks: usize,
        place: impl Fn(&Frame) -> Position,
        color: Color,
        width: f32,
        shift: f32,
        dash: Option<[f32; 2]>,
    ) {
        let mut path = PathBuilder::new();
        let (x, y) = self.center(place(&self.film.moments[index].frame));
        path.move_to(x + shift, y + shift);
        for frame in self.film.following(index).take(ticks) {
            let (x, y) = self.center(place(frame));
            path.line_to(x + shift, y + shift);
        }
        let dash = dash.and_then(|dash| StrokeDash::new(dash.to_vec(), 0.0));
        let stroke = Stroke { width, dash, line_cap: LineCap::Round, line_join: LineJoin::Round, ..Stroke::default() };
        stroke_path(canvas, path, &stroke, color);
    }

    fn center(&self, at: Position) -> (f32, f32) {
        ((at.x as f32 + 0.5) * self.tile, (at.y as f32 + 0.5) * self.tile)
    }

    /// Somebody between two tiles: along the way if it is one step, at once if it is a leap.
    fn draw_actor(
        &self,
        canvas: &mut Pixmap,
        name: &str,
        (at, to): (Position, Position),
        (looks, turns): (Direction, Direction),
        share: f32,
    ) {
        let (dx, dy) = (to.x - at.x, to.y - at.y);
        let ease = if dx.abs() + dy.abs() == 1 { share } else { 0.0 };
        let (x, y) = self.center(at);
        let mut turn = (angle(turns) - angle(looks)).rem_euclid(360.0);
        if turn > 180.0 {
            turn -= 360.0;
        }
        let scale = self.tile / 100.0 * if name == "player" { 0.9 } else { 0.98 };
        let transform = Transform::from_scale(scale, scale)
            .post_rotate(angle(looks) + turn * (share * 3.0).min(1.0))
            .post_translate(x + dx as f32 * ease * self.tile, y + dy as f32 * ease * self.tile);
        let body = color(&cast().shape(name).color);
        for part in &self.shapes[name] {
            self.draw_part(canvas, part, body, transform);
        }
    }

    fn draw_part(&self, canvas: &mut Pixmap, part: &DrawnPart, body: Color, transform: Transform) {
        let &DrawnPart { ref path, paint, line } = part;
        let (ink, pale, outline) = (self.color("ink"), self.color("pale"), self.color("outline"));
        let fill = match paint {
            Paint::Body => body,
            Paint::Ink => ink,
            Paint::Pale => pale,
        };
        // From the outside in: a halo that keeps dark from dark, an outline, the part itself.
        let strokes: &[(f32, Color)] = match (paint, line) {
            (Paint::Ink, Some(width)) => &[(width + 3.0, pale), (width, fill)],
            (_, Some(width)) => &[(width, fill)],
            (Paint::Body, None) => &[(11.0, pale), (6.0, outline)],
            (Paint::Pale, None) => &[(5.0, outline)],
            (Paint::Ink, None) => &[],
        };
        for &(width, color) in strokes {
            let stroke = Stroke { width, line_cap: LineCap::Round, line_join: LineJoin::Round, ..Stroke::default() };
            canvas.stroke_path(path, &brush(color), &stroke, transform, None);
        }
        if line.is_none() {
            canvas.fill_path(path, &brush(fill), FillRule::Winding, transform, None);
        }
    }

    /// Which way the player looked when it last moved.
    fn heading(&self, index: usize) -> Direction {
        let moments = &self.film.moments[..=index];
        let steps = moments.windows(2).rev().filter_map(|pair| {
            let (before, now) = (pair[0].frame.player, pair[1].frame.player);
            Direction::ALL.into_iter().find(|&direction| before.towards(direction) == now)
        });
        steps.take(1).next().unwrap_or(Direction::Right)
    }

    /// Tick, score and phase under the map.
    fn caption(&self, canvas: &mut Pixmap, index: usize) {
        let tick = self.film.moments[index].tick;
        let is_last = index + 1 == self.film.moments.len();
        let state = match self.film.ending {
            Ending::Caught if is_last => "caught",
            Ending::Complete if is_last => "survived",
            _ => phase(&self.film.rules, tick).map_or("", |phase| phase.name()),
        };
        let words = format!("tick {tick}  score {}  {state}", tick * POINTS_PER_TICK);
        let height = caption_height(canvas.width());
        let (size, raster) = letters(canvas.width());
        let top = canvas.height() - height + (height - size) / 2;
        write_words(canvas, &words, (size / 2, top), raster, self.color("text"));
    }
}

/// The size of letters for a picture's width.
fn letters(width: u32) -> (u32, RasterHeight) {
    if width >= 600 { (24, RasterHeight::Size24) } else { (16, RasterHeight::Size16) }
}

fn caption_height(width: u32) -> u32 {
    letters(width).0 * 3 / 2
}

/// Writes what fits.
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

/// A shape's parts as paths.
fn paths_of(shape: &Shape) -> Vec<DrawnPart> {
    let parts = shape.parts.iter();
    parts.filter_map(|part| Some(DrawnPart { path: path_of(&part.d)?, paint: part.paint, line: part.line })).collect()
}

/// Path data as a path; none where it is not path data, which a test rules out.
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

/// `#rrggbb`.
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
        // Whole pixels have no soft edges.
        let brush = Brush { anti_alias: false, ..brush(color) };
        canvas.fill_rect(rect, &brush, Transform::identity(), None);
    }
}

fn stroke_path(canvas: &mut Pixmap, path: PathBuilder, stroke: &Stroke, color: Color) {
    if let Some(path) = path.finish() {
        canvas.stroke_path(&path, &brush(color), stroke, Transform::identity(), None);
    }
}

/// Degrees, clockwise, from looking right.
const fn angle(direction: Direction) -> f32 {
    match direction {
        Direction::Right => 0.0,
        Direction::Down => 90.0,
        Direction::Left => 180.0,
        Direction::Up => 270.0,
    }
}

/// Writes the frames, each as what differs from the one before.
fn animate(painter: &Painter, playheads: &[f64], output: impl Write) -> io::Result<()> {
    let mut palette = Palette::of(painter, playheads);
    let (width, height) = (painter.streets.width() as u16, painter.streets.height() as u16);
    let failed = |error: gif::EncodingError| io::Error::other(error.to_string());
    let mut encoder = gif::Encoder::new(output, width, height, &palette.colors.concat()).map_err(failed)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
    let mut shown = vec![None; usize::from(width) * usize::from(height)];
    for (number, &playhead) in playheads.iter().enumerate() {
        let pixels: Vec<u8> = palette.indices(&painter.paint(playhead));
        let delay = if number + 1 == playheads.len() { LAST_FRAME_HUNDREDTHS } else { FRAME_HUNDREDTHS };
        encoder.write_frame(&difference(&mut shown, &pixels, width.into(), delay)).map_err(failed)?;
    }
    Ok(())
}

/// The smallest rectangle in which something changes, with what does not change left out.
fn difference(shown: &mut [Option<u8>], pixels: &[u8], width: usize, delay: u16) -> gif::Frame<'static> {
    let changed = |index: &usize| shown[*index] != Some(pixels[*index]);
    let places: Vec<(usize, usize)> =
        (0..pixels.len()).filter(changed).map(|index| (index % width, index / width)).collect();
    // Nothing at all still takes its time: one pixel as before.
    let bounds = |axis: fn(&(usize, usize)) -> usize| {
        let (least, most) = (places.iter().map(axis).min(), places.iter().map(axis).max());
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

/// The colours that a GIF has: those that its frames have most.
struct Palette {
    colors: Vec<[u8; 3]>,
    known: HashMap<[u8; 3], u8>,
}

impl Palette {
    fn of(painter: &Painter, playheads: &[f64]) -> Self {
        let mut counts: HashMap<[u8; 3], usize> = HashMap::new();
        let stride = playheads.len().div_ceil(PALETTE_FRAMES).max(1);
        for &playhead in playheads.iter().step_by(stride) {
            for pixel in painter.paint(playhead).pixels() {
                *counts.entry([pixel.red(), pixel.green(), pixel.blue()]).or_default() += 1;
            }
        }
        let mut ranked: Vec<([u8; 3], usize)> = counts.into_iter().collect();
        ranked.sort_by_key(|&(color, count)| (std::cmp::Reverse(count), color));
        let mut colors: Vec<[u8; 3]> = ranked.into_iter().map(|(color, _)| color).take(GIF_COLORS).collect();
        let known = colors.iter().enumerate().map(|(index, &color)| (color, index as u8)).collect();
        // The last place is the one that means "as before".
        colors.resize(GIF_COLORS + 1, [0; 3]);
        Self { colors, known }
    }

    /// A picture by the numbers of its colours, the nearest where one is not there.
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
    fn every_shape_can_be_drawn() {
        for (name, shape) in &cast().shapes {
            assert_eq!(paths_of(shape).len(), shape.parts.len(), "{name}");
        }
    }
}
