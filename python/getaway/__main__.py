"""Runs the command line, for both `getaway` and `python -m getaway`."""

import os
import signal
import sys


def main() -> int:
    try:
        from getaway._getaway import run_command_line
    except ImportError:
        print("error: this build of getaway has no command line: it was built without the feature `lab`", file=sys.stderr)
        return 2
    # `--ray` starts a Python process, whose interpreter must have the package, as this one does.
    os.environ["GETAWAY_PYTHON"] = sys.executable
    # Python's own handler for Ctrl-C would not run until the command returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code: int = run_command_line(sys.argv)
    return code


if __name__ == "__main__":
    sys.exit(main())
