//! The packed format of a replay: a JSON header and binary frames, unpacked by the page.
//!
//! Most numbers are stored as zigzag-encoded varints. Such a varint holds the difference from the
//! last packed value of the same field, or the number itself if the field has not been packed
//! before. So a packed range of frames can be decoded on its own.
//!
//! A frame holds a flags byte, the tick, the player's x and y, and each threat's x, y and
//! direction. An annotation adds, for each threat, the intent's kind and count, the target's x and
//! y (-1 for none), the path's length, and the path with two bits per step. Then it adds the number
//! of deadly tiles, their x and y, and for each open tile the ticks until a threat can reach it.
//! The number of deadly tiles and their coordinates are varints, but not differences. A forecast
//! frame holds only positions and directions.

use serde::Serialize;

use super::address::Address;
use super::annotation::{Annotation, Intent, IntentKind};
use super::recorded::Positions;
use super::replay::{Frame, GameHeader, Mark, Replay, phases};
use getaway::game::{LAST_TICK, POINTS_PER_TICK, Status};

/// The arrival that is stored for a tile that no threat can ever reach.
const NEVER: i32 = 4096;
const HAS_ANNOTATION: u8 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Header<'a> {
    title: &'a str,
    subtitle: &'a str,
    note: Option<&'a str>,
    no_jump: bool,
    width: i32,
    height: i32,
    /// One string per row of tiles: `#` is a wall, `.` is open, `~` is see-through.
    rows: Vec<String>,
    styles: &'a [String],
    intent_texts: [&'a str; IntentKind::TEXTS.len()],
    /// For each phase: its first tick, its name, and the period of the threats' moves in ticks.
    phases: Vec<(u32, &'a str, u8)>,
    points_per_tick: u32,
    last_tick: u16,
    never: i32,
    status: Status,
    is_live: bool,
    score: u32,
    marks: &'a [Mark],
    about: &'a GameHeader,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: &'a Option<Address>,
    game: u64,
    /// Index of the first packed frame.
    from: usize,
    /// Number of packed frames.
    count: usize,
    forecast: usize,
}

/// Packs the frames from index `from` on, and the forecast. Returns the header and the frames.
/// `game` is the number of a live game on the page's server; 0 for other games.
pub fn pack(replay: &Replay, game: u64, from: usize) -> (String, Vec<u8>) {
    let from = from.min(replay.frames.len());
    let layout = &replay.layout;
    let row = |y: i32| (0..layout.width).map(|x| layout.tiles[(y * layout.width + x) as usize].letter()).collect();
    let header = Header {
        title: &replay.title,
        subtitle: &replay.subtitle,
        note: replay.note.as_deref(),
        no_jump: replay.rules.no_jump,
        width: layout.width,
        height: layout.height,
        rows: (0..layout.height).map(row).collect(),
        styles: &replay.styles,
        intent_texts: IntentKind::TEXTS,
        phases: phases(&replay.rules)
            .into_iter()
            .map(|(tick, phase)| (tick, phase.name(), replay.rules.period_ticks.of(phase)))
            .collect(),
        points_per_tick: POINTS_PER_TICK,
        last_tick: LAST_TICK,
        never: NEVER,
        status: replay.status,
        is_live: replay.is_live,
        score: replay.score(),
        marks: &replay.marks,
        about: &replay.header,
        address: &replay.address,
        game,
        from,
        count: replay.frames.len() - from,
        forecast: replay.forecast.len(),
    };
    let mut writer = Writer::default();
    replay.frames[from..].iter().for_each(|frame| writer.frame(frame));
    replay.forecast.iter().for_each(|positions| writer.positions(positions));
    (getaway::protocol::to_json(&header), writer.bytes)
}

/// The header's length (four bytes, little-endian), the header, and the frames.
pub fn body((header, frames): &(String, Vec<u8>)) -> Vec<u8> {
    [&(header.len() as u32).to_le_bytes()[..], header.as_bytes(), frames].concat()
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    tick: PreviousValues,
    positions: PreviousValues,
    intents: PreviousValues,
    arrivals: PreviousValues,
}

#[derive(Default)]
struct PreviousValues {
    numbers: Vec<i32>,
    next: usize,
}

impl PreviousValues {
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

fn write(bytes: &mut Vec<u8>, number: i32) {
    let mut rest = ((number << 1) ^ (number >> 31)) as u32;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn write_difference(bytes: &mut Vec<u8>, previous: &mut PreviousValues, number: i32) {
    let before = std::mem::replace(previous.next(), number);
    write(bytes, number.wrapping_sub(before));
}

impl Writer {
    fn frame(&mut self, frame: &Frame) {
        self.bytes.push(if frame.annotation.is_some() { HAS_ANNOTATION } else { 0 });
        self.tick.rewind();
        write_difference(&mut self.bytes, &mut self.tick, frame.tick as i32);
        self.positions(&frame.positions);
        if let Some(annotation) = &frame.annotation {
            self.annotation(annotation);
        }
    }

    fn positions(&mut self, positions: &Positions) {
        self.positions.rewind();
        let player = [positions.player.x, positions.player.y];
        let threats = positions.threats.iter().flat_map(|&(at, direction)| [at.x, at.y, direction as i32]);
        for number in player.into_iter().chain(threats) {
            write_difference(&mut self.bytes, &mut self.positions, number);
        }
    }

    fn annotation(&mut self, annotation: &Annotation) {
        self.intents.rewind();
        annotation.intents.iter().for_each(|intent| self.intent(intent));
        write(&mut self.bytes, annotation.deadly.len() as i32);
        for tile in &annotation.deadly {
            write(&mut self.bytes, tile.x);
            write(&mut self.bytes, tile.y);
        }
        self.arrivals.rewind();
        for arrival in &annotation.arrivals {
            write_difference(&mut self.bytes, &mut self.arrivals, arrival.map_or(NEVER, i32::from));
        }
    }

    fn intent(&mut self, intent: &Intent) {
        let (x, y) = intent.target.map_or((-1, -1), |target| (target.x, target.y));
        for number in [intent.kind as i32, intent.count.into(), x, y, intent.path.len() as i32] {
            write_difference(&mut self.bytes, &mut self.intents, number);
        }
        for steps in intent.path.chunks(4) {
            let byte = steps.iter().enumerate().fold(0, |byte, (place, &step)| byte | (step as u8) << (2 * place));
            self.bytes.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Replay;
    use getaway::game::{Direction, Layout, Move, Position, Rules, State, World};

    const KINDS: [IntentKind; IntentKind::TEXTS.len()] = [
        IntentKind::Unknown,
        IntentKind::BullStraightOn,
        IntentKind::BullBlocked,
        IntentKind::GoldfishWandering,
        IntentKind::SharkChasing,
        IntentKind::OwlLooking,
        IntentKind::OwlReturning,
        IntentKind::OwlWaiting,
        IntentKind::DeerSingleOption,
        IntentKind::DeerApproaching,
        IntentKind::DeerShy,
        IntentKind::HawkChasing,
        IntentKind::HawkTracking,
        IntentKind::HawkPatrolling,
        IntentKind::HawkWaiting,
    ];

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

        fn annotation(&mut self, intents: &mut [i32], arrivals: &mut [i32]) -> Annotation {
            let mut read = Vec::new();
            for numbers in intents.chunks_mut(5) {
                self.advance(numbers);
                let mut path = Vec::new();
                let mut bits = 0;
                for step in 0..numbers[4] {
                    bits = if step % 4 == 0 { self.byte() } else { bits >> 2 };
                    path.push(Direction::ALL[usize::from(bits & 3)]);
                }
                let target = (numbers[2] >= 0).then(|| Position::new(numbers[2], numbers[3]));
                read.push((numbers[0], Intent { kind: IntentKind::Unknown, target, path, count: numbers[1] as u8 }));
            }
            let deadly = (0..self.number()).map(|_| Position::new(self.number(), self.number())).collect();
            self.advance(arrivals);
            let arrivals = arrivals.iter().map(|&arrival| (arrival != NEVER).then_some(arrival as u16)).collect();
            let intents = read.into_iter().map(|(kind, intent)| Intent {
                count: intent.count,
                kind: KINDS[kind as usize],
                ..intent
            });
            Annotation { intents: intents.collect(), arrivals, deadly, has_single_safe_move: false }
        }
    }

    fn positions_of(numbers: &[i32]) -> Positions {
        let threats = numbers[2..].chunks(3);
        let threats = threats.map(|n| (Position::new(n[0], n[1]), Direction::ALL[n[2] as usize])).collect();
        Positions { player: Position::new(numbers[0], numbers[1]), threats }
    }

    fn unpack(replay: &Replay, bytes: &[u8], count: usize) -> (Vec<Frame>, Vec<Positions>) {
        let mut reader = Reader { bytes, at: 0 };
        let mut positions = vec![0; 2 + 3 * replay.styles.len()];
        let mut intents = vec![0; 5 * replay.styles.len()];
        let mut arrivals = vec![0; replay.layout.open_positions().count()];
        let mut tick = 0;
        let mut frames = Vec::new();
        for _ in 0..count {
            let flags = reader.byte();
            tick += reader.number();
            reader.advance(&mut positions);
            let annotation = (flags & HAS_ANNOTATION != 0).then(|| reader.annotation(&mut intents, &mut arrivals));
            frames.push(Frame { tick: tick as u32, positions: positions_of(&positions), annotation });
        }
        let mut forecast = Vec::new();
        while reader.at < bytes.len() {
            reader.advance(&mut positions);
            forecast.push(positions_of(&positions));
        }
        (frames, forecast)
    }

    fn game(rules: Rules) -> (World, Vec<State>) {
        let drawing = "###########\n#B.......G#\n#.##.#.##.#\n#....P...~#\n#.##.#.##.#\n#S...O..DH#\n###########";
        let world = World::new(&Layout::parse(drawing).expect("a drawing"), &rules).expect("a map");
        let mut states = vec![world.start()];
        while let Some(state) = states.last().filter(|state| !state.is_over() && states.len() < 300) {
            let moves: Vec<Move> = world.legal_moves(state).collect();
            states.push(world.after(state, moves[states.len() / 3 % moves.len()]));
        }
        (world, states)
    }

    #[test]
    fn packed_replay_unpacks_to_the_same_game() {
        for rules in [Rules::BLITZ_2025, Rules::NO_JUMP] {
            let (world, states) = game(rules);
            for length in [1, states.len() / 2, states.len()] {
                let states = &states[..length];
                let replay = Replay::of_states("a", "b", &world, states);
                assert_eq!(
                    replay.forecast.is_empty(),
                    states.last().is_some_and(State::is_over),
                    "a running game has a forecast"
                );
                for from in [0, length / 3, length] {
                    let (header, bytes) = pack(&replay, 7, from);
                    let header: serde_json::Value = serde_json::from_str(&header).expect("JSON");
                    assert_eq!((&header["game"], &header["from"]), (&7.into(), &from.into()));
                    assert_eq!(
                        (&header["count"], &header["forecast"]),
                        (&(length - from).into(), &replay.forecast.len().into())
                    );
                    let (frames, forecast) = unpack(&replay, &bytes, length - from);
                    assert_eq!(forecast, replay.forecast);
                    for (frame, (state, built)) in frames.iter().zip(states[from..].iter().zip(&replay.frames[from..]))
                    {
                        let threats: Vec<_> =
                            world.threats(state).map(|threat| (threat.position, threat.direction)).collect();
                        assert_eq!((frame.tick, frame.positions.player), (state.tick().into(), world.player(state)));
                        assert_eq!(frame.positions.threats, threats);
                        let annotation = built
                            .annotation
                            .clone()
                            .map(|annotation| Annotation { has_single_safe_move: false, ..annotation });
                        assert_eq!(frame.annotation, annotation);
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_of_every_size_round_trip() {
        for number in [0, 1, -1, 63, 64, -64, -65, 8191, 8192, i32::MAX, i32::MIN] {
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            assert_eq!(Reader { bytes: &bytes, at: 0 }.number(), number);
        }
    }

    #[test]
    fn kinds_are_listed_in_the_order_of_their_numbers() {
        assert!(KINDS.iter().enumerate().all(|(number, &kind)| kind as usize == number));
    }
}
