//! Checks Sudoku against the known number of complete 4x4 grids and a published puzzle.

use getaway::search::{Budget, Problem, Search, StopReason};
use getaway_problems::distribution::Distribution;
use getaway_problems::sudoku::{Grid, RandomGrids, Sudoku};

fn count(sudoku: &Sudoku, grid: &Grid) -> usize {
    if sudoku.is_final(grid) {
        return usize::from(f64::from(grid.filled()) == sudoku.best_possible());
    }
    let mut actions = Vec::new();
    sudoku.actions(grid, &mut actions);
    let successor = |&action: &_| {
        let mut next = *grid;
        sudoku.apply(&mut next, action);
        count(sudoku, &next)
    };
    actions.iter().map(successor).sum()
}

#[test]
fn there_are_288_grids_of_4x4() {
    let empty = Sudoku::new(2, vec![None; 16]).expect("an empty grid");
    assert_eq!(count(&empty, &empty.start()), 288);
}

/// A puzzle and its solution (Wikipedia, *Sudoku*).
const PUZZLE: &str = "53..7.... 6..195... .98....6. 8...6...3 4..8.3..1 7...2...6 .6....28. ...419..5 ....8..79";
const SOLUTION: &str = "534678912672195348198342567859761423426853791713924856961537284287419635345286179";

#[test]
fn published_puzzle_has_only_the_published_solution() {
    let sudoku = Sudoku::parse(3, PUZZLE).expect("a puzzle");
    assert_eq!(count(&sudoku, &sudoku.start()), 1);
    let mut search = Search::new("step(lookahead(simulate))".parse().expect("an expression"), 1);
    let found = search.run(&sudoku, &sudoku.start(), Budget::evaluations(10_000));
    assert_eq!(found.ending, StopReason::Optimal);
    let mut grid = sudoku.start();
    found.best.expect("a game").actions.into_iter().for_each(|action| sudoku.apply(&mut grid, action));
    let digits: String = (0..81).map(|cell| char::from(b'1' + grid.value(cell).expect("a full grid"))).collect();
    assert_eq!(digits, SOLUTION);
}

fn is_solved(grid: &Grid, order: usize) -> bool {
    let side = order * order;
    let has_all = |cells: &mut dyn Iterator<Item = usize>| {
        let mut values: Vec<_> = cells.map(|cell| grid.value(cell)).collect();
        values.sort_unstable();
        values == (0..side as u8).map(Some).collect::<Vec<_>>()
    };
    (0..side).all(|unit| {
        let (top, left) = (unit / order * order, unit % order * order);
        has_all(&mut (0..side).map(|along| unit * side + along))
            && has_all(&mut (0..side).map(|along| along * side + unit))
            && has_all(&mut (0..side).map(|along| (top + along / order) * side + left + along % order))
    })
}

#[test]
fn random_grids_come_from_valid_solutions() {
    for seed in 0..20 {
        assert!(is_solved(&Sudoku::random(4, 1.0, seed).start(), 4), "seed {seed}");
        assert!(is_solved(&Sudoku::random(3, 1.0, seed).start(), 3), "seed {seed}");
        let given = RandomGrids.draw(seed).start().filled();
        // Each of the 256 cells is given with probability 1/3, so the number of given cells has
        // mean 85.3 and standard deviation 7.5. The range is the mean ±5 standard deviations.
        assert!((48..=123).contains(&given), "{given} cells given");
    }
    let one = Sudoku::random(3, 0.4, 5);
    assert!(count(&one, &one.start()) >= 1);
}

#[test]
fn grids_out_of_range_are_errors() {
    assert!(Sudoku::new(5, vec![None; 625]).is_err() && Sudoku::new(2, vec![None; 15]).is_err());
    assert!(Sudoku::new(2, vec![Some(4); 16]).is_err() && Sudoku::parse(2, "x").is_err());
}
