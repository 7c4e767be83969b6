"""Reads datasets. A dataset contains states that planners reached, each with its observation and
an exact search's verdict on every move.

    from getaway import dataset

    records = dataset.load("states")
    safe = records["outcomes"] == dataset.SURVIVES

`getaway dataset --states 10000 --out states` writes a dataset as NumPy files. `python -m
getaway.dataset states` then adds a Parquet file with the same records; this needs pyarrow.

`load` returns a structured array with one record per state:

- `game`: the number of the game, unique in the dataset.
- `map`, `planner`: indices into the lists `maps` and `planners` of `describe`.
- `state`: the state, in the form of a row of `Batch.get_state`.
- `observation`: the observation, in a shape that fits every map of the dataset.
- `outcomes`: for each `getaway.Move`: `SURVIVES`, `UNDECIDED`, `DOOMED` or `BLOCKED`.
- `final_ticks`: for each move, the final tick of the longest line found that begins with the move;
  0 if the move is blocked.
- `bound_ticks`: for each move, a proven upper bound on the final tick of every line that begins with the
  move; 0 if the move is blocked.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import numpy as np
except ImportError:
    raise ImportError("getaway.dataset needs NumPy: pip install numpy")

import numpy.typing as npt

__all__ = ["BLOCKED", "DOOMED", "SURVIVES", "UNDECIDED", "describe", "load", "to_parquet"]

BLOCKED, DOOMED, UNDECIDED, SURVIVES = -1, 0, 1, 2
"""The outcomes of a move; `getaway.values.Verdict` explains all but `BLOCKED`."""

_NAME = "dataset.parquet"
_MARK = {b"getaway": b"dataset 1"}
_ROW_GROUP_SHARDS = 64
"""Shards per row group of a Parquet file. Files with few large row groups are read fastest."""
_LINE_BYTES_MAX = 1 << 20


def describe(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings of a dataset, including the names of its `maps` and `planners`.

    Raises:
        ValueError: if the folder does not contain a dataset.
    """
    path = Path(folder) / "dataset.jsonl"
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = json.loads(file.readline(_LINE_BYTES_MAX))
        if (first["getaway"], first["version"]) == ("dataset", 1):
            settings: dict[str, Any] = first["settings"]
            return settings
    except OSError as error:
        raise ValueError(f"{path}: expected the description of a dataset: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{path}, line 1: expected the description of a dataset, found other text")


def load(folder: str | os.PathLike[str]) -> npt.NDArray[np.void]:
    """Return all records of a complete dataset, in the same order on every machine.

    Raises:
        ValueError: if the folder does not contain a complete dataset.
    """
    records, end = None, 0
    for shard in _shards(folder):
        if records is None:
            records = np.empty(int(describe(folder)["states"]), shard.dtype)
        records[end : end + len(shard)] = shard
        end += len(shard)
    assert records is not None
    return records


def to_parquet(folder: str | os.PathLike[str]) -> Path:
    """Write a complete dataset to `dataset.parquet` in its folder, with pyarrow; return the path.

    A field with several numbers becomes a column of fixed-length lists; observations are flattened.

    Raises:
        ImportError: if pyarrow is not installed.
        ValueError: if the folder does not contain a complete dataset, or if it contains a
            `dataset.parquet` that this function did not write.
    """
    import pyarrow
    from pyarrow import parquet

    describe(folder)
    path = Path(folder) / _NAME
    try:
        is_ours = not path.exists() or _MARK.items() <= (parquet.read_schema(path).metadata or {}).items()
    except (pyarrow.ArrowInvalid, OSError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"{path}: expected a file that getaway wrote, found another; the file was not overwritten")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        partial, writer = Path(scratch) / _NAME, None
        shards = _shards(folder)
        while group := list(itertools.islice(shards, _ROW_GROUP_SHARDS)):
            records = np.concatenate(group)
            table = pyarrow.table({name: _column(pyarrow, records[name]) for name in records.dtype.names or ()})
            writer = writer or parquet.ParquetWriter(partial, table.schema.with_metadata(_MARK))
            writer.write_table(table.replace_schema_metadata(_MARK))
        assert writer is not None
        writer.close()
        partial.replace(path)
    return path


def _shards(folder: str | os.PathLike[str]) -> Iterator[npt.NDArray[np.void]]:
    left = int(describe(folder)["states"])
    for number in range(left):
        path = Path(folder) / f"shard-{number:05}.npy"
        if not path.exists():
            raise ValueError(f"{path}: expected the next {left} states, found no file: run `getaway dataset` again to complete the dataset")
        shard: npt.NDArray[np.void] = np.load(path)
        yield shard
        left -= len(shard)
        if left <= 0:
            return


def _column(pyarrow: Any, values: npt.NDArray[Any]) -> Any:
    flat = pyarrow.array(values.ravel())
    return flat if values.ndim == 1 else pyarrow.FixedSizeListArray.from_arrays(flat, int(np.prod(values.shape[1:])))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m getaway.dataset", description="Add a Parquet file to a dataset.")
    parser.add_argument("folder", help="folder of a complete dataset")
    folder = parser.parse_args().folder
    try:
        print(to_parquet(folder))
    except (ImportError, ValueError, OSError) as error:
        advice = " (pip install pyarrow)" if isinstance(error, ImportError) else ""
        print(f"error: {error}{advice}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
