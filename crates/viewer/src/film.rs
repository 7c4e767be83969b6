//! A game moment by moment, as it was recorded or played, with what the simulator knows about it.

use std::path::Path;

use serde::Serialize;

use super::insight::{Insight, Observer};
use getaway::game::{Action, Direction, LAST_TICK, Layout, Move, Personality, Position, Rules, State, Tile, World};
use getaway::planner::{Limit, Survival, SurvivalOptions};
use getaway::protocol::GameMessage;
use getaway::recording::{RecordingError, RecordingReader, Report, verify};

/// Ticks that are looked ahead where a game goes on.
pub(super) const AHEAD_TICKS: usize = 60;
/// States that the search may step to find out how a game could go on: some tens of milliseconds.
const AHEAD_EXPANSIONS_MAX: u64 = 200_000;
/// Moments of a film at most: five games.
const MOMENTS_MAX: usize = 10_000;

/// Who stands where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The player.
    pub player: Position,
    /// The threats, in the order of the film, and where they look.
    pub threats: Vec<(Position, Direction)>,
}

/// The start of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The tick. It repeats where the player runs into a threat and nobody jumps: the game ends before the tick does.
    pub tick: u32,
    /// Who stands where.
    pub frame: Frame,
    /// What the simulator knows; nothing past the line where a recording departs from the rules.
    pub insight: Option<Insight>,
}

/// How a film ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The game still runs.
    Running,
    /// A threat has caught the player.
    Caught,
    /// The player has survived every tick.
    Complete,
    /// The film ends before the game does.
    Unfinished,
}

/// What a mark on the time line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// The threats get faster.
    Phase,
    /// The player and a threat pass through each other.
    Jump,
    /// Every move but one was fatal.
    CloseCall,
    /// The player is caught.
    Catch,
    /// Every tick has been survived.
    Complete,
}

/// A moment worth finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// Which moment of the film.
    pub index: usize,
    /// What happens.
    pub kind: MarkKind,
    /// A few words about it.
    pub text: String,
}

/// A game as it is shown.
#[derive(Clone, Debug)]
pub struct Film {
    /// What is shown: a map's name, or a file's.
    pub title: String,
    /// Who plays, or what else there is to say under the title.
    pub subtitle: String,
    /// The map. Its threats are those whose styles are known.
    pub layout: Layout,
    /// The styles of all threats, as messages name them.
    pub styles: Vec<String>,
    /// The rules that were played.
    pub rules: Rules,
    /// The moments, in order.
    pub moments: Vec<Moment>,
    /// How it could go on after the last moment: the survival search's plan, and what the threats then do.
    pub ahead: Vec<Frame>,
    /// Moments worth finding, in order.
    pub marks: Vec<Mark>,
    /// How it ends.
    pub ending: Ending,
    /// What a spectator should know about the whole.
    pub note: Option<String>,
}

