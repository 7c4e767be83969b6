use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use getaway::game::Rules;
use getaway::inference::{Difference, Parameter, differences, variant};
use getaway::protocol::write_line;

use crate::Result;
use crate::arguments::{integer, read_rules, seed};
use crate::output::{Say, write_table};

const CHANGES_MAX: u64 = Parameter::ALL.len() as u64;

/// Print the server's rules or a random variant of them as JSON, or compare rules files
#[derive(Args)]
pub(crate) struct RulesCommandArgs {
    /// Seed of the variant
    #[arg(long, value_name = "N", value_parser = seed, conflicts_with = "files")]
    seed: Option<u64>,
    /// Number of parameters in which the variant differs from the server's rules
    /// [default: 1 with --seed, otherwise 0]
    #[arg(long, value_name = "K", value_parser = integer::<usize>(0..=CHANGES_MAX), conflicts_with = "files")]
    changes: Option<usize>,
    /// List how a rules file differs from the server's rules, or a second file from the first
    #[arg(long = "diff", value_name = "FILE", num_args = 1..=2)]
    files: Vec<PathBuf>,
    /// With --diff: print one JSON object per difference
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &RulesCommandArgs, out: &mut impl Write) -> Result {
    let (left, right) = match args.files.as_slice() {
        [] => {
            let rules = variant(args.seed.unwrap_or(0), args.changes.unwrap_or(args.seed.is_some().into()));
            return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&rules)?)?);
        }
        [right] => (Rules::BLITZ_2025, read_rules(right)?),
        [left, right, ..] => (read_rules(left)?, read_rules(right)?),
    };
    let differences = differences(&left, &right);
    if args.json {
        return Ok(differences.iter().try_for_each(|difference| write_line(&mut *out, difference))?);
    }
    if differences.is_empty() {
        return Ok(writeln!(out, "no difference")?);
    }
    let row = |Difference { field, left, right, .. }: &Difference| {
        vec![("<FIELD", field.clone()), ("<FIRST", left.clone()), ("<SECOND", right.clone())]
    };
    write_table(differences.iter().map(row), out)?;
    let sentences: Vec<String> = differences.into_iter().map(|difference| difference.sentence).collect();
    out.say(format!("with the second rules, {}", sentences.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(args: &RulesCommandArgs) -> String {
        let mut out = Vec::new();
        run(args, &mut out).expect("rules");
        String::from_utf8(out).expect("text")
    }

    fn args(seed: Option<u64>, changes: Option<usize>, files: Vec<PathBuf>) -> RulesCommandArgs {
        RulesCommandArgs { seed, changes, files, json: false }
    }

    #[test]
    fn variant_is_a_rules_file_whose_differences_are_listed() {
        assert_eq!(
            output(&args(None, None, Vec::new())),
            serde_json::to_string_pretty(&Rules::BLITZ_2025).unwrap() + "\n"
        );
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("variant.json");
        std::fs::write(&path, output(&args(Some(7), Some(3), Vec::new()))).expect("a file");
        let lines = output(&args(None, None, vec![path.clone()]));
        assert_eq!(lines.lines().count(), 1 + 3 + 1, "{lines}");
        assert_eq!(output(&args(None, None, vec![path.clone(), path])), "no difference\n");
    }
}
