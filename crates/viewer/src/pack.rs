//! A film in few bytes: a header in JSON and the moments in binary, which the page unpacks.
//!
//! Numbers are written as differences to the same number of the moment before, zigzag, seven bits a byte: most are 0, and gzip makes
//! short work of them. A stretch of moments begins from zeros, so that every stretch can be read by itself.
//!
//! A moment: a byte of flags, the tick, the player's x and y, and each threat's x, y and direction. With an insight, for each threat its mode, count,
//! the target's x and y (-1 for none) and the length of its path, then the path, two bits a step; how many tiles are deadly, and their
//! x and y; the timing of each open tile. Paths and deadly tiles are no differences. Frames that look ahead are moments without tick and insight.

use serde::{Serialize, Serializer};

use super::film::{Ending, Film, Frame, Mark, Moment, phases};
use super::insight::{Doing, Insight, Mode};
use getaway::game::{POINTS_PER_TICK, Rules};

/// Stands for "never" among the timings.
const NEVER: i32 = 4096;
/// The flag of a moment with an insight.
const HAS_INSIGHT: u8 = 1;

/// What the page is told before the moments.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Header<'a> {
    title: &'a str,
    subtitle: &'a str,
    note: Option<&'a str>,
    #[serde(rename = "noJump", serialize_with = "serialize_no_jump")]
    rules: &'a Rules,
    width: i32,
    height: i32,
    /// Row by row: `#` a wall, `.` open, `~` see-through.
    rows: Vec<String>,
    styles: &'a [String],
    modes: &'a [&'a str],
    /// Tick, name, ticks from move to move.
    phases: Vec<(u32, &'a str, u8)>,
    points_per_tick: u32,
    never: i32,
    ending: Ending,
    score: u32,
    marks: &'a [Mark],
    /// Which of a server's games it is.
    game: u64,
    /// The first moment that follows, and how many there are.
    from: usize,
    count: usize,
    ahead: usize,
}

/// The page knows the no-jump variant alone.
fn serialize_no_jump<S: Serializer>(rules: &Rules, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(rules.no_jump)
}

/// The header and the moments of a film from one of them on. `game` tells one game of a server from another.
pub fn pack(film: &Film, game: u64, from: usize) -> (String, Vec<u8>) {
    let from = from.min(film.moments.len());
    let layout = &film.layout;
    let row = |y: i32| (0..layout.width).map(|x| layout.tiles[(y * layout.width + x) as usize].letter()).collect();
    let header = Header {
        title: &film.title,
        subtitle: &film.subtitle,
        note: film.note.as_deref(),
        rules: &film.rules,
        width: layout.width,
        height: layout.height,
        rows: (0..layout.height).map(row).collect(),
        styles: &film.styles,
        modes: &Mode::TEXTS,
        phases: phases(&film.rules)
            .into_iter()
            .map(|(tick, phase)| (tick, phase.name(), film.rules.period_ticks.of(phase)))
            .collect(),
        points_per_tick: POINTS_PER_TICK,
        never: NEVER,
        ending: film.ending,
        score: film.score(),
        marks: &film.marks,
        game,
        from,
        count: film.moments.len() - from,
        ahead: film.ahead.len(),
    };
    let mut writer = Writer::default();
    film.moments[from..].iter().for_each(|moment| writer.moment(moment));
    film.ahead.iter().for_each(|frame| writer.frame(frame));
    (getaway::protocol::to_json(&header), writer.bytes)
}

/// Writes differences.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    tick: Last,
    frame: Last,
    doings: Last,
    timings: Last,
}

/// The numbers of the moment before.
#[derive(Default)]
struct Last {
    numbers: Vec<i32>,
    next: usize,
}

impl Last {
    /// The next number's predecessor, to be replaced.
    fn next(&mut self) -> &mut i32 {
        if self.next == self.numbers.len() {
            self.numbers.push(0);
        }
        self.next += 1;
        &mut self.numbers[self.next - 1]
    }

    fn rewind(&mut self) {
        self.next = 0;
    }
}

