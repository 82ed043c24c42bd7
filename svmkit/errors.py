"""What svmkit says when it cannot go on: one line that names what, where and how to mend it."""

from __future__ import annotations


class SvmkitError(Exception):
    """The work failed; the message is one line."""


class InputError(SvmkitError, ValueError):
    """The call or its input is wrong; the message says what and how to mend it (exit code 2)."""


class UnknownName(InputError):
    """No plugin of that name; the message lists the right ones."""


class SvmkitWarning(UserWarning):
    """Something the caller should know and that does not stop the work."""
