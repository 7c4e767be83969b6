//! Guarantees: an image gives the same layout in RGB, RGBA and indexed PNGs. Colours, alpha and the
//! order of threats are read as the server reads them. Limits are exact. Maps round-trip. A seed
//! generates the same map file on every machine. No input makes the loader panic.

use std::collections::VecDeque;
use std::fs;
use std::hash::Hasher;
use std::path::Path;

use fnv::FnvHasher;
use getaway::game::{Direction, Layout, Position, Style, Tile};
use getaway::map::{
    GeneratorError, GeneratorKind, GeneratorOptions, LayoutError, Map, MapError, MapLibrary, decode_layout,
    encode_layout, generate, generate_nth,
};
use png::{BitDepth, ColorType};
use proptest::prelude::*;

const ALL_PIXELS: &str = "
    ###########
    #B.S.O.G.D#
    #.#.#.#.#.#
    #..H.P...B#
    ###########
";

fn color(letter: char) -> [u8; 3] {
    match letter {
        '#' => [0, 0, 0],
        '.' => [255, 255, 255],
        'P' => [0, 0, 255],
        'B' => [255, 0, 0],
        'G' => [255, 125, 0],
        'S' => [255, 255, 0],
        'O' => [0, 125, 0],
        'D' => [0, 255, 0],
        'H' => [125, 125, 0],
        _ => panic!("{letter:?} has no colour"),
    }
}

fn letters(text: &str) -> (u32, u32, Vec<char>) {
    let rows: Vec<&str> = text.lines().map(str::trim).filter(|row| !row.is_empty()).collect();
    (rows[0].len() as u32, rows.len() as u32, rows.concat().chars().collect())
}

fn write_png(
    size: (u32, u32),
    color_type: ColorType,
    depth: BitDepth,
    data: &[u8],
    set: impl FnOnce(&mut png::Encoder<'_, &mut Vec<u8>>),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
    encoder.set_color(color_type);
    encoder.set_depth(depth);
    set(&mut encoder);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    bytes
}

fn rgba_png(size: (u32, u32), pixels: &[[u8; 4]]) -> Vec<u8> {
    write_png(size, ColorType::Rgba, BitDepth::Eight, &pixels.concat(), |_| {})
}

fn tiles_after_player(pixels: &[[u8; 4]]) -> Layout {
    let mut row = vec![[0, 0, 255, 255], [255; 4]];
    row.extend(pixels);
    decode_layout(&rgba_png((row.len() as u32, 1), &row)).unwrap()
}

#[test]
fn every_png_kind_gives_the_same_map() {
    let expected = Layout::parse(ALL_PIXELS).unwrap();
    let (width, height, letters) = letters(ALL_PIXELS);
    let size = (width, height);
    let rgb: Vec<u8> = letters.iter().flat_map(|&letter| color(letter)).collect();
    let rgba: Vec<u8> = rgb.chunks(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect();
    let wide = |bytes: &[u8]| -> Vec<u8> { bytes.iter().flat_map(|&byte| [byte, byte]).collect() };
    let names = ['#', '.', 'P', 'B', 'G', 'S', 'O', 'D', 'H'];
    let palette: Vec<u8> = names.iter().flat_map(|&letter| color(letter)).collect();
    let index = |letter| names.iter().position(|&name| name == letter).unwrap() as u8;
    let indices: Vec<u8> = letters.iter().map(|&letter| index(letter)).collect();
    let nibbles: Vec<u8> = indices
        .chunks(width as usize)
        .flat_map(|row| row.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)))
        .collect();

    let (eight, sixteen, four) = (BitDepth::Eight, BitDepth::Sixteen, BitDepth::Four);
    let kinds = [
        ("RGB", write_png(size, ColorType::Rgb, eight, &rgb, |_| {})),
        ("RGBA", write_png(size, ColorType::Rgba, eight, &rgba, |_| {})),
        ("16-bit RGB", write_png(size, ColorType::Rgb, sixteen, &wide(&rgb), |_| {})),
        ("16-bit RGBA", write_png(size, ColorType::Rgba, sixteen, &wide(&rgba), |_| {})),
        ("indexed", write_png(size, ColorType::Indexed, eight, &indices, |png| png.set_palette(palette.clone()))),
        ("4-bit indexed", write_png(size, ColorType::Indexed, four, &nibbles, |png| png.set_palette(palette.clone()))),
        (
            "indexed, opaque",
            write_png(size, ColorType::Indexed, eight, &indices, |png| {
                png.set_palette(palette.clone());
                png.set_trns(vec![255; 5]);
            }),
        ),
    ];
    for (kind, bytes) in kinds {
        assert_eq!(decode_layout(&bytes).unwrap(), expected, "{kind}");
    }
}

