//! Plays games with external bots, with a time limit per tick and the server's rules for messages.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::channel::{Channel, Received};
use super::pipe::PipeChannel;
use super::process::{Process, Streams, exit_words, last_log_line};
use super::socket::{Port, SocketChannel};
use super::usage::UsageMeter;
use super::{
    CRASH_TIME, EXIT_TIME, ExternalBot, ExternalOptions, FRAMES_PER_TICK_MAX, LATE_START_TIME, LOG_BYTES_MAX,
    SILENT_TICKS_MAX, Stopped, Transport,
};
use crate::game::TEAM;
use crate::record::{Cost, ExternalRecord, Failure, FailureKind, MovesFingerprint, Times};
use getaway::game::{Action, FIRST_TICK, Plan, State, World};
use getaway::protocol::{ClientFrame, Command, MAX_CLIENT_FRAME_BYTES, MessageWriter};
use getaway::recording::{CommandNote, UnreadableNote, WireNotes, milliseconds, shortened};
use getaway_runs::FileKind;

const LOG: FileKind = FileKind { name: "log", version: 1 };
/// The option of `getaway` that sets [`ExternalOptions::startup_time`].
const START_OPTION: &str = "--bot-start-ms";
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A piped bot that is running but not playing.
type IdleBot = (ExternalBot, Process, PipeChannel);

#[derive(Debug)]
pub(crate) struct ExternalHost {
    options: ExternalOptions,
    idle: Mutex<Vec<IdleBot>>,
}

#[derive(Clone, Copy, Debug)]
pub struct ExternalGame<'a> {
    pub bot: &'a ExternalBot,
    pub world: &'a World,
    /// The seed of the game, passed to a new process in the environment variable `SEED`.
    pub seed: u64,
    /// The name of the game's log file in the folder [`ExternalOptions::logs`].
    pub log_name: &'a str,
}

#[derive(Debug)]
pub struct ExternalTick<'a> {
    pub state: &'a State,
    /// The accepted command; empty if none arrived in time.
    pub actions: &'a [Action],
    pub wire: WireNotes,
}

#[derive(Debug)]
pub struct PlayedGame {
    pub state: State,
    pub record: ExternalRecord,
    pub moves: MovesFingerprint,
    pub line: Plan,
    pub times: Times,
    pub cost: Cost,
}

