//! Checks Morpion Solitaire against published counts, published scores and a direct implementation.

use std::collections::BTreeMap;

use crate::published::{Sample, published_mean};
use getaway::search::{Budget, Problem, Search};
use getaway_problems::morpion::{Board, Morpion, Move};

/// A position as its sorted lines, each given by its two end points in ascending order.
type Position = Vec<[(usize, usize); 2]>;

fn canonical(morpion: &Morpion, moves: &[Move]) -> Position {
    let mirror = morpion.mirror_sum();
    let image = |symmetry: u32, (x, y): (usize, usize)| {
        let (x, y) = if symmetry & 1 == 0 { (x, y) } else { (y, x) };
        let x = if symmetry & 2 == 0 { x } else { mirror - x };
        let y = if symmetry & 4 == 0 { y } else { mirror - y };
        (x, y)
    };
    let images = (0..8).map(|symmetry| {
        let line = |played: &Move| {
            let mut ends = [played.dot(0), played.dot(morpion.length() - 1)].map(|dot| image(symmetry, dot));
            ends.sort_unstable();
            ends
        };
        let mut lines: Position = moves.iter().map(line).collect();
        lines.sort_unstable();
        lines
    });
    images.min().expect("a symmetry group of eight")
}

fn count_positions(morpion: &Morpion, moves_max: usize) -> Vec<usize> {
    let mut layer: BTreeMap<Position, (Board, Vec<Move>)> = BTreeMap::new();
    layer.insert(Vec::new(), (morpion.start(), Vec::new()));
    let mut counts = vec![1];
    for _ in 0..moves_max {
        let mut next = BTreeMap::new();
        for (board, moves) in layer.values() {
            for &legal in board.legal() {
                let mut moves = moves.clone();
                moves.push(legal);
                next.entry(canonical(morpion, &moves)).or_insert_with(|| {
                    let mut board = *board;
                    morpion.apply(&mut board, legal);
                    (board, moves)
                });
            }
        }
        counts.push(next.len());
        layer = next;
    }
    counts
}

fn variant(name: &str) -> Morpion {
    Morpion::named(name).expect("a variant")
}

#[test]
fn numbers_of_positions_match_the_published_ones() {
    // OEIS A204107 (5D), A204108 (5T), A204109 (4D), A204110 (4T), by Michael Quist.
    let published: [(&str, &[usize]); 4] = [
        ("5D", &[1, 4, 55, 404, 2462, 11196]),
        ("5T", &[1, 4, 56, 428, 2741, 13247]),
        ("4D", &[1, 5, 106, 1174, 10608]),
        ("4T", &[1, 5, 107, 1212, 11307]),
    ];
    for (name, counts) in published {
        assert_eq!(count_positions(&variant(name), counts.len() - 1), counts, "{name}");
    }
}

#[test]
fn numbers_of_first_moves_match_the_published_ones() {
    for (name, count) in [("5D", 28), ("5T", 28), ("4D", 40), ("4T", 40)] {
        assert_eq!(variant(name).start().legal().len(), count, "{name}");
    }
}

fn reference_legal_moves(morpion: &Morpion, is_touching: bool, moves: &[Move]) -> Vec<Vec<(usize, usize)>> {
    let length = morpion.length();
    let lines: Vec<Vec<_>> = moves.iter().map(|line| (0..length).map(|dot| line.dot(dot)).collect()).collect();
    let mut dots = morpion.cross();
    dots.extend(moves.iter().map(|played| played.new_dot()));
    let step = |line: &[(usize, usize)]| (line[1].0 as i32 - line[0].0 as i32, line[1].1 as i32 - line[0].1 as i32);
    let mut found = Vec::new();
    for (x, y) in (5..27).flat_map(|x| (5..27).map(move |y| (x, y))) {
        for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
            let along = |dot: i32| ((x + dx * dot) as usize, (y + dy * dot) as usize);
            let line: Vec<_> = (0..length as i32).map(along).collect();
            let is_clashing = lines.iter().any(|other| {
                let shared = line.iter().filter(|dot| other.contains(dot)).count();
                step(other) == (dx, dy) && shared > usize::from(is_touching)
            });
            if !is_clashing && line.iter().filter(|dot| !dots.contains(dot)).count() == 1 {
                found.push(line);
            }
        }
    }
    found
}

#[test]
fn legal_moves_match_the_direct_implementation() {
    for name in Morpion::NAMES {
        let morpion = variant(name);
        let mut search = Search::new("simulate".parse().expect("an expression"), 7);
        let game = search.run(&morpion, &morpion.start(), Budget::passes(1)).best.expect("a game");
        let mut board = morpion.start();
        for (index, &played) in game.actions.iter().enumerate() {
            morpion.apply(&mut board, played);
            let mut found = reference_legal_moves(&morpion, name.ends_with('T'), &game.actions[..=index]);
            let dots = |line: &Move| (0..morpion.length()).map(|dot| line.dot(dot)).collect::<Vec<_>>();
            let mut legal: Vec<_> = board.legal().iter().map(dots).collect();
            found.sort_unstable();
            legal.sort_unstable();
            assert_eq!(legal, found, "{name} after {} moves", index + 1);
        }
    }
}

/// Maximum number of moves in a game: exact for 4D and 4T (enumerated by Michael Quist), an upper
/// bound for 5D (Kawamura and others, arXiv 1307.8192), infinity for 5T.
fn longest_game(name: &str) -> f64 {
    match name {
        "4D" => 35.0,
        "4T" => 62.0,
        "5D" => 121.0,
        _ => f64::INFINITY,
    }
}

fn assert_mean(name: &str, expression: &str, games: u64) {
    let morpion = variant(name);
    let start = morpion.start();
    let mut sample = Sample::default();
    for seed in 0..games {
        let mut search = Search::new(expression.parse().expect("an expression"), seed);
        let outcome = search.run(&morpion, &start, Budget::passes(1));
        let score = outcome.best.expect("a pass evaluates").reward;
        assert!(score <= longest_game(name), "{name}: {score} moves are impossible");
        sample.add(score);
    }
    let (mean, error) = published_mean(name, expression).expect("a published figure");
    let deviation = (sample.mean() - mean).abs();
    assert!(
        deviation <= 4.0 * sample.standard_error().hypot(error),
        "{name} {expression}: {:.2} +- {:.2}, published {mean} +- {error}",
        sample.mean(),
        sample.standard_error(),
    );
}

#[test]
fn random_games_have_the_published_mean() {
    for name in Morpion::NAMES {
        assert_mean(name, "simulate", 20_000);
    }
}

#[test]
fn nested_search_of_level_1_has_the_published_mean() {
    for name in Morpion::NAMES {
        assert_mean(name, "step(lookahead(simulate))", 150);
    }
}

#[test]
fn nested_search_of_level_2_has_the_published_mean() {
    assert_mean("4D", "step(lookahead(step(lookahead(simulate))))", 10);
}
