//! The search signature on all our maps: it catches what changes a search without meaning to.
//!
//! A change that keeps the number is no functional change, and one that does not says so by minting it anew,
//! `GETAWAY_MINT_SIGNATURE=1 cargo test --test signature`, and committing `tests/signature.txt`.

mod common;

use std::path::Path;

use getaway::game::Layout;
use getaway::planner::signature;

#[test]
fn the_planners_do_what_they_did_on_one_thread_and_on_two() {
    let layouts: Vec<Layout> = common::our_maps().into_iter().map(|map| map.layout).collect();
    let [found, on_two] = [1, 2].map(|threads| signature(&layouts, threads).expect("maps within the limits"));
    assert_eq!(found, on_two, "threads change what the planners do");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/signature.txt");
    if std::env::var_os("GETAWAY_MINT_SIGNATURE").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{found}\n")).expect("the signature can be written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept.trim(),
        found,
        "the planners do something else than before; if that is meant, mint the signature anew with GETAWAY_MINT_SIGNATURE=1"
    );
}

#[test]
fn other_maps_have_another_signature_and_none_has_one_too() {
    let drawings = ["P...\n.##.\n...s", "P...\n.##.\n...o"];
    let [one, other] = drawings.map(|drawing| signature(&[Layout::parse(drawing).unwrap()], 3).unwrap());
    assert_ne!(one, other);
    assert_eq!(signature(&[], 1).unwrap(), "cbf29ce484222325");
}
