"""Forbids a child process to use files and connections, with Linux's Landlock.

A hostile file that takes over a reader can then read neither other documents nor the secrets of the parent,
whose environment is a file as well.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from mimetypes import knownfiles
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11
_PACKAGE = Path(__file__).parents[1]
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom")


def isolate(*sources: Path) -> bool:
    """From now on this process can read `sources`, Python and system libraries, write no file, open no TCP
    connection and signal no other process. Returns False if the system cannot do that.

    `sources` are files, or folders with all that is in them.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return False
    rules = _ruleset(libc, version)
    python = (sys.prefix, sys.base_prefix, str(_PACKAGE))
    _allow_reading(libc, rules, (*python, *_SYSTEM, *map(str, (*knownfiles, *sources))))
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    is_restricted = libc.syscall(_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return bool(is_restricted)


def _ruleset(libc: ctypes.CDLL, version: int) -> int:
    """A set of rules that forbids all that this version of Landlock can."""
    handled = [max(rights for since, rights in _FILE_RIGHTS.items() if since <= version)]
    handled += [_TCP] * (version >= _TCP_SINCE) + [_SCOPES] * (version >= _SCOPES_SINCE)
    attributes = struct.pack(f"={len(handled)}Q", *handled)
    return int(libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0))


def _allow_reading(libc: ctypes.CDLL, rules: int, paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):  # not every system has all of them
            opened = os.open(path, os.O_PATH)
            rights = _READ_FILE | _READ_FOLDER if Path(path).is_dir() else _READ_FILE
            libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
            os.close(opened)
