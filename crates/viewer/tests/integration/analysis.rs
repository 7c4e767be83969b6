//! Guarantees: for games that are lost in a known way, the analysis names the right cause. If it
//! claims a proof of the deciding tick, an exhaustive search confirms this tick, and the analysis's
//! line survives to the end.

use std::collections::HashSet;

use crate::common;
use getaway::game::{Action, LAST_TICK, Layout, Move, Rules, State, Status, Threat, World};
use getaway::map::Map;
use getaway::planner::by_name;
use getaway::protocol::MessageWriter;
use getaway::recording::{
    CommandNote, DecisionNotes, GameNotes, RecordingWriter, TickNotes, UnreadableNote, WireNotes,
};
use getaway::search::Budget;
use getaway::solve::{Outcome, Solver, SolverOptions};
use getaway_viewer::{Analysis, GameLog, LossKind, RecordingSource, Replay};

const BUDGET: Budget = Budget::ticks(4_000_000);

fn map(name: &str) -> Map {
    common::our_maps().into_iter().find(|map| map.name == name).unwrap()
}

fn world(name: &str) -> World {
    World::new(&map(name).layout, &Rules::BLITZ_2025).unwrap()
}

fn surviving_game(world: &World, seed: u64) -> (Vec<Move>, Vec<State>) {
    let options = SolverOptions { seed, ..SolverOptions::default() };
    let solution = Solver::survival_search(options).solve(world, &world.start(), Budget::ticks(20_000_000));
    assert_eq!(solution.outcome, Outcome::Survives);
    let states = world.states_along(&world.start(), &solution.moves);
    (solution.moves, states)
}

/// The last tick that a line can reach; `None` if the search generates over `states_max` states.
fn exhaustive_end(world: &World, state: &State, states_max: usize) -> Option<u16> {
    let (mut layer, mut last, mut count) = (vec![state.clone()], state.tick(), 0);
    while !layer.is_empty() {
        let mut next = HashSet::new();
        for state in &layer {
            for (_, successor) in world.successors(state) {
                last = last.max(successor.tick());
                count += 1;
                if successor.status() == Status::Running {
                    next.insert(Key(world.fingerprint(&successor), successor));
                }
            }
        }
        if count > states_max {
            return None;
        }
        layer = next.into_iter().map(|key| key.1).collect();
    }
    Some(last)
}

struct Key(u64, State);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.0.hash(hasher);
    }
}

fn is_doomed(world: &World, state: &State) -> bool {
    state.is_caught() || exhaustive_end(world, state, 200_000).is_some_and(|tick| tick <= LAST_TICK)
}

/// Finds the first move accepted by `is_move`, from index `from` on, that dooms the player but
/// leaves it at least `delay` more ticks. Returns the index of the state, and the move.
fn find_blunder(
    world: &World,
    states: &[State],
    from: usize,
    delay: u16,
    is_move: impl Fn(Move) -> bool,
) -> Option<(usize, Move)> {
    let candidates =
        (from..states.len() - 1).flat_map(|index| world.legal_moves(&states[index]).map(move |m| (index, m)));
    let mut candidates = candidates.filter(|&(_, player_move)| is_move(player_move));
    candidates.find(|&(index, player_move)| {
        let next = world.after(&states[index], player_move);
        let is_late_enough =
            || exhaustive_end(world, &next, 3_000).is_some_and(|tick| (next.tick() + delay..LAST_TICK).contains(&tick));
        if next.is_caught() { delay == 0 } else { is_late_enough() }
    })
}

fn blunder(
    world: &World,
    from: usize,
    delay: u16,
    is_move: impl Fn(Move) -> bool,
) -> (Vec<Move>, Vec<State>, usize, Move) {
    let found = (8..60).find_map(|seed| {
        let (moves, states) = surviving_game(world, seed);
        let (index, player_move) = find_blunder(world, &states, from, delay, &is_move)?;
        Some((moves, states, index, player_move))
    });
    found.expect("a move that loses")
}

