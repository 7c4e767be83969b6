//! Plays games with external bots, with a time limit per tick and the server's rules for messages.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::{Connection, Received};
use super::process::{Program, Streams, exit_words, last_log_line};
use super::socket::Port;
use super::{
    CRASH_TIME, EXIT_TIME, ExternalBot, ExternalOptions, FRAMES_PER_TICK_MAX, LATE_START_TIME, LOG_BYTES_MAX,
    SILENT_TICKS_MAX, Stopped, Transport,
};
use crate::game::{Answer, PlayedGame, TEAM};
use crate::record::{Cost, ExternalRecord, Failure, FailureKind, GameRecord, SourceCounts};
use getaway::game::{Action, FIRST_TICK, State, World};
use getaway::protocol::{ClientFrame, Command, MessageWriter};
use getaway::recording::{CommandNote, UnreadableNote, WireNotes, milliseconds, shortened};
use getaway_runs::FileKind;

const LOG: FileKind = FileKind { name: "log", version: 1 };
/// The option of `getaway` that sets [`ExternalOptions::startup_time`].
const START_OPTION: &str = "--bot-start-ms";
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A running bot.
#[derive(Debug)]
struct Running {
    process: Program,
    connection: Connection,
}

/// Starts external bots, and keeps those that wait for their next game.
#[derive(Debug)]
pub struct ExternalHost {
    options: ExternalOptions,
    idle: Mutex<Vec<(ExternalBot, Running)>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ExternalGame<'a> {
    pub bot: &'a ExternalBot,
    pub world: &'a World,
    /// The seed of the game, passed to a new process in the environment variable `SEED`.
    pub seed: u64,
    /// The name of the game's log file in the folder [`ExternalOptions::logs`].
    pub log_name: &'a str,
}

impl ExternalHost {
    pub fn new(options: ExternalOptions) -> Self {
        Self { options, idle: Mutex::new(Vec::new()) }
    }

