"""The exact line search along a direction, for authors of solvers."""

TINY = 1e-300  # floor of a curvature: with a curvature of zero the step goes to the bound


def line_search(slope: float, curvature: float, lam_max: float) -> float:
    """Return the step lam in [0, lam_max] at which f(alpha + lam d) = alpha'A alpha + ... is least along a direction d.

    Parameters
    ----------
    slope : float
        d'g, where g is half the gradient of f at alpha (for f = alpha'A alpha it is A alpha).
    curvature : float
        d'A d.
    lam_max : float
        The largest step that is feasible.

    Examples
    --------
    >>> from svmkit.solver import line_search
    >>> line_search(-1.0, 4.0, lam_max=1.0), line_search(-1.0, 0.5, lam_max=1.0), line_search(0.5, 4.0, lam_max=1.0)
    (0.25, 1.0, 0.0)
    """
    if not slope < 0.0:
        return 0.0
    return min(-slope / max(curvature, TINY), lam_max)
