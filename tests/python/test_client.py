"""The bot over a real socket, with `getaway serve` and with misbehaving servers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from websockets.sync.server import ServerConnection

import client
import getaway
from client import open_connection, printable, register_frame
from conftest import MAPS, ROOT, TIMEOUT_S, RealServer, Script, read_command, unused_port
from waiting import wait_until

Done = subprocess.CompletedProcess[str]
RunBot = Callable[..., Done]
Serve = Callable[[Script], str]


def play(connection: ServerConnection, game: getaway.Game, ticks: int) -> None:
    for _ in range(ticks):
        connection.send(game.frame())
        actions = read_command(connection, game.tick)
        game.step(actions)  # type: ignore[arg-type]


def receive_registration(connection: ServerConnection) -> Any:
    return json.loads(connection.recv(timeout=TIMEOUT_S))


def skip_commands(connection: ServerConnection) -> None:
    """Receives the commands for all states so far. The bot answers in order, so the last command is
    that for a state of tick 0, which this function sends."""
    connection.send('{"tick": 0, "yourCharacter": {}}')
    while json.loads(connection.recv(timeout=TIMEOUT_S))["tick"]:
        pass


def recorded_text(path: Path) -> str:
    """Returns the text of a recording. A gzipped recording may be truncated."""
    content = path.read_bytes()
    return (zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(content) if path.suffix == ".gz" else content).decode()


def new_game() -> getaway.Game:
    return getaway.Game(MAPS / "roundabout")


@pytest.mark.parametrize(("name", "variant", "file"), [("harbour", [], "game.jsonl"), ("roundabout", ["--no-jump"], "game.jsonl.gz")])
def test_bot_survives_and_records_whole_games(
    name: str, variant: list[str], file: str, real_server: RealServer, run_bot: RunBot, getaway_program: Path, tmp_path: Path
) -> None:
    url, server = real_server(str(MAPS / name), *variant)
    recording = tmp_path / "new folder" / file
    done = run_bot(url, *variant, SAVE_JSONL_PATH=str(recording))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("score 10005, last tick 2000 (closed by the server: 1000"), done.stdout
    output, _ = server.communicate(timeout=TIMEOUT_S)
    result = json.loads(output)
    assert (result["score"], result["map"], result["team"]) == (10_005, name, "getaway")
    assert (result["commands"], result["missed_ticks"], result["late_commands"]) == (2000, 0, 0)
    assert len(recorded_text(recording).splitlines()) == 2000
    replay = subprocess.run([getaway_program, "replay", recording, *variant], capture_output=True, text=True)
    assert replay.returncode == 0, replay.stdout


def test_first_frame_is_the_token_or_else_the_team_name(scripted_server: Serve, run_bot: RunBot) -> None:
    frames: list[Any] = []
    url = scripted_server(lambda connection: frames.append(receive_registration(connection)))
    for environment in ({"TOKEN": "secret"}, {"TOKEN": ""}):
        run_bot(url, "--team-name", "us", **environment)
    assert frames == [{"type": "REGISTER", "token": "secret"}, {"type": "REGISTER", "teamName": "us"}]
    assert json.loads(register_frame(None, "é")) == {"type": "REGISTER", "teamName": "é"}


def test_server_that_closes_without_a_game_is_reported(scripted_server: Serve, run_bot: RunBot, tmp_path: Path) -> None:
    recording = tmp_path / "game.jsonl"
    done = run_bot(scripted_server(receive_registration), SAVE_JSONL_PATH=str(recording))
    assert done.returncode == 1
    assert done.stdout.startswith("no game was played")
    assert not recording.exists()


def test_bot_waits_for_a_slow_and_silent_server(scripted_server: Serve, run_bot: RunBot) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        time.sleep(1.5)
        game = new_game()
        play(connection, game, 3)
        # The bot must not send another command before it receives the next state.
        with pytest.raises(TimeoutError):
            connection.recv(timeout=1)
        play(connection, game, 3)

    done = run_bot(scripted_server(script))
    assert done.returncode == 0
    assert done.stdout.startswith("score 35, last tick 6")


def test_invalid_messages_are_ignored(scripted_server: Serve, run_bot: RunBot, tmp_path: Path) -> None:
    garbage: list[str | bytes] = [
        "", "{", "[]", "null", "3", '"tick"', '{"type": "HELLO"}', '{"tick": 3}', '{"type": "ERROR", "tick": 1, "map": null}',
        '{"yourCharacter": {}, "tick": "one"}', '{"yourCharacter": {}, "tick": true}', b"\xff\xfe", b"", "[" * 100_000,
    ]

    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        for frame in garbage:
            connection.send(frame)
        for frame in garbage[:3]:
            play(connection, game, 1)
            connection.send(frame)
        # The bot also accepts a state that is sent as bytes or spread over several lines.
        connection.send(game.frame().encode())
        game.step(read_command(connection, game.tick))  # type: ignore[arg-type]
        connection.send(json.dumps(game.message(), indent=1))
        read_command(connection, game.tick)

    recording = tmp_path / "game.jsonl"
    done = run_bot(scripted_server(script), SAVE_JSONL_PATH=str(recording))
    assert done.returncode == 0
    assert done.stdout.startswith("score 30, last tick 5")
    assert done.stderr.count("ignored a message") == len(garbage) + 3
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    assert [line["game_message"]["tick"] for line in lines] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("file", ["game.jsonl", "game.jsonl.gz"])
def test_deeply_nested_states_neither_end_the_game_nor_spoil_the_recording(
    file: str, scripted_server: Serve, run_bot: RunBot, getaway_program: Path, tmp_path: Path
) -> None:
    depths = [*range(120, 131), *range(940, 1010, 7), 5_000, 100_000]

    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        play(connection, game, 3)
        for depth in depths:
            nested = "[" * depth + "]" * depth
            frame = game.frame()
            for line_end in ("", "\n", "\r\n"):
                # The nested lists are in an unknown field, in a known one, and in place of the map.
                connection.send(f'{{{line_end}"new":{nested},{frame[1:]}')
                connection.send(frame.replace('"constants":{}', f'"constants":{line_end}{nested}'))
                connection.send(f'{{"tick":{game.tick},{line_end}"yourCharacter":{{}},"map":{nested}}}')
        skip_commands(connection)
        play(connection, game, 3)

    recording = tmp_path / file
    done = run_bot(scripted_server(script), SAVE_JSONL_PATH=str(recording))
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert done.stdout.startswith("score 35, last tick 6"), done.stdout
    analysis = subprocess.run([getaway_program, "analyse", recording, "--json"], capture_output=True, text=True)
    assert analysis.returncode == 0, analysis.stderr
    # The recording ends with the command for tick 6, from which the state of tick 7 follows.
    assert json.loads(analysis.stdout)["final_tick"] == 7


HOSTILE_STATES = [
    '{"tick": TICK, "yourCharacter": {}}',
    '{"tick": TICK, "yourCharacter": {}, "map": NaN}',
    '{"tick": TICK, "yourCharacter": {}, "map": 1e999}',
    '{"tick": TICK, "tick": TICK, "yourCharacter": {}}',
    '{"tick": TICK, "yourCharacter": "\\ud800"}',
    '{"tick": TICK0000000000, "yourCharacter": {}}',
    '{"tick": -TICK, "yourCharacter": {}}',
    '{"tick": ' + "9" * 4300 + ', "yourCharacter": {}}',
    '{"tick": TICK, "yourCharacter": {"position": {"x": 1e308, "y": null}}, "threats": [[]]}',
]


def test_unusable_states_do_not_spoil_the_recording(scripted_server: Serve, run_bot: RunBot, getaway_program: Path, tmp_path: Path) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        for number, hostile in enumerate(HOSTILE_STATES):
            frame = hostile.replace("TICK", str(game.tick))
            connection.send(frame.encode("utf-16") if number == 1 else frame)
            connection.send(frame.encode())
        skip_commands(connection)
        play(connection, game, 6)

    recording = tmp_path / "game.jsonl"
    done = run_bot(scripted_server(script), "--no-jump", SAVE_JSONL_PATH=str(recording))
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    refused = [line for line in lines if "error" in line]
    assert refused and all(line["error"].startswith("ValueError: invalid message: ") for line in refused)
    assert all(line["game"]["no_jump"] is True for line in refused), "the rules must be in each line up to the first readable state"
    analysis = subprocess.run([getaway_program, "analyse", recording, "--json"], capture_output=True, text=True)
    assert analysis.returncode == 0, analysis.stderr
    assert json.loads(analysis.stdout)["final_tick"] == 7


HOSTILE_TEXT = "\x1b[2J\x9b31m\n\u202egpj.\u2066\u200f\u061c\u2028\x7f\x00é"
ESCAPED_TEXT = "\\u001b[2J\\u009b31m\\n\\u202egpj.\\u2066\\u200f\\u061c\\u2028\\u007f\\u0000é"


def test_close_reason_cannot_control_the_terminal(scripted_server: Serve, run_bot: RunBot) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        play(connection, new_game(), 2)
        connection.close(4000, HOSTILE_TEXT)

    done = run_bot(scripted_server(script))
    assert done.stdout.startswith(f"score 15, last tick 2 (closed by the server: 4000 {ESCAPED_TEXT}); decisions"), done.stdout
    assert printable(HOSTILE_TEXT) == ESCAPED_TEXT
    ascii_only = run_bot(scripted_server(script), PYTHONIOENCODING="ascii")
    assert ascii_only.returncode == 0 and ascii_only.stdout.startswith("score 15, last tick 2"), ascii_only.stderr


def test_messages_cannot_control_the_terminal(scripted_server: Serve, run_bot: RunBot, tmp_path: Path) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        connection.send(HOSTILE_TEXT)
        message = game.message()
        message["threats"][0]["position"] = HOSTILE_TEXT
        connection.send(json.dumps(message, ensure_ascii=False))
        read_command(connection, game.tick)
        play(connection, game, 2)

    # The second run must not overwrite the recording of the first.
    recording = str(tmp_path / HOSTILE_TEXT.replace("\0", ""))
    first, second = (run_bot(scripted_server(script), SAVE_JSONL_PATH=recording) for _ in range(2))
    for done in (first, second):
        assert not set(done.stdout + done.stderr) & set(HOSTILE_TEXT) - {"\n", *"[2Jgpj.é31m"}, done.stderr
    assert first.stdout.startswith("score 15, last tick 2") and first.stderr.count("\n") == 2, first.stderr
    assert "already exists" in second.stderr and second.stderr.count("\n") == 1, second.stderr


@pytest.mark.parametrize(
    "answer",
    [
        f"HTTP/1.1 403 {HOSTILE_TEXT}\r\n\r\n",
        f"HTTP/1.1 302 Found\r\nLocation: {HOSTILE_TEXT}\r\n\r\n",
        f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: {HOSTILE_TEXT[1:4]}\x1b[2J\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \x9b2J\r\n\r\n",
        HOSTILE_TEXT + "\r\n\r\n",
        "",
    ],
)
def test_handshake_cannot_control_the_terminal(answer: str, run_bot: RunBot) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve_once() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer.encode("utf-8"))

        threading.Thread(target=serve_once, daemon=True).start()
        done = run_bot(f"ws://127.0.0.1:{listener.getsockname()[1]}")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("error: ws://127.0.0.1:") and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1 and printable(done.stderr[:-1]) == done.stderr[:-1], done.stderr


def test_unknown_style_message_type_and_byte_order_mark_are_tolerated(scripted_server: Serve, run_bot: RunBot, tmp_path: Path) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        for _ in range(20):
            message = game.message() | {"type": "SOMETHING", "weather": ["rain"]}
            message["threats"][0]["style"] = "platypus"
            frame = "\ufeff" * (game.tick > 5) + json.dumps(message)
            connection.send(frame.encode() if game.tick > 10 else frame)
            game.step(read_command(connection, game.tick))  # type: ignore[arg-type]
        assert not game.is_caught

    recording = tmp_path / "game.jsonl"
    done = run_bot(scripted_server(script), SAVE_JSONL_PATH=str(recording))
    assert done.stdout.startswith("score 105, last tick 20")
    assert "without a decision" not in done.stdout
    assert len([json.loads(line) for line in recording.read_text().splitlines()]) == 20


def test_unusable_state_is_answered_with_no_action(scripted_server: Serve, run_bot: RunBot) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        for broken in (False, True, True, False):
            message = game.message()
            if broken:
                message["yourCharacter"]["position"] = {"x": -5, "y": 0}
            connection.send(json.dumps(message))
            actions = read_command(connection, game.tick)
            assert not broken or actions == []
            game.step(actions)  # type: ignore[arg-type]

    done = run_bot(scripted_server(script))
    assert done.returncode == 0
    assert done.stderr.count("no decision") == 1
    assert "states without a decision: 2" in done.stdout


@pytest.mark.parametrize("code", [1000, 4000, None])
def test_any_close_ends_the_game_without_an_error(code: int | None, scripted_server: Serve, run_bot: RunBot, tmp_path: Path) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        play(connection, new_game(), 10)
        if code is None:
            connection.socket.shutdown(socket.SHUT_RDWR)
        else:
            connection.close(code, "enough")

    recording = tmp_path / "game.jsonl"
    done = run_bot(scripted_server(script), SAVE_JSONL_PATH=str(recording))
    assert (done.returncode, done.stderr) == (0, "")
    end = "connection lost" if code is None else f"closed by the server: {code} enough"
    assert done.stdout.startswith(f"score 55, last tick 10 ({end})")
    assert len(recording.read_text().splitlines()) == 10


def test_large_frame_is_accepted(scripted_server: Serve, run_bot: RunBot) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        connection.send(json.dumps(game.message() | {"constants": {"padding": "x" * (8 << 20)}}))
        read_command(connection, 1)

    assert run_bot(scripted_server(script)).stdout.startswith("score 10, last tick 1")


def test_connecting_is_retried_until_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses_s: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(pauses_s), sleep=pauses_s.append)
    monkeypatch.setattr(client, "time", clock)
    with pytest.raises(ConnectionRefusedError):
        open_connection(f"ws://127.0.0.1:{unused_port()}", timeout_s=10)
    assert pauses_s == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]


def test_bot_can_be_started_before_the_server(getaway_program: Path) -> None:
    port = str(unused_port())
    command, variables = [sys.executable, "application.py"], {**os.environ, "SERVER_URL": f"ws://127.0.0.1:{port}"}
    bot = subprocess.Popen(command, cwd=ROOT / "bot", env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert bot.stderr is not None and "trying again" in bot.stderr.readline()
    serve = [str(getaway_program), "serve", str(MAPS / "roundabout"), "--port", port, "--games", "1", "--tick-ms", "60000"]
    subprocess.run(serve, timeout=TIMEOUT_S)
    output, log = bot.communicate(timeout=TIMEOUT_S)
    assert output.startswith("score 10005"), log


def test_existing_recording_is_not_overwritten(run_bot: RunBot, tmp_path: Path) -> None:
    recording = tmp_path / "game.jsonl"
    recording.write_text("precious\n")
    done = run_bot("ws://127.0.0.1:1", SAVE_JSONL_PATH=str(recording))
    assert done.returncode == 2
    assert "exists" in done.stderr and "Traceback" not in done.stderr
    assert recording.read_text() == "precious\n"


def test_full_disk_stops_the_recording_but_not_the_game(scripted_server: Serve, tmp_path: Path) -> None:
    recording = tmp_path / "game.jsonl"

    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        play(connection, new_game(), 20)

    # The limit is 64 blocks of 512 bytes. Python ignores SIGXFSZ, so writing more fails.
    limited = f'ulimit -f 64; exec "{sys.executable}" application.py --url {scripted_server(script)}'
    environment = {**os.environ, "SAVE_JSONL_PATH": str(recording)}
    done = subprocess.run(["sh", "-c", limited], cwd=ROOT / "bot", env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert str(recording) in done.stderr and "recording stopped, the game continues" in done.stderr
    assert done.stdout.startswith("score 105, last tick 20")
    *complete, partial = recording.read_text().split("\n")
    assert [json.loads(line)["game_message"]["tick"] for line in complete] == list(range(1, len(complete) + 1))
    assert 0 < len(complete) < 20 and partial


def test_recording_that_cannot_be_created_does_not_stop_the_game(scripted_server: Serve, run_bot: RunBot, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file in place of the folder")

    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        play(connection, new_game(), 5)

    for path in (tmp_path / "taken" / "game.jsonl", Path("/proc/1/game.jsonl"), tmp_path / ("x" * 300)):
        done = run_bot(scripted_server(script), SAVE_JSONL_PATH=str(path))
        assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
        assert path.name in done.stderr or "taken" in done.stderr, done.stderr
        assert done.stderr.endswith("; the game is not recorded\n")
        assert done.stdout.startswith("score 30, last tick 5")


def test_second_bot_with_the_same_file_is_refused(scripted_server: Serve, run_bot: RunBot, tmp_path: Path) -> None:
    recording = tmp_path / "game.jsonl"
    second: list[Done] = []

    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        play(connection, game, 3)
        second.append(run_bot("ws://127.0.0.1:1", SAVE_JSONL_PATH=str(recording)))
        play(connection, game, 3)

    done = run_bot(scripted_server(script), SAVE_JSONL_PATH=str(recording))
    assert done.stdout.startswith("score 35, last tick 6")
    assert second[0].returncode == 2 and "exists" in second[0].stderr
    assert len(recording.read_text().splitlines()) == 6


@pytest.mark.parametrize("file", ["game.jsonl", "game.jsonl.gz"])
def test_every_tick_is_on_disk_before_the_next_one(
    file: str, scripted_server: Serve, run_bot: RunBot, tmp_path: Path
) -> None:
    recording = tmp_path / file

    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        game = new_game()
        for lines in range(1, 6):
            play(connection, game, 1)
            connection.ping().wait(TIMEOUT_S)
            wait_until("the line is on disk", lambda: recorded_text(recording).count("\n") >= lines)
            *_, last = recorded_text(recording).splitlines(keepends=True)
            assert last.endswith("\n") and json.loads(last)["game_message"]["tick"] == lines, "a whole line"

    run_bot(scripted_server(script), SAVE_JSONL_PATH=str(recording))


def test_invalid_options_are_reported_in_one_line(run_bot: RunBot) -> None:
    for options in (["--planner", "clever"], ["--budget-ms", "-1"], ["--seed", "-1"]):
        done = run_bot("ws://127.0.0.1:1", *options)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    done = run_bot("http://127.0.0.1:1")
    assert done.returncode == 1 and "cannot connect" in done.stderr


def test_ctrl_c_ends_the_game_and_prints_the_summary(scripted_server: Serve) -> None:
    def script(connection: ServerConnection) -> None:
        receive_registration(connection)
        play(connection, new_game(), 5)
        connection.send("the bot logs this")
        with pytest.raises(Exception):
            connection.recv(timeout=TIMEOUT_S)

    command = [sys.executable, "application.py", "--url", scripted_server(script)]
    bot = subprocess.Popen(command, cwd=ROOT / "bot", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert bot.stderr is not None and "ignored a message" in bot.stderr.readline()
    bot.send_signal(signal.SIGINT)
    output, log = bot.communicate(timeout=TIMEOUT_S)
    assert bot.returncode == 130
    assert output.startswith("score 30, last tick 5 (interrupted)")
    assert "Traceback" not in log