/// Plays one game with a new process. `watch` is called for every tick, including the ticks after a
/// failure, which are played without the bot.
///
/// # Errors
/// If the log cannot be written. If the process cannot be started, the bot fails instead.
pub fn play_external(
    game: ExternalGame<'_>,
    options: &ExternalOptions,
    watch: &mut dyn FnMut(ExternalTick<'_>),
) -> io::Result<PlayedGame> {
    let host = ExternalHost::new(ExternalOptions { restart: true, ..options.clone() });
    let played = host.play(game, &|| false, watch)?;
    Ok(played.expect("the game was not stopped"))
}

impl ExternalHost {
    pub fn new(options: ExternalOptions) -> Self {
        Self { options, idle: Mutex::new(Vec::new()) }
    }

    /// Plays a game; returns `None` if it was stopped. Fails if the log cannot be written.
    pub fn play(
        &self,
        game: ExternalGame<'_>,
        is_stopped: &dyn Fn() -> bool,
        watch: &mut dyn FnMut(ExternalTick<'_>),
    ) -> io::Result<Option<PlayedGame>> {
        let mut play = Play::new(game, &self.options, is_stopped, watch);
        let log = match game.bot.transport {
            Transport::Exec => self.exec(&mut play),
            Transport::Pipe => self.pipe(&mut play),
        };
        let Ok(log) = log else { return Ok(None) };
        if let Some(folder) = self.options.logs.as_deref().filter(|_| !log.is_empty()) {
            write_log(folder, game.log_name, &log)?;
        }
        Ok(Some(play.finish()))
    }

    fn exec(&self, play: &mut Play<'_>) -> Result<String, Stopped> {
        let Ok((port, url)) = Port::open().and_then(|port| port.url().map(|url| (port, url))) else {
            play.fail(FailureKind::Crash, "no free port on this machine".to_owned());
            return Ok(String::new());
        };
        let command = play.game.bot.command.replace("{url}", &url);
        let address = format!("{url}, the address in SERVER_URL");
        let environment = [("SERVER_URL", url), ("SEED", play.game.seed.to_string())];
        let mut process = match Process::start(&command, Streams::Logged, &environment) {
            Ok(process) => process,
            Err(error) => {
                play.fail(FailureKind::Crash, format!("cannot be started: {error}"));
                return Ok(String::new());
            }
        };
        let (start, limit) = (Instant::now(), self.options.startup_time);
        let accepted = port.accept(&mut process, start + limit + LATE_START_TIME, play.is_stopped);
        let elapsed = start.elapsed();
        if (play.is_stopped)() {
            return Err(Stopped);
        }
        match accepted {
            Ok(mut channel) => {
                if elapsed > limit {
                    play.fail(FailureKind::Silence, format!("connected only {}", late_words(elapsed, limit)));
                } else {
                    self.exec_connected(play, &mut channel, &mut process)?;
                }
                play.explain_failure(&mut process);
                channel.close(play.is_stopped);
                let _ = process.wait(EXIT_TIME, play.is_stopped);
            }
            Err(refusal) => {
                match process.status() {
                    Some(status) => {
                        let end = exit_words(Some(status));
                        play.fail(FailureKind::Crash, format!("{end} before it connected to {address}{refusal}"));
                    }
                    None => {
                        let late = late_words(elapsed, limit);
                        play.fail(FailureKind::Silence, format!("not connected to {address}, {late}{refusal}"));
                    }
                }
                play.explain_failure(&mut process);
            }
        }
        process.kill();
        Ok(process.take_log())
    }

    fn exec_connected(
        &self,
        play: &mut Play<'_>,
        channel: &mut SocketChannel,
        process: &mut Process,
    ) -> Result<(), Stopped> {
        let limit = self.options.startup_time;
        match play.receive(channel, Instant::now() + limit)? {
            Received::Message { text, .. } => match ClientFrame::parse(&text) {
                Ok(ClientFrame::Register(_)) => return play.play(channel, process, Duration::ZERO),
                _ => {
                    let detail = format!("its first message is not REGISTER: {}", shortened(&text));
                    play.fail(FailureKind::Garbage, detail);
                }
            },
            Received::Nothing => {
                play.fail(FailureKind::Silence, format!("did not register within {limit:?} ({START_OPTION})"));
            }
            Received::Closed => play.fail_closed(process)?,
            Received::Broken(what) => play.fail(FailureKind::Garbage, what),
        }
        Ok(())
    }

    fn pipe(&self, play: &mut Play<'_>) -> Result<String, Stopped> {
        let idle = if self.options.restart { None } else { self.take_idle(play.game.bot) };
        let (mut process, mut channel, startup_time) = match idle {
            Some((process, channel)) => (process, channel, Duration::ZERO),
            None => match self.start_piped(play.game) {
                Ok((process, channel)) => (process, channel, self.options.startup_time),
                Err(error) => {
                    play.fail(FailureKind::Crash, format!("cannot be started: {error}"));
                    return Ok(String::new());
                }
            },
        };
        play.play(&mut channel, &mut process, startup_time)?;
        play.explain_failure(&mut process);
        if play.record.failure.is_none() && !play.is_behind && !self.options.restart {
            let log = process.take_log();
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push((play.game.bot.clone(), process, channel));
            return Ok(log);
        }
        // Closing the bot's input tells the bot that there are no more games.
        drop(channel);
        if play.record.failure.is_none() {
            let _ = process.wait(EXIT_TIME, play.is_stopped);
        }
        process.kill();
        Ok(process.take_log())
    }

    fn take_idle(&self, bot: &ExternalBot) -> Option<(Process, PipeChannel)> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let index = idle.iter().position(|(of, ..)| of == bot)?;
            let (_, mut process, mut channel) = idle.swap_remove(index);
            if channel.clear() && process.status().is_none() {
                return Some((process, channel));
            }
        }
    }

    fn start_piped(&self, game: ExternalGame<'_>) -> io::Result<(Process, PipeChannel)> {
        // Without `SERVER_URL`, a program that supports both transports uses its standard streams.
        let environment = [("SERVER_URL", String::new()), ("SEED", game.seed.to_string())];
        let mut process = Process::start(&game.bot.command, Streams::Piped, &environment)?;
        let channel = PipeChannel::new(process.child())?;
        Ok((process, channel))
    }
}

impl Drop for ExternalHost {
    fn drop(&mut self) {
        for (_, process, _) in self.idle.get_mut().unwrap_or_else(PoisonError::into_inner) {
            process.release();
        }
    }
}

