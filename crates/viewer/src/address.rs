//! Encodes a game and the displayed tick as the part of a page's address after `#`, and decodes it.
//!
//! The format is `game=DATA&tick=N`, where DATA is the game as gzipped JSON in base64url.
//!
//! Guarantees: decoding a damaged address fails or returns the original game, unless the damage
//! goes undetected by gzip's 32-bit checksum of the game. Decoding takes bounded memory.

use std::io::{Read, Write};
use std::sync::LazyLock;

use data_encoding::BASE64URL_NOPAD;
use flate2::Compression;
// The decoder in `flate2::read` may consume bytes of its reader after the end of the gzip stream.
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use getaway::game::{Layout, Move, Plan, Rules, State, World};
use getaway::map::{Map, MapLibrary};

use super::game::{Game, NAME_CHARS_MAX};

const ADDRESS_CHARS_MAX: usize = 16_000;
/// Exclusive: the JSON must be shorter than this.
const JSON_BYTES_MAX: u64 = 256 << 10;
/// The gzip header: magic number, method, no flags, no time, best compression, unknown system.
/// `decode` accepts no other header, because gzip's checksum does not cover the header.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];

static BUNDLED: LazyLock<Vec<Map>> = LazyLock::new(|| {
    let entries = MapLibrary::default().list().unwrap_or_default();
    entries.iter().filter_map(|entry| entry.load().ok()).collect()
});

pub fn bundled_maps() -> &'static [Map] {
    &BUNDLED
}

/// The part of a replay that an address can hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Address {
    /// The address up to the tick: `game=DATA`.
    data: String,
    /// The number of moves; in a recording, those before its first missing message or divergence.
    moves: usize,
}

impl Address {
    /// Returns `None` if the game is invalid or too large, or if `game` is `None`.
    pub(super) fn of(game: Option<Game>) -> Option<Self> {
        let game = game.filter(|game| game.world().is_ok())?;
        let moves = game.moves.len();
        let address = encode(&Position { game, index: 0 }).ok()?;
        Some(Self { data: address.split('&').next()?.to_owned(), moves })
    }

    /// Returns `None` if `states` do not begin with the start of the game, or if the game is too large.
    pub(super) fn of_states(name: &str, world: &World, states: &[State]) -> Option<Self> {
        let is_start = states.first() == Some(&world.start());
        Self::of(is_start.then(|| Game {
            name: name.chars().take(NAME_CHARS_MAX).collect(),
            map: world.layout().clone(),
            rules: *world.rules(),
            moves: states.windows(2).map(|pair| move_between(world, &pair[0], &pair[1])).collect::<Vec<_>>().into(),
        }))
    }
}

/// The content of an address. Empty fields other than `name` are omitted.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    name: String,
    /// The map; `None` if it is the bundled map with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    map: Option<Layout>,
    /// The rules that differ from the server's.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    rules: serde_json::Map<String, Value>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    moves: String,
}

/// The player's move, or staying for a blocked one.
fn move_between(world: &World, before: &State, after: &State) -> Move {
    world.player(before).move_to(world.player(after)).unwrap_or(Move::Stay)
}

fn bundled(name: &str) -> Option<&'static Layout> {
    BUNDLED.iter().find(|map| map.name == name).map(|map| &map.layout)
}

fn differing(rules: &Rules) -> serde_json::Map<String, Value> {
    let fields = |rules: &Rules| match serde_json::to_value(rules) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let server = fields(&Rules::BLITZ_2025);
    fields(rules).into_iter().filter(|(name, value)| server.get(name) != Some(value)).collect()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    pub game: Game,
    /// The number of moves made before the position: 0 at tick 1.
    pub index: usize,
}

