"""A headless Chromium for tests, and where their screenshots are kept."""

import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def chromium():
    """A browser of playwright's, or a skip that says what is missing."""
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install svmkit[test]")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a Chromium on the PATH")
    quiet = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *quiet])
        yield browser
        browser.close()


@pytest.fixture
def shots(tmp_path):
    """The folder for screenshots: $SVMKIT_SCREENSHOTS, else the test's own."""
    folder = Path(os.environ.get("SVMKIT_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
