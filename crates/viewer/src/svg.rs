//! Games as SVG for notebooks and browsers, with SMIL animations. The SVG has no script, loads no
//! files, and has no `id` that could clash with one in another drawing.

use std::fmt::Write;

use super::drawing::{Colors, Shape, TILE, angle, drawing, streets};
use super::recorded::Positions;
use super::replay::{phase, positions_of};
use getaway::game::{Direction, State, Status, World};

const CAPTION: i32 = 100;
/// Width of a column of tiles in pixels, unless the drawing would exceed `WIDTH_PIXELS_MAX`.
const TILE_PIXELS: i32 = 32;
const WIDTH_PIXELS_MAX: i32 = 800;

pub fn svg(world: &World, state: &State, heading: Direction) -> String {
    draw_all(world, std::slice::from_ref(state), heading, 1.0)
}

/// Draws consecutive states as an endless animation. Speed 1 shows ten ticks per second. Panics if
/// `states` is empty.
pub fn svg_animation(world: &World, states: &[State], speed: f64) -> String {
    draw_all(world, states, Direction::Right, speed)
}

fn draw_all(world: &World, states: &[State], heading: Direction, speed: f64) -> String {
    let last = states.last().expect("a drawing shows at least one state");
    let frames: Vec<Positions> = states.iter().map(|state| positions_of(world, state)).collect();
    let layout = world.layout();
    let (width, height) = (layout.width * TILE, layout.height * TILE);
    let pixels = (layout.width * TILE_PIXELS).min(WIDTH_PIXELS_MAX);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" width=\"{pixels}\" role=\"img\">",
        height + CAPTION
    );
    let _ = write!(out, "<title>{}</title>", words(world, last));
    draw(&mut out, &Shape::filled(format!("M0 0h{width}v{}H0z", height + CAPTION), &colors()["paper"]));
    streets(layout, colors()).iter().for_each(|shape| draw(&mut out, shape));
    let seconds = (frames.len() - 1) as f64 / (drawing().layers.ticks_per_second * speed);
    let animation = Animation { seconds };
    // For the actors, the origin is the middle of the top-left tile, and a tile has side 1.
    let _ = write!(out, "<g transform=\"translate({0} {0}) scale({TILE})\">", TILE / 2);
    for (threat, spawn) in layout.threats.iter().enumerate() {
        let places = frames.iter().map(|frame| frame.threats[threat]).map(|(at, facing)| ([at.x, at.y], facing));
        animation.actor(&mut out, spawn.style.name(), drawing().layers.threat_size, places.collect());
    }
    let mut facing = heading;
    let players = frames.iter().enumerate().map(|(index, frame)| {
        let before = frames[index.saturating_sub(1)].player;
        facing = Direction::ALL.into_iter().find(|&way| before.towards(way) == frame.player).unwrap_or(facing);
        ([frame.player.x, frame.player.y], facing)
    });
    animation.actor(&mut out, "player", drawing().layers.player_size, players.collect());
    out.push_str("</g>");
    let (left, base) = (TILE / 4, height + CAPTION * 7 / 10);
    let _ = write!(
        out,
        "<text x=\"{left}\" y=\"{base}\" font-family=\"sans-serif\" font-size=\"{}\" fill=\"{}\">{}</text>",
        CAPTION * 6 / 10,
        colors()["text"],
        words(world, last)
    );
    if frames.len() > 1 {
        let (top, thick) = (height, CAPTION / 10);
        let _ = write!(
            out,
            "<rect y=\"{top}\" width=\"0\" height=\"{thick}\" fill=\"{}\"><animate attributeName=\"width\" \
             values=\"0;{width}\"{}/></rect>",
            colors()["line"],
            animation.timing()
        );
    }
    out.push_str("</svg>\n");
    out
}

fn words(world: &World, state: &State) -> String {
    let how = match state.status() {
        Status::Caught => "caught",
        Status::Complete => "survived",
        Status::Running => phase(world.rules(), state.tick().into()).map_or("", |phase| phase.name()),
    };
    format!("tick {}, score {}, {how}", state.tick(), world.score(state))
}

fn colors() -> &'static Colors {
    &drawing().themes["light"]
}

struct Animation {
    seconds: f64,
}

impl Animation {
    fn timing(&self) -> String {
        format!(" dur=\"{:.3}s\" repeatCount=\"indefinite\"", self.seconds)
    }

    fn actor(&self, out: &mut String, name: &str, size: f32, places: Vec<([i32; 2], Direction)>) {
        let sprite = drawing().sprite(name);
        let ([x, y], facing) = places[0];
        let turns: Vec<i16> = places.iter().map(|&(_, facing)| angle(facing)).collect();
        let _ = write!(out, "<g transform=\"translate({x} {y})\">");
        if places.windows(2).any(|pair| pair[0].0 != pair[1].0) {
            let values = list(places.iter().map(|([x, y], _)| format!("{x} {y}")));
            self.movement(out, "translate", "linear", &values);
        }
        let _ = write!(out, "<g transform=\"rotate({})\">", angle(facing));
        if turns.windows(2).any(|pair| pair[0] != pair[1]) {
            // An actor turns before it moves, so each frame shows the direction of the next frame.
            let values = list(turns[1..].iter().map(i16::to_string));
            self.movement(out, "rotate", "discrete", &values);
        }
        let _ = write!(out, "<g transform=\"scale({})\">", size / TILE as f32);
        sprite.shapes(colors()).iter().for_each(|shape| draw(out, shape));
        out.push_str("</g></g></g>");
    }

    fn movement(&self, out: &mut String, kind: &str, mode: &str, values: &str) {
        let timing = self.timing();
        let _ = write!(
            out,
            "<animateTransform attributeName=\"transform\" type=\"{kind}\" calcMode=\"{mode}\" values=\"{values}\"{timing}/>"
        );
    }
}

fn list(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(";")
}

fn draw(out: &mut String, Shape { d, color, line, .. }: &Shape<'_>) {
    let _ = match line {
        Some(width) => write!(
            out,
            "<path fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" stroke-linecap=\"round\" \
             stroke-linejoin=\"round\" d=\"{d}\"/>"
        ),
        None => write!(out, "<path fill=\"{color}\" d=\"{d}\"/>"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{Layout, Move, Rules};

    #[test]
    fn still_shows_every_actor_where_it_is() {
        let world = World::new(&Layout::parse("P..#\n.~.O").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let states = world.states_along(&world.start(), &[Move::Right]);
        let drawn = svg(&world, &states[1], Direction::Left);
        assert!(drawn.contains("<g transform=\"translate(1 0)\"><g transform=\"rotate(180)\">"), "{drawn}");
        assert!(drawn.contains("<g transform=\"translate(3 1)\">"), "{drawn}");
        assert!(drawn.contains("tick 2, score 10, lazy"), "{drawn}");
        assert_eq!(drawn.matches("animate").count(), 0);
    }

    #[test]
    fn animation_moves_each_actor_through_its_places() {
        let world = World::new(&Layout::parse("P..\n#.#").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
        let states = world.states_along(&world.start(), &[Move::Right, Move::Down, Move::Stay, Move::Up]);
        let drawn = svg_animation(&world, &states, 2.0);
        assert!(drawn.contains("values=\"0 0;1 0;1 1;1 1;1 0\" dur=\"0.200s\""), "{drawn}");
        assert!(drawn.contains("calcMode=\"discrete\" values=\"0;90;90;270\""), "{drawn}");
    }
}
