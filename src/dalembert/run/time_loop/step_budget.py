"""End of a run that makes no progress: its steps have become too short to reach its end.

A run is looked at after `FIRST_LOOK` steps and then after every `WINDOW` steps, which costs nothing in between. Short
steps alone do not end it: long and stiff runs need millions of them at a regular pace. It ends if the last window's
steps were `COLLAPSED` beside the longest of all windows and more than `MANY_STEPS` of them lie ahead, or if
`ENDLESS` ones do.
"""

from __future__ import annotations

FIRST_LOOK, WINDOW = 500, 10_000
COLLAPSED = 1e-3
MANY_STEPS, ENDLESS = 1e6, 1e9


class StepBudget:
    """The pace of one run: `due` is the number of accepted steps after which to look at it again."""

    def __init__(self, t0: float, t_end: float) -> None:
        self.t, self.t_end = t0, t_end
        self.longest = 0.0  # mean step of the window with the longest ones
        self.step = 0.0  # mean step of the last window

    def is_spent(self, t: float, steps: int) -> bool:
        """Whether the run should end at time t, `steps` accepted steps after the last look."""
        self.step, self.t = (t - self.t) / max(steps, 1), t
        self.longest = max(self.longest, self.step)
        ahead = (self.t_end - t) / self.step if self.step > 0.0 else float("inf")
        return ahead > ENDLESS or (ahead > MANY_STEPS and self.step < COLLAPSED * self.longest)
