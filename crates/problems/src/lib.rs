//! Other problems for the search grammar of [`getaway::search`], with published figures to hold it
//! to.

pub mod morpion;
