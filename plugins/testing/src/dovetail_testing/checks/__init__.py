"""Checks that run on every `OpInfo`."""