/// Returns the address of a position. Fails if the game is too large for an address.
pub fn encode(position: &Position) -> Result<String, String> {
    let Game { name, map, rules, moves } = &position.game;
    let content = Content {
        name: name.clone(),
        map: (bundled(name) != Some(map)).then(|| map.clone()),
        rules: differing(rules),
        moves: moves.to_string(),
    };
    let json = serde_json::to_vec(&content).map_err(|error| error.to_string())?;
    let mut zipped = GzEncoder::new(Vec::new(), Compression::best());
    let zipped = zipped.write_all(&json).and_then(|()| zipped.finish()).map_err(|error| error.to_string())?;
    let address = format!("game={}&tick={}", BASE64URL_NOPAD.encode(&zipped), position.index + 1);
    if address.len() > ADDRESS_CHARS_MAX || json.len() as u64 >= JSON_BYTES_MAX {
        return Err("the game is too large for an address".to_owned());
    }
    Ok(address)
}

/// Returns the position that an address encodes, or an error in one sentence.
pub fn decode(address: &str) -> Result<Position, String> {
    read(address).map_err(|reason| format!("This address does not open a game: {reason}."))
}

fn read(address: &str) -> Result<Position, String> {
    if address.len() > ADDRESS_CHARS_MAX {
        return Err(format!("it is longer than {ADDRESS_CHARS_MAX} characters"));
    }
    let damaged = || "it is incomplete or was changed".to_owned();
    let (data, tick) = address.strip_prefix("game=").and_then(|rest| rest.split_once("&tick=")).ok_or_else(damaged)?;
    let zipped = BASE64URL_NOPAD.decode(data.as_bytes()).map_err(|_| damaged())?;
    if !zipped.starts_with(&GZIP_HEADER) {
        return Err(damaged());
    }
    let mut json = Vec::new();
    let mut unzipped = GzDecoder::new(&zipped[..]).take(JSON_BYTES_MAX);
    unzipped.read_to_end(&mut json).map_err(|_| damaged())?;
    // The checksum does not cover bytes after the end of the gzip stream, so they are refused.
    if !unzipped.into_inner().into_inner().is_empty() {
        return Err(damaged());
    }
    let content: Content = serde_json::from_slice(&json).map_err(|_| damaged())?;
    let map = content
        .map
        .or_else(|| bundled(&content.name).cloned())
        .ok_or_else(|| "its map is not one of the bundled maps".to_owned())?;
    let rules: Rules = serde_json::from_value(Value::Object(content.rules)).map_err(|error| error.to_string())?;
    let moves: Plan = content.moves.parse().map_err(|_| damaged())?;
    let game = Game { name: content.name, map, rules, moves };
    let world = game.world()?;
    let mut state = world.start();
    if world.play(&mut state, &game.moves) < game.moves.len() {
        return Err("it has moves after the end of the game".to_owned());
    }
    let is_canonical = tick.bytes().all(|byte| byte.is_ascii_digit()) && !tick.starts_with('0');
    let tick: usize = tick.parse().ok().filter(|_| is_canonical).ok_or_else(damaged)?;
    if tick > game.moves.len() + 1 {
        return Err(format!("it names tick {tick} of a game of {} ticks", game.moves.len() + 1));
    }
    Ok(Position { game, index: tick - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::map::{GeneratorKind, GeneratorOptions, generate};

    fn random_moves(seed: u64) -> Vec<Move> {
        let mut random = seed;
        let next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Move::ALL[(random >> 33) as usize % Move::ALL.len()]
        };
        std::iter::repeat_with(next).take(2000).collect()
    }

    /// Positions in 200 games of random moves, on 120 maps and under six sets of rules.
    fn positions() -> impl Iterator<Item = Position> {
        let kinds = GeneratorKind::ALL;
        (0..200_u16).map(move |seed| {
            let options = GeneratorOptions { kind: kinds[usize::from(seed % 3)], ..GeneratorOptions::default() };
            let rules = Rules { no_jump: seed % 2 == 0, owl_minute_ticks: 60 + seed % 3, ..Rules::BLITZ_2025 };
            let map = generate(&options, u64::from(seed % 40)).expect("a map");
            let world = World::new(&map.layout, &rules).expect("a world");
            let moves = random_moves(seed.into());
            let count = world.play(&mut world.start(), &moves);
            let game = Game { moves: Plan::from(&moves[..count]), ..Game::on(map, rules) };
            Position { index: count / 2, game }
        })
    }

    #[test]
    fn addresses_open_to_the_game_that_they_were_made_from() {
        for position in positions() {
            let address = encode(&position).expect("an address");
            assert_eq!(decode(&address), Ok(position));
        }
    }

    #[test]
    fn whole_game_of_random_moves_fits_into_2000_characters() {
        // Without threats, the player is never caught, so each game lasts 2000 moves.
        let options = GeneratorOptions { threats: 0, ..GeneratorOptions::default() };
        for seed in 0..20 {
            let map = generate(&options, seed).expect("a map");
            let game = Game { moves: random_moves(seed).into(), ..Game::on(map, Rules::NO_JUMP) };
            let position = Position { game, index: 2000 };
            let address = encode(&position).expect("an address");
            assert!(address.len() <= 2000, "{} characters", address.len());
            assert_eq!(decode(&address), Ok(position));
        }
    }

    #[test]
    fn game_that_is_too_large_to_decode_is_not_encoded() {
        for (side, fits) in [(500, true), (520, false)] {
            let walls = format!("\n{}", "#".repeat(side)).repeat(side - 1);
            let map = Layout::parse(&format!("P{}{walls}", ".".repeat(side - 1))).expect("a drawing");
            let game = Game { name: "large".into(), map, rules: Rules::BLITZ_2025, moves: Plan::default() };
            let position = Position { game, index: 0 };
            match encode(&position) {
                Ok(address) => assert!(fits && decode(&address) == Ok(position), "{side}"),
                Err(error) => assert_eq!((fits, &*error), (false, "the game is too large for an address")),
            }
        }
    }

    #[test]
    fn damaged_addresses_give_one_sentence() {
        let letters = b"ABCxyz019-_=&#%. \"<";
        let mut count = 0;
        for (number, position) in positions().enumerate() {
            let address = encode(&position).expect("an address");
            for damage in 0..50 {
                let mut damaged = address.clone().into_bytes();
                let place = (damage * 7919 + number * 31) % damaged.len();
                match damage % 4 {
                    0 => damaged.truncate(place),
                    1 => drop(damaged.remove(place)),
                    2 => damaged.insert(place, letters[damage % letters.len()]),
                    _ => damaged[place] = letters[damage % letters.len()],
                }
                let damaged = String::from_utf8(damaged).expect("text");
                match decode(&damaged) {
                    // The damage changed at most the tick or unused bits of the compressed data.
                    Ok(opened) => assert_eq!(opened.game, position.game, "{damaged}"),
                    Err(sentence) => {
                        assert!(sentence.starts_with("This address does not open a game: "), "{sentence}");
                        assert_eq!(sentence.lines().count(), 1, "{sentence}");
                    }
                }
                count += 1;
            }
        }
        assert_eq!(count, 10_000);
    }

    #[test]
    fn bytes_after_the_game_are_refused() {
        let address = encode(&positions().next().expect("a position")).expect("an address");
        let (data, tick) = address["game=".len()..].split_once('&').expect("two parts");
        let zipped = BASE64URL_NOPAD.decode(data.as_bytes()).expect("base64");
        for extra in [&b"x"[..], &zipped] {
            let data = BASE64URL_NOPAD.encode(&[&zipped[..], extra].concat());
            assert!(decode(&format!("game={data}&{tick}")).is_err());
        }
    }

    #[test]
    fn bundled_maps_are_named_and_not_repeated() {
        let map = MapLibrary::default().find("snail").expect("a map");
        let address = encode(&Position { game: Game::on(map, Rules::BLITZ_2025), index: 0 }).expect("an address");
        assert!(address.len() < 80, "{address}");
    }
}
