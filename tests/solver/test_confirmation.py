"""The decision to end a solve, step by step, with an iterate and certificates that are made up."""

from types import SimpleNamespace

import pytest

from svmkit.problems.certificate import Certificate
from svmkit.solver.loop.confirmation import Confirmation, _Looks
from svmkit.solver.solution import Status
from svmkit.solver.step_info import StepInfo
from svmkit.solver.stopping import Absolute, Epochs, Gap, Iterations, Seconds, Stop, Support, Violation


class Iterate:
    """An iterate whose next certificates have the gaps that are given; it records what is asked of it."""

    def __init__(self, *gaps, m=80, recheck=10, resolution=0.0):
        self.gaps, self.asked = list(gaps), []
        raise_bound = lambda certificate: self.asked.append("raise")
        self.problem = SimpleNamespace(m=m, resolution=resolution, raise_bound=raise_bound)
        self.solver = SimpleNamespace(
            recheck=recheck,
            reactivate=lambda state: self.asked.append("reactivate"),
            resync=lambda state, certificate: self.asked.append("resync"),
        )
        self.state, self.measured, self.n_iter, self.epochs = None, None, 0, 0.0

    def certify(self):
        self.asked.append("certify")
        gap = self.gaps.pop(0)
        return Certificate(1.0, None, None) if gap is None else Certificate(1.0, 1.0 - gap, gap)


def info(**facts):
    return StepInfo(**{"objective": 1.0, "n_support": 5, "epochs": 0.25} | facts)


def deciding(iterate, rules):
    """(the decision after a step with these facts and so many more iterations, its Confirmation)."""
    confirmation = Confirmation(iterate, Stop(()) | rules)

    def step(steps=1, seconds=0.0, **facts):
        iterate.n_iter += steps
        iterate.epochs += 0.25
        return confirmation.ending(info(**facts), seconds)

    return step, confirmation


def test_a_budget_ends_a_solve_without_a_certificate():
    for rule, steps, seconds in ((Iterations(3), 1, 0.0), (Epochs(0.75), 1, 0.0), (Seconds(3.0), 1, 1.0)):
        step, confirmation = deciding(iterate := Iterate(), Gap(1e-3) | rule)
        assert [step(steps, k * seconds) for k in (1, 2, 3)] == [None, None, rule.status]
        assert iterate.asked == [] and confirmation.certificate is None
    step, _ = deciding(Iterate(), Gap(1e-3) | Support(4))
    assert step(n_support=4) is None and step(n_support=5) is Status.MAX_SUPPORT


def test_a_gap_of_the_solver_is_no_proof_where_the_certificate_has_none():
    """Of a solver that does not know its objective: the certificate was measured, and its gap is unknown."""
    iterate = Iterate()
    step, confirmation = deciding(iterate, Gap(1e-3) | Iterations(20))
    iterate.measured = Certificate(1.0, None, None)
    assert [step(10, gap=1e-9, objective=objective) for objective in (float("nan"), 1.0)] == [None, Status.MAX_ITER]
    assert confirmation.find_denial(iterate.measured) is Status.STALLED and not confirmation.proves(iterate.measured)


def test_the_first_rule_that_holds_names_the_status():
    step, _ = deciding(Iterate(), Seconds(1.0) | Iterations(1))
    assert step(seconds=1.0) is Status.TIME_LIMIT


def test_a_solver_that_is_done_has_converged():
    step, _ = deciding(iterate := Iterate(), Gap(1e-3) | Iterations(1))
    assert step(done=True) is Status.CONVERGED and iterate.asked == []


def test_a_gap_ends_a_solve_when_its_certificate_agrees():
    step, confirmation = deciding(iterate := Iterate(1e-3), Gap(1e-3))
    assert step(gap=1.1e-3) is None and iterate.asked == []
    assert step(gap=1e-3) is Status.CONVERGED and iterate.asked == ["certify"]
    assert confirmation.certificate.gap == 1e-3


def test_a_start_that_is_optimal_needs_no_iteration():
    step, _ = deciding(Iterate(0.0), Gap(1e-3))
    assert step(0, gap=0.0) is Status.CONVERGED


def test_an_estimate_that_no_certificate_confirms_does_not_end_a_solve():
    step, confirmation = deciding(iterate := Iterate(None), Gap(1e-3))
    assert step(gap=1e-3) is None and iterate.asked == ["certify", "raise", "resync"]
    assert confirmation.certificate is None


@pytest.mark.parametrize("rule", [Absolute(1e-3), Violation(1e-3)])
def test_other_rules_need_no_certificate(rule):
    step, _ = deciding(iterate := Iterate(), rule)
    assert step(gap_abs=1e-2, violation=1e-2) is None
    assert step(gap_abs=1e-3, violation=1e-3) is Status.CONVERGED and iterate.asked == []


