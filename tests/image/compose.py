"""What a service of compose.yaml runs: `python3 compose.py FILE SERVICE PART`, words ended by NUL.

PART: entrypoint and command as `run`, `entrypoint`, the test of the `healthcheck`, or `volumes`. Run inside the image,
which has PyYAML, where no Docker engine is there to read the file.
"""

import re
import sys
from pathlib import Path

import yaml

file, service, part = sys.argv[1:]
text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", Path(file).read_text())
about = yaml.safe_load(text)["services"][service]
words = {
    "run": lambda: about["entrypoint"] + about.get("command", []),
    "entrypoint": lambda: about["entrypoint"],
    "healthcheck": lambda: about["healthcheck"]["test"][1:],
    "volumes": lambda: about["volumes"],
}[part]()
sys.stdout.write("".join(f"{word}\0" for word in words))
