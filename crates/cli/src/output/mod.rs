mod file;
mod phrases;
mod progress;
mod table;
mod terminal;

pub use file::{OutputArgs, OutputFile};
pub use phrases::{count, or_dash};
pub(crate) use phrases::{ending, format_interval, milliseconds, points, shell_quoted, signed, signed_interval};
pub use progress::Progress;
pub(crate) use progress::rounded;
pub use table::write_table;
pub(crate) use terminal::note;
pub use terminal::{Say, Stdout, Terminal, clipped, one_line, width};