def test_a_certificate_that_was_measured_at_this_iterate_is_not_computed_again():
    step, confirmation = deciding(iterate := Iterate(), Gap(1e-3))
    iterate.measured = Certificate(1.0, 1.0, 0.0)
    assert step(gap=0.0) is Status.CONVERGED
    assert iterate.asked == [] and confirmation.certificate is iterate.measured


# --- points that are left out


@pytest.mark.parametrize("rule", [Gap(1e-3), Violation(1e-3)])
def test_estimates_of_some_points_look_at_all_points_again(rule):
    """Nothing ends a solve while points are left out: the solver takes them in again first."""
    step, _ = deciding(iterate := Iterate(0.0), rule)
    met = {"gap": 1e-4, "violation": 1e-4}
    assert step(shrunk=True) is None and iterate.asked == []
    assert step(shrunk=True, **met) is None and iterate.asked == ["reactivate"]
    assert step() is None and step(shrunk=True, **met) is None and iterate.asked == ["reactivate"] * 2
    assert step(**met) is Status.CONVERGED
    assert iterate.asked == ["reactivate"] * 2 + ["certify"] * isinstance(rule, Gap)


def test_a_budget_may_run_out_while_points_are_left_out():
    step, _ = deciding(iterate := Iterate(), Gap(1e-3) | Iterations(1))
    assert step(shrunk=True) is Status.MAX_ITER and iterate.asked == []


# --- certificates that refuse


@pytest.mark.parametrize(("gap", "factor"), [(4e-3, 0.4), (1.0000001e-3, 0.8), (1e6, 0.05), (0.256, 0.05), (0.1, 0.08)])
def test_a_refused_estimate_has_to_be_smaller_the_next_time(gap, factor):
    step, _ = deciding(iterate := Iterate(gap, 1e-3), Gap(1e-3))
    assert step(gap=1e-3) is None and iterate.asked == ["certify", "raise", "resync"]
    assert step(1000, gap=1.01e-3 * factor) is None and len(iterate.asked) == 3
    assert step(gap=0.99e-3 * factor) is Status.CONVERGED


def test_refusals_add_up():
    step, _ = deciding(Iterate(4e-3, 4e-3, 1e-4), Gap(1e-3))
    assert step(gap=9e-4) is None and step(1000, gap=3.9e-4) is None
    assert step(1000, gap=1.65e-4) is None and step(1000, gap=1.55e-4) is Status.CONVERGED


def test_a_sampled_estimate_is_not_tightened():
    step, _ = deciding(iterate := Iterate(4e-3, 1e-3, m=1), Gap(1e-3))
    assert [step(gap=1e-3, sampled=True, epochs=1.0) for _ in range(3)] == [None] * 3
    assert iterate.asked == ["certify", "raise", "resync"]
    assert [step(1000, gap=1e-3, sampled=True, epochs=1.0) for _ in range(3)] == [None, None, Status.CONVERGED]


def test_the_next_certificate_waits():
    """`recheck` iterations and a sixteenth of those so far."""
    step, _ = deciding(iterate := Iterate(2e-3, 2e-3, 0.0), Gap(1e-3))
    assert step(160, gap=0.0) is None and iterate.asked.count("certify") == 1
    assert step(19, gap=0.0) is None and iterate.asked.count("certify") == 1
    assert step(1, gap=0.0) is None and iterate.asked.count("certify") == 2  # at 180 = 160 + 10 + 10
    assert step(20, gap=0.0) is None and iterate.asked.count("certify") == 2
    assert step(1, gap=0.0) is Status.CONVERGED  # at 201 = 180 + 10 + 11


# --- samples


@pytest.mark.parametrize(
    ("m", "looked", "looks"), [(80, 80, 3), (80, 20, 4), (1000, 59, 3), (1000, 58, 4), (1000, 1, 177)]
)
@pytest.mark.parametrize("rule", [Gap(1e-3), Absolute(1e-3)])
def test_a_sampled_estimate_has_to_hold_on_enough_draws_and_points(rule, m, looked, looks):
    step, _ = deciding(Iterate(0.0, m=m), rule)
    claims = {"gap": 1e-3, "gap_abs": 1e-3, "sampled": True, "epochs": looked / m}
    assert step(**claims) is None
    assert step(sampled=True, epochs=looked / m) is None  # it does not hold: all looks start again
    for _ in range(looks - 1):
        assert step(**claims) is None
    assert step(**claims) is Status.CONVERGED


def test_after_a_refusal_the_looks_start_again():
    step, _ = deciding(Iterate(1.0, 0.0), Gap(1e-3))
    claims = {"gap": 1e-3, "sampled": True, "epochs": 1.0}
    found = [step(1000, **claims) for _ in range(6)]
    assert found == [None] * 5 + [Status.CONVERGED]


