//! Replays: a [`Replay`] holds the frames of a game and their annotations. It can be packed for the
//! viewer page and rendered as images.
//!
//! Guarantees: annotations are computed with the bot's own simulator and planners. The page and the
//! image renderers draw them in the style of `page/drawing.json`.

mod address;
mod analysis;
mod annotation;
#[cfg_attr(not(feature = "picture"), allow(dead_code, reason = "only pictures and scripts read some fields"))]
mod drawing;
mod game;
mod game_log;
mod library;
mod live;
mod pack;
mod page;
#[cfg(feature = "picture")]
mod picture;
mod played;
mod recorded;
mod replay;
mod svg;

pub use address::{Address, Position, bundled_maps, decode, encode};
pub use analysis::{ANALYSIS_TICKS, Analysis, CommandCounts, Fall, LossKind};
pub use annotation::{Annotation, Intent, IntentKind};
pub use game::Game;
pub use game_log::{GameLog, LoggedTick, Misprediction, OtherGame, RecordingSource};
pub use library::{GameLibrary, LibraryError};
pub use live::LiveReplay;
pub use pack::{body, pack};
pub use page::{EngineKind, Page, PageSource, for_script, game_json, with_head};
#[cfg(feature = "picture")]
pub use picture::{GifOptions, Layers, PictureError, PictureOptions, Pixels, Theme, gif, pixels, png};
pub use played::PlayedGame;
pub use recorded::Positions;
pub use replay::{Frame, GameHeader, Mark, MarkKind, Replay};
pub use svg::{svg, svg_animation};
