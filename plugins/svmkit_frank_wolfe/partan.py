"""PARTAN: Frank-Wolfe with parallel tangents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmkit.solver.exact_search import line_search
from svmkit.solver.step_info import StepInfo
from svmkit_frank_wolfe.iterate import loops
from svmkit_frank_wolfe.iterate.state import SimplexState
from svmkit_frank_wolfe.steps.step import FrankWolfe


@dataclass(frozen=True)
class Partan(FrankWolfe):
    """PARTAN Frank-Wolfe (Frandi, Nanculef, Suykens 2015, Algorithm 2).

    A toward step leads from alpha_k to a~. Then alpha_{k+1} = a~ + mu (a~ - alpha_{k-1}), with mu by exact line search
    on [0, mu_max], where mu_max keeps alpha >= 0. The iterate before the current one is used: with alpha_k the method
    would be FW. The paper's equations (11) to (15) are for -1/2 alpha'K alpha; here the gradients of both iterates are
    kept and give slope and curvature.
    """

    name = "partan"
    keeps: ClassVar[int] = 3  # the current iterate, alpha_k to return to, alpha_{k-1}

    def step(self, state: SimplexState) -> StepInfo:
        state.weights[1], state.scales[1], state.gs[1] = state.w, state.scales[0], state.g  # alpha_{k-1} next time
        moved = state.advance(self.direction(state))
        w, scale, g = state.weights, state.scales, state.gs
        mu = line_search(*loops.secant(w[0], scale[0], g[0], w[2], scale[2], g[2]))
        if mu > 0.0:
            state.extrapolate(mu, beyond=2)
        w[2], scale[2], g[2] = w[1], scale[1], g[1]
        return self.look(state, moved)
