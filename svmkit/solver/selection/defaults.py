"""The solvers that the core names: the only place where it knows plugins by their names."""

LINEAR = "dcd"  # for the linear kernel: its steps need no kernel values
LINEAR_TALL = "newton"  # the same where rows are many and columns few
LINEAR_WIDE = f"{LINEAR}+{LINEAR_TALL}"  # the first, and the second if that is slow: for many columns
RANKING = "ocas"  # for pairs, which its cuts count without listing them
SPARSE = "cd"  # for the linear kernel with a penalty that makes weights exactly 0
CHOOSER = "auto"  # chooses among these, and the name of its loss until the task is known
SIMPLEX = "fcfw"  # for problems on the simplex, at every size
WHOLE_MATRIX = "smo"  # if the kernel matrix fits
WORKING_SET = "fcsmo"  # if few of the kernel values are computed
WITHIN_SUPPORT = "swap2o"  # keeps within a limit on support vectors and improves within it; the others only stop at it
MINIMIZE = "swap2o"  # for `minimize_simplex`
ALL_CLASSES = {"crammer_singer": LINEAR, "multinomial": LINEAR_TALL}  # for one problem of all classes
LOGISTIC_KERNEL = "klr"  # for logistic regression with a kernel
STREAM, STREAM_OF_TARGETS = "sfw", "sgd"  # for samples as they arrive
CLUSTER = "dfcsmo"  # for rows on the workers of a cluster
CLUSTER_LINEAR = "dnewton"  # the same with the linear kernel


def cluster_solver(solver: str, kernel: object) -> str:
    """Return the name of the solver for rows on the workers of a cluster: by the kernel if it is `CHOOSER`.

    Parameters
    ----------
    solver, kernel : str, str or Kernel
        The given names, or the kernel itself.
    """
    if solver != CHOOSER:
        return solver
    return CLUSTER_LINEAR if getattr(kernel, "name", kernel) == "linear" else CLUSTER