struct RecordedLine {
    said: Vec<Action>,
    played: Move,
    notes: TickNotes,
}

fn command(player_move: Move) -> Vec<Action> {
    player_move.direction().map(Action::Move).into_iter().collect()
}

fn heard(player_move: Move) -> RecordedLine {
    let command_note = CommandNote { ms: 3.0, tick: None, actions: command(player_move) };
    with_wire(player_move, WireNotes { command: Some(command_note), ..WireNotes::default() })
}

fn with_wire(played: Move, wire: WireNotes) -> RecordedLine {
    RecordedLine {
        said: command(played),
        played,
        notes: TickNotes { wire: Some(Box::new(wire)), ..TickNotes::default() },
    }
}

fn sent(said: Move, played: Move) -> RecordedLine {
    let decision = DecisionNotes {
        ms: 1.5,
        source: "plan".into(),
        planned_tick: Some(2001),
        mispredictions: 0,
        learnt: Vec::new(),
    };
    let notes = TickNotes { decision: Some(Box::new(decision)), ..TickNotes::default() };
    RecordedLine { said: command(said), played, notes }
}

fn without_command() -> RecordedLine {
    with_wire(Move::Stay, WireNotes::default())
}

fn gone() -> RecordedLine {
    with_wire(Move::Stay, WireNotes { left: Some("closed the connection".into()), ..WireNotes::default() })
}

#[test]
fn replay_says_what_the_bot_had_learnt_from_which_frame_on() {
    let world = World::new(&Layout::parse("P..\n.#.\n..G").expect("a drawing"), &Rules::BLITZ_2025).expect("a map");
    let mut lines: Vec<RecordedLine> = (0..5).map(|_| sent(Move::Stay, Move::Stay)).collect();
    let learnt = vec!["the first seed is 3".to_owned()];
    lines[2].notes.decision.as_mut().expect("a decision").learnt.clone_from(&learnt);
    let (log, _) = analyse(&world, lines, || sent(Move::Stay, Move::Stay));
    assert_eq!(Replay::of_log(&log).header.learnt, [(2, learnt)]);
}

/// Analyses a recording of `lines`, followed by lines from `rest` until the game is over.
fn analyse(world: &World, lines: Vec<RecordedLine>, rest: impl Fn() -> RecordedLine) -> (GameLog, Analysis) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.jsonl.gz");
    let mut recording = RecordingWriter::create(&path).unwrap();
    let writer = MessageWriter::new(world, "me");
    let mut state = world.start();
    let mut lines = lines.into_iter();
    while !state.is_over() {
        let mut line = lines.next().unwrap_or_else(&rest);
        if state.tick() == 1 {
            let header = GameNotes { map: Some("known".into()), rules: *world.rules(), ..GameNotes::default() };
            line.notes.game = Some(Box::new(header));
        }
        recording.write_with(&writer.write(&state), &line.said, &line.notes).unwrap();
        world.step_unchecked(&mut state, line.played);
    }
    recording.finish().unwrap();
    let log = GameLog::read(&RecordingSource::File(path), None, &[]).unwrap();
    let analysis = Analysis::of_log(&log, BUDGET, &mut |_| true);
    assert_eq!(analysis.final_tick, state.tick());
    (log, analysis)
}

