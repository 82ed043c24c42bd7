"""PYTHONPATH=tests python -m support.mutation: change one thing at a time and see which changes no test notices."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from support.mutation.equivalent import reason_of
from support.mutation.operators import Mutation, mutations
from support.mutation.rooms import ROOMS, Room
from support.mutation.runner import Run, limit_of, load_libraries, module_name, survives


def main() -> int:
    parser = argparse.ArgumentParser(prog="support.mutation", description=__doc__)
    parser.add_argument(
        "rooms", nargs="*", help="parts of the paths of the modules to change; default: all of the table"
    )
    parser.add_argument("--sample", type=int, default=240, help="number of mutations, by default 240; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--log", default=os.devnull, help="file for the output of the latest run of tests")
    parser.add_argument("--list", action="store_true", help="list the mutations and run nothing")
    arguments = parser.parse_args()
    rooms = [room for room in ROOMS if not arguments.rooms or any(part in room.path for part in arguments.rooms)]
    chosen = sample(rooms, arguments.sample, arguments.seed)
    if arguments.list:
        for room in rooms:
            print(*(line(room, mutation) for mutation in chosen[room.path]), sep="\n")
        return 0
    load_libraries()
    table = [(room.path, *killed(room, chosen[room.path], arguments.log)) for room in rooms]
    print("\n| module | mutations | equivalent | killed |\n|---|---|---|---|")
    for row in [*table, ("all", *(sum(numbers) for numbers in zip(*(row[1:] for row in table), strict=True)))]:
        name, made, same, dead = row
        print(f"| {name} | {made} | {same} | {dead} ({100 * dead / max(made - same, 1):.0f} %) |")
    return 0


def sample(rooms: list[Room], size: int, seed: int) -> dict[str, list[Mutation]]:
    """Choose mutations of each module in proportion to how many it has, one at least; the seed decides which."""
    every = {room.path: mutations(Path(room.path).read_text()) for room in rooms}
    total = sum(len(found) for found in every.values())
    chosen = {}
    for path, found in every.items():
        share = max(1, round(size * len(found) / total)) if size else len(found)
        taken = sorted(found, key=lambda mutation: mutation.order(seed))[:share]
        chosen[path] = sorted(taken, key=lambda mutation: mutation.number)
    return chosen


def killed(room: Room, chosen: list[Mutation], log: str) -> tuple[int, int, int]:
    """Run the tests for each mutation, print those that survive, and return (made, equivalent, killed)."""
    source = Path(room.path).read_text()
    limits: dict[bool, float] = {}
    same = dead = 0
    for mutation in chosen:
        if reason_of(room.path, mutation):
            same += 1
            continue
        compiled = mutation.compiled
        if compiled not in limits:
            passed, seconds = survives(run_of(room, source, None, compiled), log=log)
            if not passed:
                raise SystemExit(f"{room.path}: its tests fail without a mutation (--log FILE shows how)")
            limits[compiled] = limit_of(seconds)
            print(f"{room.path}: {seconds:.1f} s without a mutation" + " of compiled code" * compiled, flush=True)
        passed, _ = survives(run_of(room, source, mutation.number, compiled), limits[compiled], log)
        dead += not passed
        if passed:
            print("survived:", line(room, mutation), flush=True)
    return len(chosen), same, dead


def run_of(room: Room, source: str, number: int | None, compiled: bool) -> Run:
    tests = room.compiled if compiled and room.compiled is not None else room.tests
    plain = compiled and not room.recompiled
    return Run(module_name(Path(room.path)), source, number, tests, plain, room.recompiled if compiled else ())


def line(room: Room, mutation: Mutation) -> str:
    return f"{room.path}:{mutation.line} {mutation.where}: {mutation.before}  ->  {mutation.after}"


if __name__ == "__main__":
    raise SystemExit(main())
