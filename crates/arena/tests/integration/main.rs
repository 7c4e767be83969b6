mod arena;
#[path = "../calibration/mod.rs"]
mod calibration;
#[path = "../../../../tests/common/mod.rs"]
mod common;
mod intervals;
mod ladder;