#[test]
fn transparent_pixels_are_see_through_in_every_png_kind() {
    let expected = [Tile::Open, Tile::Open, Tile::SeeThrough];
    let size = (3, 1);
    let keyed_rgb = [0, 0, 255, 255, 255, 255, 255, 0, 0];
    let wide: Vec<u8> = keyed_rgb.iter().flat_map(|&byte| [byte, byte]).collect();
    let palette = vec![0, 0, 0, 255, 255, 255, 0, 0, 255];
    let kinds = [
        ("alpha 0", rgba_png(size, &[[0, 0, 255, 255], [255; 4], [0; 4]])),
        ("alpha 254", rgba_png(size, &[[0, 0, 255, 255], [255; 4], [255, 0, 0, 254]])),
        (
            "colour key",
            write_png(size, ColorType::Rgb, BitDepth::Eight, &keyed_rgb, |png| png.set_trns(vec![0, 255, 0, 0, 0, 0])),
        ),
        (
            "16-bit colour key",
            write_png(size, ColorType::Rgb, BitDepth::Sixteen, &wide, |png| png.set_trns(vec![255, 255, 0, 0, 0, 0])),
        ),
        (
            "2-bit palette",
            write_png(size, ColorType::Indexed, BitDepth::Two, &[0b10_01_00_00], |png| {
                png.set_palette(palette.clone());
                png.set_trns(vec![254]);
            }),
        ),
    ];
    for (kind, bytes) in kinds {
        let layout = decode_layout(&bytes).unwrap();
        assert_eq!(layout.tiles, expected, "{kind}");
        assert!(layout.threats.is_empty(), "{kind}: a see-through pixel spawns nothing");
    }
}

#[test]
fn colour_key_is_compared_with_all_16_bits() {
    // The second red differs by one from the transparent colour, so it is opaque: a bull.
    let row: Vec<u8> = [[0, 0, 65535], [65535; 3], [65535, 0, 0], [65534, 0, 0_u16]]
        .iter()
        .flatten()
        .flat_map(|sample| sample.to_be_bytes())
        .collect();
    let bytes =
        write_png((4, 1), ColorType::Rgb, BitDepth::Sixteen, &row, |png| png.set_trns(vec![255, 255, 0, 0, 0, 0]));
    let layout = decode_layout(&bytes).unwrap();
    assert_eq!(layout.tiles, [Tile::Open, Tile::Open, Tile::SeeThrough, Tile::Open]);
    assert_eq!(layout.threats[0].position, Position::new(3, 0));
}

#[test]
fn sixteen_bit_samples_are_rounded() {
    // An alpha of 0xFF7E rounds to 254, which is see-through; its high byte, 255, would be opaque.
    let pixels: [[u16; 4]; 4] = [[0, 0, 65535, 65535], [65535; 4], [0, 0, 0, 0xFF7F], [0, 0, 0, 0xFF7E]];
    let data: Vec<u8> = pixels.iter().flatten().flat_map(|sample| sample.to_be_bytes()).collect();
    let layout = decode_layout(&write_png((4, 1), ColorType::Rgba, BitDepth::Sixteen, &data, |_| {})).unwrap();
    assert_eq!(layout.tiles, [Tile::Open, Tile::Open, Tile::Wall, Tile::SeeThrough]);
}

#[test]
fn colours_match_below_a_distance_of_20() {
    let layout = tiles_after_player(&[
        [19, 0, 0, 255],
        [20, 0, 0, 255],
        [6, 6, 7, 255],
        [7, 6, 7, 255],
        [236, 0, 0, 255],
        [235, 0, 0, 255],
    ]);
    let walls = layout.tiles[2..].iter().map(|&tile| tile == Tile::Wall);
    assert!(walls.eq([true, false, true, false, false, false]));
    let bulls: Vec<i32> = layout.threats.iter().map(|spawn| spawn.position.x).collect();
    assert_eq!(bulls, [6]);
}

