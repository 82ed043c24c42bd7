"""`--log json`: messages as JSON objects, one a line."""

import json
from datetime import datetime

import pytest
from support.cli import process

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize("given", [["--log", "json"], ["--log=json"]], ids=str)
def test_messages_and_errors_are_objects(svmkit, given):
    done = svmkit("train", "diabetes", "--no-track", "--json", *given)
    notes = [json.loads(line) for line in done.err.splitlines()]
    assert done.code == 0 and json.loads(done.out)["task"] == "regress"
    assert any("looks like a quantity" in each["message"] for each in notes)
    assert {each["level"] for each in notes} == {"note"} and datetime.fromisoformat(notes[0]["time"]).tzinfo
    failed = process(*given, "train", "nothing\x1b.csv", "--no-track")
    (error,) = map(json.loads, failed.err.splitlines())
    assert failed.code == error["exit_code"] == 2 and error["level"] == "error" and "\x1b" not in failed.err
    assert svmkit("train", "nothing.csv").err.startswith("svmkit: ")  # the next call has lines again


def test_other_forms_are_refused(refused):
    refused(["--log 'xml' is not known", "json"], "train", "iris", "--log", "xml")
    refused(["--log '' is not known"], "train", "iris", "--log")