# --- no progress


@pytest.mark.parametrize(("sampled", "patience"), [(False, 5), (True, 100)])
def test_a_stall_is_a_stall_after_three_attempts_with_exact_values(sampled, patience):
    step, confirmation = deciding(iterate := Iterate(0.5, 0.4, 0.3, 0.2), Gap(1e-3))
    still = {"moved": False, "sampled": sampled}
    for attempt in range(3):
        for _ in range(patience - 1):
            assert step(**still) is None and iterate.asked.count("certify") == attempt
        assert step(**still) is None and iterate.asked[-3:] == ["certify", "raise", "resync"]
    for _ in range(patience - 1):
        assert step(**still) is None
    assert step(**still) is Status.STALLED
    assert iterate.asked == ["certify", "raise", "resync"] * 3 + ["certify"] and confirmation.certificate.gap == 0.2


def test_a_stall_at_the_optimum_is_convergence():
    step, confirmation = deciding(Iterate(1e-3), Gap(1e-3) | Gap(1e-2))
    assert [step(moved=False) for _ in range(5)] == [None] * 4 + [Status.CONVERGED]
    assert confirmation.certificate.gap == 1e-3


def test_progress_starts_the_count_of_a_stall_again():
    step, _ = deciding(iterate := Iterate(0.5), Gap(1e-3))
    for _ in range(4):
        step(moved=False)
    step(moved=True)
    for _ in range(4):
        step(moved=False)
    assert iterate.asked == []
    assert step(moved=False) is None and iterate.asked == ["certify", "raise", "resync"]


def test_a_draw_without_a_step_counts_only_if_it_found_no_way_to_move():
    iterate = Iterate(0.5)
    confirmation = Confirmation(iterate, Stop(()) | Gap(1e-3))
    for moved in (False, True, False, True, False, True, False, True):
        assert confirmation.ending(info(moved=moved)._replace(steps=0), 0.0) is None
    assert iterate.asked == []  # four of them found no way
    confirmation.ending(info(moved=False)._replace(steps=0), 0.0)
    assert iterate.asked == ["certify", "raise", "resync"]


# --- a limit on support vectors


def test_a_full_support_ends_with_a_small_gap_or_none_left():
    for facts, ends in (({"gap": 1.01e-2}, False), ({"gap": 1e-2}, True)):
        step, _ = deciding(iterate := Iterate(), Gap(1e-3))
        assert step(full=True, **facts) is (Status.MAX_SUPPORT if ends else None) and iterate.asked == []
    step, _ = deciding(Iterate(), Gap(0.5))
    assert step(full=True, gap=0.5) is Status.MAX_SUPPORT
    step, _ = deciding(Iterate(), Absolute(1e-3))
    assert step(full=True, gap_abs=2e-3) is None and step(full=True, gap_abs=1e-3) is Status.MAX_SUPPORT


def test_a_full_support_that_no_step_improves_ends():
    step, _ = deciding(iterate := Iterate(), Gap(1e-3))
    assert [step(full=True, moved=False, gap=0.5) for _ in range(5)] == [None] * 4 + [Status.MAX_SUPPORT]
    assert iterate.asked == []


def test_within_a_full_support_the_estimate_is_taken_as_it_is():
    step, _ = deciding(Iterate(1e6), Gap(0.1))
    assert step(gap=0.1) is None  # from now on estimates count twenty times
    assert step(gap=0.1) is None and step(full=True, gap=0.11) is None
    assert step(full=True, gap=0.1) is Status.MAX_SUPPORT


# --- what a certificate proves


def test_a_certificate_proves_the_smallest_gap_that_was_asked_for():
    _, confirmation = deciding(Iterate(), Gap(1e-2) | Iterations(5) | Gap(1e-3))
    assert confirmation.proves(Certificate(1.0, 0.999, 1e-3))
    assert not confirmation.proves(Certificate(1.0, 0.99, 2e-3)) and not confirmation.proves(
        Certificate(1.0, None, None)
    )
    _, confirmation = deciding(Iterate(), Iterations(5))
    assert not confirmation.proves(Certificate(1.0, 1.0, 0.0))


# --- what a certificate denies


def flawed(iterate, **fields):
    """The next certificates of an iterate have these fields."""
    iterate.certify = lambda: iterate.asked.append("certify") or Certificate(1.0, **fields)


def test_without_a_lower_bound_a_gap_is_not_certified():
    iterate = Iterate()
    flawed(iterate, dual=None, gap=None, flaw="for a reason")
    step, confirmation = deciding(iterate, Gap(1e-3))
    assert step(gap=1e-3) is Status.NOT_CERTIFIED and confirmation.certificate.flaw == "for a reason"
    assert iterate.asked == ["certify"]