#[test]
fn greyscale_image_has_no_player() {
    for depth in [BitDepth::One, BitDepth::Two, BitDepth::Four, BitDepth::Eight, BitDepth::Sixteen] {
        let row = vec![0xF0; (8 * depth as usize).div_ceil(8)];
        let error = decode_layout(&write_png((8, 1), ColorType::Grayscale, depth, &row, |_| {})).unwrap_err();
        assert!(matches!(error, LayoutError::NoPlayer), "{depth:?}: {error}");
    }
}

#[test]
fn last_player_wins_and_threats_are_in_row_order() {
    let layout = Layout::parse("PB\nSP\n.G").unwrap();
    let (width, height, letters) = letters("PB\nSP\n.G");
    let pixels: Vec<[u8; 4]> = letters.iter().map(|&l| [color(l)[0], color(l)[1], color(l)[2], 255]).collect();
    assert_eq!(decode_layout(&rgba_png((width, height), &pixels)).unwrap(), layout);
    assert_eq!(layout.player, Position::new(1, 1));
    let order: Vec<(Style, i32, i32)> =
        layout.threats.iter().map(|spawn| (spawn.style, spawn.position.x, spawn.position.y)).collect();
    assert_eq!(order, [(Style::Bull, 1, 0), (Style::Shark, 0, 1), (Style::Goldfish, 1, 2)]);
}

