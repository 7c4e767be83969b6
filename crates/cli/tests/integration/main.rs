mod analyse;
mod arena;
#[cfg(unix)]
mod benchmark;
#[path = "../../../../tests/common/mod.rs"]
mod common;
#[path = "../../../../tests/common/counting.rs"]
mod counting;
#[cfg(unix)]
mod external;
mod fuzz;
#[path = "../fuzzing/mod.rs"]
mod fuzzing;
#[path = "../../../server/tests/integration/harness.rs"]
#[allow(dead_code, reason = "the server's own tests use the rest")]
mod harness;
mod ladder;
mod maps;
mod play;
mod program;
mod replay;
mod server;
mod shared;
mod simulate;
mod simulation;
mod solve;
mod tournament;
mod view;

const PROGRAM: &str = env!("CARGO_BIN_EXE_getaway");

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;
