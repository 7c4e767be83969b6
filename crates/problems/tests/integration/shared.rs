//! Tests with the twenty standard SameGame boards, which are in the shared folder.

use std::fs;

use crate::common::shared_folder;
use getaway::search::{Budget, Search};
use getaway_problems::samegame::{Board, SameGame};

#[test]
#[ignore = "needs ../shared"]
fn standard_boards_are_full_boards_of_five_colours() {
    let path = shared_folder().join("samegame/boards.txt");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let boards: Vec<Board> = text
        .split("\n\n")
        .filter(|board| !board.trim().is_empty())
        .map(|board| Board::parse(board).expect("a board"))
        .collect();
    assert_eq!(boards.len(), 20);
    for board in boards {
        assert_eq!(board.blocks(), 225);
        // The best published scores of all twenty boards are below 6,000.
        let mut search = Search::new("simulate(greedy)".parse().expect("an expression"), 1);
        let best = search.run(&SameGame::new(board), &board, Budget::evaluations(20)).best.expect("games").reward;
        assert!(best > 300.0 && best < 6000.0, "{best}");
    }
}
