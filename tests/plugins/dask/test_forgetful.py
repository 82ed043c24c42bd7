"""Parts that lose their rows at any moment: the solve still ends with the certificate of the whole."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from support.crew import Forgetful, local_crew, of_all_rows, posed, rows
from svmkit_corrective.rounds import Phase
from svmkit_dask.dfcsmo import DFCSMO
from svmkit_dask.driver.session import LocalWorkers
from svmkit_dask.worker.answers import Message

from svmkit.errors import SvmkitError
from svmkit.kernels.functions import RBF, Linear
from svmkit.losses import Hinge, SquaredHinge
from svmkit.solver import Gap, Status, solve

CUTS = (100, 101, 300, 420)


class Twice(LocalWorkers):
    """Every message arrives twice, and the one before it a third time in between, as from a worker that was slow."""

    late = None

    def ask(self, problem, message, own, change, parts):
        super().ask(problem, message, own, change, parts)
        if self.late is not None:
            super().ask(*self.late)
        self.late = problem, message, own, change, parts
        return super().ask(problem, message, own, change, parts)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=str)
@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()], ids=str)
@pytest.mark.parametrize("crew", [Forgetful, Twice])
def test_a_solve_ends_with_the_certificate_of_the_whole(crew, kernel, loss):
    X, y = rows()
    problem = posed(local_crew(X, y, CUTS, kernel=kernel, of=crew), loss=loss)
    found = solve(problem, DFCSMO(first=30, loss=loss.name), stop=Gap(1e-4))
    same = of_all_rows(problem, X, y, found.point)
    assert found.status is Status.CONVERGED
    assert same.gap <= 1.01e-4
    assert found.certificate.primal == pytest.approx(same.primal, rel=1e-9)
    assert found.certificate.dual == pytest.approx(same.dual, rel=1e-9)
    assert crew is Twice or problem.session.workers.lost > 20


def test_rows_that_join_come_with_the_gradient_at_the_weights_of_the_driver():
    X, y = rows()
    problem = posed(local_crew(X, y, CUTS, kernel=RBF(0.3)))
    K, grown = rbf_kernel(X, gamma=0.3), []

    class Watched(DFCSMO):
        def step(self, state):
            state.session.workers._rows.clear()  # before rows are fetched, among others
            info = super().step(state)
            if state.phase is Phase.SOLVING:
                at = state.candidates.number
                v = K[at][:, at] @ (y[at] * state.box.beta) - y[at]
                grown.append(float(np.abs(state.box.v - v).max()))
            return info

    solve(problem, Watched(first=30), stop=Gap(1e-4))
    assert len(grown) > 3
    assert max(grown) < 1e-3


def test_a_part_that_forgets_before_every_message_is_given_up_with_its_name():
    X, y = rows(60)

    class Hopeless(Forgetful):
        share = 1.0

    with pytest.raises(SvmkitError, match=r"part \d loses its rows again and again"):
        solve(posed(local_crew(X, y, (30,), of=Hopeless)), DFCSMO(first=10), stop=Gap(1e-4))


def test_a_message_to_another_state_gets_no_answer():
    X, y = rows(60)
    session = posed(local_crew(X, y, (30,))).session
    with pytest.raises(SvmkitError, match="loses its rows"):
        session.ask(Message("survey", 7, options={"level": 0.0, "wanted": 3}))
