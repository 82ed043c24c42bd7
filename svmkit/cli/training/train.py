"""svmkit train: data -> certified model -> run in MLflow."""

from __future__ import annotations

from svmkit.cli.option_table import Options, takes


@takes("train")
def train(options: Options) -> None:
    """Train a classifier or a regression, certify how far from optimal it is, log it, and save it.

    Ctrl-C (or SIGTERM) ends training with the best model so far. With - for DATA, svmlight lines are read from standard
    input and learned from once, as they arrive, by a solver that learns from streams (sfw, sgd, ...).
    """
    from svmkit.cli.training import job
    from svmkit.cli.training.report import report
    from svmkit.cli.training.train_options import TrainOptions

    wanted = TrainOptions(**vars(options))
    if wanted.scheduler is not None:
        from svmkit.cli.training import cluster

        outcome = cluster.run(wanted)
    elif wanted.is_stream:
        from svmkit.cli.training.stream import StreamJob

        outcome = StreamJob(wanted).run()
    else:
        outcome = job.run(wanted)
    report(outcome, options.json)
    if outcome.failure:
        raise outcome.failure
