//! Tests of the program that need the shared folder: recordings of the real server.

#[path = "../../../tests/common/mod.rs"]
mod common;
#[path = "../../../tests/common/shared.rs"]
mod harness;
mod simulate;

use std::path::Path;
use std::process::ExitCode;

use getaway::game::{Rules, Status};
use getaway::recording::verify;

fn main() -> ExitCode {
    harness::run(&[
        ("recorded_games_are_reproduced", recorded_games_are_reproduced),
        ("every_recording_verifies_to_its_last_line", every_recording_verifies_to_its_last_line),
    ])
}

fn recorded_games_are_reproduced(shared: &Path) {
    let suffixes = ["-nojump", "-walk", "-beam1"];
    for suffix in suffixes {
        let traces = common::files_ending(&shared.join("golden/traces"), &format!("{suffix}.trace.jsonl.gz"));
        assert!(!traces.is_empty());
        for trace in traces {
            simulate::replay(&trace, &common::map_folder(shared, &simulate::map_name(&trace, &suffixes)));
        }
    }
}

fn every_recording_verifies_to_its_last_line(shared: &Path) {
    let recordings = common::files_ending(&shared.join("golden/recordings"), ".jsonl.gz");
    assert!(!recordings.is_empty());
    for path in recordings {
        let report = verify(&path, &Rules::BLITZ_2025).unwrap();
        let name = path.display();
        assert_eq!((report.divergence, report.truncated_line, report.see_through.len()), (None, None, 0), "{name}");
        assert_eq!((report.ticks, report.status, report.score), (2000, Status::Complete, Some(10_005)), "{name}");
    }
}
