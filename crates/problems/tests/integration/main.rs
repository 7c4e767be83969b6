#[path = "../../../../tests/common/mod.rs"]
mod common;
mod morpion;
#[path = "../published/mod.rs"]
mod published;
mod regression;
mod samegame;
mod shared;
mod sudoku;
