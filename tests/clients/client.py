"""`python client.py URL PLAN`: a bot that uses the asyncio client of `websockets` 10.4 or later.
PLAN has one character per tick: L, R, U, D, or . to stay. Prints the number of received messages,
the last tick and the close code as JSON."""

import asyncio
import json
import sys

import websockets

MOVES = {"L": "MOVE_LEFT", "R": "MOVE_RIGHT", "U": "MOVE_UP", "D": "MOVE_DOWN"}


async def play(url: str, plan: str) -> None:
    ticks = last_tick = 0
    async with websockets.connect(url) as socket:
        await socket.send(json.dumps({"type": "REGISTER", "teamName": f"websockets {websockets.__version__}"}))
        async for frame in socket:
            state = json.loads(frame)
            assert state["lastTickErrors"] == [], state["lastTickErrors"]
            ticks += 1
            last_tick = state["tick"]
            move = MOVES.get(plan[last_tick - 1])
            actions = [{"type": move}] if move else []
            await socket.send(json.dumps({"type": "COMMAND", "tick": last_tick, "actions": actions}))
    print(json.dumps({"ticks": ticks, "lastTick": last_tick, "code": socket.close_code}))


asyncio.run(play(sys.argv[1], sys.argv[2]))