/// Appends a number, zigzag, seven bits a byte, the low ones first.
fn write(bytes: &mut Vec<u8>, number: i32) {
    let mut rest = ((number << 1) ^ (number >> 31)) as u32;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn write_difference(bytes: &mut Vec<u8>, last: &mut Last, number: i32) {
    let before = std::mem::replace(last.next(), number);
    write(bytes, number.wrapping_sub(before));
}

impl Writer {
    fn moment(&mut self, moment: &Moment) {
        self.bytes.push(if moment.insight.is_some() { HAS_INSIGHT } else { 0 });
        self.tick.rewind();
        write_difference(&mut self.bytes, &mut self.tick, moment.tick as i32);
        self.frame(&moment.frame);
        if let Some(insight) = &moment.insight {
            self.insight(insight);
        }
    }

    fn frame(&mut self, frame: &Frame) {
        self.frame.rewind();
        let player = [frame.player.x, frame.player.y];
        let threats = frame.threats.iter().flat_map(|&(at, direction)| [at.x, at.y, direction as i32]);
        for number in player.into_iter().chain(threats) {
            write_difference(&mut self.bytes, &mut self.frame, number);
        }
    }

    fn insight(&mut self, insight: &Insight) {
        self.doings.rewind();
        insight.doings.iter().for_each(|doing| self.doing(doing));
        write(&mut self.bytes, insight.deadly.len() as i32);
        for tile in &insight.deadly {
            write(&mut self.bytes, tile.x);
            write(&mut self.bytes, tile.y);
        }
        self.timings.rewind();
        for timing in &insight.timings {
            write_difference(&mut self.bytes, &mut self.timings, timing.map_or(NEVER, i32::from));
        }
    }

    fn doing(&mut self, doing: &Doing) {
        let (x, y) = doing.target.map_or((-1, -1), |target| (target.x, target.y));
        for number in [doing.mode as i32, doing.count.into(), x, y, doing.path.len() as i32] {
            write_difference(&mut self.bytes, &mut self.doings, number);
        }
        for steps in doing.path.chunks(4) {
            let byte = steps.iter().enumerate().fold(0, |byte, (place, &step)| byte | (step as u8) << (2 * place));
            self.bytes.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::Film;
    use getaway::game::{Direction, Layout, Move, Position, State, World};

    /// Reads what [`Writer`] writes, as the page does.
    struct Reader<'a> {
        bytes: &'a [u8],
        at: usize,
    }

    impl Reader<'_> {
        fn byte(&mut self) -> u8 {
            self.at += 1;
            self.bytes[self.at - 1]
        }

        fn number(&mut self) -> i32 {
            let (mut value, mut shift) = (0_u32, 0);
            loop {
                let byte = self.byte();
                value |= u32::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return (value >> 1) as i32 ^ -((value & 1) as i32);
                }
            }
        }

        fn advance(&mut self, last: &mut [i32]) {
            last.iter_mut().for_each(|number| *number += self.number());
        }

        fn insight(&mut self, doings: &mut [i32], timings: &mut [i32]) -> Insight {
            let mut read = Vec::new();
            for numbers in doings.chunks_mut(5) {
                self.advance(numbers);
                let mut path = Vec::new();
                let mut bits = 0;
                for step in 0..numbers[4] {
                    bits = if step % 4 == 0 { self.byte() } else { bits >> 2 };
                    path.push(Direction::ALL[usize::from(bits & 3)]);
                }
                let target = (numbers[2] >= 0).then(|| Position::new(numbers[2], numbers[3]));
                read.push((numbers[0], Doing { mode: Mode::Unknown, target, path, count: numbers[1] as u8 }));
            }
            let deadly = (0..self.number()).map(|_| Position::new(self.number(), self.number())).collect();
            self.advance(timings);
            let timings = timings.iter().map(|&timing| (timing != NEVER).then_some(timing as u16)).collect();
            // A mode is a number on the way; which one is compared by the caller.
            let doings =
                read.into_iter().map(|(mode, doing)| Doing { count: doing.count, mode: MODES[mode as usize], ..doing });
            Insight { doings: doings.collect(), timings, deadly, one_way_out: false }
        }
    }

    const MODES: [Mode; Mode::TEXTS.len()] = [
        Mode::Unknown,
        Mode::StraightOn,
        Mode::Blocked,
        Mode::Wander,
        Mode::Hunt,
        Mode::Look,
        Mode::Return,
        Mode::Perch,
        Mode::OnlyWay,
        Mode::Approach,
        Mode::Shy,
        Mode::Chase,
        Mode::Track,
        Mode::Patrol,
        Mode::Idle,
    ];

    fn frame_of(numbers: &[i32]) -> Frame {
        let threats = numbers[2..].chunks(3);
        let threats = threats.map(|n| (Position::new(n[0], n[1]), Direction::ALL[n[2] as usize])).collect();
        Frame { player: Position::new(numbers[0], numbers[1]), threats }
    }

    fn unpack(film: &Film, bytes: &[u8], count: usize) -> (Vec<Moment>, Vec<Frame>) {
        let mut reader = Reader { bytes, at: 0 };
        let mut frame = vec![0; 2 + 3 * film.styles.len()];
        let mut doings = vec![0; 5 * film.styles.len()];
        let mut timings = vec![0; film.layout.open_positions().count()];
        let mut tick = 0;
        let mut moments = Vec::new();
        for _ in 0..count {
            let flags = reader.byte();
            tick += reader.number();
            reader.advance(&mut frame);
            let insight = (flags & HAS_INSIGHT != 0).then(|| reader.insight(&mut doings, &mut timings));
            moments.push(Moment { tick: tick as u32, frame: frame_of(&frame), insight });
        }
        let mut ahead = Vec::new();
        while reader.at < bytes.len() {
            reader.advance(&mut frame);
            ahead.push(frame_of(&frame));
        }
        (moments, ahead)
    }

    /// A game in which everybody takes part, with the player walking to and fro.
    fn game(rules: Rules) -> (World, Vec<State>) {
        let drawing = "###########\n#b.......g#\n#.##.#.##.#\n#....P...~#\n#.##.#.##.#\n#s...o..dh#\n###########";
        let world = World::new(&Layout::parse(drawing).expect("a drawing"), &rules).expect("a map");
        let mut states = vec![world.start()];
        while let Some(state) = states.last().filter(|state| !state.is_over() && states.len() < 300) {
            let moves: Vec<Move> = world.moves(state).collect();
            let mut next = state.clone();
            world.step(&mut next, moves[states.len() / 3 % moves.len()]);
            states.push(next);
        }
        (world, states)
    }

    #[test]
    fn what_is_packed_is_the_game() {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let (world, states) = game(rules);
            for length in [1, states.len() / 2, states.len()] {
                let states = &states[..length];
                let film = Film::of_states("a", "b", &world, states);
                assert_eq!(
                    film.ahead.is_empty(),
                    states.last().is_some_and(State::is_over),
                    "a running game is looked ahead"
                );
                for from in [0, length / 3, length] {
                    let (header, bytes) = pack(&film, 7, from);
                    let header: serde_json::Value = serde_json::from_str(&header).expect("JSON");
                    assert_eq!((&header["game"], &header["from"]), (&7.into(), &from.into()));
                    assert_eq!(
                        (&header["count"], &header["ahead"]),
                        (&(length - from).into(), &film.ahead.len().into())
                    );
                    let (moments, ahead) = unpack(&film, &bytes, length - from);
                    assert_eq!(ahead, film.ahead);
                    for (moment, (state, filmed)) in
                        moments.iter().zip(states[from..].iter().zip(&film.moments[from..]))
                    {
                        let threats: Vec<_> =
                            world.threats(state).map(|threat| (threat.position, threat.direction)).collect();
                        assert_eq!((moment.tick, moment.frame.player), (state.tick().into(), world.player(state)));
                        assert_eq!(moment.frame.threats, threats);
                        let insight = filmed.insight.clone().map(|insight| Insight { one_way_out: false, ..insight });
                        assert_eq!(moment.insight, insight);
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_of_every_size_come_back() {
        for number in [0, 1, -1, 63, 64, -64, -65, 8191, 8192, i32::MAX, i32::MIN] {
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            assert_eq!(Reader { bytes: &bytes, at: 0 }.number(), number);
        }
    }

    #[test]
    fn modes_and_their_texts_are_in_the_same_order() {
        assert!(MODES.iter().enumerate().all(|(number, &mode)| mode as usize == number));
    }
}
