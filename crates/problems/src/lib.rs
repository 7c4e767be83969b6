//! Problems for the search grammar of [`getaway::search`]: this game on generated maps, and others
//! with published scores to compare the searches with.
//!
//! A [`Distribution`] draws problems by number: on such a distribution the search algorithms are
//! tuned and judged.

pub mod distribution;
pub mod morpion;
pub mod nested;
pub mod regression;
pub mod samegame;
pub mod sudoku;
pub mod survival;

pub use distribution::Distribution;
