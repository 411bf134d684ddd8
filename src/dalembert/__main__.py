"""The command `dalembert`, also as `python -m dalembert`."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Sequence

from dalembert.view.figure_process import figure_process_ahead


def main() -> None:
    """Run the command line. The process that draws is started first if a figure will be needed."""
    arguments = sys.argv[1:]
    leave = _leaving_at_once() if arguments[:1] in (["run"], ["warmup"]) else lambda _status: None
    with figure_process_ahead(likely=_asks_for_figures(arguments)):
        from dalembert.cli import app

        try:
            app()
        except SystemExit as end:
            leave(end.code if isinstance(end.code, int) else int(end.code is not None))
            raise


def _asks_for_figures(arguments: Sequence[str]) -> bool:
    return arguments[:1] == ["run"] and any(one.split("=")[0] == "--out" for one in arguments)


def _leaving_at_once() -> Callable[[int], None]:
    """A function that notes the exit status; the process ends with it after all that is to be done at its exit.

    To take SymPy apart first takes a tenth of a second, and the compiler two. What is registered first is called last.
    """
    known: list[int] = []

    def leave() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        if known:
            os._exit(known[0])

    atexit.register(leave)
    return known.append


if __name__ == "__main__":
    main()
