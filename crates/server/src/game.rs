//! Plays a bot's game on a [`World`]. Viewers and disk errors do not affect the game.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Serialize;
use tungstenite::Utf8Bytes;
use tungstenite::protocol::frame::coding::CloseCode;

use super::bot::{Answer, BotConnection, CommandCounts};
use super::recorder::Recorder;
use super::socket::{Disconnect, Socket};
use super::viewers::Viewers;
use getaway::game::{Action, FIRST_TICK, Rules, State, Status, World, rules_fields};
use getaway::protocol::MessageWriter;
use getaway::recording::{GameNotes, TickNotes, WireNotes, milliseconds};
use getaway_viewer::LiveReplay;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GameResult {
    /// The number of the game on this server, from 1.
    pub game: u64,
    pub map: String,
    pub team: String,
    #[serde(flatten, with = "rules_fields")]
    pub rules: Rules,
    /// 5 points per tick.
    pub score: u32,
    pub tick: u16,
    pub end: Status,
    /// Ticks played with a command.
    pub commands: u32,
    pub missed_ticks: u32,
    /// Commands for earlier ticks, except second commands for the last tick that the bot answered
    /// in time.
    pub late_commands: u32,
    pub invalid_commands: u32,
    /// Commands that contain invalid actions.
    pub invalid_actions: u32,
    /// Set if the bot left or was disconnected; the remaining ticks were played without it.
    #[serde(rename = "left")]
    pub disconnect: Option<BotDisconnect>,
    /// Duration from sending the first state to the end of the last tick.
    pub seconds: f64,
    pub recording: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BotDisconnect {
    /// The tick in which the connection ended. It was played without a command.
    pub tick: u16,
    pub reason: String,
}

pub(super) struct HostedGame<'a> {
    pub number: u64,
    pub map: &'a str,
    pub world: &'a World,
    pub team: &'a str,
    pub tick_time: Duration,
    pub delay: Duration,
    pub viewers: &'a Viewers,
    pub live: &'a LiveReplay,
    pub recording: Option<Recorder>,
    /// Reports the bot's first mistake of each kind, its disconnect, and a failed recording.
    pub note: &'a (dyn Fn(String) + Sync),
}

struct Play<'a> {
    game: HostedGame<'a>,
    writer: MessageWriter<'a>,
    state: State,
    missed_ticks: u32,
    disconnect: Option<(u16, Disconnect)>,
}

impl<'a> HostedGame<'a> {
    /// Plays a game. Returns the result, and the close code and reason for the bot.
    pub fn play(self, socket: &mut Socket) -> (GameResult, Disconnect) {
        let (world, team) = (self.world, self.team);
        let writer = MessageWriter::new(world, team);
        let recording = self.recording.as_ref().map(|recording| recording.path().to_owned());
        let mut play = Play { game: self, writer, state: world.start(), missed_ticks: 0, disconnect: None };
        let mut bot = BotConnection::new(socket);
        let start = Instant::now();
        while !play.state.is_over() {
            play.tick(&mut bot);
        }
        let seconds = start.elapsed().as_secs_f64();
        // The bot does not receive the final state.
        play.game.live.push(&play.state);
        play.game.viewers.publish(play.writer.write(&play.state).into());
        play.end_recording();
        let counts = bot.counts;
        play.result(counts, seconds, recording)
    }
}

impl Play<'_> {
    fn tick(&mut self, bot: &mut BotConnection<'_>) {
        let frame = Utf8Bytes::from(self.writer.write(&self.state));
        self.game.live.push(&self.state);
        self.game.viewers.publish(frame.clone());
        let mut wire = WireNotes::default();
        let answer =
            if self.disconnect.is_some() { Answer::None } else { self.exchange(bot, frame.clone(), &mut wire) };
        let actions = match answer {
            Answer::Actions(actions) => actions,
            Answer::None => self.miss(None),
            Answer::Disconnected(disconnect) => self.miss(Some(disconnect)),
        };
        wire.left = self.disconnect.as_ref().map(|(_, disconnect)| disconnect.reason.clone());
        self.game.live.note(&wire);
        self.record(frame, &actions, wire);
        // `World::step_command` fails only if the game is over, which the caller checks before each tick.
        let _ = self.game.world.step_command(&mut self.state, &actions);
        if self.disconnect.is_none() && !self.state.is_over() && !self.game.delay.is_zero() {
            sleep(self.game.delay);
        }
    }

    fn exchange(&mut self, bot: &mut BotConnection<'_>, frame: Utf8Bytes, wire: &mut WireNotes) -> Answer {
        if let Err(disconnect) = bot.send(frame) {
            return Answer::Disconnected(disconnect);
        }
        let sent = Instant::now();
        let deadline = sent + self.game.tick_time;
        let tick = self.state.tick();
        let note = self.game.note;
        bot.answer(tick.into(), sent, deadline, wire, &|text: String| note(format!("tick {tick}: {text}")))
    }

    fn miss(&mut self, disconnect: Option<Disconnect>) -> Vec<Action> {
        self.missed_ticks += 1;
        if let Some(disconnect) = disconnect {
            (self.game.note)(format!("tick {}: bot disconnected: {}", self.state.tick(), disconnect.reason));
            self.disconnect = Some((self.state.tick(), disconnect));
        }
        Vec::new()
    }

    fn record(&mut self, frame: Utf8Bytes, actions: &[Action], wire: WireNotes) {
        let Some(recording) = self.game.recording.take() else { return };
        let header = (self.state.tick() == FIRST_TICK).then(|| {
            Box::new(GameNotes {
                map: Some(self.game.map.to_owned()),
                rules: *self.game.world.rules(),
                recorder: Some(format!("getaway serve {}", env!("CARGO_PKG_VERSION"))),
                planner: None,
                tick_ms: Some(milliseconds(self.game.tick_time)),
            })
        });
        let notes = TickNotes { game: header, wire: Some(Box::new(wire)), decision: None };
        match recording.write(frame, actions.to_owned(), notes) {
            Ok(()) => self.game.recording = Some(recording),
            Err(error) => {
                let error = recording.abort(error);
                self.note_lost_recording(&error);
            }
        }
    }

    fn end_recording(&mut self) {
        let Some(recording) = self.game.recording.take() else { return };
        if let Err(error) = recording.finish() {
            self.note_lost_recording(&error);
        }
    }

    fn note_lost_recording(&self, error: &str) {
        (self.game.note)(format!("{error}; the recording ends here, the game continues"));
    }

    fn result(self, counts: CommandCounts, seconds: f64, recording: Option<PathBuf>) -> (GameResult, Disconnect) {
        let Self { game, state, missed_ticks, disconnect, .. } = self;
        let left = disconnect.as_ref().map(|(tick, left)| BotDisconnect { tick: *tick, reason: left.reason.clone() });
        let close = disconnect.map(|(_, disconnect)| disconnect);
        let result = GameResult {
            game: game.number,
            map: game.map.to_owned(),
            team: game.team.to_owned(),
            rules: *game.world.rules(),
            score: game.world.score(&state),
            tick: state.tick(),
            end: state.status(),
            commands: counts.commands,
            missed_ticks,
            late_commands: counts.late_commands,
            invalid_commands: counts.invalid_commands,
            invalid_actions: counts.invalid_actions,
            disconnect: left,
            seconds,
            recording,
        };
        (result, close.unwrap_or_else(|| Disconnect::new(CloseCode::Normal, "the game is over")))
    }
}
