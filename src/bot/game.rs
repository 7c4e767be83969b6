use crate::game::LAST_TICK;
use crate::protocol::MessageMap;

use super::deadline::Deadlines;
use super::decision::Decision;
use super::learning::Learning;
use super::observation::{Decoded, Observation};
use super::options::BotOptions;
use super::plan::Planning;
use super::records::{History, Sent};
use super::tracker::{Tracker, Tracking, track};

/// The maximum number of sent moves to keep while no observation is queued.
const SENT_MAX: usize = 16;

pub(super) struct Game {
    pub map: MessageMap,
    message_tick: u32,
    /// The last answered observation, with its answer.
    answer: Option<(Observation, Decision)>,
    pub history: History,
    pub tracking: Option<Tracking>,
    pub planning: Planning,
    pub learning: Learning,
}

pub(super) enum Observed {
    Repeated(Decision),
    New { learnt: Vec<String> },
}

/// Adds a playable message to the game, or starts a new game with it. A repeated message changes
/// nothing.
pub(super) fn observe(
    game: &mut Option<Game>,
    decoded: &Decoded<'_>,
    options: &BotOptions,
    deadlines: Deadlines,
) -> Observed {
    let observation = &decoded.observation;
    let is_same_game = game.as_ref().is_some_and(|game| game.is_continued_by(decoded));
    if let Some(Game { answer: Some((answered, decision)), .. }) = game
        && is_same_game
        && answered == observation
        && decision.tick == decoded.message_tick
    {
        return Observed::Repeated(decision.clone());
    }
    if !decoded.is_playable {
        return Observed::New { learnt: Vec::new() };
    }
    let current = match &mut *game {
        Some(game) if is_same_game => game,
        game => game.insert(Game::new(decoded)),
    };
    current.message_tick = decoded.message_tick;
    current.history.rename(&decoded.named);
    current.history.queue.push_back(observation.clone());
    current.tracking = track(current.tracking.take(), &current.map, &mut current.history, options, deadlines);
    current.learning.keep(observation);
    let mut learnt = Vec::new();
    if let Some(Tracking::Following(tracker)) = &mut current.tracking
        && current.history.queue.is_empty()
    {
        learnt = current.learning.learn(tracker, &current.history.named, options, deadlines.learning);
    }
    if current.tracking.is_none() {
        // No world can be built from this map. The next playable message starts a new game.
        *game = None;
    }
    Observed::New { learnt }
}

impl Game {
    fn new(decoded: &Decoded<'_>) -> Self {
        let history = History { named: decoded.named.clone(), ..History::default() };
        Self {
            map: decoded.map.clone(),
            message_tick: decoded.message_tick,
            answer: None,
            history,
            tracking: None,
            planning: Planning::default(),
            learning: Learning::default(),
        }
    }

    pub fn tracked(&mut self, decoded: &Decoded<'_>) -> Option<(&Tracker, &mut Planning, &Learning)> {
        match &self.tracking {
            Some(Tracking::Following(tracker)) if self.history.queue.is_empty() && self.map == *decoded.map => {
                Some((&**tracker, &mut self.planning, &self.learning))
            }
            _ => None,
        }
    }

    /// True if the messages ended before the plan did, probably because of an unexpected catch.
    pub fn has_ended_unexpectedly(&self) -> bool {
        self.answer.as_ref().is_some_and(|(_, decision)| {
            decision.tick < LAST_TICK.into()
                && decision.planned_tick.is_some_and(|planned| u32::from(planned) > decision.tick + 1)
        })
    }

    fn is_continued_by(&self, decoded: &Decoded<'_>) -> bool {
        self.message_tick <= decoded.message_tick
            && self.history.named.len() == decoded.named.len()
            && self.map == *decoded.map
    }

    /// Keeps the answer to the last message. `is_timely` is false if it may come too late.
    pub fn keep_answer(&mut self, observation: Observation, decision: Decision, is_timely: bool) {
        let History { sent, queue, .. } = &mut self.history;
        let (tick, player_move, is_up_to_date) = (observation.tick, decision.player_move, queue.is_empty());
        sent.retain(|sent| sent.tick != tick);
        sent.push(Sent { tick, player_move, is_timely: is_timely && is_up_to_date });
        if is_up_to_date && sent.len() > SENT_MAX {
            sent.remove(0);
        }
        self.answer = Some((observation, decision));
    }
}
