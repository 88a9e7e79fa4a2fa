"""Top-level functions that are not single operators, and settings of the process."""