    /// Plays a game; returns `None` if it was stopped. `watch` is called for every tick, including
    /// the ticks after a failure, which are played without the bot. Fails if the log cannot be
    /// written. If the process cannot be started, the bot fails instead.
    pub(crate) fn play(
        &self,
        game: ExternalGame<'_>,
        is_stopped: &dyn Fn() -> bool,
        watch: &mut dyn FnMut(&State, Answer<'_>),
    ) -> io::Result<Option<PlayedGame>> {
        let (mut play, mut log) = (Play::new(game, &self.options, is_stopped, watch), String::new());
        match self.run(&mut play, &mut log) {
            Ok(()) => {}
            Err(End::Stopped) => return Ok(None),
            Err(End::Failed(kind, detail)) => {
                play.record.failure = Some(Failure { kind, tick: play.played.state.tick(), detail });
            }
        }
        if let Some(folder) = self.options.logs.as_deref().filter(|_| !log.is_empty()) {
            write_log(folder, game.log_name, &log)?;
        }
        Ok(Some(play.finish()))
    }

    fn run(&self, play: &mut Play<'_>, log: &mut String) -> Result<(), End> {
        let is_piped = play.game.bot.transport == Transport::Pipe;
        let idle = if self.options.restart { None } else { self.take_idle(play.game.bot) };
        let startup_time = if is_piped && idle.is_none() { self.options.startup_time } else { Duration::ZERO };
        let mut bot = match idle {
            Some(idle) => idle,
            None if is_piped => self.start_piped(play.game).map_err(End::not_started)?,
            None => self.start_connected(play, log)?,
        };
        let registered = if is_piped { Ok(()) } else { self.await_registration(play, &mut bot) };
        let played = registered.and_then(|()| play.play(&mut bot, startup_time));
        let played = explained(played, &mut bot.process);
        if is_piped && played.is_ok() && !play.is_behind && !self.options.restart {
            *log = bot.process.take_log();
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((play.game.bot.clone(), bot));
            return played;
        }
        let Running { mut process, connection } = bot;
        // Closing the bot's input tells the bot that there are no more games.
        if is_piped {
            drop(connection)
        } else {
            connection.close(play.is_stopped)
        }
        if played.is_ok() || !is_piped {
            let _ = process.wait_unless(EXIT_TIME, play.is_stopped);
        }
        process.kill();
        *log = process.take_log();
        played
    }

    fn start_piped(&self, game: ExternalGame<'_>) -> io::Result<Running> {
        // Without `SERVER_URL`, a program that supports both transports uses its standard streams.
        let environment = [("SERVER_URL", String::new()), ("SEED", game.seed.to_string())];
        let mut process = Program::start_with(Streams::Piped, &game.bot.command, &environment)?;
        let connection = Connection::over_pipes(process.child())?;
        Ok(Running { process, connection })
    }

    fn start_connected(&self, play: &Play<'_>, log: &mut String) -> Result<Running, End> {
        let no_port = |_| End::crash("no free port on this machine");
        let port = Port::open().map_err(no_port)?;
        let url = port.url().map_err(no_port)?;
        let command = play.game.bot.command.replace("{url}", &url);
        let environment = [("SERVER_URL", url.clone()), ("SEED", play.game.seed.to_string())];
        let mut process = Program::start(&command, &environment).map_err(End::not_started)?;
        let connected = self.connect(play, &port, &url, &mut process);
        match explained(connected, &mut process) {
            Ok(connection) => Ok(Running { process, connection }),
            Err(end) => {
                process.kill();
                *log = process.take_log();
                Err(end)
            }
        }
    }

    fn connect(&self, play: &Play<'_>, port: &Port, url: &str, process: &mut Program) -> Result<Connection, End> {
        let (start, limit) = (Instant::now(), self.options.startup_time);
        let accepted = port.accept(process, start + limit + LATE_START_TIME, play.is_stopped);
        let late = late_words(start.elapsed(), limit);
        let address = format!("{url}, the address in SERVER_URL");
        let (kind, detail) = match (accepted, process.status()) {
            _ if (play.is_stopped)() => return Err(End::Stopped),
            (Ok(connection), _) if start.elapsed() <= limit => return Ok(connection),
            (Ok(_), _) => (FailureKind::Silence, format!("connected only {late}")),
            (Err(refusal), Some(status)) => {
                let end = exit_words(Some(status));
                (FailureKind::Crash, format!("{end} before it connected to {address}{refusal}"))
            }
            (Err(refusal), None) => (FailureKind::Silence, format!("not connected to {address}, {late}{refusal}")),
        };
        Err(End::Failed(kind, detail))
    }

    fn await_registration(&self, play: &mut Play<'_>, bot: &mut Running) -> Result<(), End> {
        let limit = self.options.startup_time;
        let (kind, detail) = match play.receive(bot, Instant::now() + limit)? {
            Some((text, _)) => match ClientFrame::parse(&text) {
                Ok(ClientFrame::Register(_)) => return Ok(()),
                _ => (FailureKind::Garbage, format!("its first message is not REGISTER: {}", shortened(&text))),
            },
            None => (FailureKind::Silence, format!("did not register within {limit:?} ({START_OPTION})")),
        };
        Err(End::Failed(kind, detail))
    }

    fn take_idle(&self, bot: &ExternalBot) -> Option<Running> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let index = idle.iter().position(|(of, _)| of == bot)?;
            let (_, mut running) = idle.swap_remove(index);
            if running.connection.clear() && running.process.status().is_none() {
                return Some(running);
            }
        }
    }
}

impl Drop for ExternalHost {
    fn drop(&mut self) {
        for (_, bot) in self.idle.get_mut().unwrap_or_else(PoisonError::into_inner) {
            bot.process.release();
        }
    }
}

/// Why a game ends early for its bot.
enum End {
    Stopped,
    Failed(FailureKind, String),
}

