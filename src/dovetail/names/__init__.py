"""Names of lower distributions and of plugins, and of what is not in Dovetail."""
