"""Collectives: what begins them, and what each kind of them does."""
