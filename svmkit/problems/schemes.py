"""Schemes: how a classifier of more than two classes is made of problems of two classes, or of one problem of all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scheme:
    """A value of the option `multiclass`, and its description.

    A scheme of class pairs, or of classes against the rest, has problems of two classes. The one problem of all classes
    is a subclass of `svmkit.problems.risks.joint.all_classes.AllClasses`. Solvers that minimise it name the scheme in
    `Solver.joint`, and `svmkit.model.certify.JOINT` has the certificate of its models.

    Attributes
    ----------
    name : str
        Its name, as on the command line and in a stored model.
    choice : str
        The help of the option.
    decisions : str
        The decision functions of a model, in words.
    problem : str
        The author of the problem of all classes, before its formulation; empty for problems of two classes.
    loss : str or None, default=None
        The loss of the problem of all classes; None for problems of two classes.
    by_probability : bool, default=False
        Whether decisions are logarithms of probabilities, up to their sum.
    frees_bias : bool, default=False
        Whether the biases of the problem of all classes may be free.

    Examples
    --------
    >>> from svmkit.problems.schemes import SCHEMES
    >>> [scheme.name for scheme in SCHEMES.values() if scheme.is_joint]
    ['crammer_singer', 'multinomial']
    """

    name: str
    choice: str
    decisions: str
    problem: str = ""
    loss: str | None = None
    by_probability: bool = False
    frees_bias: bool = False

    @property
    def is_joint(self) -> bool:
        """Whether all classes are one problem."""
        return self.loss is not None


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("ovo", "ovo (default), a problem for each class pair", "one for each class pair"),
        Scheme("ovr", "ovr, one for each class against the rest", "one for each class against the rest"),
        Scheme(
            "crammer_singer",
            "crammer_singer, one for all (linear kernel)",
            "one for each class, trained together (Crammer and Singer)",
            problem="Crammer and Singer's",
            loss="hinge",
        ),
        Scheme(
            "multinomial",
            "multinomial, one for all (logistic, linear kernel)",
            "one for each class, trained together (multinomial logistic regression)",
            problem="multinomial",
            loss="logistic",
            by_probability=True,
            frees_bias=True,
        ),
    )
}
"""Each scheme by its name, in the order of its number in the identity of a training."""
JOINT = frozenset(name for name, scheme in SCHEMES.items() if scheme.is_joint)
"""The schemes of one problem of all classes."""
