//! Checks SameGame against a direct implementation of its rules, and solves small boards.

use getaway::search::{Budget, Problem, Random, Search};
use getaway_problems::distribution::Distribution;
use getaway_problems::samegame::{Board, COLOURS, Cells, Group, RandomBoards, SIZE, SameGame, Tabu, Until};

#[derive(Clone, Debug, PartialEq)]
struct Literal {
    columns: Vec<Vec<u8>>,
    points: u32,
}

impl Literal {
    fn of(board: &Board) -> Self {
        let column = |column| (0..SIZE).map_while(|row| board.colour(column, row)).collect::<Vec<u8>>();
        let columns = (0..SIZE).map(column).take_while(|column| !column.is_empty()).collect();
        Self { columns, points: board.points() }
    }

    fn at(&self, column: usize, row: usize) -> Option<u8> {
        self.columns.get(column)?.get(row).copied()
    }

    fn group(&self, column: usize, row: usize) -> Vec<(usize, usize)> {
        let colour = self.at(column, row);
        let mut found = vec![(column, row)];
        let mut next = 0;
        while let Some(&(column, row)) = found.get(next) {
            next += 1;
            let sides =
                [(column + 1, row), (column, row + 1), (column.wrapping_sub(1), row), (column, row.wrapping_sub(1))];
            for (column, row) in sides {
                if self.at(column, row) == colour && !found.contains(&(column, row)) {
                    found.push((column, row));
                }
            }
        }
        found.sort_unstable();
        found
    }