def test_a_gap_that_is_rounding_is_a_stall():
    iterate = Iterate()
    flawed(iterate, dual=0.5, gap=0.5, rounding=0.25)
    step, confirmation = deciding(iterate, Gap(1e-3))
    assert step(gap=1e-3) is Status.STALLED and confirmation.certificate.gap == 0.5
    assert [step(moved=False) for _ in range(5)] == [None] * 4 + [Status.STALLED]  # exact values do not help


def test_near_an_optimum_of_zero_the_certificate_is_asked_although_no_relative_gap_is_small():
    iterate = Iterate(2.0, 2.0, resolution=1e-9)
    step, confirmation = deciding(iterate, Gap(1e-3))
    assert step(gap=2.0, gap_abs=2e-9) is None and iterate.asked == []
    assert step(gap=2.0, gap_abs=1e-9) is None and iterate.asked == ["certify", "raise", "resync"]
    assert step(9, gap=2.0, gap_abs=1e-9) is None and len(iterate.asked) == 3  # too soon after the last look
    assert step(gap=2.0, gap_abs=1e-9) is None and len(iterate.asked) == 6
    flawed(iterate, dual=-1.0, gap=2.0, rounding=1.0)
    assert step(20, gap=2.0, gap_abs=1e-9) is Status.STALLED and confirmation.certificate.gap == 2.0
    flawed(iterate, dual=None, gap=None, flaw="for a reason")
    assert step(20, gap=2.0, gap_abs=1e-9) is Status.NOT_CERTIFIED
    step, _ = deciding(Iterate(resolution=1e-9), Absolute(1e-12) | Iterations(9))  # no gap is asked for
    assert step(gap=2.0, gap_abs=1e-9) is None


@pytest.mark.parametrize("rules", [Gap(1e-3) | Absolute(1e-3), Absolute(1e-3) | Gap(1e-3)], ids=["first", "last"])
def test_another_rule_that_holds_comes_before_what_a_certificate_denies(rules):
    iterate = Iterate()
    flawed(iterate, dual=None, gap=None, flaw="for a reason")
    step, _ = deciding(iterate, rules)
    assert step(gap=1e-3, gap_abs=1e-3) is Status.CONVERGED


def test_what_a_certificate_denies_in_the_end():
    good, bad = Certificate(1.0, 0.999, 1e-3), Certificate(1.0, 0.5, 0.5)
    flaw = Certificate(1.0, None, None, flaw="for a reason")
    _, confirmation = deciding(Iterate(), Gap(1e-3))
    assert [confirmation.find_denial(c) for c in (good, bad, flaw)] == [None, Status.STALLED, Status.NOT_CERTIFIED]
    _, confirmation = deciding(Iterate(), Iterations(3))
    assert [confirmation.find_denial(c) for c in (good, bad, flaw)] == [None, None, Status.NOT_CERTIFIED]
    step, confirmation = deciding(Iterate(), Gap(1e-3) | Violation(1e-3))
    assert confirmation.find_denial(bad) is Status.STALLED
    assert step(violation=1e-3) is Status.CONVERGED
    assert confirmation.find_denial(bad) is None  # the violation has ended the solve


def test_a_flaw_of_other_software_ends_the_solve():
    """Its one step is the whole solve: a finer fit would not be certified either."""
    step, confirmation = deciding(iterate := Iterate(), Gap(1e-3))
    iterate.measured = Certificate(1.0, None, None, flaw="for a reason")
    iterate.solver.external = True
    assert step(gap=0.5) is Status.NOT_CERTIFIED and confirmation.certificate is iterate.measured
    step, confirmation = deciding(iterate := Iterate(), Gap(1e-3))
    iterate.measured, iterate.solver.external = Certificate(1.0, None, None, flaw="for a reason"), False
    assert step(gap=0.5) is None and confirmation.certificate is None
    iterate.measured, iterate.solver.external = Certificate(1.0, 0.5, 0.5), True
    assert step(gap=0.5) is None


@pytest.mark.parametrize(
    ("m", "epochs", "looks"), [(1000, 0.1, 3), (1000, 0.05, 4), (1000, 0.01, 18), (20, 0.05, 20), (20, 1.0, 3)]
)
def test_an_estimate_of_samples_has_to_hold_three_times_and_on_enough_points(m, epochs, looks):
    """177 points, or all of them; one that is not of samples counts at once."""
    seen = _Looks(m)
    info = StepInfo(1.0, 5, epochs, sampled=True)
    for _ in range(2):
        assert [seen.enough(info) for _ in range(looks)] == (looks - 1) * [False] + [True]
        seen.restart()
    assert seen.enough(info._replace(sampled=False))
