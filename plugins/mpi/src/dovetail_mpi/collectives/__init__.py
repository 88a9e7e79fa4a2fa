"""Collectives, by kind."""
