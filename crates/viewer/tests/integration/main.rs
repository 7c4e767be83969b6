mod analysis;
#[path = "../../../../tests/common/mod.rs"]
mod common;
mod replay;
