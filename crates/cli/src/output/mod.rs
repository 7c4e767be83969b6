mod file;
mod phrases;
mod progress;
mod table;
mod terminal;

pub(crate) use file::{OutputArgs, OutputFile};
pub(crate) use phrases::{count, ending, format_interval, milliseconds, or_dash, shell_quoted};
pub(crate) use progress::{Progress, rounded};
pub(crate) use table::write_table;
pub(crate) use terminal::{Terminal, note, one_line};
