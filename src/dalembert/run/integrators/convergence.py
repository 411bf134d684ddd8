"""Limits of Newton's iterations that implicit methods share."""

# Size of increments, in units of the tolerances, from which on their contraction can be trusted.
TRUSTED_INCREMENT = 10.0
STUCK = 1e-6  # residual of constraints, relative to their sizes, that is never good enough
