"""Devices and the table of backends that stand behind them.

May import `types`.
"""
