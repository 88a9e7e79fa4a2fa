"""Names from lower distributions and plugins, and missing names."""
