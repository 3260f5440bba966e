"""Commands that start Python with stated handlers of signals, whatever those of the tests are.

A job in the background of a script, which is how many CI runners start things, ignores SIGINT, and
so does every process that it starts: Python then installs no handler that raises KeyboardInterrupt.
A job that was started with nohup ignores SIGHUP.
"""

import sys

_START = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.{handler}); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


def interruptible_python(*arguments: object) -> list[str]:
    """Return the command of Python with these arguments, started in the foreground."""
    return _start("SIG_DFL", *arguments)


def background_python(*arguments: object) -> list[str]:
    """Return the command of Python with these arguments, started with SIGINT ignored."""
    return _start("SIG_IGN", *arguments)


def _start(handler: str, *arguments: object) -> list[str]:
    code = _START.format(handler=handler)
    return [sys.executable, "-I", "-S", "-c", code, *map(str, arguments)]
