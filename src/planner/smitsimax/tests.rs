use super::threat::ATTACK_SHARE;
use super::*;
use crate::game::{Direction, Rules};

fn world(drawing: &str, rules: &Rules) -> World {
    World::new(&Layout::parse(drawing).expect("a drawing"), rules).expect("a map")
}

#[test]
fn choice_depends_on_the_budget_alone_and_keeps_to_it() {
    let world = world("P....#...\n.##.....#\n.##.#.#..\n.........", &Rules::BLITZ_2025);
    let state = world.state_at(1000, Position::new(3, 1), &[]).expect("a state");
    let threats = [(8, 3), (0, 3), (6, 0)].map(|(x, y)| ObservedThreat::at(Position::new(x, y)));
    let choose = |ticks| SmitsimaxRules::new().choose(&world, &state, &threats, Budget::ticks(ticks));
    for ticks in [0, 1, 50, 2_000] {
        let choice = choose(ticks);
        assert_eq!(choice, choose(ticks));
        assert!(choice.simulated_ticks <= ticks, "{} of {ticks} ticks", choice.simulated_ticks);
    }
    assert_eq!(choose(2_000).source, Source::Search);
}

#[test]
fn map_of_another_shape_is_another_map() {
    let mut planner = SmitsimaxPlanner::new();
    for drawing in ["P.\n..\n.S", "..P\nS.."] {
        let world = world(drawing, &Rules::BLITZ_2025);
        let choice = planner.decide(&world, &world.start(), Budget::ticks(50)).expect("a move");
        assert!(world.legal_moves(&world.start()).any(|player_move| player_move == choice.player_move));
    }
}

#[test]
fn flees_between_a_predicted_and_an_unmodelled_threat() {
    let world = world("B.P...\n##.###\n##....", &Rules::BLITZ_2025);
    let bull = crate::game::Threat { direction: Direction::Right, ..world.threat(&world.start(), 0) };
    let state = world.state_at(1000, Position::new(2, 0), &[bull]).expect("a state");
    let unmodelled = [ObservedThreat::at(Position::new(4, 0))];
    let choice = SmitsimaxRules::new().choose(&world, &state, &unmodelled, Budget::ticks(2_000));
    assert_eq!(choice.player_move, Move::Down);
}

#[test]
fn threat_waits_for_a_near_player_until_it_moves_while_the_player_is_far() {
    let [here, beside] = [0, 1].map(|x| Position::new(x, 0));
    let mut habit = Habit::at(here);
    [12, 9].into_iter().for_each(|distance| habit.learn(here, distance));
    assert_eq!(habit.waiting_distance, UNREACHED);
    habit.learn(here, 10);
    assert_eq!(habit.waiting_distance, 9);
    habit.learn(beside, 5);
    assert_eq!(habit.waiting_distance, 9, "it chases a player that is near");
    habit.learn(here, 11);
    assert_eq!(habit.waiting_distance, UNREACHED, "it has woken");
}

#[test]
fn habits_are_learnt_from_one_choice_to_the_next() {
    let world = world("P.........", &Rules::BLITZ_2025);
    let mut rules = SmitsimaxRules::new();
    let mut waiting = |threats: &[(u16, i32)]| -> Vec<u16> {
        let distances = threats.iter().map(|&(tick, x)| {
            let state = world.state_at(tick, Position::new(0, 0), &[]).expect("a state");
            rules.choose(&world, &state, &[ObservedThreat::at(Position::new(x, 0))], Budget::ticks(50));
            rules.habits[0].waiting_distance
        });
        distances.collect()
    };
    assert_eq!(waiting(&[(1000, 8), (1001, 8), (1002, 8), (1003, 8)]), [UNREACHED, UNREACHED, UNREACHED, 8]);
    assert_eq!(waiting(&[(1004, 7)]), [UNREACHED], "it has moved");
    assert_eq!(waiting(&[(1005, 7), (1006, 7), (1007, 7), (1009, 7)])[2..], [7, UNREACHED], "a tick is missing");
}

#[test]
fn threat_learns_to_follow_the_player_wherever_it_goes() {
    // On a ring, a threat that did not observe the player's moves would soon lose the player.
    let world = world("P..\n.#.\n...", &Rules::BLITZ_2025);
    let state = world.state_at(1000, Position::new(1, 0), &[]).expect("a state");
    let mut terrain = None;
    let terrain = Terrain::cached(&mut terrain, world.layout());
    let threats = [ObservedThreat::at(Position::new(0, 2))];
    let habits = threats.map(|threat| Habit::at(threat.position));
    let mut agents = Agents::new(&world, &state, &threats, &habits, 0, terrain);
    let mut meter = BudgetMeter::new(Budget::ticks(5_000));
    while agents.play_out(&mut meter) {}
    let tree = &agents.unmodelled[0].tree;
    let followed = tree.bandits.iter().filter(|bandit| bandit.total_visits() >= 10);
    let is_followed = |bandit: &Bandit| {
        let most = bandit.moves().max_by_key(|&number| bandit.visits[number]).expect("a move");
        bandit.expected[most] >= ATTACK_SHARE / 2.0
    };
    let (kept, all) = followed.fold((0, 0), |(kept, all), bandit| (kept + usize::from(is_followed(bandit)), all + 1));
    assert!(all >= 5 && kept * 10 >= all * 8, "{kept} of {all} observations");
}
