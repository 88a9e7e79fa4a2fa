"""Recordings of runs of a program, and the first call at which two runs diverge."""
