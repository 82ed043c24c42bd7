"""The command line: results on stdout, messages on stderr; exit 0 done, 1 the work failed, 2 the call is wrong.

Each command has a file of its own, which declares its options and prints its results; a command imports the heavy
modules only when it runs. The room may import every other room of svmkit and no other room imports it; registry/ adds
a command.
"""

from __future__ import annotations

import gc
import os
import sys

from svmkit.runtime import interrupt
from svmkit.runtime.garbage import collecting_seldom


def main(argv: list[str] | None = None) -> None:
    """Run the command line with these arguments, or those of the process; --debug shows tracebacks, not one line, and
    --log json writes messages as JSON objects.
    """
    _open_streams()
    args = _take_log(list(sys.argv[1:] if argv is None else argv))
    debug = "--debug" in args
    try:
        with collecting_seldom(), interrupt.command(is_process=argv is None):  # a tenth of the seconds of a short fit
            code = _run([a for a in args if a != "--debug"], debug)
    except KeyboardInterrupt:
        code = _say("interrupted", 1)
    if argv is None:
        gc.freeze()  # otherwise Python visits all objects once more before it exits
    sys.exit(code)


def _open_streams() -> None:
    """Open stdout and stderr on the null device if the caller has closed them (`>&-`): Python sets them to None, to
    which nothing can be written, and messages for stderr would go to stdout.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  as long as the process lives


def _run(args: list[str], debug: bool) -> int:
    try:
        from svmkit.cli.app import command

        app = command()
        with app.make_context("svmkit", args) as context:  # not app(), which handles Ctrl-C and closed pipes itself
            app.invoke(context)
        sys.stdout.flush()
        return 0
    except BrokenPipeError:  # the reader of our stdout has stopped reading
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if interrupt.broke_off():  # for example during an import, whose error this is then
            return _say("interrupted", 1)
        if hasattr(error, "exit_code") and not hasattr(error, "format_message"):  # typer.Exit
            return error.exit_code
        if debug:
            raise
        return _explain(error)


def _explain(error: Exception) -> int:
    """Explain in one line why the command has failed, and return its exit code."""
    from svmkit.errors import InputError, SvmkitError

    if hasattr(error, "format_message"):  # click's usage errors; typer may use its own copy of click
        if type(error).__name__ == "NoArgsIsHelpError":
            from svmkit.runtime.terminal import say

            if page := error.format_message():  # empty if rich has printed it
                say(*page.splitlines())
            return 2
        path = getattr(getattr(error, "ctx", None), "command_path", "svmkit")
        text = " ".join(error.format_message().split()).removesuffix(".")
        return _say(f"{text} See {path} --help" if text.endswith("?") else f"{text}; see {path} --help", 2)
    if isinstance(error, SvmkitError):
        return _say(str(error), 2 if isinstance(error, InputError) else 1)
    if isinstance(error, MemoryError):
        return _say("out of memory: give a smaller --memory, or fewer rows", 1)
    if isinstance(error, UnicodeEncodeError) and not error.encoding.startswith("utf"):  # as our files are: stdout
        lacking = f"{error.object[error.start]!r} of the output cannot be written as {error.encoding}"
        return _say(f"{lacking}: set PYTHONIOENCODING=utf-8, or choose a locale of UTF-8", 2)
    first = (str(error).splitlines() or [""])[0]
    failed = f"failed with {type(error).__name__}: {first} (--debug shows where)"
    return _explain_plain(failed) if "numba" in sys.modules else _say(failed, 1)


def _explain_plain(failed: str) -> int:
    """Report the failure, and if numba compiles nothing, that this may be the reason."""
    from svmkit.runtime.compiling import compiles_nothing

    if not compiles_nothing():
        return _say(failed, 1)
    return _say(f"fits need compiled code, and numba compiles none: unset NUMBA_DISABLE_JIT; {failed}", 2)


def _say(message: str, code: int) -> int:
    from svmkit.runtime.terminal import tell

    tell(" ".join(message.split()), "error", exit_code=code)
    return code


def _take_log(args: list[str]) -> list[str]:
    """Choose the form of messages by --log, wherever it appears; return the other arguments."""
    from svmkit.runtime.terminal import log_as_json

    left, form, given = [], "text", iter(args)
    for each in given:
        if each == "--log":
            form = next(given, "")
        elif each.startswith("--log="):
            form = each.removeprefix("--log=")
        else:
            left.append(each)
    log_as_json(form == "json")
    if form not in ("text", "json"):
        sys.exit(_say(f"--log {form!r} is not known: give json, or text", 2))
    return left
