//! Checks certificates with a second model of the rules. The model shares no game logic with the
//! prover.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use getaway::files;
use getaway::game::{LAST_TICK, POINTS_PER_TICK, Rules};
use getaway::inference::{Difference, differences};
use getaway::protocol::write_line;
use getaway::recording::milliseconds;
use getaway::solve::Certificate;

use crate::arguments::{MapArgs, RulesArgs};
use crate::error::{TEXT_BYTES_MAX, unreadable};
use crate::output::{Progress, Say};
use crate::{Result, failed};

/// Check a certificate: replay its moves, and repeat its proof in a literal model of the rules
///
/// The output names the rules of the certificate. With --no-jump or --rules, a certificate for
/// other rules of play is refused. The check gives up after 100,000,000,000 steps.
#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// Certificate written by `getaway solve --certificate`
    #[arg(value_name = "FILE")]
    certificate: PathBuf,
    /// Map, by name or path
    map: String,
    #[command(flatten)]
    maps: MapArgs,
    #[command(flatten)]
    rules: RulesArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct VerifyOutput {
    map: String,
    score: u32,
    bound: u32,
    rules: String,
    differences: Vec<Difference>,
    elapsed_ms: f64,
}

pub(crate) fn run(args: &VerifyArgs, out: &mut impl Write) -> Result {
    let map = args.maps.find(&args.map)?;
    let path = args.certificate.display();
    let text =
        files::read_text(&args.certificate, TEXT_BYTES_MAX).map_err(|error| unreadable(&args.certificate, &error))?;
    let certificate: Certificate = text.parse().map_err(|error| failed!("{path}: {error}"))?;
    certificate.rules.validate().map_err(|error| failed!("{path}: line 1: {error}"))?;
    if let Some(requested) = args.rules.given()? {
        let found = sentences(&in_play(&requested, &certificate.rules));
        if !found.is_empty() {
            return Err(failed!("{path}: refused: line 1: not the requested rules: {found}"));
        }
    }
    let start = Instant::now();
    let progress = Progress::open_ended();
    progress.set_message(format!("checking {path}"));
    getaway_verifier::verify(&certificate, &map.layout)
        .map_err(|error| failed!("{path}: refused for the map {}: {error}", map.name))?;
    drop(progress);
    let [score, bound] = [certificate.final_tick, certificate.bound_tick].map(|tick| u32::from(tick) * POINTS_PER_TICK);
    let (map, rules, elapsed_ms) = (map.name, words(&certificate.rules), milliseconds(start.elapsed()));
    if args.json {
        let differences = in_play(&Rules::BLITZ_2025, &certificate.rules);
        return Ok(write_line(out, &VerifyOutput { map, score, bound, rules, differences, elapsed_ms })?);
    }
    let verdict = match certificate.bound_tick {
        bound if bound > LAST_TICK && certificate.final_tick > LAST_TICK => "survives",
        bound if bound > LAST_TICK => "undecided",
        _ => "doomed",
    };
    out.say(format!("{map}: verified: {verdict}, {score} points, bound {bound}, {elapsed_ms:.1} ms, under {rules}"))
}

fn in_play(left: &Rules, right: &Rules) -> Vec<Difference> {
    differences(left, &Rules { wire: left.wire, ..*right })
}

fn sentences(differences: &[Difference]) -> String {
    differences.iter().map(|difference| difference.sentence.as_str()).collect::<Vec<_>>().join(", ")
}

fn words(rules: &Rules) -> String {
    let variant = if rules.no_jump { "the server's rules in the no-jump variant" } else { "the server's rules" };
    let found = in_play(&Rules { no_jump: rules.no_jump, ..Rules::BLITZ_2025 }, rules);
    if found.is_empty() { variant.to_owned() } else { format!("{variant}, except that {}", sentences(&found)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::{PeriodTicks, PhaseClocks, Wire};

    #[test]
    fn rules_are_named_by_how_they_differ_in_play() {
        assert_eq!(words(&Rules::BLITZ_2025), "the server's rules");
        assert_eq!(words(&Rules::NO_JUMP), "the server's rules in the no-jump variant");
        let period_ticks = PeriodTicks { lazy: 1, ..PeriodTicks::default() };
        let phase_clocks = PhaseClocks { insane: u16::MAX, ..PhaseClocks::default() };
        let wire = Wire { personalities: getaway::game::Personalities::Missing, ..Wire::default() };
        assert_eq!(
            words(&Rules { period_ticks, phase_clocks, wire, ..Rules::NO_JUMP }),
            "the server's rules in the no-jump variant, except that lazy threats move every tick, \
             threats are insane from tick 65537 on"
        );
    }
}
