"""Answers about operators and calls: `explain`, `trace`, dumps of the table, `opcheck`.

May import every other room.
"""
