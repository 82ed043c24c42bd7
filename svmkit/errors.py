"""What svmkit says when it cannot go on: one line that names what, where and how to mend it."""

from __future__ import annotations


class SvmkitError(Exception):
    """The work failed; the message is one line."""


class InputError(SvmkitError, ValueError):
    """The call or its input is wrong; the message says what and how to mend it (exit code 2)."""


class Unavailable(InputError):
    """Raised by a plugin's module while it is imported: the software that it needs is not installed.

    The message says how to install it; plugin : the class all the same, for those who list it.
    """

    def __init__(self, message: str, plugin: type | None = None) -> None:
        super().__init__(message)
        self.plugin = plugin


class UnknownName(InputError):
    """No plugin of that name; the message lists the right ones."""


class SvmkitWarning(UserWarning):
    """Something the caller should know and that does not stop the work."""


def one_line(error: BaseException) -> str:
    """An exception's message without line breaks; its type's name when it has none."""
    return " ".join(str(error).split()) or type(error).__name__