    fn groups(&self) -> Vec<Vec<(usize, usize)>> {
        let cells =
            (0..self.columns.len()).flat_map(|column| (0..self.columns[column].len()).map(move |row| (column, row)));
        let mut groups: Vec<_> =
            cells.map(|(column, row)| self.group(column, row)).filter(|group| group.len() > 1).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    fn remove(&mut self, group: &[(usize, usize)]) {
        for &(column, row) in group.iter().rev() {
            self.columns[column].remove(row);
        }
        self.columns.retain(|column| !column.is_empty());
        self.points += (group.len() as u32 - 2).pow(2);
        if self.columns.is_empty() {
            self.points += 1000;
        }
    }

    fn best(&self) -> u32 {
        let groups = self.groups();
        let play = |group: &Vec<(usize, usize)>| {
            let mut next = self.clone();
            next.remove(group);
            next.best()
        };
        groups.iter().map(play).max().unwrap_or(self.points)
    }
}

fn cells(board: &Board, group: Group) -> Vec<(usize, usize)> {
    let literal = Literal::of(board);
    let of_group = |cells: &Vec<(usize, usize)>| {
        let (column, row) = cells[0];
        group.cells.meets(Cells::of(column, row))
    };
    literal.groups().into_iter().find(of_group).expect("a group of the literal board")
}

#[test]
fn random_games_agree_with_the_literal_rules() {
    for seed in 0..20 {
        let game = SameGame::new(Board::random(seed));
        let mut random = Random::from_seed(seed);
        let mut board = *game.start();
        let mut literal = Literal::of(&board);
        let mut actions = Vec::new();
        let mut played = 0;
        loop {
            actions.clear();
            game.actions(&board, &mut actions);
            let mut found: Vec<_> = actions.iter().map(|&group| cells(&board, group)).collect();
            found.sort_unstable();
            assert_eq!(found, literal.groups(), "seed {seed} after {played} moves");
            assert_eq!(game.is_final(&board), actions.is_empty());
            if actions.is_empty() {
                break;
            }
            let group = actions[random.below(actions.len())];
            literal.remove(&cells(&board, group));
            game.apply(&mut board, group);
            played += 1;
            assert_eq!(Literal::of(&board), literal, "seed {seed} after {played} moves");
        }
        assert!(played > 20, "a game of {played} moves");
    }
}

fn boards_in_play() -> impl Iterator<Item = (SameGame, Board)> {
    (0..6).map(|seed| {
        let game = SameGame::new(Board::random(seed));
        let mut random = Random::from_seed(seed);
        let mut board = *game.start();
        for _ in 0..seed * 8 {
            let group = game.random(&board, &mut Vec::new(), &mut random);
            game.apply(&mut board, group);
        }
        (game, board)
    })
}

fn assert_equally_likely(groups: &[Group], mut draw: impl FnMut() -> Group) {
    let mut counts = vec![0_u32; groups.len()];
    let expected = 2000.0;
    for _ in 0..expected as usize * groups.len() {
        let drawn = draw();
        counts[groups.iter().position(|&group| group == drawn).expect("one of the groups")] += 1;
    }
    let squares = counts.iter().map(|&count| (f64::from(count) - expected).powi(2)).sum::<f64>() / expected;
    // A chi-squared variable with f degrees of freedom has mean f and variance 2f.
    let freedom = (groups.len() - 1) as f64;
    assert!(squares < freedom + 4.5 * (2.0 * freedom).sqrt(), "{squares} with {freedom} degrees of freedom");
}

#[test]
fn policies_draw_every_group_equally_often() {
    for (game, board) in boards_in_play() {
        let mut groups = Vec::new();
        game.actions(&board, &mut groups);
        assert!(groups.len() > 5);
        let mut random = Random::from_seed(1);
        assert_equally_likely(&groups, || game.random(&board, &mut Vec::new(), &mut random));

        let start = *game.start();
        let colours: Vec<u8> =
            (0..SIZE).flat_map(|column| (0..SIZE).filter_map(move |row| start.colour(column, row))).collect();
        let count = |colour: u8| colours.iter().filter(|&&found| found == colour).count();
        let tabu = (0..COLOURS as u8).rev().max_by_key(|&colour| count(colour)).expect("colours");
        groups.retain(|group| group.colour != tabu);
        assert_equally_likely(&groups, || game.greedy(&board, &mut Vec::new(), &mut random, &mut 0));
    }
}

#[test]
fn greedy_removes_the_tabu_colour_when_nothing_else_is_left() {
    let game = SameGame::new(Board::parse("1 . .\n0 2 0\n0 2 0").expect("a board"));
    let mut board = *game.start();
    let mut random = Random::from_seed(1);
    let mut colours = Vec::new();
    while !game.is_final(&board) {
        let group = game.greedy(&board, &mut Vec::new(), &mut random, &mut 0);
        colours.push(group.colour);
        game.apply(&mut board, group);
    }
    assert_eq!((colours, board.blocks()), (vec![2, 0], 1));
}

#[test]
fn connected_blocks_are_not_tabu() {
    // All blocks of colour 0, the most frequent colour, are connected; colour 1 forms two groups.
    let game = SameGame::new(Board::parse("1 0 1\n1 0 1\n0 0 0").expect("a board"));
    let draw = |until| {
        let mut colours: Vec<u8> = (0..50)
            .map(|seed| {
                let mut random = Random::from_seed(seed);
                let mut played = Vec::new();
                let tabu = Tabu { is_by_rollout: false, until };
                game.play_with_tabu(&mut game.start().clone(), tabu, &mut random, &mut played);
                played[0].colour
            })
            .collect();
        colours.sort_unstable();
        colours.dedup();
        colours
    };
    assert_eq!((draw(Until::NoOthers), draw(Until::Connected)), (vec![1], vec![0, 1]));
}

#[test]
fn tabu_colour_may_be_the_most_frequent_one_where_the_rollout_starts() {
    let game = SameGame::new(Board::parse("0 0 0 0").expect("a board"));
    let later = Board::parse("1 1 1 2 2").expect("a board");
    let has_first = |is_by_rollout, colour| {
        (0..50).any(|seed| {
            let mut played = Vec::new();
            let tabu = Tabu { is_by_rollout, until: Until::NoOthers };
            game.play_with_tabu(&mut later.clone(), tabu, &mut Random::from_seed(seed), &mut played);
            played[0].colour == colour
        })
    };
    assert_eq!([has_first(true, 1), has_first(true, 2)], [false, true]);
    assert_eq!([has_first(false, 1), has_first(false, 2)], [true, true]);
}

#[test]
fn greedy_rollouts_avoid_the_colour_that_is_most_frequent_where_they_start() {
    let game = SameGame::new(Board::parse("0 0 0 0").expect("a board"));
    let mut later = Board::parse("1 1 1 0 0 2 2").expect("a board");
    let mut actions = Vec::new();
    game.actions(&later, &mut actions);
    game.apply(&mut later, *actions.iter().find(|group| group.colour == 1).expect("three blocks of colour 1"));
    // When the rollout starts, colours 0 and 2 are equally frequent, so the lower one, 0, is tabu.
    for seed in 0..20 {
        let mut search = Search::new("simulate(greedy)".parse().expect("an expression"), seed);
        let line = search.run(&game, &later, Budget::passes(1)).best.expect("a game");
        assert_eq!(line.actions[0].colour, 2);
    }
    // Outside a rollout, colour 1 of `later` is still tabu, so groups of the others are drawn.
    let drawn = |seed| game.greedy(&later, &mut Vec::new(), &mut Random::from_seed(seed), &mut 0).colour;
    assert!((0..50).any(|seed| drawn(seed) == 0) && (0..50).any(|seed| drawn(seed) == 2));
}

#[test]
fn selective_game_excludes_larger_tabu_groups_until_the_colour_is_connected() {
    let colours_of = |text: &str| {
        let game = SameGame::new(Board::parse(text).expect("a board")).selective();
        let mut actions = Vec::new();
        game.actions(game.start(), &mut actions);
        let random = |seed| game.random(game.start(), &mut Vec::new(), &mut Random::from_seed(seed));
        assert!((0..20).all(|seed| actions.contains(&random(seed))));
        actions.iter().map(|group| (group.colour, group.cells.len())).collect::<Vec<_>>()
    };
    // The group of three blocks of colour 0 is tabu.
    assert_eq!(colours_of("0 1 2\n0 1 0\n0 1 0"), [(1, 3), (0, 2)]);
    // All blocks of colour 0 are connected, so their group is legal.
    assert_eq!(colours_of("0 1 2\n0 1 3\n0 1 4\n0 2 4"), [(0, 4), (1, 3), (4, 2)]);
    // Colour 0 is tabu, but no other colour forms a group, so both groups of colour 0 are legal.
    assert_eq!(colours_of("0 1 0\n0 2 0\n0 1 0"), [(0, 3), (0, 3)]);
}

#[test]
fn small_boards_are_solved_optimally() {
    for seed in 0..40 {
        let mut random = Random::from_seed(seed);
        let mut colours = [[None; SIZE]; SIZE];
        for row in colours.iter_mut().skip(SIZE - 4) {
            row.iter_mut().take(4).for_each(|cell| *cell = Some(random.below(3) as u8));
        }
        let game = SameGame::new(Board::new(&colours));
        let expected = Literal::of(game.start()).best();
        let mut search = Search::new("select(0.5, simulate)".parse().expect("an expression"), seed);
        let found = search.run(&game, game.start(), Budget::evaluations(1_000_000));
        assert_eq!(found.best.expect("an evaluation").reward, f64::from(expected), "seed {seed}");
        assert_eq!(found.ending, getaway::search::StopReason::Exhausted, "seed {seed}");
    }
}

#[test]
fn points_follow_the_rules() {
    let board = Board::parse("0 0 1\n0 1 1").expect("a board");
    let game = SameGame::new(board);
    let mut actions = Vec::new();
    game.actions(&board, &mut actions);
    assert_eq!(actions.iter().map(|group| group.points()).collect::<Vec<_>>(), [1, 1]);
    let mut board = board;
    for group in [actions[0], actions[1]] {
        let mut now = Vec::new();
        game.actions(&board, &mut now);
        let next = *now.iter().find(|found| found.colour == group.colour).expect("the other group");
        game.apply(&mut board, next);
    }
    assert_eq!((board.points(), board.blocks()), (1 + 1 + 1000, 0));
    assert!(Board::parse("0 7").is_err() && Board::parse(&"0\n".repeat(16)).is_err());
}

#[test]
fn greedy_policy_scores_more_than_random_play() {
    let mean = |expression: &str| {
        let score = |number| {
            let game = RandomBoards.draw(number);
            let mut search = Search::new(expression.parse().expect("an expression"), number);
            search.run(&game, game.start(), Budget::passes(1)).best.expect("a game").reward
        };
        (0..100).map(score).sum::<f64>() / 100.0
    };
    assert!(mean("simulate(greedy)") > 1.5 * mean("simulate"));
}

#[test]
fn random_boards_have_all_colours_about_equally_often() {
    let mut counts = [0_u32; COLOURS];
    for number in 0..40 {
        let board = *RandomBoards.draw(number).start();
        assert_eq!(board.blocks(), 225);
        for (column, row) in (0..SIZE).flat_map(|column| (0..SIZE).map(move |row| (column, row))) {
            counts[usize::from(board.colour(column, row).expect("a full board"))] += 1;
        }
    }
    // Each count has the mean 1,800 and the standard deviation 38.
    assert!(counts.iter().all(|count| count.abs_diff(1800) < 190), "{counts:?}");
}
