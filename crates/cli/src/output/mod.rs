mod file;
mod phrases;
mod progress;
mod table;
mod terminal;

pub use file::{OutputArgs, OutputFile};
pub use phrases::{count, or_dash};
pub(crate) use phrases::{ending, format_interval, milliseconds, shell_quoted};
pub use progress::Progress;
pub(crate) use progress::rounded;
pub use table::write_table;
pub(crate) use terminal::note;
pub use terminal::{Stdout, Terminal, one_line};
