//! Other problems for the search grammar of [`getaway::search`], with published scores to compare
//! its searches with.

pub mod morpion;
