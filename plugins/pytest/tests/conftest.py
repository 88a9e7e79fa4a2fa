"""The fixture `pytester`."""

pytest_plugins = ["pytester"]
