"""svmkit tune: search by cross-validation -> the best model, refitted, certified and saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmkit.cli.option_table import Options, takes

if TYPE_CHECKING:
    from svmkit.cli.training.finish import Outcome
    from svmkit.cli.tuning.search import TuneJob

SHOWN = 10  # candidates in the table


@takes("tune")
def tune(options: Options) -> None:
    """Search for C, gamma and solver options by cross-validation; refit the best on all rows, certify and save it.

    The values of C of one setting are fitted on shared kernel rows, each from the last solution. Among equal metrics
    the smallest C wins, then the smallest gamma. Ctrl-C (or SIGTERM) ends the search: the candidates that were tried in
    all folds count.
    """
    from svmkit.cli.common import emit
    from svmkit.cli.tuning.search import TuneJob

    job = TuneJob(options)
    outcome = job.run()
    if options.json:
        emit(job.summary(outcome.result))
    else:
        report(job, outcome)
    if outcome.failure:
        raise outcome.failure


def report(job: TuneJob, outcome: Outcome) -> None:
    """Print the best candidates, then the model of the best one as `svmkit train` prints it."""
    from svmkit.cli.training.report import report as report_model
    from svmkit.cli.tuning.candidates import table

    found = job.found
    print(
        f"{job.search} search over {', '.join(found.best.params)}: {len(found.candidates):,} candidates, "
        f"{job.cv} folds, {found.n_fits:,} fits in {found.seconds:.2f} s, by {job.metric.title}"
    )
    print("\n".join(table(found, SHOWN)))
    if job.plot:
        print(f"picture: {job.plot}")
    print()
    report_model(outcome, False)
