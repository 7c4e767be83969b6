"""The competition bot: `python application.py` plays one game and prints a summary.

Environment: TOKEN (the bot registers with it instead of the team name), SERVER_URL (the default of
--url), SAVE_JSONL_PATH (the bot records the game in this file, which must not exist yet).
Exit code: 0 if a game was played, 1 if not, 2 if an option other than the URL is invalid or the
recording already exists, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from typing import NoReturn

from websockets.exceptions import WebSocketException

import getaway
from client import Game, Recorder, open_connection, printable


def main() -> int:
    options = parse_options()
    # Without this, printing text that the terminal cannot encode would raise an error.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("websockets").setLevel(logging.WARNING)
    recorder = None
    try:
        bot = getaway.Bot(options.planner, budget_ms=options.budget_ms, seed=options.seed, no_jump=options.no_jump)
        if path := os.environ.get("SAVE_JSONL_PATH"):
            recorder = open_recorder(path)
    except (ValueError, FileExistsError) as error:
        report(f"error: {error}")
        return 2
    try:
        return play(options, bot, recorder)
    except KeyboardInterrupt:
        return 130
    finally:
        if recorder:
            recorder.close()


class OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def report(text: object) -> None:
    print(printable(text), file=sys.stderr)


def open_recorder(path: str) -> Recorder | None:
    """Creates the recording. Returns None if the file cannot be created; the game is then played
    without a recording. Raises FileExistsError if the file exists, because it may belong to another
    bot."""
    try:
        return Recorder(path)
    except FileExistsError:
        raise FileExistsError(f"SAVE_JSONL_PATH: {path} already exists and is not overwritten") from None
    except (OSError, ValueError) as error:
        report(f"{error}; the game is not recorded")
        return None


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {printable(message)} (try --help)\n")


def parse_options() -> argparse.Namespace:
    parser = Parser(description="Play one game.", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--url", default=os.environ.get("SERVER_URL", "ws://127.0.0.1:8765"), help="server URL")
    parser.add_argument("--team-name", default="getaway", help="team name to register with if TOKEN is not set")
    parser.add_argument("--planner", default="survival", help="name of a planner, or an expression of the search grammar")
    parser.add_argument("--budget-ms", type=float, default=75.0, help="time per decision in milliseconds")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--no-jump", action="store_true", help="the server plays the no-jump variant: stepping onto a threat's tile loses the game")
    return parser.parse_args()


def play(options: argparse.Namespace, bot: getaway.Bot, recorder: Recorder | None) -> int:
    """Plays one game and prints its summary. Returns the exit code."""
    try:
        connection = open_connection(options.url)
    except (OSError, ValueError, WebSocketException) as error:
        report(f"error: {options.url}: cannot connect: {error}")
        return 1
    header = {"no_jump": options.no_jump, "recorder": f"bot {getaway.__version__}", "planner": options.planner}
    game = Game(connection, bot, recorder, header)
    try:
        game.play(os.environ.get("TOKEN"), options.team_name)
    except KeyboardInterrupt:
        game.summary.close = "interrupted"
        raise
    finally:
        connection.close()
        print(printable(game.summary), flush=True)
    if any(bot.mispredictions):
        print(f"mispredictions by threat: {bot.mispredictions}")
    return 0 if game.summary.last_tick else 1


if __name__ == "__main__":
    sys.exit(main())
