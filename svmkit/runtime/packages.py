"""Packages that the distribution svmkit-core omits: code that needs one reports it before it begins."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from svmkit.errors import Unavailable

_PIP_NAMES = {"scikit_posthocs": "scikit-posthocs"}  # packages whose pip name differs from the name in `import`


def is_installed(package: str) -> bool:
    """Return whether a top-level package can be imported; nothing is imported.

    Parameters
    ----------
    package : str
        Its name in `import`.

    Examples
    --------
    >>> from svmkit.runtime.packages import is_installed
    >>> is_installed("numpy"), is_installed("no_such_package")
    (True, False)
    """
    if package in sys.modules:
        return sys.modules[package] is not None
    return find_spec(package) is not None


def require_installed(what: str, *packages: str, plugin: type | None = None) -> None:
    """Raise Unavailable, with the line that installs what is missing, unless all packages can be imported.

    Parameters
    ----------
    what : str
        The software that needs them, in the plural: the beginning of the message.
    *packages : str
        Their names in `import`.
    plugin : type, default=None
        The plugin that needs them, so that it can still be listed.

    Examples
    --------
    >>> from svmkit.runtime.packages import require_installed
    >>> require_installed("pictures", "numpy", "no_such_package")
    Traceback (most recent call last):
    ...
    svmkit.errors.Unavailable: pictures need no_such_package: pip install no_such_package (the distribution svmkit has \
all that svmkit-core leaves out)
    """
    missing = [_PIP_NAMES.get(package, package) for package in packages if not is_installed(package)]
    if missing:
        raise Unavailable(
            f"{what} need {' and '.join(missing)}: pip install {' '.join(missing)} (the distribution svmkit has all "
            "that svmkit-core leaves out)",
            plugin,
        )