fn check(name: &str, world: &World, log: &GameLog, analysis: &Analysis, kind: LossKind, tick: u16, sentence: &str) {
    assert_eq!((analysis.end, analysis.kind), (Status::Caught, Some(kind)), "{name}: {}", analysis.sentence);
    assert_eq!((analysis.last_savable_tick, analysis.is_proven), (Some(tick), true), "{name}: {}", analysis.sentence);
    assert!(analysis.sentence.starts_with(sentence), "{name}: {}", analysis.sentence);
    assert!(
        analysis.sentence.ends_with(&format!("caught the car at tick {}.", analysis.final_tick)),
        "{}",
        analysis.sentence
    );
    let index = usize::from(tick) - 1;
    let mut state = log.ticks[index].state.clone().unwrap();
    let line = analysis.line.as_ref().unwrap();
    assert_eq!(world.play(&mut state, line), line.len(), "{name}: the line is played to its end");
    assert_eq!(state.status(), Status::Complete, "{name}: the line survives");
    let next = log.ticks.get(index + 1).map_or(log.last.as_ref(), |tick| tick.state.as_ref()).unwrap();
    assert!(is_doomed(world, next), "{name}: exhaustive search finds no surviving line from the next tick on");
    let decisive: Vec<u16> = analysis.falls.iter().filter(|fall| fall.is_decisive).map(|fall| fall.tick).collect();
    assert_eq!(decisive, [tick], "{name}");
    assert_eq!(analysis.room.len(), log.ticks.len() + 1);
    assert!(analysis.room[..=index].iter().all(|&room| room > 0), "{name}: there is room while survival is possible");
}

#[test]
fn lost_games_are_explained_by_their_causes() {
    let world = world("roundabout");
    let heard_until = |moves: &[Move]| moves.iter().map(|&player_move| heard(player_move)).collect::<Vec<_>>();
    let is_stay = |player_move| player_move == Move::Stay;

    for (from, delay) in [(300, 2), (1500, 1)] {
        let (moves, states, index, wrong) = blunder(&world, from, delay, |player_move| player_move != Move::Stay);
        let mut lines = heard_until(&moves[..index]);
        lines.push(heard(wrong));
        let mut rest = Solver::survival_search(SolverOptions::default());
        let next = world.after(&states[index], wrong);
        lines.extend(rest.solve(&world, &next, Budget::UNLIMITED).moves.into_iter().map(heard));
        let (log, analysis) = analyse(&world, lines, || heard(Move::Stay));
        let tick = index as u16 + 1;
        check(
            "blunder",
            &world,
            &log,
            &analysis,
            LossKind::Blunder,
            tick,
            &format!("Lost at tick {tick} by a blunder: "),
        );
        assert_eq!(analysis.played, Some(wrong));
    }

    let (moves, _, index, _) = blunder(&world, 200, 1, is_stay);
    let tick = index as u16 + 1;
    let mut lines = heard_until(&moves[..index]);
    lines.push(without_command());
    let late = CommandNote { ms: 4.0, tick: Some(tick.into()), actions: command(moves[index]) };
    lines.push(with_wire(Move::Stay, WireNotes { late: vec![late], ..WireNotes::default() }));
    let (log, analysis) = analyse(&world, lines, without_command);
    let sentence =
        format!("Lost at tick {tick} because the command for this tick came too late, 4 ms into tick {}: ", tick + 1);
    check("late", &world, &log, &analysis, LossKind::LateCommand, tick, &sentence);
    assert_eq!(analysis.commands.late, 1);

    let (moves, states, index, _) = blunder(&world, 100, 0, is_stay);
    let tick = index as u16 + 1;
    let (log, analysis) = analyse(&world, heard_until(&moves[..index]), without_command);
    let sentence = format!("Lost at tick {tick} because no command came for it: the car stayed where ");
    check("missing", &world, &log, &analysis, LossKind::MissingCommand, tick, &sentence);

    let mut lines = heard_until(&moves[..index]);
    for line in &mut lines[5..8] {
        let late = CommandNote { ms: 4.0, tick: Some(3), actions: Vec::new() };
        let wire = line.notes.wire.as_mut().unwrap();
        // The car still moves as if these commands had arrived in time.
        wire.command = None;
        wire.late.push(late);
    }
    let (log, analysis) = analyse(&world, lines, without_command);
    let sentence =
        format!("Lost at tick {tick} because no command came for it in time, nor for 3 other ticks from tick 6 on: ");
    check("missing and late", &world, &log, &analysis, LossKind::MissingCommand, tick, &sentence);

    let unreadable = || {
        let frame =
            UnreadableNote { ms: 2.0, text: "{}".into(), error: "actions: expected an array, found nothing".into() };
        with_wire(Move::Stay, WireNotes { unreadable: vec![frame], ..WireNotes::default() })
    };
    let (log, analysis) = analyse(&world, heard_until(&moves[..index]), unreadable);
    let sentence =
        format!("Lost at tick {tick} because the command for this tick could not be read (actions: expected an array");
    check("unreadable", &world, &log, &analysis, LossKind::UnreadableCommand, tick, &sentence);

    let left = (0..states.len() - 1).find(|&left| {
        let mut state = states[left].clone();
        (0..6).for_each(|_| {
            if !state.is_over() {
                world.step_unchecked(&mut state, Move::Stay)
            }
        });
        !state.is_over() && exhaustive_end(&world, &state, 3_000).is_none()
    });
    for left in [left.unwrap(), index] {
        let (log, analysis) = analyse(&world, heard_until(&moves[..left]), gone);
        let tick = analysis.last_savable_tick.unwrap();
        let sentence = format!(
            "Lost because the bot was gone from tick {} on (closed the connection): the car stood still",
            left + 1
        );
        check("gone", &world, &log, &analysis, LossKind::BotGone, tick, &sentence);
        assert_eq!(analysis.commands.left_tick, Some(left as u32 + 1));
        assert_eq!(analysis.sentence.contains("although"), usize::from(tick) > left + 1, "{}", analysis.sentence);
    }

    // The bot's own recording of a game in which the server ignores one of its commands.
    let (moves, _, index, _) = blunder(&world, 400, 1, is_stay);
    let tick = index as u16 + 1;
    let mut lines: Vec<RecordedLine> =
        moves[..index].iter().map(|&player_move| sent(player_move, player_move)).collect();
    lines.push(sent(moves[index], Move::Stay));
    let (log, analysis) = analyse(&world, lines, || sent(Move::Stay, Move::Stay));
    let sentence = format!("Lost at tick {tick} because the server did not play the bot's command to ");
    check("ignored", &world, &log, &analysis, LossKind::IgnoredCommand, tick, &sentence);
    assert!(log.note().is_some_and(|note| note.starts_with("the server did not play 1 of the recorded commands")));
}

