"""The oracle: runs trials in several ways and compares everything that can be seen."""
