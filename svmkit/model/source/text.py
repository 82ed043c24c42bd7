"""The functions of a model, once for both languages: C99 and JavaScript share the syntax of statements.

In these texts `@` precedes a name of the file, REAL and INT a variable; capitals in braces are sizes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from svmkit.kernels.forms import Argument, Form
from svmkit.model.calibration import Sigmoid
from svmkit.model.machines import LogProbabilities
from svmkit.model.model import SVMModel
from svmkit.model.source.numbers import Numbers, is_pairwise

LINE = 8  # numbers on a line


@dataclass(frozen=True)
class Language:
    """How a language writes the parts that the texts leave open. `real` is the type of numbers, `suffix` of functions
    and literals; `name` precedes each name of the file.
    """

    is_c: bool
    name: str
    dtype: str

    def array(self, name: str, values: np.ndarray) -> str:
        """Return the declaration of a constant array."""
        whole = values.dtype.kind == "i"
        numbers = [str(value) if whole else self.number(value) for value in values.ravel().tolist()]
        lines = [", ".join(numbers[at : at + LINE]) for at in range(0, len(numbers), LINE)]
        body = ",\n  ".join(lines)
        if self.is_c:
            return f"static const {'int' if whole else self.real} {self.name}_{name}[{len(numbers)}] = {{\n  {body}}};"
        return f"const {name} = [\n  {body}];"

    @property
    def real(self) -> str:
        return "float" if self.dtype == "float32" else "double"

    def number(self, value: float) -> str:
        """Return a literal of the fewest digits that identify the number in the language's type."""
        if self.dtype == "float32":
            return f"{np.float32(value)!s}f"
        return repr(float(value))

    def function(self, kind: str, name: str, taken: str, body: str) -> str:
        """Return a function.

        Parameters
        ----------
        kind : {"REAL", "INT", "void"}, the result
        name : str
        taken : str, its parameters: "x", "x out" or "x j"
        body : str, its statements
        """
        body = self.translate(body.strip("\n"))
        if self.is_c:
            real = self.real
            types = {"x": f"const {real} *x", "out": f"{real} *out", "j": "int j"}
            listed = ", ".join(types[each] for each in taken.split())
            returns = {"REAL": real, "INT": "int", "void": "void"}[kind]
            return f"static inline {returns} {self.name}_{name}({listed}) {{\n{body}\n}}"
        end = "\n  return out;" if kind == "void" else ""
        return f"function {name}({taken.replace(' out', ', out = []').replace(' j', ', j')}) {{\n{body}{end}\n}}"

    def translate(self, body: str) -> str:
        """Return statements in the language."""
        f = "f" if self.dtype == "float32" else ""
        if self.is_c:
            words = {r"REAL (\w+)\[(\w+)\]": rf"{self.real} \1[\2]", "REAL ": f"{self.real} ", "INT ": "int "}
            words |= {"EXP": f"exp{f}", "TANH": f"tanh{f}", "ABS": f"fabs{f}", "LOG": f"log{f}", "@": f"{self.name}_"}
            words |= {r"(?<![\w.])(\d+\.\d+)(?![\w.])": rf"\1{f}"}
        else:
            words = {r"REAL (\w+)\[(\w+)\]": r"const \1 = new Float64Array(\2)", "REAL ": "let ", "INT ": "let "}
            words |= {"EXP": "Math.exp", "TANH": "Math.tanh", "ABS": "Math.abs", "LOG": "Math.log", "@": ""}
        for word, theirs in words.items():
            body = re.sub(word, theirs, body)
        return body


def write_functions(model: SVMModel, numbers: Numbers, language: Language) -> list[str]:
    """Return the constant arrays and the functions of a model, in order."""
    arrays = {"vectors": numbers.vectors, "coef": numbers.coef, "intercept": numbers.intercept}
    arrays |= {"center": numbers.center, "scale": numbers.scale}
    if model.imputing:
        arrays["fill"] = model.imputing.statistics
        arrays["holed"] = model.imputing.holed if model.imputing.n_added else None
    if is_pairwise(model) and numbers.coef is not None:
        arrays["ends"] = np.cumsum(model.n_support).astype(np.int64)
    if isinstance(model.calibration, Sigmoid):
        arrays |= {"slope": model.calibration.A, "offset": model.calibration.B}
    found = [language.array(name, values) for name, values in arrays.items() if values is not None]
    found.append(language.function("REAL", "column", "x j", _column(model, numbers)))
    found.append(language.function("void", "decision", "x out", _decision(model, numbers, language)))
    if model.calibration is not None:
        found.append(language.function("void", "probability", "x out", _probability(model)))
    kind, taken = ("void", "x out") if model.outputs else ("REAL" if model.regresses else "INT", "x")
    found.append(language.function(kind, "predict", taken, _predict(model)))
    return found


def _column(model: SVMModel, numbers: Numbers) -> str:
    lines, value = [], "x[j]"
    if model.imputing:
        lines, value = ["  REAL v = x[j];", "  if (v != v) v = @fill[j];"], "v"
        if model.imputing.n_added:
            n = model.n_features
            mark = f"x[@holed[j - {n}]] != x[@holed[j - {n}]] ? 1.0 : 0.0"
            lines = [f"  REAL v = j < {n} ? x[j] : ({mark});", f"  if (j < {n} && v != v) v = @fill[j];"]
    value = f"({value} - @center[j]) / @scale[j]" if numbers.scale is not None else value
    return "\n".join([*lines, f"  return {value};"])