#[test]
fn loss_in_the_last_tick_is_explained() {
    let world = world("roundabout");
    let (found, states, moves) = (0..20)
        .find_map(|seed| {
            let (moves, states) = surviving_game(&world, seed);
            let last = usize::from(LAST_TICK) - 2;
            let fatal = world.legal_moves(&states[last]).find(|&m| world.after(&states[last], m).is_caught())?;
            Some(((last, fatal), states, moves))
        })
        .expect("a seed for which some move of tick 1999 is fatal");
    let (index, fatal) = found;
    assert_eq!(states[index].tick(), LAST_TICK - 1);
    let lines = moves[..index].iter().chain([&fatal]).map(|&player_move| heard(player_move)).collect();
    let (log, analysis) = analyse(&world, lines, || heard(Move::Stay));
    let sentence = "Lost in the last tick of the game by the move of tick 1999: the car ";
    check("last tick", &world, &log, &analysis, LossKind::LastTick, LAST_TICK - 1, sentence);
    assert_eq!((analysis.final_tick, analysis.score), (LAST_TICK, 10_000));
}

#[test]
fn doomed_map_is_explained() {
    let world = World::new(&Layout::parse("P.....S").unwrap(), &Rules::NO_JUMP).unwrap();
    let (_, analysis) = analyse(&world, Vec::new(), || heard(Move::Stay));
    assert_eq!((analysis.kind, analysis.is_proven), (Some(LossKind::DoomedMap), true));
    assert_eq!((analysis.last_savable_tick, &analysis.line), (None, &None));
    let longest = analysis.longest_tick.unwrap();
    assert!(longest >= analysis.final_tick, "the played game is a known line, too");
    assert_eq!(exhaustive_end(&world, &world.start(), 100_000), Some(longest));
    let expected = format!(
        "Lost before the first move: no line survives this map, and the shark caught the car at tick {}.",
        analysis.final_tick
    );
    assert_eq!(analysis.sentence, expected);
}