impl End {
    fn crash(detail: &str) -> Self {
        Self::Failed(FailureKind::Crash, detail.to_owned())
    }

    fn not_started(error: io::Error) -> Self {
        Self::crash(&format!("cannot be started: {error}"))
    }

    fn garbage(detail: String) -> Self {
        Self::Failed(FailureKind::Garbage, detail)
    }
}

/// Adds to a failure the line of the log that most likely names the error. Must be called before
/// the connection is closed, because closing it can make the bot print an unrelated error.
fn explained<T>(result: Result<T, End>, process: &mut Program) -> Result<T, End> {
    result.map_err(|end| match end {
        End::Failed(kind, detail) => {
            if process.status().is_some() {
                // Waits for the rest of the log.
                process.kill();
            }
            End::Failed(kind, detail + &last_log_line(&process.log()))
        }
        End::Stopped => End::Stopped,
    })
}

struct Play<'a> {
    game: ExternalGame<'a>,
    options: &'a ExternalOptions,
    is_stopped: &'a dyn Fn() -> bool,
    watch: &'a mut dyn FnMut(&State, Answer<'_>),
    played: PlayedGame,
    record: ExternalRecord,
    silent_ticks: u32,
    sent_garbage: bool,
    /// The time at which a new process that has not sent a message was started, and its limit.
    start: Option<(Instant, Duration)>,
    answered_tick: Option<u32>,
    /// True if the bot did not answer the last finished tick in time, so it may still be busy.
    is_behind: bool,
    /// The time at which the current state was sent.
    sent: Instant,
    wire: WireNotes,
}

