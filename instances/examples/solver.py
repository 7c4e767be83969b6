"""A greedy external solver: each move leads as far as possible from the nearest threat.

    getaway benchmark run --track mazes --time-limit 1 --out runs/greedy \
        --solver 'exec:python3 instances/examples/solver.py'
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check


def main(map_path, rules_path):
    rules = check.full_rules(json.loads(pathlib.Path(rules_path).read_text()), "rules")
    chart = check.Map(pathlib.Path(map_path).read_text(), rules)
    game, line = check.Game(chart), ""
    while not game.is_over():
        tiles = [state[0] for state in game.states]

        def distance(letter):
            to = chart.after_command(game.player, letter)
            return min((chart.distances(to).get(tile, 999) for tile in tiles), default=0)

        line += max(".LRUD", key=distance)
        game.step(line[-1])
    print(line)


main(*sys.argv[1:])