/// Plays a game whose planner assumes a wrong seed. Returns the recording, its analysis, and the
/// styles of the catchers.
fn surprised_game(believed: &World, first_seed: i32) -> (GameLog, Analysis, Vec<String>) {
    let rules = Rules { first_seed, ..Rules::BLITZ_2025 };
    let truth = World::new(believed.layout(), &rules).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.jsonl");
    let mut recording = RecordingWriter::create(&path).unwrap();
    let writer = MessageWriter::new(&truth, "me");
    let mut planner = by_name("safest", 1).unwrap();
    let mut state = truth.start();
    while !state.is_over() {
        let threats: Vec<Threat> = truth.threats(&state).collect();
        let seen = believed.state_at(state.tick(), truth.player(&state), &threats).unwrap();
        let player_move = planner.decide(believed, &seen, Budget::UNLIMITED).expect("a move").player_move;
        recording.write(&writer.write(&state), &command(player_move)).unwrap();
        truth.step_unchecked(&mut state, player_move);
    }
    recording.finish().unwrap();
    let log = GameLog::read(&RecordingSource::File(path), None, &[]).unwrap();
    let analysis = Analysis::of_log(&log, BUDGET, &mut |_| true);
    let player = truth.player(&state);
    let catchers = truth.threats(&state).filter(|threat| threat.position == player && state.is_caught());
    let catchers = catchers.map(|threat| threat.style.name().to_owned()).collect();
    (log, analysis, catchers)
}

/// The server sends no message after a catch, so the bot's recording does not show the catcher.
#[test]
fn catch_that_the_rules_do_not_predict_is_explained_from_the_bots_own_recording() {
    let believed = world("cul-de-sacs");
    let found = (40..400).find_map(|first_seed| {
        let (log, analysis, catchers) = surprised_game(&believed, first_seed);
        (analysis.end == Status::Running && !catchers.is_empty()).then_some((log, analysis, catchers))
    });
    let (log, analysis, catchers) = found.expect("a game that ends without a predicted catch");
    assert_eq!((analysis.kind, analysis.is_proven), (Some(LossKind::Misprediction), false), "{}", analysis.sentence);
    assert_eq!(u32::from(analysis.final_tick), log.ticks.last().unwrap().tick + 1);
    let expected = format!(
        "Probably lost at tick {} because a threat moved in a way that the rules do not predict: the ",
        analysis.final_tick
    );
    assert!(analysis.sentence.starts_with(&expected), "{}", analysis.sentence);
    assert!(catchers.iter().any(|catcher| analysis.sentence.contains(catcher)), "{}: {catchers:?}", analysis.sentence);
}

#[test]
fn nothing_is_proven_if_the_style_of_a_threat_is_unknown() {
    let rules = Rules::NO_JUMP;
    let world = World::new(&Layout::parse("P.....S#G.").unwrap(), &rules).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let analyse = |style: &str| {
        let path = folder.path().join("game.jsonl");
        let mut recording = RecordingWriter::create(&path).unwrap();
        let mut state = world.start();
        while !state.is_over() {
            let message = MessageWriter::new(&world, "me").write(&state);
            recording.write(&message.replace("\"goldfish\"", &format!("\"{style}\"")), &[]).unwrap();
            world.step_unchecked(&mut state, Move::Stay);
        }
        recording.finish().unwrap();
        let log = GameLog::read(&RecordingSource::File(path.clone()), Some(&rules), &[]).unwrap();
        std::fs::remove_file(path).unwrap();
        let analysis = Analysis::of_log(&log, BUDGET, &mut |_| true);
        (analysis.kind, analysis.is_proven, analysis.uncertain_tick)
    };
    assert_eq!(analyse("goldfish"), (Some(LossKind::DoomedMap), true, None));
    assert_eq!(analyse("zebra"), (Some(LossKind::Undecided), false, Some(1)));
}

