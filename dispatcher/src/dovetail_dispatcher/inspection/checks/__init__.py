"""`opcheck`: checks of what was registered for an operator."""
