"""The exceptions and the warning of svmkit. A message is one line: what is wrong, where, and how to correct it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any


class SvmkitError(Exception):
    """Base of all exceptions of svmkit: the work failed. The message is one line.

    Examples
    --------
    >>> from svmkit import InputError, SvmkitError
    >>> issubclass(InputError, SvmkitError)
    True
    """


class NotFinite(SvmkitError):
    """A solver has ended at numbers that are not finite.

    Parameters
    ----------
    solver : str
        The name of the solver.
    """

    def __init__(self, solver: str) -> None:
        super().__init__(
            f"{solver} ended at numbers that are not finite: the values of X or C are too large for it; scale the "
            "features (standard, minmax or maxabs) or lower C"
        )


class LostDigits(SvmkitError):
    """A solver has ended where rounding errors are larger than all that a model could gain over a constant.

    Parameters
    ----------
    solver : str
        The name of the solver.
    primal, ceiling : float
        P of the model, and P of a constant decision.
    """

    def __init__(self, solver: str, primal: float, ceiling: float) -> None:
        super().__init__(
            f"{solver} ended at P = {primal:.3g}, where a constant decision has {ceiling:.3g}: the kernel values have "
            "lost their digits; subtract the mean of the features or scale them (standard, minmax or maxabs)"
        )


class Gone(SvmkitError):
    """What a problem is computed on, such as a cluster, is gone; a solve under way ends at its best iterate so far."""


class InputError(SvmkitError, ValueError):
    """The call or its input is wrong. The message says how to correct it; the command line exits with code 2.

    Examples
    --------
    >>> from svmkit import InputError, load
    >>> try:
    ...     load("no_such_set")
    ... except InputError as error:
    ...     print(str(error).partition(";")[0])
    no data set 'no_such_set'
    """


class Unavailable(InputError):
    """A plugin needs software that is not installed. The plugin's module raises it while it is imported.

    Parameters
    ----------
    message : str
        One line that says how to install the software.
    plugin : type, optional
        The plugin's class, so that it can still be listed.

    Examples
    --------
    >>> from svmkit import InputError
    >>> from svmkit.errors import Unavailable
    >>> raise Unavailable("needs cuml: pip install cuml")
    Traceback (most recent call last):
    ...
    svmkit.errors.Unavailable: needs cuml: pip install cuml
    """

    def __init__(self, message: str, plugin: type | None = None) -> None:
        super().__init__(message)
        self.plugin = plugin


class Infeasible(InputError):
    """No point satisfies the constraints of a problem, such as those of a nu that is too large for its classes."""


class UnknownName(InputError):
    """No plugin has this name. The message lists the names that exist."""


class SvmkitWarning(UserWarning):
    """A fact that the caller should know and that does not stop the work."""


def one_line(error: BaseException) -> str:
    """Return an exception's message without line breaks, or the name of its type if it has no message."""
    return " ".join(str(error).split()) or type(error).__name__


# a password may hold a slash that was not encoded; a port is digits alone
_LOGIN = re.compile(r"://(?:[^/\s]*|[^/\s:]+:(?!\d*/)\S*)@")
_SECRET = re.compile(r"([?&;][^?&;=\s]*(?:passw|pwd|token|secret|key)[^?&;=\s]*=)[^&;\s]+", re.I)


def redact(text: str) -> str:
    """Return a text, such as an address or a message, in which stars stand for user names, passwords and keys."""
    return _SECRET.sub(r"\1***", _LOGIN.sub("://***@", text))


def meant(name: Any, known: Iterable[Any]) -> str:
    """Return " (did you mean NAME?)" with the known name that is most like a wrong one; "" if none is like it."""
    close = difflib.get_close_matches(str(name), [str(right) for right in known], n=1)
    return f" (did you mean {close[0]}?)" if close else ""
