"""Names of the rooms below that authors of solvers need, so that plugins import only from `svmkit.solver`."""

from svmkit.errors import InputError as InputError
from svmkit.errors import Unavailable as Unavailable
from svmkit.kernels.functions import Kernel as Kernel
from svmkit.kernels.gram import Gram as Gram
from svmkit.problems.base import Problem as Problem
from svmkit.problems.box import BoxQP as BoxQP
from svmkit.problems.certificate import Certificate as Certificate
from svmkit.problems.risks.kernel_risk import KernelRisk as KernelRisk
from svmkit.problems.risks.linear_risk import LinearDual as LinearDual
from svmkit.problems.risks.linear_risk import LinearRisk as LinearRisk
from svmkit.problems.simplex import SimplexQP as SimplexQP
