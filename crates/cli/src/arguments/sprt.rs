use clap::Args;

use getaway_runs::stats::Sprt;

use super::float;
use crate::{Result, invalid};

#[derive(Args)]
#[command(next_help_heading = "Sequential test")]
pub(crate) struct SprtArgs {
    /// Stop the games of two entrants once Wald's sequential test decides; --samples is the maximum
    #[arg(long)]
    sprt: bool,
    /// Share of untied pairs of games that the first planner wins under H0
    #[arg(long, value_name = "SHARE", default_value_t = Sprt::default().p0, requires = "sprt", value_parser = float)]
    sprt_p0: f64,
    /// Share of untied pairs of games that the first planner wins under H1
    #[arg(long, value_name = "SHARE", default_value_t = Sprt::default().p1, requires = "sprt", value_parser = float)]
    sprt_p1: f64,
    /// Probability of accepting H1 when H0 is true
    #[arg(long, value_name = "RATE", default_value_t = Sprt::default().alpha, requires = "sprt", value_parser = float)]
    sprt_alpha: f64,
    /// Probability of accepting H0 when H1 is true
    #[arg(long, value_name = "RATE", default_value_t = Sprt::default().beta, requires = "sprt", value_parser = float)]
    sprt_beta: f64,
}

impl SprtArgs {
    pub fn sprt(&self) -> Result<Option<Sprt>> {
        let sprt = Sprt { p0: self.sprt_p0, p1: self.sprt_p1, alpha: self.sprt_alpha, beta: self.sprt_beta };
        if !sprt.is_valid() {
            let Sprt { p0, p1, alpha, beta } = sprt;
            return Err(invalid!(
                "invalid test: --sprt-p0 {p0}, --sprt-p1 {p1}, --sprt-alpha {alpha}, --sprt-beta {beta}: \
                 expected 0 < p0 < p1 < 1 and positive error rates that add up to less than 1"
            ));
        }
        Ok(self.sprt.then_some(sprt))
    }
}