impl<'a> Play<'a> {
    fn new(
        game: ExternalGame<'a>,
        options: &'a ExternalOptions,
        is_stopped: &'a dyn Fn() -> bool,
        watch: &'a mut dyn FnMut(&State, Answer<'_>),
    ) -> Self {
        let tick_ms = u64::try_from(options.tick_time.as_millis()).unwrap_or(u64::MAX);
        Self {
            game,
            options,
            is_stopped,
            watch,
            played: PlayedGame::new(game.world),
            record: ExternalRecord { tick_ms, ..ExternalRecord::default() },
            silent_ticks: 0,
            sent_garbage: false,
            start: None,
            answered_tick: None,
            is_behind: false,
            sent: Instant::now(),
            wire: WireNotes::default(),
        }
    }

    fn check_usage(&self, process: &mut Program) -> Result<(), End> {
        let Cost { cpu_ms, memory_kib } = process.usage().poll();
        let ExternalOptions { memory_mb_max, cpu_ms_max, .. } = *self.options;
        let uses = [(memory_kib >> 10, memory_mb_max, "MiB of memory"), (cpu_ms, cpu_ms_max, "ms of processor time")];
        for (used, limit, unit) in uses {
            if let Some(limit) = limit.filter(|&limit| used > limit) {
                return Err(End::Failed(FailureKind::Limit, format!("{used} {unit}, expected at most {limit}")));
            }
        }
        Ok(())
    }

    /// Plays until the game ends; `startup_time` extends the first tick.
    fn play(&mut self, bot: &mut Running, startup_time: Duration) -> Result<(), End> {
        bot.process.usage().restart();
        self.start = (!startup_time.is_zero()).then(|| (Instant::now(), startup_time));
        let played = self.play_ticks(bot, startup_time);
        self.played.record.cost = bot.process.usage().measure();
        played
    }

    fn play_ticks(&mut self, bot: &mut Running, mut extra_time: Duration) -> Result<(), End> {
        let writer = MessageWriter::new(self.game.world, TEAM);
        while !self.played.state.is_over() {
            self.sent = Instant::now();
            bot.connection.send(writer.write(&self.played.state));
            let deadline = self.sent + self.options.tick_time + std::mem::take(&mut extra_time);
            let actions = self.answer(bot, deadline)?;
            self.step(&actions);
            self.check_usage(&mut bot.process)?;
        }
        Ok(())
    }

    /// Returns the bot's command, which is empty if the bot is late.
    fn answer(&mut self, bot: &mut Running, deadline: Instant) -> Result<Vec<Action>, End> {
        for _ in 0..FRAMES_PER_TICK_MAX {
            let Some((text, arrived)) = self.receive(bot, deadline)? else { return self.miss(bot) };
            if let Some((start, limit)) = self.start.take() {
                let needed = arrived.saturating_duration_since(start);
                if needed > limit + self.options.tick_time {
                    let tick = self.played.state.tick().into();
                    self.record.mistakes.add("late start", tick, "its first message", &late_words(needed, limit));
                }
            }
            if let Some(actions) = self.read(&text, arrived)? {
                return Ok(actions);
            }
        }
        Err(End::garbage(format!("{FRAMES_PER_TICK_MAX} messages in one tick without a command for it")))
    }

    /// Handles a message; returns the actions if it is the current tick's command.
    fn read(&mut self, message: &str, arrived: Instant) -> Result<Option<Vec<Action>>, End> {
        let elapsed = arrived.saturating_duration_since(self.sent);
        let (tick, ms) = (u32::from(self.played.state.tick()), milliseconds(elapsed));
        let error = match ClientFrame::parse(message) {
            Ok(ClientFrame::Command(command)) if command.tick == tick => {
                self.record.commands += 1;
                self.record.mistakes.add_actions(tick, &command.actions);
                self.played.record.times.add(elapsed);
                self.wire.command = Some(CommandNote { ms, tick: None, actions: command.actions.clone() });
                (self.answered_tick, self.is_behind) = (Some(tick), false);
                (self.silent_ticks, self.sent_garbage) = (0, false);
                return Ok(Some(command.actions));
            }
            Ok(ClientFrame::Command(Command { tick: found, actions })) => {
                if self.answered_tick != Some(found) && (u32::from(FIRST_TICK)..tick).contains(&found) {
                    self.record.late_commands += 1;
                    self.wire.late.push(CommandNote { ms, tick: Some(found), actions });
                } else if found > tick || found < FIRST_TICK.into() {
                    let error = format!("expected tick {tick}");
                    self.record.mistakes.add("unexpected command", tick, message, &error);
                }
                // A command for another tick still shows that the bot is alive.
                self.silent_ticks = 0;
                return Ok(None);
            }
            // A program that supports both transports may also register over its pipe.
            Ok(ClientFrame::Register(_)) if self.record.commands == 0 => return Ok(None),
            Ok(ClientFrame::InvalidCommand(error)) => error.to_string(),
            Ok(ClientFrame::Unknown(what)) => format!("{what}: expected a COMMAND"),
            Ok(_) => "expected a COMMAND".to_owned(),
            // The message is too long or not JSON, so the server would close the connection.
            Err(error) => {
                let is_text = message.len() <= ClientFrame::MAX_BYTES && self.game.bot.transport == Transport::Pipe;
                let hint = match &error {
                    _ if !is_text => "",
                    error if error.is_incomplete() => "; write each message on one line",
                    _ if message.starts_with(['{', '[']) => "",
                    _ => "; print other text to standard error",
                };
                let what = format!("{error}, found {}: expected a COMMAND{hint}", shortened(message));
                self.add_invalid(message, ms, error.to_string());
                return Err(End::garbage(what));
            }
        };
        self.add_invalid(message, ms, error);
        self.sent_garbage = true;
        Ok(None)
    }

    fn add_invalid(&mut self, message: &str, ms: f64, error: String) {
        self.record.invalid_commands += 1;
        self.record.mistakes.add("invalid message", self.played.state.tick().into(), message, &error);
        self.wire.unreadable.push(UnreadableNote { ms, text: shortened(message), error });
    }

    fn miss(&mut self, bot: &mut Running) -> Result<Vec<Action>, End> {
        self.silent_ticks += 1;
        if self.silent_ticks < SILENT_TICKS_MAX {
            self.is_behind = true;
            self.record.missed_ticks += 1;
            self.played.record.times.add(self.sent.elapsed());
            return Ok(Vec::new());
        }
        let mut silence = format!("no command for {SILENT_TICKS_MAX} ticks");
        if let Some((start, limit)) = self.start {
            let (verb, elapsed) = match self.receive(bot, Instant::now() + LATE_START_TIME)? {
                Some((_, arrived)) => ("its first message came", arrived.saturating_duration_since(start)),
                None => ("no message", start.elapsed()),
            };
            silence += &format!(": {verb} {}", late_words(elapsed, limit));
        }
        let unfinished = bot.connection.unfinished_bytes();
        if unfinished > 0 {
            silence +=
                &format!("; its output ends in {unfinished} bytes without a line end: end each command with one");
        }
        Err(match self.sent_garbage {
            true => End::garbage(format!("{silence}: {}", self.record.mistakes.words())),
            false => End::Failed(FailureKind::Silence, silence),
        })
    }

    /// Waits for a message; `None` if none arrived before the deadline. Fails if the bot exceeds a
    /// limit, closes the connection or breaks the rules of the transport.
    fn receive(&mut self, bot: &mut Running, deadline: Instant) -> Result<Option<(String, Instant)>, End> {
        loop {
            if (self.is_stopped)() {
                return Err(End::Stopped);
            }
            let next = deadline.min(Instant::now() + STOP_CHECK_INTERVAL);
            match bot.connection.receive(next) {
                Received::Message { text, arrived } => return Ok(Some((text, arrived))),
                Received::Nothing if next == deadline => return Ok(None),
                Received::Nothing => self.check_usage(&mut bot.process)?,
                Received::Broken(what) => return Err(End::garbage(what)),
                Received::Closed => {
                    let status =
                        bot.process.wait_unless(CRASH_TIME, self.is_stopped).map_err(|Stopped| End::Stopped)?;
                    let has_crashed = status.is_some_and(|status| !status.success());
                    let kind = if has_crashed { FailureKind::Crash } else { FailureKind::Disconnect };
                    return Err(End::Failed(kind, exit_words(status)));
                }
            }
        }
    }

    fn step(&mut self, actions: &[Action]) {
        let left = self.record.failure.as_ref().map(|failure| format!("{}: {}", failure.kind, failure.detail));
        let wire = WireNotes { left, ..std::mem::take(&mut self.wire) };
        (self.watch)(&self.played.state, Answer::Command { actions, wire });
        let player_move = self.game.world.resolve(&self.played.state, actions);
        self.played.step(self.game.world, player_move);
    }

    /// Plays the remaining ticks without the bot, as the server does.
    fn finish(mut self) -> PlayedGame {
        while !self.played.state.is_over() {
            self.record.missed_ticks += 1;
            self.step(&[]);
        }
        // A command counts as a search, and a tick without a command as a fallback.
        let sources = SourceCounts { plan: 0, search: self.record.commands, fallback: self.record.missed_ticks };
        let record = GameRecord { sources, external: Some(self.record), ..self.played.record };
        PlayedGame { record, ..self.played }.finish(self.game.world)
    }
}

fn late_words(elapsed: Duration, limit: Duration) -> String {
    format!("{:.1} s after its start: expected at most {limit:?} ({START_OPTION})", elapsed.as_secs_f64())
}

/// Writes a log. An existing file is overwritten only if it is a log.
fn write_log(folder: &Path, name: &str, log: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    LOG.check_replaceable(&path, 2 * LOG_BYTES_MAX as u64)?;
    fs::write(path, format!("{{\"getaway\":\"{}\",\"version\":{}}}\n{log}", LOG.name, LOG.version))
}