struct Play<'a> {
    game: ExternalGame<'a>,
    options: &'a ExternalOptions,
    usage: Option<UsageMeter>,
    cost: Cost,
    is_stopped: &'a dyn Fn() -> bool,
    watch: &'a mut dyn FnMut(ExternalTick<'_>),
    state: State,
    record: ExternalRecord,
    moves: MovesFingerprint,
    line: Plan,
    times: Times,
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
        watch: &'a mut dyn FnMut(ExternalTick<'_>),
    ) -> Self {
        let tick_ms = u64::try_from(options.tick_time.as_millis()).unwrap_or(u64::MAX);
        Self {
            game,
            options,
            usage: None,
            cost: Cost::default(),
            is_stopped,
            watch,
            state: game.world.start(),
            record: ExternalRecord { tick_ms, ..ExternalRecord::default() },
            moves: MovesFingerprint::default(),
            line: Plan::default(),
            times: Times::default(),
            silent_ticks: 0,
            sent_garbage: false,
            start: None,
            answered_tick: None,
            is_behind: false,
            sent: Instant::now(),
            wire: WireNotes::default(),
        }
    }

    fn fail(&mut self, kind: FailureKind, detail: String) {
        self.record.failure = Some(Failure { kind, tick: self.state.tick(), detail });
    }

    /// Adds the line of the log that most likely names the error. Must be called before the channel is
    /// closed, because a bot can print an error that is only the result of this.
    fn explain_failure(&mut self, process: &mut Process) {
        let Some(failure) = &mut self.record.failure else { return };
        if process.status().is_some() {
            // Waits for the rest of the log.
            process.kill();
        }
        failure.detail += &last_log_line(&process.log());
    }

    fn fail_closed(&mut self, process: &mut Process) -> Result<(), Stopped> {
        let status = process.wait(CRASH_TIME, self.is_stopped)?;
        let has_crashed = status.is_some_and(|status| !status.success());
        self.fail(if has_crashed { FailureKind::Crash } else { FailureKind::Disconnect }, exit_words(status));
        Ok(())
    }

    fn check_usage(&mut self) {
        let Some(usage) = &mut self.usage else { return };
        self.cost = usage.poll();
        let Cost { cpu_ms, memory_kib } = self.cost;
        let ExternalOptions { memory_mb_max, cpu_ms_max, .. } = *self.options;
        let memory_mb = memory_kib >> 10;
        if let Some(limit) = memory_mb_max.filter(|&limit| memory_mb > limit) {
            self.fail(FailureKind::Limit, format!("{memory_mb} MiB of memory, expected at most {limit}"));
        } else if let Some(limit) = cpu_ms_max.filter(|&limit| cpu_ms > limit) {
            self.fail(FailureKind::Limit, format!("{cpu_ms} ms of processor time, expected at most {limit}"));
        }
    }

    /// Plays until the game ends or the bot fails; `startup_time` extends the first tick.
    fn play(
        &mut self,
        channel: &mut dyn Channel,
        process: &mut Process,
        startup_time: Duration,
    ) -> Result<(), Stopped> {
        let writer = MessageWriter::new(self.game.world, TEAM);
        self.usage = Some(UsageMeter::new(process.id()));
        let mut extra_time = startup_time;
        self.start = (!startup_time.is_zero()).then(|| (Instant::now(), startup_time));
        while !self.state.is_over() && self.record.failure.is_none() {
            self.sent = Instant::now();
            channel.send(&writer.write(&self.state));
            let deadline = self.sent + self.options.tick_time + std::mem::take(&mut extra_time);
            if let Some(actions) = self.answer(channel, process, deadline)? {
                self.step(&actions);
            }
            if self.record.failure.is_none() {
                self.check_usage();
            }
        }
        self.cost = self.usage.as_mut().map(UsageMeter::measure).unwrap_or_default();
        Ok(())
    }

    /// Returns the bot's command (empty if the bot is late), or `None` if the bot has failed.
    fn answer(
        &mut self,
        channel: &mut dyn Channel,
        process: &mut Process,
        deadline: Instant,
    ) -> Result<Option<Vec<Action>>, Stopped> {
        for _ in 0..FRAMES_PER_TICK_MAX {
            let received = self.receive(channel, deadline)?;
            if self.record.failure.is_some() {
                return Ok(None);
            }
            match received {
                Received::Message { text, arrived } => {
                    self.start = None;
                    match self.read(&text, arrived) {
                        ControlFlow::Break(answer) => return Ok(answer),
                        ControlFlow::Continue(()) => {}
                    }
                }
                Received::Nothing => return self.miss(channel),
                Received::Closed => {
                    self.fail_closed(process)?;
                    return Ok(None);
                }
                Received::Broken(what) => {
                    self.fail(FailureKind::Garbage, what);
                    return Ok(None);
                }
            }
        }
        self.fail(FailureKind::Garbage, format!("{FRAMES_PER_TICK_MAX} messages in one tick without a command for it"));
        Ok(None)
    }

    /// Handles a message; breaks with the current tick's command, or with `None` on a failure.
    fn read(&mut self, message: &str, arrived: Instant) -> ControlFlow<Option<Vec<Action>>> {
        let elapsed = arrived.saturating_duration_since(self.sent);
        let (tick, ms) = (u32::from(self.state.tick()), milliseconds(elapsed));
        match ClientFrame::parse(message) {
            Ok(ClientFrame::Command(command)) if command.tick == tick => {
                self.record.commands += 1;
                self.record.mistakes.add_actions(tick, &command.actions);
                self.times.add(elapsed);
                self.wire.command = Some(CommandNote { ms, tick: None, actions: command.actions.clone() });
                (self.answered_tick, self.is_behind) = (Some(tick), false);
                (self.silent_ticks, self.sent_garbage) = (0, false);
                ControlFlow::Break(Some(command.actions))
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
                ControlFlow::Continue(())
            }
            // A program that supports both transports may also register over its pipe.
            Ok(ClientFrame::Register(_)) if self.record.commands == 0 => ControlFlow::Continue(()),
            Ok(frame) => {
                let error = match frame {
                    ClientFrame::InvalidCommand(error) => error.to_string(),
                    ClientFrame::Unknown(what) => format!("{what}: expected a COMMAND"),
                    _ => "expected a COMMAND".to_owned(),
                };
                self.add_invalid(message, ms, error);
                self.sent_garbage = true;
                ControlFlow::Continue(())
            }
            // The message is too long or not JSON, so the server would close the connection.
            Err(error) => {
                let is_text = message.len() <= MAX_CLIENT_FRAME_BYTES && self.game.bot.transport == Transport::Pipe;
                let hint = if is_text { "; print other text to standard error" } else { "" };
                self.add_invalid(message, ms, error.to_string());
                let text = self.wire.unreadable.last().map_or("", |note| &note.text);
                self.fail(FailureKind::Garbage, format!("{error}, found {text}: expected a COMMAND{hint}"));
                ControlFlow::Break(None)
            }
        }
    }

    fn add_invalid(&mut self, message: &str, ms: f64, error: String) {
        self.record.invalid_commands += 1;
        self.record.mistakes.add("invalid message", self.state.tick().into(), message, &error);
        self.wire.unreadable.push(UnreadableNote { ms, text: shortened(message), error });
    }

    fn miss(&mut self, channel: &mut dyn Channel) -> Result<Option<Vec<Action>>, Stopped> {
        self.silent_ticks += 1;
        if self.silent_ticks >= SILENT_TICKS_MAX {
            let silence = format!("no command for {SILENT_TICKS_MAX} ticks");
            if let Some((start, limit)) = self.start {
                let first = self.receive(channel, Instant::now() + LATE_START_TIME)?;
                let verb =
                    if matches!(first, Received::Message { .. }) { "its first message came" } else { "no message" };
                self.fail(FailureKind::Silence, format!("{silence}: {verb} {}", late_words(start.elapsed(), limit)));
            } else if self.sent_garbage {
                self.fail(FailureKind::Garbage, format!("{silence}: {}", self.record.mistakes.words()));
            } else {
                self.fail(FailureKind::Silence, silence);
            }
            return Ok(None);
        }
        self.is_behind = true;
        self.record.missed_ticks += 1;
        self.times.add(self.sent.elapsed());
        Ok(Some(Vec::new()))
    }

    /// Waits for a message like [`Channel::receive`], but also returns `Nothing` if the bot exceeds
    /// a limit.
    fn receive(&mut self, channel: &mut dyn Channel, deadline: Instant) -> Result<Received, Stopped> {
        loop {
            if (self.is_stopped)() {
                return Err(Stopped);
            }
            let next = deadline.min(Instant::now() + STOP_CHECK_INTERVAL);
            match channel.receive(next) {
                Received::Nothing if next < deadline => self.check_usage(),
                received => return Ok(received),
            }
            if self.record.failure.is_some() {
                return Ok(Received::Nothing);
            }
        }
    }

    fn step(&mut self, actions: &[Action]) {
        let left = self.record.failure.as_ref().map(|failure| format!("{}: {}", failure.kind, failure.detail));
        let wire = WireNotes { left, ..std::mem::take(&mut self.wire) };
        (self.watch)(ExternalTick { state: &self.state, actions, wire });
        self.moves.add(self.game.world.player(&self.state));
        // `World::play` fails only if the game is over, and all callers check that first.
        self.line.0.extend(self.game.world.play(&mut self.state, actions));
    }

    /// Plays the remaining ticks without the bot, as the server does.
    fn finish(mut self) -> PlayedGame {
        while !self.state.is_over() {
            self.record.missed_ticks += 1;
            self.step(&[]);
        }
        self.moves.add(self.game.world.player(&self.state));
        let Self { state, record, moves, line, times, cost, .. } = self;
        PlayedGame { state, record, moves, line, times, cost }
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
