//! `getaway verify`: checks a certificate with the literal model, which shares no code with the
//! prover.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use getaway::game::{LAST_TICK, POINTS_PER_TICK};
use getaway::planner::Certificate;

use super::progress::Progress;
use super::{CliError, MapArgs, one_line};

const EXAMPLES: &str = "Examples:
  getaway solve snail --no-jump --certificate snail.proof
  getaway verify snail.proof snail";

/// Check the certificate of a map: replay its line and repeat its proof in the literal model
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct VerifyArgs {
    /// The certificate that `getaway solve --certificate` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The map, by name or path
    #[arg(value_name = "MAP")]
    map: String,
    #[command(flatten)]
    maps: MapArgs,
    /// Print JSON: an object with the score, the bound and the time
    #[arg(long)]
    json: bool,
}

/// The JSON output.
#[derive(Serialize)]
struct Report {
    map: String,
    score: u32,
    bound: u32,
    elapsed_ms: f64,
}

pub(super) fn run(args: &VerifyArgs, out: &mut impl Write) -> Result<(), CliError> {
    let map = args.maps.find(&args.map)?;
    let path = one_line(&args.file.display().to_string());
    let text =
        fs::read_to_string(&args.file).map_err(|error| CliError::Input(format!("cannot read {path}: {error}")))?;
    let certificate: Certificate = text.parse().map_err(|error| CliError::Check(format!("{path}: {error}")))?;
    let start = Instant::now();
    let progress = Progress::open_ended();
    progress.set_message(format!("checking {path}"));
    getaway_reference::verify(&certificate, &map.layout)
        .map_err(|error| CliError::Check(format!("{path}: refused: {error}")))?;
    drop(progress);
    let score = |tick: u16| u32::from(tick) * POINTS_PER_TICK;
    let report = Report {
        map: map.name.clone(),
        score: score(certificate.final_tick),
        bound: score(certificate.bound_tick),
        elapsed_ms: (start.elapsed().as_secs_f64() * 1e6).round() / 1e3,
    };
    if args.json {
        serde_json::to_writer(&mut *out, &report)?;
        return Ok(writeln!(out)?);
    }
    let Report { score, bound, elapsed_ms, .. } = report;
    let verdict = match certificate.bound_tick {
        bound if bound > LAST_TICK && certificate.final_tick > LAST_TICK => "survives",
        bound if bound > LAST_TICK => "undecided",
        _ => "doomed",
    };
    Ok(writeln!(
        out,
        "{}: verified: {verdict}, {score} points, bound {bound}, {elapsed_ms:.1} ms",
        one_line(&map.name)
    )?)
}
