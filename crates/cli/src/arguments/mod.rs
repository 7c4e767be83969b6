mod cluster;
mod external;
mod maps;
mod series;
mod values;

pub(crate) use external::{BotArgs, ExternalArgs, bot_failure};
pub use maps::RulesArgs;
pub(crate) use maps::{MapArgs, PositionalMaps, input_files, read_rules, world_of};
pub use series::MAX_THREADS;
pub(crate) use series::{BudgetArgs, GamesArgs, MAX_SAMPLES, SeriesArgs, SprtArgs, WorkerArgs};
pub use values::{ANY, float, integer, parse_permille, parse_size, seed};
pub(crate) use values::{HOUR_MS, page_address};
