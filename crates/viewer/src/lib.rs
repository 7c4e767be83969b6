//! Games as they are shown: a [`Film`] is a game moment by moment, with what the simulator knows about each; it is packed for the viewer page
//! and drawn as pictures.
//!
//! The promise: whatever is shown about a game comes from the rules and the planners that the bot plays by. The page and the pictures draw
//! and look up; they compute nothing about the game, and both take their shapes and colours from one description, [`cast`](CAST).

#[cfg_attr(not(feature = "picture"), allow(dead_code, reason = "without pictures only the page reads the description"))]
mod cast;
mod film;
mod insight;
mod live;
mod pack;
mod page;
#[cfg(feature = "picture")]
mod picture;

pub use cast::{CAST, Paint, Part, Shape};
pub use film::{Ending, Film, Frame, Mark, MarkKind, Moment};
pub use insight::{Doing, Insight, Mode};
pub use live::Live;
pub use pack::pack;
pub use page::{Page, PageSource};
#[cfg(feature = "picture")]
pub use picture::{GifOptions, Layers, PictureError, PictureOptions, Theme, gif, png};
