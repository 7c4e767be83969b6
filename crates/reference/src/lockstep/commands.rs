//! Draws random commands, and commands that hide a planned move among other actions. Planned
//! moves can keep the player alive until the threats are insane, so that all phases are tested.

use super::Dice;
use getaway::game::{Action, Direction, Layout, Move, Position, State, World};

/// Fractions on which rounding methods differ, and a few others.
const FRACTIONS: [f64; 8] = [0.0, 0.5, -0.5, 0.499_999_999_999_999_94, -0.51, 0.25, -0.499_999_999_999_999_94, 0.49];

const WILD_COORDINATES: [f64; 10] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e300,
    -1e300,
    2_147_483_647.5,
    -2_147_483_649.0,
    4_294_967_296.0,
    9_007_199_254_740_993.0,
    -0.0,
];

/// Returns up to four random actions, some of which may be invalid.
pub fn random_command(world: &World, state: &State, dice: &mut Dice) -> Vec<Action> {
    let player = world.player(state);
    (0..dice.below(5)).map(|_| random_action(world.layout(), player, dice)).collect()
}

pub fn random_action(layout: &Layout, player: Position, dice: &mut Dice) -> Action {
    let to = |position: Position| Action::MoveTo { x: f64::from(position.x), y: f64::from(position.y) };
    let anywhere = |dice: &mut Dice| Position::new(dice.between(-1, layout.width), dice.between(-1, layout.height));
    match dice.below(16) {
        0..=4 => Action::Move(dice.pick(&Direction::ALL)),
        5 => Action::Unknown("{}".into()),
        6 => Action::MoveNowhere(r#"{"type":"MOVE_TO"}"#.into()),
        7 => to(player),
        8 => to(Position::new(player.x + dice.between(-2, 2), player.y + dice.between(-2, 2))),
        9 => Action::MoveTo { x: dice.pick(&WILD_COORDINATES), y: f64::from(player.y) },
        10 => Action::MoveTo { x: f64::from(player.x), y: dice.pick(&WILD_COORDINATES) },
        11..=13 => {
            let Position { x, y } = anywhere(dice);
            Action::MoveTo { x: f64::from(x) + dice.pick(&FRACTIONS), y: f64::from(y) + dice.pick(&FRACTIONS) }
        }
        _ => to(anywhere(dice)),
    }
}

/// Returns actions without effect, then an action that makes the legal move `wanted`, then
/// arbitrary actions. If `wanted` is [`Move::Stay`], returns only actions without effect.
pub fn disguise(wanted: Move, world: &World, state: &State, dice: &mut Dice) -> Vec<Action> {
    let (layout, player) = (world.layout(), world.player(state));
    let mut command: Vec<Action> = (0..dice.below(4)).map(|_| random_action(layout, player, dice)).collect();
    command.retain(|action| !matches!(world.attempt(state, action), Ok(Some(_))));
    if let Some(direction) = wanted.direction() {
        let next = player.towards(direction);
        command.push(if dice.one_in(2) {
            Action::Move(direction)
        } else {
            let fraction = dice.pick(&[0.0, 0.25, -0.5, 0.49]);
            Action::MoveTo { x: f64::from(next.x) + fraction, y: f64::from(next.y) - 0.125 }
        });
        command.extend((0..dice.below(3)).map(|_| random_action(layout, player, dice)));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::game::Rules;

    #[test]
    fn disguised_command_resolves_to_the_wanted_move() {
        let layout = Layout::parse("######\n#P..B#\n#.#~.#\n#....#\n######").unwrap();
        let world = World::new(&layout, &Rules::BLITZ_2025).unwrap();
        let (mut state, mut dice) = (world.start(), Dice::from_seed(3));
        while !state.is_over() {
            let moves: Vec<Move> = world.legal_moves(&state).collect();
            let wanted = dice.pick(&moves);
            let command = disguise(wanted, &world, &state, &mut dice);
            assert_eq!(world.step_command(&mut state, &command), Ok(wanted), "{command:?}");
        }
    }

    #[test]
    fn every_kind_of_action_occurs() {
        let layout = Layout::parse("P.#\n..#").unwrap();
        let mut dice = Dice::from_seed(1);
        let actions: Vec<Action> = (0..500).map(|_| random_action(&layout, layout.player, &mut dice)).collect();
        for direction in Direction::ALL {
            assert!(actions.contains(&Action::Move(direction)));
        }
        assert!(actions.iter().any(|action| matches!(action, Action::Unknown(_))));
        assert!(actions.iter().any(|action| matches!(action, Action::MoveNowhere(_))));
        let some = |is: fn(f64) -> bool| actions.iter().any(|a| matches!(a, Action::MoveTo { x, .. } if is(*x)));
        assert!(
            some(f64::is_nan) && some(|x| x > 1e9) && some(|x| x < -1e9) && some(|x| x == -0.5) && some(|x| x == 2.0)
        );
    }
}
