"""Functions at the top that are not one operator each, and the settings of a process."""