#[test]
fn limits_are_exact() {
    let map = |open: usize, threats: usize| {
        let mut pixels = vec![[0, 0, 0, 255]; 70 * 70];
        pixels[..open].fill([255; 4]);
        pixels[1..=threats].fill([255, 0, 0, 255]);
        pixels[0] = [0, 0, 255, 255];
        decode_layout(&rgba_png((70, 70), &pixels))
    };
    assert!(map(4096, 64).is_ok());
    assert!(matches!(map(4097, 0), Err(LayoutError::TooManyOpenTiles { open_tiles: 4097 })));
    assert!(matches!(map(4096, 65), Err(LayoutError::TooManyThreats { threats: 65 })));
    assert!(map(2, 0).is_ok());
    assert!(matches!(map(1, 0), Err(LayoutError::TooFewOpenTiles { open_tiles: 1 })));
    for (width, height) in [(1024, 2), (2, 1024)] {
        let street = vec![[0, 0, 255, 255]; 2 * 1024];
        assert!(decode_layout(&rgba_png((width, height), &street)).is_ok());
    }
    for (width, height) in [(1025, 2), (2, 1025)] {
        let street = vec![[0, 0, 255, 255]; 2 * 1025];
        assert!(matches!(decode_layout(&rgba_png((width, height), &street)), Err(LayoutError::TooLarge { .. })));
    }
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = encode_layout(&Layout::parse(ALL_PIXELS).unwrap()).unwrap();
    assert!(decode_layout(&bytes).is_ok());
    for length in 0..bytes.len() {
        assert!(decode_layout(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
}

#[test]
fn bundled_maps_are_valid() {
    let maps: Vec<Map> = MapLibrary::new([crate::common::root().join("maps")])
        .list()
        .unwrap()
        .iter()
        .map(|entry| entry.load().unwrap())
        .collect();
    assert!(maps.len() >= 10);
    for map in &maps {
        let layout = &map.layout;
        assert_eq!(map.kind, "challenge");
        assert!(["easy", "medium", "hard"].contains(&map.difficulty.as_str()), "{}", map.name);
        let steps = steps_from(layout, layout.player);
        let is_reached = |position: Position| steps[(position.y * layout.width + position.x) as usize].is_some();
        assert!(layout.open_positions().all(is_reached), "{} is not connected", map.name);
    }
    let is_used = |style| maps.iter().any(|map| map.layout.threats.iter().any(|spawn| spawn.style == style));
    assert!(Style::ALL.into_iter().all(is_used));
    assert!(maps.iter().any(|map| map.layout.tiles.contains(&Tile::SeeThrough)));
    let area = |map: &Map| (map.layout.width * map.layout.height, map.layout.width, map.layout.height);
    let smallest = maps.iter().map(area).min().unwrap();
    let largest = maps.iter().map(area).max().unwrap();
    assert_eq!((smallest.1, smallest.2, largest.1, largest.2), (11, 11, 33, 25));
}

#[test]
fn saved_map_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::parse("#P.~BGSODH").unwrap();
    let map = Map { name: "small".into(), kind: "challenge".into(), difficulty: "easy".into(), layout };
    let folder = dir.path().join("new/small");
    map.save(&folder).unwrap();
    assert_eq!(Map::load(&folder).unwrap(), map);
    assert_eq!(names_in(folder.parent().unwrap()), ["small"], "nothing else is left behind");
}

#[test]
fn saving_does_not_overwrite() {
    let dir = tempfile::tempdir().unwrap();
    let map = generate(&GeneratorOptions::default(), 1).unwrap();
    let folder = dir.path().join("taken");
    fs::create_dir(&folder).unwrap();
    assert!(matches!(map.save(&folder), Err(MapError::Exists { path }) if path == folder));
    fs::remove_dir(&folder).unwrap();
    fs::write(&folder, "a file").unwrap();
    assert!(matches!(map.save(&folder), Err(MapError::Exists { .. })));
    assert_eq!(fs::read_to_string(&folder).unwrap(), "a file");
    assert_eq!(names_in(dir.path()), ["taken"]);
}

#[test]
fn layout_that_no_image_can_represent_is_not_saved() {
    let good = Layout::parse("P..B\n~..#").unwrap();
    let invalidate = |change: fn(&mut Layout)| {
        let mut layout = good.clone();
        change(&mut layout);
        encode_layout(&layout)
    };
    assert!(invalidate(|_| {}).is_ok());
    let spoilt: [fn(&mut Layout); 7] = [
        |layout| layout.player = Position::new(0, 1),
        |layout| layout.player = Position::new(3, 1),
        |layout| layout.player = Position::new(-1, 0),
        |layout| layout.player = Position::new(3, 0),
        |layout| layout.threats.insert(0, getaway::game::Spawn { style: Style::Owl, position: Position::new(2, 1) }),
        |layout| layout.width = 5,
        |layout| layout.height = -2,
    ];
    for (case, change) in spoilt.into_iter().enumerate() {
        assert!(matches!(invalidate(change), Err(LayoutError::NotDrawable)), "case {case}");
    }
}

#[test]
fn library_finds_maps_by_name_and_by_path() {
    let dir = tempfile::tempdir().unwrap();
    let save = |path: &str, text: &str| {
        let layout = Layout::parse(text).unwrap();
        let map = Map { name: String::new(), kind: "challenge".into(), difficulty: "easy".into(), layout };
        map.save(dir.path().join(path)).unwrap();
    };
    save("first/b", "P.");
    save("second/a", "P..");
    save("second/b", "P...");
    fs::create_dir(dir.path().join("first/not-a-map")).unwrap();
    fs::write(dir.path().join("first/a-file"), "").unwrap();
    let library = MapLibrary::new([dir.path().join("first"), dir.path().join("second")]);
    let names: Vec<String> = library.list().unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(library.find("b").unwrap().layout.width, 2, "the first folder wins");
    let path = dir.path().join("second/b");
    let by_path = library.find(path.to_str().unwrap()).unwrap();
    assert_eq!((by_path.name.as_str(), by_path.layout.width), ("b", 4));
    assert_eq!(library.find("c").unwrap_err().to_string(), "no map named c: expected the path of a map or one of a, b");
    let missing = dir.path().join("third");
    let error = MapLibrary::new([&missing]).find("b").unwrap_err().to_string();
    assert_eq!(
        error,
        format!("{}: no such folder: expected a folder with one subfolder or text file per map", missing.display())
    );
}

#[test]
fn text_file_is_a_map_like_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let rows = "#####\n#P.S#\n#.~.#\n#####";
    let path = write("yard.txt", &format!("\n  {}\n", rows.replace('\n', "\r\n  ")));
    let map = Map::load(&path).unwrap();
    assert_eq!((map.name.as_str(), map.difficulty.as_str()), ("yard", ""));
    assert_eq!(map.layout, Layout::parse(rows).unwrap());
    let library = MapLibrary::new([dir.path()]);
    assert_eq!(library.find("yard").unwrap(), map);
    assert_eq!(library.find(path.to_str().unwrap()).unwrap(), map);
    map.save(dir.path().join("saved")).unwrap();
    assert_eq!(Map::load(dir.path().join("saved")).unwrap().layout, map.layout);

    let error = |name: &str, text: &str| Map::load(write(name, text)).unwrap_err().to_string();
    assert!(
        error("a.txt", "#P?")
            .ends_with("a.txt: '?' at (2, 0) is not a tile: expected one of # . ~ or a capital P B G S O D H")
    );
    assert!(error("b.txt", "P#").ends_with("b.txt: too few open tiles: 1, expected at least 2"));
    let wide = format!("P{}", "#".repeat(2000));
    assert!(error("c.txt", &wide).ends_with("c.txt: map too large: 2001x1 tiles, expected at most 1024 per side"));
    assert!(error("d.txt", &"\n".repeat(5 << 20)).contains("d.txt: expected a regular file of at most "));
}

const KINDS: [GeneratorKind; 3] = [GeneratorKind::Maze, GeneratorKind::Labyrinth, GeneratorKind::City];

fn options(kind: GeneratorKind, width: i32, height: i32, threats: usize, braid_permille: u32) -> GeneratorOptions {
    GeneratorOptions { kind, width, height, threats, braid_permille, ..GeneratorOptions::default() }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut fnv = FnvHasher::default();
    fnv.write(bytes);
    fnv.finish()
}

#[test]
fn seed_gives_the_same_bytes_on_every_machine() {
    let file = |kind, seed, index| {
        let map = generate_nth(&options(kind, 25, 17, 6, 500), seed, index).unwrap();
        hash(&encode_layout(&map.layout).unwrap())
    };
    let hashes = [
        file(GeneratorKind::Maze, 1, 0),
        file(GeneratorKind::Maze, 1, 1),
        file(GeneratorKind::Maze, u64::MAX, u64::MAX),
        file(GeneratorKind::Labyrinth, 1, 0),
        file(GeneratorKind::Labyrinth, u64::MAX, u64::MAX),
        file(GeneratorKind::City, 1, 0),
        file(GeneratorKind::City, 2, 0),
    ];
    let expected = [
        0x77dc_3a93_8bb7_5965,
        0x1cb8_e8a1_28e0_ef36,
        0x9b1c_96ce_e2c7_9129,
        0x66f0_b3a3_c2d1_fdd1,
        0x377f_dc9f_99a8_6cd9,
        0x0aec_15be_d71d_ce03,
        0x8c1e_6f5a_282c_bff7,
    ];
    assert_eq!(hashes, expected, "{hashes:#x?}");
}

#[test]
fn generated_map_has_a_descriptive_name() {
    let map = generate_nth(&options(GeneratorKind::Maze, 21, 17, 6, 1000), 1, 12).unwrap();
    assert_eq!((map.name.as_str(), map.kind.as_str()), ("maze-21x17-s1-0012", "challenge"));
    assert_eq!((map.layout.width, map.layout.height), (21, 17));
}

#[test]
fn styles_are_dealt_from_the_deck() {
    let styles = vec![Style::Bull, Style::Bull, Style::Owl];
    let map = generate(&GeneratorOptions { threats: 9, styles, ..GeneratorOptions::default() }, 3).unwrap();
    let count = |style| map.layout.threats.iter().filter(|spawn| spawn.style == style).count();
    assert_eq!((count(Style::Bull), count(Style::Owl)), (6, 3));
}

#[test]
fn braid_is_the_share_of_dead_ends_removed() {
    for seed in 0..20 {
        let dead_ends = |permille| {
            let layout = generate(&options(GeneratorKind::Maze, 31, 21, 0, permille), seed).unwrap().layout;
            count_dead_ends(&layout) as i32
        };
        let all = dead_ends(0);
        assert!(all > 5);
        assert_eq!(dead_ends(1000), 0);
        let removed = (all * 500 + 500) / 1000;
        assert_eq!(dead_ends(500), all - removed, "seed {seed}: half of {all}");
    }
}

#[test]
fn invalid_options_are_rejected() {
    let error = |options: &GeneratorOptions| generate(options, 1).unwrap_err();
    let maze = |width, height, threats, braid| error(&options(GeneratorKind::Maze, width, height, threats, braid));
    let city = |width, height| error(&options(GeneratorKind::City, width, height, 1, 0));
    assert!(matches!(maze(6, 7, 1, 0), GeneratorError::Size { .. }));
    assert!(matches!(maze(8, 7, 1, 0), GeneratorError::EvenMaze { .. }));
    assert!(matches!(maze(7, 8, 1, 0), GeneratorError::EvenMaze { .. }));
    assert!(matches!(maze(9, 9, 1, 1001), GeneratorError::Braid { permille: 1001 }));
    assert!(matches!(maze(7, 7, 30, 1000), GeneratorError::NoRoom { threats: 30, .. }));
    assert!(matches!(maze(31, 31, 65, 0), GeneratorError::Limits(LayoutError::TooManyThreats { .. })));
    assert!(matches!(maze(127, 127, 1, 0), GeneratorError::Limits(LayoutError::TooManyOpenTiles { .. })));
    assert!(matches!(city(1023, 1023), GeneratorError::Size { .. }));
    assert!(matches!(city(i32::MAX, i32::MIN), GeneratorError::Size { .. }));
    let styles = Vec::new();
    assert!(matches!(
        error(&GeneratorOptions { styles, ..GeneratorOptions::default() }),
        GeneratorError::NoStyles { .. }
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn generated_maps_keep_their_guarantees(
        kind in 0..3_usize,
        width in 3..17_i32,
        height in 3..17_i32,
        is_even: [bool; 2],
        threats in 0..9_usize,
        braid in 0..=1000_u32,
        seed: u64,
    ) {
        let kind = KINDS[kind];
        let side = |half: i32, is_even: bool| 2 * half + 1 + i32::from(is_even && kind == GeneratorKind::City);
        let options = options(kind, side(width, is_even[0]), side(height, is_even[1]), threats, braid);
        let map = match generate(&options, seed) {
            Ok(map) => map,
            // Only maps with fewer than 13 * 13 tiles may lack room for all threats.
            Err(error) => {
                prop_assert!(matches!(error, GeneratorError::NoRoom { .. }), "{}", error);
                prop_assert!(options.width * options.height < 13 * 13, "{}", error);
                return Ok(());
            }
        };
        let layout = &map.layout;
        let rows = layout.rows().join("\n");
        prop_assert_eq!(layout.threats.len(), threats);
        let steps = steps_from(layout, layout.player);
        let steps_to = |position: Position| steps[(position.y * layout.width + position.x) as usize];
        for position in layout.open_positions() {
            prop_assert!(steps_to(position).is_some(), "{} cannot be reached\n{}", position, rows);
            let is_inside = position.x > 0 && position.y > 0 && position.x < layout.width - 1 && position.y < layout.height - 1;
            prop_assert!(is_inside, "{} is on the edge\n{}", position, rows);
        }
        for spawn in &layout.threats {
            prop_assert!(steps_to(spawn.position) > Some(5), "{:?} is too near\n{}", spawn, rows);
        }
        if braid == 1000 {
            prop_assert_eq!(count_dead_ends(layout), 0, "{}", rows);
        }
        prop_assert_eq!(&decode_layout(&encode_layout(layout).unwrap()).unwrap(), layout);
        prop_assert_eq!(generate(&options, seed).unwrap(), map);
    }

    #[test]
    fn fully_braided_maps_have_no_dead_ends(kind in 0..3_usize, width in 5..17_i32, height in 5..17_i32, seed: u64) {
        let kind = KINDS[kind];
        let layout = generate(&options(kind, 2 * width + 1, 2 * height + 1, 0, 1000), seed).unwrap().layout;
        prop_assert_eq!(count_dead_ends(&layout), 0, "{}", layout.rows().join("\n"));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = decode_layout(&bytes);
        let _ = decode_layout(&[b"\x89PNG\r\n\x1a\n", &bytes[..]].concat());
    }

    #[test]
    fn damaged_map_does_not_panic(place in 0..300_usize, byte: u8, cut in 0..300_usize) {
        let mut bytes = encode_layout(&Layout::parse(ALL_PIXELS).unwrap()).unwrap();
        let place = place % bytes.len();
        bytes[place] = byte;
        let _ = decode_layout(&bytes);
        bytes.drain(place..(place + cut).min(bytes.len()));
        let _ = decode_layout(&bytes);
    }
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn count_dead_ends(layout: &Layout) -> usize {
    let options =
        |position: Position| Direction::ALL.into_iter().filter(|&d| layout.is_open(position.towards(d))).count();
    layout.open_positions().filter(|&position| options(position) < 2).count()
}

fn steps_from(layout: &Layout, start: Position) -> Vec<Option<u32>> {
    let index = |position: Position| (position.y * layout.width + position.x) as usize;
    let mut steps = vec![None; layout.tiles.len()];
    steps[index(start)] = Some(0);
    let mut queue = VecDeque::from([start]);
    while let Some(position) = queue.pop_front() {
        for next in Direction::ALL.map(|direction| position.towards(direction)) {
            if layout.is_open(next) && steps[index(next)].is_none() {
                steps[index(next)] = steps[index(position)].map(|steps| steps + 1);
                queue.push_back(next);
            }
        }
    }
    steps
}
