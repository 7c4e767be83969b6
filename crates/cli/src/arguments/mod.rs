mod budget;
mod external;
mod maps;
mod playground;
mod rules;
mod series;
mod sprt;
mod values;

pub(crate) use budget::BudgetArgs;
pub(crate) use external::{BotArgs, ExternalArgs, bot_failure};
pub(crate) use maps::{MapArgs, PositionalMaps, SeriesMapArgs, world_of};
pub(crate) use playground::PlaygroundArgs;
pub use rules::RulesArgs;
pub(crate) use rules::read_rules;
pub use series::MAX_THREADS;
pub(crate) use series::{GamesArgs, MAX_SAMPLES, SeriesArgs};
pub(crate) use sprt::SprtArgs;
pub use values::{ANY, float, integer, parse_permille, parse_size, seed};
