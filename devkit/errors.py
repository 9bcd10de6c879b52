"""What devkit's doubles and emulators raise."""


class NotInstalled(Exception):
    """A program that an emulator needs is missing; the message says how to install it."""
