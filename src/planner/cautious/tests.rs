use super::*;
use crate::game::Rules;

fn layout(drawing: &str) -> Layout {
    Layout::parse(drawing).expect("a drawing")
}

fn sighting(tick: u16, player: Position, threats: &[ObservedThreat]) -> Sighting<'_> {
    Sighting { tick, player, threats }
}

#[test]
fn flees_from_possible_moves_and_avoids_a_dead_end() {
    let layout = layout("..#....\n.P...#.\n..#....");
    let threats = [ObservedThreat::at(Position::new(0, 0))];
    let choice = CautiousRules::new().choose(&layout, &sighting(1000, Position::new(1, 1), &threats));
    assert_eq!(choice.player_move, Move::Right);
}

#[test]
fn threat_with_its_own_pace_ignores_the_clock() {
    let layout = layout("P...");
    let at = Position::new(2, 0);
    let slow = CautiousRules::new().choose(&layout, &sighting(1, Position::new(0, 0), &[ObservedThreat::at(at)]));
    let quick = ObservedThreat { position: at, period_ticks: Some(1) };
    let quick = CautiousRules::new().choose(&layout, &sighting(1, Position::new(0, 0), &[quick]));
    assert_eq!((slow.planned_tick, quick.planned_tick), (Some(10), Some(2)));
}

#[test]
fn arrivals_measured_together_equal_those_measured_one_by_one() {
    let layout = layout("P....#...\n.##.....#\n.##.#.#..\n.........");
    let open: Vec<Position> = layout.open_positions().collect();
    let periods = [None, Some(1), Some(2), Some(5)];
    let crowd: Vec<ObservedThreat> = (0..1024)
        .map(|number| ObservedThreat { position: open[3 + number * 7 % 4], period_ticks: periods[number / 4 % 4] })
        .collect();
    let mut caution = CautiousRules::new();
    let at_once: Vec<Option<u16>> = caution.arrivals(&layout, 77, &crowd).collect();
    let mut one_by_one = vec![None; open.len()];
    for threat in &crowd {
        for (first, arrival) in one_by_one.iter_mut().zip(caution.arrivals(&layout, 77, std::slice::from_ref(threat))) {
            *first = [*first, arrival].into_iter().flatten().min();
        }
    }
    assert_eq!(at_once, one_by_one);
    assert!(at_once.contains(&Some(0)) && at_once.iter().flatten().any(|&arrival| arrival > 5), "{at_once:?}");
}

#[test]
fn unmodelled_and_predicted_threats_are_avoided_together() {
    let layout = layout("B.P...\n##.###\n##....");
    let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
    let mut threat = world.threat(&world.start(), 0);
    threat.direction = crate::game::Direction::Right;
    let state = world.state_at(1000, layout.player, &[threat]).expect("a state");
    let unmodelled = [ObservedThreat::at(Position::new(4, 0))];
    let choice = CautiousRules::new().choose_with_predictions(&world, &state, &unmodelled, Budget::UNLIMITED);
    assert_eq!(choice.player_move, Move::Down);
}

#[test]
fn invalid_input_still_gets_a_move() {
    let layout = layout("P.#");
    let off = Position::new(-3, 99);
    let choice = CautiousRules::new().choose(&layout, &sighting(0, off, &[ObservedThreat::at(off)]));
    assert_eq!(choice.player_move, Move::Stay);
    let there = Position::new(0, 0);
    let choice = CautiousRules::new()
        .choose(&layout, &sighting(60_000, there, &[ObservedThreat::at(off), ObservedThreat::at(there)]));
    assert!(choice.planned_tick.is_some());
}
