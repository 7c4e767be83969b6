use super::paths::shared_path_step;
use getaway::game::{Action, ActionError, Layout, Position, Rules, Tile};

pub(super) fn destination(
    layout: &Layout,
    rules: &Rules,
    player: Position,
    action: &Action,
) -> Result<Option<Position>, ActionError> {
    let next = match *action {
        Action::Unknown(_) => return Err(ActionError::Unknown),
        Action::MoveNowhere(_) => return Err(ActionError::NoPosition),
        Action::Move(direction) => player.towards(direction),
        Action::MoveTo { x, y } => {
            let target = target(layout, x, y)?;
            if target == player {
                return Err(ActionError::AlreadyThere(target));
            }
            shared_path_step(layout, rules, player, target).ok_or(ActionError::Unreachable(target))?
        }
    };
    // A path may lead over a see-through tile, but the server refuses the step onto such a tile.
    Ok((layout.tile(next) == Tile::Open).then_some(next))
}

fn target(layout: &Layout, x: f64, y: f64) -> Result<Position, ActionError> {
    if !x.is_finite() || !y.is_finite() {
        return Err(ActionError::NoPosition);
    }
    let (x, y) = (math_round(x), math_round(y));
    if x < 0.0 || y < 0.0 || x >= f64::from(layout.width) || y >= f64::from(layout.height) {
        return Err(ActionError::OffGrid);
    }
    let target = Position::new(x as i32, y as i32);
    if !layout.is_open(target) {
        return Err(ActionError::Wall(target));
    }
    Ok(target)
}

/// Rounds like JavaScript's `Math.round`: halves up. `f64::round` rounds halves away from zero.
fn math_round(value: f64) -> f64 {
    let floor = value.floor();
    // `(value + 0.5).floor()` would round the largest `f64` below 0.5 to 1.
    if value - floor >= 0.5 { floor + 1.0 } else { floor }
}

#[cfg(test)]
mod tests {
    use super::super::drawing::draw;
    use super::*;
    use getaway::game::Direction;

    #[test]
    fn rounding_matches_javascript() {
        for (value, rounded) in [
            (2.5, 3.0),
            (2.49, 2.0),
            (3.5, 4.0),
            (-0.5, 0.0),
            (-0.51, -1.0),
            (-1.5, -1.0),
            (-0.25, 0.0),
            (0.499_999_999_999_999_94, 0.0),
            (-0.500_000_000_000_000_1, -1.0),
            (4_503_599_627_370_497.0, 4_503_599_627_370_497.0),
        ] {
            assert_eq!(math_round(value), rounded, "Math.round({value})");
        }
    }

    fn room() -> Layout {
        draw(&["P..#.", "..~#.", "#.###"])
    }

    fn move_to(x: f64, y: f64) -> Result<Option<Position>, ActionError> {
        let layout = room();
        destination(&layout, &Rules::BLITZ_2025, layout.player, &Action::MoveTo { x, y })
    }

    #[test]
    fn move_to_steps_along_the_shared_path() {
        // Right and down both begin a shortest path to (1, 1); the shared path prefers right.
        assert_eq!(move_to(1.0, 1.0), Ok(Some(Position::new(1, 0))));
        assert_eq!(move_to(0.5, 2.0), Ok(Some(Position::new(1, 0))), "0.5 means 1");
        assert_eq!(move_to(-0.5, 1.0), Ok(Some(Position::new(0, 1))), "-0.5 means 0");
    }

    #[test]
    fn move_to_reports_what_is_wrong() {
        assert_eq!(move_to(0.0, 0.0), Err(ActionError::AlreadyThere(Position::new(0, 0))));
        assert_eq!(move_to(0.49, -0.5), Err(ActionError::AlreadyThere(Position::new(0, 0))));
        assert_eq!(move_to(3.0, 1.0), Err(ActionError::Wall(Position::new(3, 1))));
        assert_eq!(move_to(4.0, 0.0), Err(ActionError::Unreachable(Position::new(4, 0))));
        for (x, y) in [(-0.51, 0.0), (0.0, -1.0), (4.5, 0.0), (0.0, 2.5), (1e300, 0.0), (0.0, -1e300)] {
            assert_eq!(move_to(x, y), Err(ActionError::OffGrid), "({x}, {y})");
        }
        for (x, y) in [(f64::NAN, 0.0), (0.0, f64::INFINITY)] {
            assert_eq!(move_to(x, y), Err(ActionError::NoPosition), "({x}, {y})");
        }
    }

    #[test]
    fn player_never_enters_a_see_through_tile() {
        let layout = room();
        for player in [Position::new(2, 0), Position::new(1, 1)] {
            let asked = Action::MoveTo { x: 2.0, y: 1.0 };
            assert_eq!(destination(&layout, &Rules::BLITZ_2025, player, &asked), Ok(None), "from {player}");
        }
        assert_eq!(
            destination(&layout, &Rules::BLITZ_2025, Position::new(1, 1), &Action::Move(Direction::Right)),
            Ok(None)
        );
    }

    #[test]
    fn blocked_moves_are_refused_silently_and_invalid_actions_are_errors() {
        let layout = room();
        let from = |player, action: Action| destination(&layout, &Rules::BLITZ_2025, player, &action);
        assert_eq!(from(layout.player, Action::Move(Direction::Left)), Ok(None), "off the grid");
        assert_eq!(from(Position::new(0, 1), Action::Move(Direction::Down)), Ok(None), "a wall");
        assert_eq!(from(layout.player, Action::Move(Direction::Down)), Ok(Some(Position::new(0, 1))));
        assert_eq!(from(layout.player, Action::Unknown("{}".into())), Err(ActionError::Unknown));
        assert_eq!(from(layout.player, Action::MoveNowhere("{}".into())), Err(ActionError::NoPosition));
    }
}
