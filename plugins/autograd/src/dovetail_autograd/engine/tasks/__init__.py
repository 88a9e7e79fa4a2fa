"""The state of one run of the engine: where it begins, what waits, and what it depends on."""