impl Film {
    /// A film without moments, for a game that is about to be played.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>, world: &World) -> Self {
        let layout = world.layout().clone();
        Self {
            title: title.into(),
            subtitle: subtitle.into(),
            styles: layout.threats.iter().map(|threat| threat.style.name().to_owned()).collect(),
            layout,
            rules: *world.rules(),
            moments: Vec::new(),
            ahead: Vec::new(),
            marks: Vec::new(),
            ending: Ending::Running,
            note: None,
        }
    }

    /// A game that was played here, from its first state to its last.
    pub fn of_states(title: impl Into<String>, subtitle: impl Into<String>, world: &World, states: &[State]) -> Self {
        let mut film = Self::new(title, subtitle, world);
        let mut crew = Crew::new(world);
        for state in states {
            film.shoot(world, state, &mut crew);
        }
        if let Some(state) = states.last().filter(|state| !state.is_over()) {
            film.ending = Ending::Unfinished;
            film.ahead = look_ahead(world, state);
        }
        film
    }

    /// A saved game. Up to where it departs from the rules it is played again, and everything is known about it; from there on it is shown as it
    /// was recorded.
    ///
    /// # Errors
    /// When the file cannot be read, or does not begin with a state that can be played on.
    pub fn of_recording(path: impl AsRef<Path>, rules: &Rules) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let report = verify(path, rules)?;
        let mut reader = RecordingReader::open(path)?;
        let Some(first) = reader.next_tick()? else {
            return Err(RecordingError::Empty { path: path.to_owned() });
        };
        let world = world_of(path, &first.game_message, &report, rules)?;
        let mut film = Self::new(file_title(path), team_of(&first.game_message), &world);
        film.styles = first.game_message.threats.iter().map(|threat| threat.style.to_string()).collect();
        film.note = note_on(&report);
        let mut crew = Crew::of_message(&first.game_message);
        let mut replayed = Some(world.start());
        let mut next = Some(first);
        while let Some(tick) = next {
            if film.moments.len() == MOMENTS_MAX {
                film.note = Some(format!("only the first {MOMENTS_MAX} ticks are shown"));
                break;
            }
            if film.moments.len() >= report.ticks {
                replayed = None;
            }
            film.shoot_message(&world, &tick.game_message, replayed.as_ref(), &mut crew);
            replayed = replayed.and_then(|state| after(&world, state, &tick.actions));
            next = reader.next_tick()?;
        }
        if let Some(state) = &replayed {
            film.shoot(&world, state, &mut crew);
            if !state.is_over() {
                film.ahead = look_ahead(&world, state);
            }
        }
        if film.ending == Ending::Running {
            film.ending = Ending::Unfinished;
        }
        Ok(film)
    }

    /// The last moment of a tick.
    pub fn index_of_tick(&self, tick: u32) -> Option<usize> {
        self.moments.iter().rposition(|moment| moment.tick == tick)
    }

    /// What the game scores, as far as it is shown.
    pub fn score(&self) -> u32 {
        self.moments.last().map_or(0, |moment| moment.tick * getaway::game::POINTS_PER_TICK)
    }

    /// The frames that follow a moment: those that were played, then those that the simulator expects.
    pub fn following(&self, index: usize) -> impl Iterator<Item = &Frame> {
        let played = self.moments.iter().skip(index + 1).map(|moment| &moment.frame);
        played.chain(&self.ahead).take(AHEAD_TICKS)
    }

    /// Takes in a state of a game that keeps the rules.
    pub(super) fn shoot(&mut self, world: &World, state: &State, crew: &mut Crew) {
        let mut frame = frame_of(world, state);
        if let Some(before) = self.moments.last().filter(|before| before.frame.threats.len() != frame.threats.len()) {
            // Those that no world knows stay where they were seen last.
            let mut threats = before.frame.threats.clone();
            for (place, threat) in crew.places.iter().zip(&frame.threats) {
                threats[*place] = *threat;
            }
            frame.threats = threats;
        }
        self.ending = match (state.is_complete(), state.is_over()) {
            (true, _) => Ending::Complete,
            (false, true) => Ending::Caught,
            (false, false) => Ending::Running,
        };
        let insight = crew.observer.look(world, state, &positions(&frame));
        self.add(Moment { tick: state.tick().into(), frame, insight: Some(insight) });
    }

    /// Takes in a recorded state, with the replayed one if the two agree.
    fn shoot_message(&mut self, world: &World, message: &GameMessage, replayed: Option<&State>, crew: &mut Crew) {
        let threat = |threat: &getaway::protocol::MessageThreat| {
            (threat.position, threat.direction.known().unwrap_or(Direction::Up))
        };
        let mut threats: Vec<_> = message.threats.iter().map(threat).collect();
        // A film has one cast; only what departs from the rules can change it.
        threats.resize(self.styles.len(), (Position::new(-1, -1), Direction::Up));
        let frame = Frame { player: message.your_character.position, threats };
        let insight = replayed.map(|state| crew.observer.look(world, state, &positions(&frame)));
        self.add(Moment { tick: message.tick, frame, insight });
    }

    fn add(&mut self, moment: Moment) {
        let index = self.moments.len();
        self.moments.push(moment);
        let marks = marks_of(&self.rules, &self.moments, self.ending, &self.styles).map(|(kind, text)| Mark {
            index,
            kind,
            text,
        });
        self.marks.extend(marks);
    }
}

/// What making a film takes.
pub(super) struct Crew {
    observer: Observer,
    /// The places of a world's threats among all that are shown.
    places: Vec<usize>,
}

impl Crew {
    /// For a game whose threats are all known.
    pub fn new(world: &World) -> Self {
        Self::with_places((0..world.threat_count()).collect())
    }

    fn of_message(message: &GameMessage) -> Self {
        Self::with_places(message.known_threats().map(|(place, ..)| place).collect())
    }

    fn with_places(places: Vec<usize>) -> Self {
        Self { observer: Observer::new(places.clone()), places }
    }
}

/// What the survival search would play from a state, and what happens then.
pub(super) fn look_ahead(world: &World, state: &State) -> Vec<Frame> {
    let limit = Limit { expansions: Some(AHEAD_EXPANSIONS_MAX), ..Limit::default() };
    let moves = Survival::new(SurvivalOptions::default()).solve(world, state, limit).moves;
    let mut state = state.clone();
    let mut frames = Vec::new();
    for player_move in moves.into_iter().take(AHEAD_TICKS) {
        world.step(&mut state, player_move);
        frames.push(frame_of(world, &state));
        if state.is_over() {
            break;
        }
    }
    frames
}

