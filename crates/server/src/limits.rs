//! The limits of the server, with the reason for each. Anyone can connect to an open port, and that
//! must not affect the game.

use std::time::Duration;

use getaway::protocol::MAX_CLIENT_FRAME_BYTES;

/// Maximum number of connections of any kind: far more than are needed, far fewer than the limit on
/// open files. Further connections are closed without reading from them.
pub const MAX_CONNECTIONS: usize = 256;
/// Maximum number of viewers: each one costs a copy of every state.
pub const MAX_VIEWERS: usize = 64;
/// Maximum number of bots waiting for their turn.
pub const MAX_WAITING_BOTS: usize = 32;
/// Time limit for REGISTER or VIEWER, as on the real server.
pub const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit of an HTTP connection, from its first byte to its last: the page is small, and
/// incomplete requests must not linger.
pub const HTTP_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a request's head: browsers send less than 4 KiB.
pub const MAX_REQUEST_HEAD_BYTES: usize = 16 << 10;
/// Maximum size of a client's frame.
pub const MAX_FRAME_BYTES: usize = MAX_CLIENT_FRAME_BYTES;
/// Maximum number of frames from a bot per tick. One is enough and a few more are tolerated, but a
/// flood would keep the game busy.
pub const MAX_FRAMES_PER_TICK: usize = 100;
/// Maximum number of frames per second from a peer that has no reason to send any: before
/// registering, in the queue, while watching.
pub const MAX_IDLE_FRAMES_PER_SECOND: u32 = 100;
/// Time limit for sending a frame. A peer that does not read for this long is considered gone.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit of the closing handshake.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time that viewers have during shutdown to request the end of the last game: four times the
/// polling interval of the page.
pub const VIEWER_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of the pings to an idle peer. A vanished peer is detected when the third ping is due.
/// (Shorter in tests, which cannot take 45 seconds.)
pub const PING_INTERVAL: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(15) };
/// Maximum size of the states queued for one viewer: a whole game on a real map. A viewer that
/// falls further behind is dropped.
pub const MAX_VIEWER_BACKLOG_BYTES: usize = 16 << 20;
/// Maximum number of states queued for one viewer.
pub const MAX_VIEWER_BACKLOG_STATES: usize = 4096;
/// Maximum size of the states queued for the disk: several whole games on a real map. If the disk
/// falls further behind, the recording ends: the game does not wait, and memory is limited.
pub const MAX_RECORDING_BACKLOG_BYTES: usize = 64 << 20;
/// Maximum number of states queued for the disk: more than a whole game.
pub const MAX_RECORDING_BACKLOG_TICKS: usize = 4096;
/// Time limit for creating a recording and for finishing it after the game. A slower disk must not
/// delay the next bot.
pub const RECORDING_TIMEOUT: Duration = Duration::from_secs(2);
/// Size of a socket's read buffer: most frames are below 100 bytes.
pub const READ_BUFFER_BYTES: usize = 4 << 10;
/// Pause after a failed accept, which happens when file descriptors run out.
pub const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
