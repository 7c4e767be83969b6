//! Problems for the search grammar of [`getaway::search`], some with published scores.

pub mod distribution;
pub mod morpion;
pub mod nested;
pub mod regression;
pub mod samegame;
pub mod sudoku;
pub mod survival;

pub use distribution::Distribution;
