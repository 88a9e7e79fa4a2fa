"""Recordings of runs of a program, and the first call at which two of them part."""
