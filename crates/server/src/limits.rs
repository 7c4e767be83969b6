//! Limits that protect a bot's game from slow, silent and flooding clients.

use std::time::Duration;

use getaway::protocol::ClientFrame;

/// Maximum number of connections, far below Linux's default limit on open files. Each has two
/// threads. Further connections are closed.
pub const MAX_CONNECTIONS: usize = 256;
/// Maximum number of viewers. Every state is sent to each viewer.
pub const MAX_VIEWERS: usize = 64;
pub const MAX_WAITING_BOTS: usize = 32;
/// Time limit for a client to send REGISTER or VIEWER, as on the real server.
pub const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for the head of an HTTP request.
pub const HTTP_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limits for the rest of a request, for the start of its computation, and for its answer.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a request's head. Browsers usually send less than 4 KiB.
pub const MAX_REQUEST_HEAD_BYTES: usize = 16 << 10;
pub const MAX_REQUEST_HEADERS: usize = 100;
pub const MAX_FRAME_BYTES: usize = ClientFrame::MAX_BYTES;
/// Maximum number of frames that the server reads from a bot per tick.
pub const MAX_FRAMES_PER_TICK: usize = 100;
/// Maximum number of frames per second from a client that is not playing.
pub const MAX_IDLE_FRAMES_PER_SECOND: u32 = 100;
/// Time limit for sending a frame. A peer that reads too slowly is disconnected.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(3);
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for pages to fetch the end of the last game. They poll every 150 ms, but a busy machine can
/// delay a browser for more than a second, and browsers slow down hidden pages.
pub const VIEWER_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between pings to viewers and waiting bots. A peer that has sent nothing for 2.5
/// intervals is disconnected at the next ping.
pub const PING_INTERVAL: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(15) };
/// Maximum size of a viewer's queue: about one game's states on a typical map. A viewer whose queue
/// is full is dropped.
pub const MAX_VIEWER_BACKLOG_BYTES: usize = 16 << 20;
pub const MAX_VIEWER_BACKLOG_STATES: usize = 4096;
/// Maximum size of the states queued for the disk: several games' states on a typical map. If a
/// state does not fit, the recording ends.
pub const MAX_RECORDING_BACKLOG_BYTES: usize = 64 << 20;
/// Maximum number of states queued for the disk: more than a game has.
pub const MAX_RECORDING_BACKLOG_TICKS: usize = 4096;
/// Time limit for creating or finishing a recording, so that the next bot does not wait for long.
pub const RECORDING_TIMEOUT: Duration = Duration::from_secs(2);
/// Size of a connection's read buffers. Most frames are shorter than 100 bytes.
pub const READ_BUFFER_BYTES: usize = 4 << 10;
/// If a connection has more unread bytes, no more are received from the peer.
pub const UNREAD_BYTES_MAX: usize = 64 << 10;
/// Size of the stack of a thread that only reads.
pub const READER_STACK_BYTES: usize = 64 << 10;
/// Pause after a failure to accept a connection, for example if file descriptors have run out.
pub const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
