"""The ``dovetail`` command: what is installed, which kernel runs and why, and help for library
authors.

Stands on everything: nothing imports it.
"""

from .application import app, main

__all__ = ["app", "main"]
