"""The declarations of special functions."""
