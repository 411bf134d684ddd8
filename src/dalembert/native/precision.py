"""Precision of floating-point numbers: what a number, and a time, can be told from."""

EPSILON = 2.0**-52  # distance from 1 of the next number: twice the relative round-off of one operation
RESOLVED = 16.0 * EPSILON  # relative difference of times below which they are one: a few operations rounded them
