"""The ``dovetail`` command: what is there, which kernel runs and why, and help for library
authors.
"""

from .application import app, main

__all__ = ["app", "main"]
