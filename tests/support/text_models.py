"""Text models that the programs of others wrote, with their decisions, and such texts of scikit-learn's machines."""

import numpy as np

ROWS = np.array(
    [[0.5, 1, 0], [1.5, 0, 0], [0, 2, 0], [-1, 0.25, 0], [-0.75, 0, 1], [0, -1, 1.5], [2, 2, -1], [-2, 0, 0]]
)

# svm-train -t 1 -d 2 -r 1 -g 0.5 of LIBSVM 3.37 on ROWS, whose classes it meets in the order 3, 1, 2
C_SVC = """svm_type c_svc
kernel_type polynomial
degree 2
gamma 0.5
coef0 1
nr_class 3
total_sv 8
rho -0.17072680855671882 -1.2861661157991071 -0.86776180540658943
label 3 1 2
nr_sv 3 3 2
SV
0.49719114674540948 0.87916745312943356 1:0.5 2:1 
1 0.18339185237496355 1:-1 2:0.25 
0.034353856007930304 0.024175569884592255 1:2 2:2 3:-1 
-0.47999177631557871 0.20609938862704524 1:1.5 
-0.71659446446260677 0.73200410304627883 1:-0.75 3:1 
-0.33495876197515423 0 1:-2 
-0.70078008716993245 -0.3117791061434293 2:2 
-0.38595478821905699 -0.62632438552989478 2:-1 3:1.5 
"""  # noqa: W291  as LIBSVM writes it
C_SVC_DECISIONS = np.array(  # of (3, 1), (3, 2), (1, 2)
    [
        [0.9996703234600581, 0.9996153247378063, 0.336958024725051],
        [-1.0004227942105466, 2.0241665090350898, 1.0004360258509681],
        [2.49963109685639, -1.0000549579153402, -1.00014665821095],
        [0.17361651548921195, 1.0003278968955376, 1.2979038134972165],
        [-0.9996097332074825, 0.33202357270249283, 0.9998533417890496],
        [-1.9295474464599345, -0.9995035884558099, -1.000142709429068],
        [1.000181101978986, 0.9996153247378063, -0.9566861813854148],
        [-0.999818898021015, 1.1769660830769226, 2.2229457264692556],
    ]
)
C_SVC_LABELS = np.array([3, 1, 2, 3, 1, 2, 3, 1])

# svm-train -g 0.5, classes in the order 4, -1
BINARY = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 8
rho 0.46394538305404887
label 4 -1
nr_sv 4 4
SV
1 1:0.5 2:1 
0.31612984634618058 1:-1 2:0.25 
1 1:-0.75 3:1 
1 1:-2 
-0.82406089471407096 1:1.5 
-1 2:2 
-0.97761572524830986 2:-1 3:1.5 
-0.51445322638379976 1:2 2:2 3:-1 
"""  # noqa: W291
BINARY_DECISIONS = np.array(
    [
        -0.1291632949516957, -0.9999223143229147, -0.8889015303080476, 0.9997489172958397, 0.6653638898517319,
        -0.9999223060737141, -0.999904303124186, 0.9800518270601754,
    ]
)  # fmt: skip

# svm-train -s 3 -t 3 -r 1 -g 0.5 -b 1
SVR = """svm_type epsilon_svr
kernel_type sigmoid
gamma 0.5
coef0 1
nr_class 2
total_sv 8
rho -1.7863665968179703
probA 1.847928676661065
SV
-1 1:0.5 2:1 
-1 1:1.5 
1 2:2 
1 1:-1 2:0.25 
-1 1:-0.75 3:1 
1 2:-1 3:1.5 
1 1:2 2:2 3:-1 
-1 1:-2 
"""  # noqa: W291
SVR_PREDICTIONS = np.array(
    [
        1.964774079811239, 2.739935525305133, 1.3759496962058326, 1.701434216502381, 1.1555022245946946,
        -0.08199801068863954, 2.42444187973404, 1.575558040665534,
    ]
)  # fmt: skip

ONE_CLASS = """svm_type one_class
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.5
SV
1 1:0.5 2:1 
0.25 1:-1 
"""  # noqa: W291

PRECOMPUTED = """svm_type c_svc
kernel_type precomputed
nr_class 2
total_sv 2
rho 0.25
label 0 1
nr_sv 1 1
SV
0.5 0:3 
-0.5 0:1 
"""  # noqa: W291

LIBLINEAR = """solver_type L2R_L2LOSS_SVC_DUAL
nr_class 2
label -1 1
nr_feature 3
bias 2
w
0.5 
-0.25 
0 
0.125 
"""  # noqa: W291

# of three classes, of which the text has few lines
MANY = """solver_type MCSVM_CS
nr_class 3
label 2 0 1
nr_feature 2
bias -1
w
0.5 0.25 -1
-0.75 0.5 0.125
"""

KINDS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid", "precomputed": "precomputed"}


def libsvm_text(machine, labels):
    """The text that LIBSVM would write of a fitted SVC of scikit-learn for classes 0, 1, ... that it meets as `labels`.

    Written from the arrays of the estimator alone.
    """
    k, turned = len(labels), -1.0 if len(labels) == 2 else 1.0
    lines = ["svm_type c_svc", f"kernel_type {KINDS[machine.kernel]}"]
    lines += [
        f"degree {machine.degree}",
        f"gamma {float(machine._gamma)!r}",
        f"coef0 {machine.coef0!r}",
        f"nr_class {k}",
    ]
    lines += [
        f"total_sv {len(machine.support_)}",
        "rho " + " ".join(map(repr, (-turned * machine.intercept_).tolist())),
    ]
    lines += ["label " + " ".join(map(str, labels)), "nr_sv " + " ".join(map(str, machine.n_support_)), "SV"]
    for i, column in enumerate((turned * machine.dual_coef_).T):
        if machine.kernel == "precomputed":
            row = f"0:{machine.support_[i] + 1}"
        else:
            row = " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(machine.support_vectors_[i]) if v)
        lines.append(" ".join(map(repr, column.tolist())) + f" {row} ")
    return "\n".join(lines) + "\n"
