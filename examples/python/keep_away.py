"""A minimal planner that looks one tick ahead and keeps away from the nearest threat.

    getaway play roundabout --planner keep_away:planner
    getaway battle keep_away:planner random --map roundabout --map snail

Like `python -m`, the command looks for the module in the current folder and in `sys.path`. A
planner is a callable that takes a state and returns a move, as a `getaway.Move`, its number or its
letter. If the planner is a class, such as `keep_away:Patrol`, each game creates its own instance.
"""

import getaway


def planner(state: getaway.State) -> getaway.Move:
    def room(move: getaway.Move) -> int:
        after = state.after(move)
        if after.is_caught:
            return -1
        x, y = after.player
        return min((abs(x - a) + abs(y - b) for a, b in (threat.position for threat in after.threats)), default=0)

    return max(state.legal_moves, key=room)


class Patrol:
    """A planner that keeps its direction while the next step in it is legal and safe."""

    def __init__(self) -> None:
        self.last = getaway.Move.STAY

    def __call__(self, state: getaway.State) -> getaway.Move:
        safe = [move for move in state.legal_moves if not state.after(move).is_caught]
        if self.last not in safe or self.last is getaway.Move.STAY:
            self.last = planner(state)
        return self.last
