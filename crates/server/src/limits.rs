//! Everything that the server puts an end to, and why there. A port is open to whoever finds it, and a game has to go on meanwhile.

use std::time::Duration;

use getaway::protocol::MAX_CLIENT_FRAME_BYTES;

/// Connections at once, of every kind: far more than anybody plays or watches with, far fewer than the files a process may open. Further
/// ones are closed unread.
pub const MAX_CONNECTIONS: usize = 256;
/// Viewers at once: each one costs a copy of every state.
pub const MAX_VIEWERS: usize = 64;
/// Bots that wait for their turn at once.
pub const MAX_WAITING_BOTS: usize = 32;
/// Time to say REGISTER or VIEWER, as on the real server.
pub const REGISTRATION_TIME: Duration = Duration::from_secs(5);
/// Time for an HTTP connection, from its first byte to its last: the page is small, and a half-said request must not stay.
pub const HTTP_TIME: Duration = Duration::from_secs(5);
/// Bytes of a request's head: what browsers send is below 4 KiB.
pub const MAX_REQUEST_HEAD_BYTES: usize = 16 << 10;
/// Bytes of a frame that a client sends.
pub const MAX_FRAME_BYTES: usize = MAX_CLIENT_FRAME_BYTES;
/// Frames that a bot may send in a tick. One is enough, and a few more are forgiven; a flood would keep the game busy.
pub const MAX_FRAMES_PER_TICK: usize = 100;
/// Frames that anybody may send in a second while there is nothing to say: before registering, in the queue, while watching.
pub const MAX_IDLE_FRAMES_PER_SECOND: u32 = 100;
/// Time for a frame to leave. A peer that does not read for so long is not there any more.
pub const WRITE_TIME: Duration = Duration::from_secs(3);
/// Time for a peer to agree to a close.
pub const CLOSE_TIME: Duration = Duration::from_secs(1);
/// Time that viewers have, when the server ends, to ask how the last game has ended: four times the pause between two questions of the page.
pub const VIEWER_FAREWELL_TIME: Duration = Duration::from_secs(1);
/// Pause between two pings of a peer that has nothing to say. A machine that vanished is found out by its silence, when the third one is due.
/// (The tests of this module have no 45 seconds.)
pub const PING_PAUSE: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(15) };
/// Bytes of states that may wait for one viewer: a whole game on a map of the real challenge. One that falls further behind is dropped.
pub const MAX_VIEWER_BACKLOG_BYTES: usize = 16 << 20;
/// States that may wait for one viewer.
pub const MAX_VIEWER_BACKLOG_STATES: usize = 4096;
/// Bytes of states that may wait for the disk: several whole games on a map of the real challenge. A disk that falls further behind has
/// seen the last of the recording, since the game does not wait and memory ends.
pub const MAX_RECORDING_BACKLOG_BYTES: usize = 64 << 20;
/// States that may wait for the disk: a whole game, and then some.
pub const MAX_RECORDING_BACKLOG_TICKS: usize = 4096;
/// Time for the disk to begin a recording, and to finish it when the game is over. A disk that takes longer must not keep the next bot from
/// playing.
pub const RECORDING_END_TIME: Duration = Duration::from_secs(2);
/// Notes on a game: a bot that does everything wrong should not fill the terminal.
pub const MAX_NOTES_PER_GAME: usize = 20;
/// Bytes that a socket reads at once: most frames are below 100.
pub const READ_BUFFER_BYTES: usize = 4 << 10;
/// Pause after the system has refused to accept a connection, which it does when files run out.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
