//! All integration tests of this package form one program, which is linked once and runs its tests
//! in parallel.

mod allocation;
mod batch;
#[path = "../traces/batch.rs"]
mod batch_traces;
mod bot;
mod bot_signature;
#[path = "../common/clock.rs"]
#[allow(dead_code, reason = "the tests of the program use the rest")]
mod clock;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/counting.rs"]
mod counting;
mod deadline;
mod decision_time;
#[path = "../common/disturbed.rs"]
mod disturbed;
mod examples;
mod golden;
mod inference;
mod known_ticks;
mod lockstep;
mod map_memory;
mod maps;
mod mixed_worlds;
mod observer;
mod planners;
mod protocol;
mod saved_search;
mod search_toy;
mod shared;
mod signature;
mod states;
#[path = "../traces/mod.rs"]
mod traces;

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;
