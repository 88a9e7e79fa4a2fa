"""Readers of declarations: operators, derivatives, documentation, and what these refer to."""
