mod budget;
mod external;
mod maps;
mod playground;
mod rules;
mod series;
mod sprt;
mod values;

pub(crate) use budget::BudgetArgs;
pub(crate) use external::{BotArgs, ExternalArgs, bot_failure, external_bot};
pub(crate) use maps::{MapArgs, PositionalMaps, SeriesMapArgs, world_of};
pub(crate) use playground::PlaygroundArgs;
pub(crate) use rules::{RulesArgs, read_rules};
pub(crate) use series::{GamesArgs, MAX_SAMPLES, MAX_THREADS, SeriesArgs};
pub(crate) use sprt::SprtArgs;
pub(crate) use values::{ANY, float, integer, parse_permille, parse_size};