def _decision(model: SVMModel, numbers: Numbers, language: Language) -> str:
    (rows, width), n = numbers.vectors.shape, len(model.intercept)
    if numbers.coef is None:
        return f"""  for (INT k = 0; k < {n}; k++) out[k] = @intercept[k];
  for (INT j = 0; j < {width}; j++) {{
    REAL v = @column(x, j);
    for (INT k = 0; k < {n}; k++) out[k] += v * @vectors[k * {width} + j];
  }}"""
    form, (_, gamma, coef0, degree) = model.kernel.form, model.kernel.scalars
    assert form is not None
    step = {
        Argument.DOT: "t += z[j] * @vectors[i * WIDTH + j];",
        Argument.SQUARE: "REAL d = z[j] - @vectors[i * WIDTH + j]; t += d * d;",
        Argument.L1: "t += ABS(z[j] - @vectors[i * WIDTH + j]);",
    }[form.argument].replace("WIDTH", str(width))
    scaled = f"{language.number(gamma)} * t"
    if form is Form.POLY:
        shifted = f"{scaled} + {language.number(coef0)}"
        value = f"REAL base = {shifted}; t = base;\n    for (INT p = 1; p < {degree}; p++) t *= base;"
    elif form is Form.SIGMOID:
        value = f"t = TANH({scaled} + {language.number(coef0)});"
    else:
        value = f"t = EXP(-{scaled});"
    add, classes = f"for (INT k = 0; k < {n}; k++) out[k] += @coef[k * {rows} + i] * t;", ""
    if is_pairwise(model):
        k, classes = len(model.classes), "  INT c = 0;\n"
        add = f"""while (i >= @ends[c]) c++;
    for (INT r = 0; r < {k - 1}; r++) {{
      INT a = r < c ? r : c, b = r < c ? c : r + 1;
      out[a * ({2 * k - 1} - a) / 2 + b - a - 1] += @coef[r * {rows} + i] * t;
    }}"""
    return f"""  REAL z[{width}];
  for (INT j = 0; j < {width}; j++) z[j] = @column(x, j);
  for (INT k = 0; k < {n}; k++) out[k] = @intercept[k];
{classes}  for (INT i = 0; i < {rows}; i++) {{
    REAL t = 0.0;
    for (INT j = 0; j < {width}; j++) {{ {step} }}
    {value}
    {add}
  }}"""


def _probability(model: SVMModel) -> str:
    n = len(model.intercept)
    positive = "1.0 / (1.0 + EXP(h[k] * @slope[k] + @offset[k]))"
    start = f"  REAL h[{n}];\n  @decision(x, h);"
    if model.has_one_function:
        return f"{start}\n  INT k = 0;\n  out[1] = {positive};\n  out[0] = 1.0 - out[1];"
    if model.outputs:
        return f"{start}\n  for (INT k = 0; k < {n}; k++) out[k] = {positive};"
    log = "h[k]"
    if not isinstance(model.machine, LogProbabilities):  # by logarithms: all of them may be below the least number
        start += f"\n  for (INT k = 0; k < {n}; k++) h[k] = -(h[k] * @slope[k] + @offset[k]);"
        log = "(h[k] < 0.0 ? h[k] : 0.0) - LOG(1.0 + EXP(-ABS(h[k])))"
    return f"""{start}
  for (INT k = 0; k < {n}; k++) out[k] = {log};
  REAL top = out[0], sum = 0.0;
  for (INT k = 1; k < {n}; k++) if (out[k] > top) top = out[k];
  for (INT k = 0; k < {n}; k++) {{ out[k] = EXP(out[k] - top); sum += out[k]; }}
  for (INT k = 0; k < {n}; k++) out[k] = out[k] / sum;"""


def _predict(model: SVMModel) -> str:
    n, k = len(model.intercept), len(model.classes)
    if model.outputs:
        if not model.regresses:
            return f"  @decision(x, out);\n  for (INT k = 0; k < {n}; k++) out[k] = out[k] > 0.0 ? 1.0 : 0.0;"
        sort = f"""
  for (INT k = 1; k < {n}; k++) {{
    for (INT i = k; i > 0 && out[i - 1] > out[i]; i--) {{
      REAL v = out[i]; out[i] = out[i - 1]; out[i - 1] = v;
    }}
  }}"""
        return "  @decision(x, out);" + (sort if model.non_crossing else "")
    start = f"  REAL h[{n}];\n  @decision(x, h);\n"
    if model.regresses:
        return start + "  return h[0];"
    if model.has_one_function:
        test = "h[0] > 0.0" if model.calibration is None else "h[0] * @slope[0] + @offset[0] < 0.0"
        return start + f"  return {test} ? 1 : 0;"
    best = "  INT best = 0;\n  for (INT k = 1; k < CLASSES; k++) if (s[k] > s[best]) best = k;\n  return best;"
    best = best.replace("CLASSES", str(k))
    if not is_pairwise(model):
        start = f"  REAL s[{n}];\n  @decision(x, s);\n"
        if model.calibration is not None:  # probabilities near 1 are equal even if their odds are not
            start += f"  for (INT k = 0; k < {n}; k++) s[k] = -(s[k] * @slope[k] + @offset[k]);\n"
        return start + best
    return f"""{start}  REAL s[{k}];
  for (INT c = 0; c < {k}; c++) {{
    REAL votes = 0.0, margin = 0.0;
    for (INT o = 0; o < {k}; o++) {{
      if (o == c) continue;
      INT a = o < c ? o : c, b = o < c ? c : o, p = a * ({2 * k - 1} - a) / 2 + b - a - 1;
      margin += a == c ? h[p] : -h[p];
      votes += (h[p] > 0.0) == (a == c) ? 1.0 : 0.0;
    }}
    s[c] = votes + margin / (3.0 * (ABS(margin) + 1.0));
  }}
{best}"""