#[test]
fn misprediction_is_explained() {
    let believed = world("cul-de-sacs");
    let found = (40..200).find_map(|first_seed| {
        let (log, analysis, _) = surprised_game(&believed, first_seed);
        (analysis.kind == Some(LossKind::Misprediction) && analysis.end == Status::Caught).then_some((log, analysis))
    });
    let (log, analysis) = found.expect("a game that is lost by a misprediction");
    let index = log.ticks.iter().position(|tick| Some(tick.tick) == analysis.last_savable_tick.map(u32::from)).unwrap();
    let surprise = log.ticks[index + 1].mispredicted[0];
    let expected = format!(
        "Lost at tick {} because the {} moved to {}, not to {} as the rules predict: the car's move would otherwise have survived, ",
        index + 1,
        log.styles[surprise.threat],
        surprise.found,
        surprise.predicted
    );
    assert!(analysis.sentence.starts_with(&expected), "{}", analysis.sentence);
    assert!(is_doomed(&believed, log.ticks[index + 1].state.as_ref().unwrap()));
    assert!(analysis.commands.mispredicted > 0 && !analysis.is_proven, "the threats' memories are not certain");
}

#[test]
fn survived_and_running_games_are_not_lost() {
    let world = world("roundabout");
    let (moves, states) = surviving_game(&world, 1);
    let (_, analysis) = analyse(&world, moves.iter().map(|&player_move| heard(player_move)).collect(), without_command);
    assert_eq!((analysis.end, analysis.kind, analysis.is_proven), (Status::Complete, None, true));
    assert_eq!(analysis.sentence, "Survived all 2,000 ticks: 10,005 points.");
    let running = Analysis::of_states(&world, &states[..300], Some("roundabout".into()), BUDGET, &mut |_| true);
    assert_eq!((running.end, running.kind, running.last_savable_tick), (Status::Running, None, Some(300)));
    assert_eq!(running.sentence, "The game is not over: at tick 300 survival is still possible.");
}

#[test]
fn analysis_with_a_budget_in_ticks_is_reproducible() {
    let world = world("corner-shop");
    let mut states = vec![world.start()];
    while let Some(state) = states.last().filter(|state| !state.is_over()) {
        states.push(world.after(state, Move::Stay));
    }
    let analyse = || Analysis::of_states(&world, &states, None, Budget::ticks(300_000), &mut |_| true);
    assert_eq!(analyse(), analyse());
}

#[test]
fn recordings_of_the_server_and_of_the_bot_are_merged() {
    let world = world("roundabout");
    let moves = |count: usize| (0..count).map(|index| if index % 2 == 0 { Move::Left } else { Move::Right });
    let (server, _) = analyse(&world, moves(5).map(heard).collect(), without_command);
    let (bot, _) = analyse(&world, moves(5).map(|one| sent(one, one)).collect(), || sent(Move::Stay, Move::Stay));
    let length = server.ticks.len();
    for merged in [server.clone().merged(bot.clone()).unwrap(), bot.clone().merged(server.clone()).unwrap()] {
        assert_eq!(merged.ticks.len(), length);
        assert!(merged.ticks.iter().all(|tick| tick.wire.is_some() && tick.decision.is_some()));
        let analysis = Analysis::of_log(&merged, BUDGET, &mut |_| true);
        assert_eq!((analysis.kind, analysis.commands.missing), (Some(LossKind::MissingCommand), length - 5));
        let decisions = Replay::of_log(&merged).header.decisions;
        assert_eq!(decisions[3], Some((1.5, "plan".to_owned())));
    }
    let (other, _) = analyse(&world, moves(4).map(heard).collect(), without_command);
    assert_eq!(
        server.merged(other).unwrap_err().to_string(),
        "expected another recording of the same game, but the recordings differ at tick 6"
    );
    let (mut early, mut late) = (bot.clone(), bot);
    early.ticks.truncate(4);
    late.ticks.retain(|tick| tick.tick > 4);
    assert_eq!(
        early.merged(late).unwrap_err().to_string(),
        "expected another recording of the same game, but the recordings share no tick"
    );
}
