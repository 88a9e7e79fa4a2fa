"""Switches of TorchScript's executor, which programs set when they begin. A script is the program
itself here, so nothing is profiled or fused: the switches keep their values.
"""

from __future__ import annotations

from collections.abc import Callable


class _Switch:
    """A switch, which is on at first unless said otherwise."""

    def __init__(self, value: bool = True) -> None:
        self._value = value

    def read(self) -> bool:
        """Return whether it is on."""
        return self._value

    def exchange(self, value: bool) -> bool:
        """Turn it on or off; return the former value."""
        former, self._value = self._value, bool(value)
        return former

    def write(self, value: bool) -> None:
        """Turn it on or off."""
        self.exchange(value)


_jit_set_profiling_executor: Callable[[bool], bool] = _Switch().exchange
_jit_set_profiling_mode: Callable[[bool], bool] = _Switch().exchange
_jit_override_can_fuse_on_gpu: Callable[[bool], None] = _Switch(False).write
_on_cpu, _texpr = _Switch(False), _Switch()
_jit_override_can_fuse_on_cpu, _jit_can_fuse_on_cpu = _on_cpu.write, _on_cpu.read
_jit_set_texpr_fuser_enabled, _jit_texpr_fuser_enabled = _texpr.write, _texpr.read
