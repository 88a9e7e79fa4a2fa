"""The operators of the base library, by family: a folder has all of each operator."""