/// Who stands where in a state.
pub(super) fn frame_of(world: &World, state: &State) -> Frame {
    let threats = world.threats(state).map(|threat| (threat.position, threat.direction)).collect();
    Frame { player: world.player(state), threats }
}

fn positions(frame: &Frame) -> Vec<Position> {
    frame.threats.iter().map(|&(position, _)| position).collect()
}

/// The state after a command, unless the game was over.
fn after(world: &World, mut state: State, actions: &[Action]) -> Option<State> {
    world.play(&mut state, actions).ok().map(|_: Move| state)
}

/// The world that a recording was made in, as far as that can be found out.
fn world_of(path: &Path, first: &GameMessage, report: &Report, rules: &Rules) -> Result<World, RecordingError> {
    let unreadable = |source| RecordingError::Line { path: path.to_owned(), line: 1, source };
    first.validate().map_err(unreadable)?;
    let mut layout = first.layout().map_err(unreadable)?;
    for tile in &report.see_through {
        layout.tiles[(tile.y * layout.width + tile.x) as usize] = Tile::SeeThrough;
    }
    World::new(&layout, rules).map_err(|source| RecordingError::World { path: path.to_owned(), source })
}

fn note_on(report: &Report) -> Option<String> {
    let divergence = report.divergence.as_ref()?;
    let getaway::recording::Divergence { tick, path, expected, found, .. } = divergence;
    Some(format!(
        "departs from the rules in tick {tick} ({path}: expected {expected}, found {found}); shown as recorded from there on"
    ))
}

/// `games/a.jsonl.gz` -> `a`.
fn file_title(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".jsonl").unwrap_or(name).to_owned()
}

fn team_of(message: &GameMessage) -> String {
    let team = message.your_character.team_id.as_ref().and_then(|team| team.as_str());
    team.map_or_else(|| "saved game".to_owned(), |team| format!("saved game of {team}"))
}

/// What is worth finding about the last of these moments.
fn marks_of(
    rules: &Rules,
    moments: &[Moment],
    ending: Ending,
    styles: &[String],
) -> impl Iterator<Item = (MarkKind, String)> {
    let (before, now) = match moments {
        [.., before, now] => (Some(before), now),
        [now] => (None, now),
        [] => unreachable!("called when a moment has been added"),
    };
    let jumps: Vec<&str> = before.map_or_else(Vec::new, |before| {
        let has_swapped = |&threat: &usize| {
            let (was, is) = (before.frame.threats[threat].0, now.frame.threats[threat].0);
            before.frame.player != now.frame.player && was == now.frame.player && is == before.frame.player
        };
        (0..styles.len()).filter(has_swapped).map(|threat| styles[threat].as_str()).collect()
    });
    let phase = phase(rules, now.tick)
        .filter(|&phase| before.is_some_and(|before| self::phase(rules, before.tick) != Some(phase)));
    let is_close = |moment: &Moment| moment.insight.as_ref().is_some_and(|insight| insight.one_way_out);
    let close_call = is_close(now) && !before.is_some_and(is_close);
    let catcher = now.frame.threats.iter().position(|&(position, _)| position == now.frame.player);
    [
        phase.map(|phase| {
            let every = match rules.period_ticks.of(phase) {
                1 => "every tick".to_owned(),
                period => format!("every {period} ticks"),
            };
            (MarkKind::Phase, format!("{phase}: threats move {every}"))
        }),
        (!jumps.is_empty()).then(|| (MarkKind::Jump, format!("jumps over the {}", jumps.join(" and the ")))),
        close_call.then(|| (MarkKind::CloseCall, "close call: one way out".to_owned())),
        (ending == Ending::Caught).then(|| {
            let who = catcher.map_or("a threat", |index| styles[index].as_str());
            (MarkKind::Catch, format!("caught by the {who}").replace("the a ", "a "))
        }),
        (ending == Ending::Complete).then(|| (MarkKind::Complete, "survived every tick".to_owned())),
    ]
    .into_iter()
    .flatten()
}

/// The personality by which threats move in a tick.
pub(super) fn phase(rules: &Rules, tick: u32) -> Option<Personality> {
    let tick = u16::try_from(tick).ok().filter(|tick| (1..=LAST_TICK).contains(tick))?;
    Some(rules.phase_clocks.personality_at(tick - 1))
}

/// The ticks in which personalities begin.
pub(super) fn phases(rules: &Rules) -> Vec<(u32, Personality)> {
    let mut phases: Vec<(u32, Personality)> = Vec::new();
    for tick in 1..=u32::from(LAST_TICK) {
        let Some(phase) = phase(rules, tick) else { continue };
        if phases.last().is_none_or(|&(_, last)| last != phase) {
            phases.push((tick, phase));
        }
    }
    phases
}
