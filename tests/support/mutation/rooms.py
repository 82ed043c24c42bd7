"""What is mutated: the modules on which the certificate of a model rests, with tests that are quick and look closely.

A test may be any argument of pytest; a list is run in order and ends at the first failure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Room:
    """One module that is mutated.

    Attributes
    ----------
    path : str
        Its source file.
    tests : list of str
        The tests that have to fail.
    compiled : list of str or None, default=None
        The tests for mutations within compiled functions, which run as plain Python then; None is `tests`.
    recompiled : tuple of str, default=()
        Modules whose functions are compiled anew for such a mutation, where plain Python cannot run them.
    """

    path: str
    tests: list[str]
    compiled: list[str] | None = None
    recompiled: tuple[str, ...] = ()


PROBLEMS = ["tests/problems/test_by_hand.py", "tests/problems/test_errors_by_hand.py"]
STEPS = [
    "tests/plugins/frank_wolfe/test_directions_by_hand.py",
    "tests/plugins/frank_wolfe/test_steps.py::test_line_search",
    "tests/plugins/frank_wolfe/test_steps.py::test_the_gain_of_a_direction",
    "tests/plugins/frank_wolfe/test_steps.py::test_takes_the_steps_of_its_paper",
    "tests/plugins/frank_wolfe/test_steps.py::test_a_single_vertex_is_a_start",
]
LOOP = [
    "tests/solver/test_loop_by_hand.py",
    "tests/solver/test_solve_answers.py",
    "tests/solver/test_solve_gaps.py::test_best_iterate_of_a_solver_that_is_not_monotone",
    "tests/solver/test_solve_gaps.py::test_a_refused_certificate_goes_on_and_resyncs",
]
STOPPING = [
    "tests/solver/test_stop_text.py::test_one_rule_is_a_criterion_and_several_are_a_stop",
    "tests/solver/test_stop_text.py::test_budgets_join_the_rules_of_a_text",
    "tests/solver/test_stop_text.py::test_a_limit_of_support_vectors_is_one_at_least",
    "tests/solver/test_stop_text.py::test_numbers_are_checked_in_every_part",
    "tests/solver/test_solve_stopping.py::test_criteria_hold_at_their_limit",
    "tests/solver/test_solve_stopping.py::test_criteria_are_joined_in_order",
    "tests/solver/test_solve_stopping.py::test_rules_that_are_none",
]
MODEL = [
    "tests/model/test_prediction.py::test_rows_are_predicted_in_parts_that_take_little_memory",
    "tests/model/test_prediction.py::test_the_weights_of_a_linear_model",
    "tests/model/test_prediction.py::test_a_decision_of_exactly_zero_is_for_the_first_of_two_classes",
    "tests/model/test_prediction.py::test_one_decision_that_overflows_is_refused_with_its_row",
    "tests/model/test_prediction.py::test_labels_are_those_of_the_decisions",
    "tests/model/test_prediction.py::test_decisions_of_given_values_and_of_scaled_rows",
    "tests/model/test_model.py::test_other_columns_are_refused",
    "tests/model/test_model.py::test_a_kernel_without_a_name_cannot_be_saved",
]
SMO = ["tests/solver/test_smo_by_hand.py", "tests/solver/test_smo_epsilon.py"]

ROOMS = [
    Room("svmkit/solver/stopping.py", STOPPING),
    Room("svmkit/solver/loop/solve.py", LOOP),
    Room("svmkit/solver/loop/confirmation.py", ["tests/solver/test_confirmation.py"]),
    Room("svmkit/solver/smo/steps.py", SMO),
    Room("svmkit/solver/smo/box.py", SMO),
    Room("svmkit/problems/base.py", PROBLEMS),
    Room("svmkit/problems/certificate.py", PROBLEMS),
    Room("svmkit/problems/simplex.py", PROBLEMS),
    Room("svmkit/problems/dual.py", PROBLEMS),
    Room("svmkit/problems/bias.py", PROBLEMS),
    Room("svmkit/problems/sums.py", PROBLEMS),
    Room("svmkit/problems/risks/risk.py", PROBLEMS),
    Room("plugins/svmkit_frank_wolfe/steps/step.py", STEPS),
    Room("plugins/svmkit_frank_wolfe/iterate/state.py", STEPS),
    Room("svmkit/solver/exact_search.py", STEPS),
    Room("plugins/svmkit_stochastic/kernel_state.py", ["tests/plugins/stochastic/test_kernel_by_hand.py"]),
    Room("svmkit/model/model.py", MODEL),
    Room("svmkit/model/one_vs_one.py", ["tests/model/test_one_vs_one.py"]),
    Room("svmkit/scoring/accuracy.py", ["tests/scoring/test_accuracy.py"]),
    Room("svmkit/kernels/gram/row_cache.py", ["tests/kernels/test_row_cache.py"]),
    Room("svmkit/scoring/scores.py", ["tests/scoring/test_scores.py"]),
    Room("svmkit/training/result.py", ["tests/training/test_result.py"]),
    Room("svmkit/training/weights.py", ["tests/training/test_weights.py"]),
]
