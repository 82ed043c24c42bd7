"""What a listing says of a plugin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Works = Literal["ok", "unavailable", "broken"]


@dataclass(frozen=True)
class Listed:
    """One row of `svmkit plugins`.

    Attributes
    ----------
    kind : str
        The kind of plugin.
    name : str
        The name under which it is registered.
    package : str
        The distribution that registers it, or the name of the file (`load_file`); "?" when neither is known.
    doc : str
        The first line of its docstring; of a command, its help.
    options : dict of str to Any
        Its hyperparameters with their defaults.
    error : str or None
        Why it does not work here; None for a plugin that works.
    status : {"ok", "unavailable", "broken"}, default="ok"
        "unavailable" for a plugin that needs software that is not installed, "broken" for one that fails to import or
        is written for another version of the interface.
    plugin : type or None, default=None
        The class; None for a plugin that is broken.
    """

    kind: str
    name: str
    package: str
    doc: str
    options: dict[str, Any]
    error: str | None
    status: Works = "ok"
    plugin: Any = field(default=None, repr=False, compare=False)
