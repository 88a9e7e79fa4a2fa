"""Functions as users call them, where these are not one operator each."""
