"""Tolerances that several folders share: one home for each concept, with what it is relative to and why it is that.

They stand beside the solvers, as native code reads some of them, and the sources of this folder name the engine.
"""

# Singular values or pivots of rows of unit length, which are sines of angles between constraints, or beside the largest
# of rows that have nearly one length: below this they are zero. Round-off of redundant rows is orders of magnitude
# below; constraints this close to dependent would make reactions, and errors, larger by its reciprocal.
UNIT_ROW_RANK = 1e-9
# The same at positions that only lie near a solution: where a solve failed, or on the way along a branch.
ROUGH_ROW_RANK = 1e-8
# The same along a path, or where values are roots of eigenvalues, which leave half of the digits: 1e-8 may be zero.
INDEPENDENT = 1e-6
# Singular values, or diagonal entries of a pivoted QR, of matrices in whole: below this part of the largest they are
# zero. Lower than UNIT_ROW_RANK: what is weak beside the largest need not be nearly dependent.
RANK_TOLERANCE = 1e-10
# Of a number in which terms have cancelled, relative to these: some hundred units in the last place.
SUM_ROUND_OFF = 1e-13
# A sum that is zero, relative to its terms, where the terms are themselves results: of solves, or of long expressions.
CANCELLED = 1e-10
# Relative difference of two numbers that are the same but for the round-off of both, some thousand units in the last
# place; of numbers of the order of 1, the difference itself.
SAME = 1e-12
# A step of an iteration, relative to the unknowns, that is round-off if it does not shrink any more.
SETTLED_STEP = 1e-9
# Part of the largest in a singular vector below which a row or an unknown is not named.
NAMED_PART = 0.05
# Keeps 0 / 0 out; far below the smallest number that means anything, and not denormal.
TINY = 1e-300
