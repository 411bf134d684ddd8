"""Outcome of a native loop; the members of `Status` carry the messages for users."""

from __future__ import annotations

import enum

OK, MORE, NOT_FINITE, STEP_COLLAPSE, DRIFT_STUCK, TOO_MANY_STEPS, INTERRUPTED, JAMMED, UNREACHED = range(9)
EVENT, ZENO, NOT_CONVERGED, PAUSED, UNSOUND, SUSPECT, UNMAPPED = range(9, 16)


DEPENDENT = 46  # of Python: where a run cannot go on


class Status(enum.IntEnum):
    """Outcome of a run; the values are those that native code returns."""

    OK = OK
    MORE = MORE
    NOT_FINITE = NOT_FINITE
    STEP_COLLAPSE = STEP_COLLAPSE
    DRIFT_STUCK = DRIFT_STUCK
    TOO_MANY_STEPS = TOO_MANY_STEPS
    INTERRUPTED = INTERRUPTED
    JAMMED = JAMMED
    UNREACHED = UNREACHED
    EVENT = EVENT
    ZENO = ZENO
    NOT_CONVERGED = NOT_CONVERGED
    PAUSED = PAUSED
    UNSOUND = UNSOUND
    SUSPECT = SUSPECT
    UNMAPPED = UNMAPPED
    # Of solvers that native code does not know.
    SINGULAR = 41
    TOO_ACCURATE = 42
    PARTITION = 43
    REFUSED = 44
    COLLAPSED = 45
    DEPENDENT = DEPENDENT
    NO_INVERSE = 47
    CONTRADICTORY = 48
    UNDETERMINED = 49

    @property
    def message(self) -> str:
        """Message for the user: what happened, and the remedy."""
        return MESSAGES[self]


def status_of(number: int) -> Status:
    """The outcome of this number: in a tenth of the time of `Status(number)`, as every run asks for it."""
    return _STATUSES[number]


_STATUSES = {status.value: status for status in Status}

MESSAGES = {
    Status.OK: "reached the end of the interval",
    Status.MORE: "the run has not ended yet",
    Status.UNSOUND: "the run waits for a better static choice",
    Status.SUSPECT: "the run waits for a look at the conditioning of its constraints",
    Status.UNMAPPED: "the run waits for cells of functions at values they have not met yet",
    Status.DEPENDENT: "constraints become dependent there, and the motion cannot go on",
    Status.PAUSED: "the run waits for another integrator to go on",
    Status.NOT_FINITE: "the equations gave a value that is not finite (NaN or infinity); the model is undefined there: "
    "look for a division by zero or a root of a negative number",
    Status.STEP_COLLAPSE: "the step size collapsed: the error test cannot be met; the motion may be singular or stiff "
    "there, or the tolerances are below round-off",
    Status.DRIFT_STUCK: "the state could not be brought back onto the constraints; the mechanism may have reached a "
    "position where it cannot move on, or the step is too large",
    Status.TOO_MANY_STEPS: "the run used up its number of steps; raise `max_steps` of the integrator",
    Status.JAMMED: "friction and rigid bodies contradict each other here (Painleve's paradox): no signs of the "
    "normal forces satisfy the equations; use a smaller coefficient, or make the contact compliant",
    Status.UNREACHED: "Newton's method found no accelerations and reactions that satisfy the constraints nonlinear in "
    "the accelerations and the laws of reactions; they may have no real solution there, or the unknowns need other "
    "starts, model.unknowns(T=100.0)",
    Status.EVENT: "an event ended the run",
    Status.ZENO: "changes follow each other ever faster (as when a ball comes to rest); make the event terminal, or "
    "continue with a system in which the contact is a constraint",
    Status.NOT_CONVERGED: "Newton's iteration of the implicit integrator did not converge; the step may be too large "
    "(make it smaller, or let the integrator choose it), the tolerances too tight for the scales of the model (loosen "
    "`rtol` and `atol`), or the mechanism has reached a singular position, where it cannot move on: an explicit "
    "integrator with Projection() may pass it",
    Status.SINGULAR: "the matrix of the implicit equations is singular there; constraints may have become dependent: "
    "look at system.diagnose(motion.at(t)) near the end, or use an explicit integrator with Projection()",
    Status.TOO_ACCURATE: "the tolerances ask for more than double precision can give; raise `rtol` or `atol`",
    Status.PARTITION: "the independent speeds given by `u_ind` are no longer independent there; leave it out, so that "
    "others can be chosen during the run, or use HillerAnantharaman()",
    Status.CONTRADICTORY: "the constraints contradict each other from there on, and no motion satisfies all of them; "
    "change one of these, or end the motion before by an event",
    Status.UNDETERMINED: "neither inertia nor a constraint determines the whole motion; give these a mass, or "
    "a constraint",
    Status.NO_INVERSE: "`g_inverse` or `least_squares_inverse` of UdwadiaKalaba raised an error there; call it with "
    "system.constraint_jacobian(...) of the last state to see which",
    Status.REFUSED: "the solver refused the problem; please report it with the model",
    Status.COLLAPSED: "the run does not get on: its steps have become so short that it would not reach its end; change "
    "what makes it so, end the motion there by an event, or give `max_steps` to the integrator to insist",
    Status.INTERRUPTED: "interrupted from the keyboard; the samples up to there are kept",
}
