"""
Registry and serving
====================

From a training to an answer over HTTP: two models are registered, the better one becomes the champion, a worse one is
refused, and MLflow's server answers with the champion.
"""

# %%
# Every command is the one that would be typed; the store is a file in the folder of the job.

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
store = {"MLFLOW_TRACKING_URI": f"sqlite:///{folder.name}/mlflow.db"}
store["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ["PATH"]]
)  # the server starts uvicorn by name


def svmkit(*arguments):
    """Run a command of svmkit, and show it with its last line."""
    command = [sys.executable, "-m", "svmkit", *arguments]
    done = subprocess.run(command, cwd=folder.name, env=os.environ | store, capture_output=True, text=True)
    print("$ svmkit", *arguments)
    print(f"{(done.stdout or done.stderr).strip().splitlines()[-1]}  (exit code {done.returncode})\n")
    return done.returncode


# %%
# Version 2 has a C that is far too small. Promotion compares the accuracies on the rows that were held out.

data = ("iris", "--scale", "standard", "--test-size", "0.3", "--register", "iris-svm")
svmkit("train", *data, "-C", "1")
svmkit("models", "promote", "iris-svm", "1", "champion")
svmkit("train", *data, "-C", "0.0001")
refused = svmkit("models", "promote", "iris-svm", "2", "champion")

# %%
# The server loads our model file through MLflow, without pickle.

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
serve = [sys.executable, "-m", "mlflow", "models", "serve", "-m", "models:/iris-svm@champion"]
serve += ["--env-manager", "local", "--host", "127.0.0.1", "--port", str(port)]
log = (Path(folder.name) / "server.log").open("wb")
server = subprocess.Popen(
    serve, cwd=folder.name, env=os.environ | store, stdout=log, stderr=log, start_new_session=True
)
address, rows = f"http://127.0.0.1:{port}", {"instances": [[5.1, 3.5, 1.4, 0.2], [6.7, 3.0, 5.2, 2.3]]}
try:
    while server.poll() is None:  # until it answers
        try:
            urllib.request.urlopen(f"{address}/ping", timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    asked = urllib.request.Request(
        f"{address}/invocations", json.dumps(rows).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        predictions = json.load(answer)["predictions"]
finally:
    os.killpg(server.pid, signal.SIGTERM)  # the server, and the process that it started
    server.wait(60)
    log.close()
    folder.cleanup()

# %%
# The flowers of the request are a setosa and a virginica.

print(f"version 2 was {'refused' if refused else 'promoted'}; the server answers {predictions}")
