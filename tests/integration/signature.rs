//! Compares the search signature, a hash of the planners' decisions, with `tests/signature.txt`.
//! After an intended change, update the file with
//! `GETAWAY_UPDATE_SIGNATURE=1 cargo test --release --package getaway-tests signature`.

use std::path::Path;

use crate::common;
use getaway::game::Layout;
use getaway::planner::signature;

#[test]
fn signature_is_unchanged_with_one_and_two_threads() {
    let layouts: Vec<Layout> = common::our_maps().into_iter().map(|map| map.layout).collect();
    let [found, on_two] = [1, 2].map(|threads| signature(&layouts, threads).expect("maps within the limits"));
    assert_eq!(found, on_two, "the signature depends on the number of threads");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("signature.txt");
    if std::env::var_os("GETAWAY_UPDATE_SIGNATURE").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{found}\n")).expect("the signature can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept.trim(),
        found,
        "the planners decide differently; if this is intended, update the signature with GETAWAY_UPDATE_SIGNATURE=1"
    );
}

#[test]
fn signature_depends_on_the_maps() {
    let drawings = ["P...\n.##.\n...S", "P...\n.##.\n...O"];
    let [one, other] = drawings.map(|drawing| signature(&[Layout::parse(drawing).unwrap()], 3).unwrap());
    assert_ne!(one, other);
    assert_eq!(signature(&[], 1).unwrap(), "cbf29ce484222325");
}
