//! One game, from the first state to the result.
//!
//! The promise: what is played is what [`World`] says, tick by tick; no viewer and no disk trouble changes it, and a bot that is slow,
//! silent or gone costs its own game and nothing else.

use std::path::PathBuf;
use std::time::Duration;

use axum::extract::ws::{CloseCode, Utf8Bytes, WebSocket, close_code};
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::bot::{Answer, BotLine, Leave, Tally};
use super::limits::MAX_NOTES_PER_GAME;
use super::recorder::Recorder;
use super::viewers::Viewers;
use getaway::game::{Action, Rules, State, World, variant};
use getaway::protocol::MessageWriter;
use getaway_viewer::Live;

/// How a game ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GameResult {
    /// Which of the server's games it was, from 1.
    pub game: u64,
    /// The map's name.
    pub map: String,
    /// The bot's team.
    pub team: String,
    /// The rules that were played.
    #[serde(rename = "no_jump", with = "variant")]
    pub rules: Rules,
    /// 5 for each tick that was reached.
    pub score: u32,
    /// The tick that was reached.
    pub tick: u16,
    /// What ended it.
    pub end: GameEnd,
    /// Ticks that were played with a command.
    pub commands: u32,
    /// Ticks that were played without one.
    pub missed_ticks: u32,
    /// Commands that came after their tick had been played without one.
    pub late_commands: u32,
    /// The tick in which the bot was out, and why; from there on the game was played without it.
    pub left: Option<BotLeft>,
    /// Time from the first state to the last tick.
    pub seconds: f64,
    /// Where the game is recorded.
    pub recording: Option<PathBuf>,
}

/// What ends a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GameEnd {
    /// A threat stands on the player's tile.
    Caught,
    /// The last tick has been played.
    Complete,
}

/// How a bot was lost in the middle of a game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BotLeft {
    /// The tick that it did not answer any more.
    pub tick: u16,
    /// What happened.
    pub reason: String,
}

/// What a game is played with.
pub(super) struct Game<'a> {
    pub number: u64,
    pub map: &'a str,
    pub world: &'a World,
    pub team: &'a str,
    pub tick_time: Duration,
    pub delay: Duration,
    pub viewers: &'a Viewers,
    pub live: &'a Live,
    pub recording: Option<Recorder>,
    /// Called with what somebody might want to know: too late, twice, nonsense.
    pub note: &'a (dyn Fn(String) + Sync),
}

/// A game that is being played.
struct Play<'a> {
    game: Game<'a>,
    writer: MessageWriter<'a>,
    state: State,
    missed_ticks: u32,
    left: Option<(u16, Leave)>,
    notes: usize,
}

impl<'a> Game<'a> {
    /// Plays to the end. Returns the result, and what the bot's connection is to be closed with.
    pub async fn play(self, socket: &mut WebSocket) -> (GameResult, CloseCode, String) {
        let (world, team) = (self.world, self.team);
        let writer = MessageWriter::new(world, team);
        let recording = self.recording.as_ref().map(|recording| recording.path().to_owned());
        let mut play = Play { game: self, writer, state: world.start(), missed_ticks: 0, left: None, notes: 0 };
        let mut bot = BotLine::new(socket);
        let start = Instant::now();
        while !play.state.is_over() {
            play.tick(&mut bot).await;
        }
        let seconds = start.elapsed().as_secs_f64();
        // Those who watch see how it ended; bots never do.
        play.game.live.push(&play.state);
        play.game.viewers.publish(play.writer.write(&play.state).into());
        play.end_recording().await;
        let tally = bot.tally;
        play.result(tally, seconds, recording)
    }
}

impl Play<'_> {
    /// Shows the state, takes the command, and plays.
    async fn tick(&mut self, bot: &mut BotLine<'_>) {
        let frame = Utf8Bytes::from(self.writer.write(&self.state));
        self.game.live.push(&self.state);
        self.game.viewers.publish(frame.clone());
        let answer = if self.left.is_some() {
            // There is nobody to wait for, but others have work to do.
            tokio::task::yield_now().await;
            Answer::None
        } else {
            self.ask(bot, frame.clone()).await
        };
        let actions = match answer {
            Answer::Actions(actions) => actions,
            Answer::None => self.miss(None),
            Answer::Leave(leave) => self.miss(Some(leave)),
        };
        self.record(frame, &actions).await;
        // Only a game that is over has no next tick, and the loop ends there.
        let _ = self.game.world.play(&mut self.state, &actions);
        if self.left.is_none() && !self.state.is_over() && !self.game.delay.is_zero() {
            sleep(self.game.delay).await;
        }
    }

    async fn ask(&mut self, bot: &mut BotLine<'_>, frame: Utf8Bytes) -> Answer {
        if let Err(leave) = bot.send(frame).await {
            return Answer::Leave(leave);
        }
        let deadline = Instant::now() + self.game.tick_time;
        let tick = self.state.tick();
        let (notes, note) = (&mut self.notes, self.game.note);
        let mut take_note = |text: String| {
            *notes += 1;
            match *notes {
                ..MAX_NOTES_PER_GAME => note(format!("tick {tick}: {text}")),
                MAX_NOTES_PER_GAME => note(format!("tick {tick}: {text}; further notes on this game are left out")),
                _ => {}
            }
        };
        bot.answer(tick.into(), deadline, &mut take_note).await
    }

    /// A tick without a command.
    fn miss(&mut self, leave: Option<Leave>) -> Vec<Action> {
        self.missed_ticks += 1;
        if let Some(leave) = leave {
            (self.game.note)(format!("tick {}: the bot is out: {}", self.state.tick(), leave.reason));
            self.left = Some((self.state.tick(), leave));
        }
        Vec::new()
    }

    async fn record(&mut self, frame: Utf8Bytes, actions: &[Action]) {
        let Some(recording) = self.game.recording.take() else { return };
        match recording.write(frame, actions.to_owned()) {
            Ok(()) => self.game.recording = Some(recording),
            Err(lost) => {
                let error = recording.give_up(lost).await;
                self.note_lost_recording(&error);
            }
        }
    }

    async fn end_recording(&mut self) {
        let Some(recording) = self.game.recording.take() else { return };
        if let Err(error) = recording.finish().await {
            self.note_lost_recording(&error);
        }
    }

    fn note_lost_recording(&self, error: &str) {
        (self.game.note)(format!("{error}; the recording ends there and the game is played to its end"));
    }

    fn result(self, tally: Tally, seconds: f64, recording: Option<PathBuf>) -> (GameResult, CloseCode, String) {
        let Self { game, state, missed_ticks, left, .. } = self;
        let (code, reason) = match &left {
            Some((_, leave)) => (leave.code, leave.reason.clone()),
            None => (close_code::NORMAL, "the game is over".to_owned()),
        };
        let result = GameResult {
            game: game.number,
            map: game.map.to_owned(),
            team: game.team.to_owned(),
            rules: *game.world.rules(),
            score: game.world.score(&state),
            tick: state.tick(),
            end: if state.is_complete() { GameEnd::Complete } else { GameEnd::Caught },
            commands: tally.commands,
            missed_ticks,
            late_commands: tally.late_commands,
            left: left.map(|(tick, leave)| BotLeft { tick, reason: leave.reason }),
            seconds,
            recording,
        };
        (result, code, reason)
    }
}
