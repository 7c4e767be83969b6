use crate::common::{self, shared_folder};
use crate::simulation;
use getaway::game::{Rules, Status};
use getaway::recording::verify;

#[test]
#[ignore = "needs ../shared"]
fn recorded_games_are_reproduced() {
    let shared = &shared_folder();
    let suffixes = ["-nojump", "-walk", "-beam1"];
    for suffix in suffixes {
        let traces = common::files_ending(&shared.join("golden/traces"), &format!("{suffix}.trace.jsonl.gz"));
        assert!(!traces.is_empty());
        for trace in traces {
            simulation::replay(&trace, &common::map_folder(shared, &simulation::map_name(&trace, &suffixes)));
        }
    }
}

#[test]
#[ignore = "needs ../shared"]
fn every_recording_verifies_to_its_last_line() {
    let shared = &shared_folder();
    let recordings = common::files_ending(&shared.join("golden/recordings"), ".jsonl.gz");
    assert!(!recordings.is_empty());
    for path in recordings {
        let report = verify(&path, &Rules::BLITZ_2025).unwrap();
        let name = path.display();
        assert_eq!((report.divergence, report.truncated_line, report.see_through.len()), (None, None, 0), "{name}");
        assert_eq!((report.ticks, report.status, report.score), (2000, Status::Complete, Some(10_005)), "{name}");
    }
}
