"""The same three training steps in libraries that one might use instead."""
