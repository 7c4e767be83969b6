//! Problems for the search grammar of [`getaway::search`]: this game on generated maps, and further
//! problems with published scores for comparison. A [`Distribution`] draws problems by number.

pub mod distribution;
pub mod morpion;
pub mod nested;
pub mod regression;
pub mod samegame;
pub mod sudoku;
pub mod survival;

pub use distribution::Distribution;
