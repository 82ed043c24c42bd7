#!/usr/bin/env bash
# Builds the image with Debian's buildah on a base made by debootstrap, and runs jobs in it. As root, with network.
#   bash tests/image/run.sh [BASE]      BASE: an image that is there already, instead of one from debootstrap
# pip's own configuration (pip.conf, certificate) is passed into the build and does not stay in the image.
set -euo pipefail
cd "$(dirname "$0")/../.."
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
for program in buildah debootstrap; do
  command -v $program > /dev/null || { echo "needs $program: apt-get install buildah debootstrap"; exit 77; }
done
work=$(mktemp -d)
ended() { pkill -u 12345 -f '^/opt/svmkit/bin/python3 ' || true; buildah rm job derived > /dev/null 2>&1 || true; buildah rmi svmkit-derived > /dev/null 2>&1 || true; rm -rf "$work"; }
trap ended EXIT
fail() { echo "FAILED: $*"; exit 1; }

base=${1:-}
if [ -z "$base" ]; then
  echo "== a base image"
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$work/root" > "$work/log" \
    || { tail "$work/log"; fail debootstrap; }
  rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/*
  tar -C "$work/root" --exclude='./proc/*' --exclude='./sys/*' --exclude='./dev/*' -cf "$work/root.tar" .
  printf 'FROM scratch\nADD root.tar /\n' > "$work/Basefile"
  base=localhost/svmkit-base
  buildah build -q -f "$work/Basefile" -t "$base" "$work" > /dev/null
fi

echo "== the image"
git archive HEAD | tar -x -C "$(mkdir -p "$work/context" && echo "$work/context")"
passed=()
for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
  [ -f "$file" ] && passed=(--secret "id=pip,src=$file") && break
done
cert=$(python3 -m pip config list | sed -n "s/^.*\.cert='\(.*\)'$/\1/p" | head -1)
if [ -n "$cert" ]; then passed+=(--volume "$cert:$cert:ro"); fi
buildah build -q --build-arg BASE="$base" "${passed[@]}" -t svmkit "$work/context" > /dev/null
buildah images --format '{{.Name}}: {{.Size}}' svmkit

mkdir -p "$work/data" "$work/out" "$work/store"
python3 - "$work/data" <<'PY'
import random, sys
random.seed(0)
def rows(n):
    for _ in range(n):
        y = random.choice((-1, 1))
        yield f"{y:+d} " + " ".join(f"{j}:{random.gauss(0.4 * y, 1):.4f}" for j in range(1, 21)) + "\n"
open(f"{sys.argv[1]}/train.svm", "w").writelines(rows(20000))
open(f"{sys.argv[1]}/test.svm", "w").writelines(rows(500))
PY
owner=12345:12345
chown "$owner" "$work/out" "$work/store"
buildah from -q --name job --add-host mlflow:127.0.0.1 svmkit > /dev/null
job() { buildah run --user "$owner" -v "$work/data:/data:ro" -v "$work/out:/work" --workingdir /work job -- "$@"; }

echo "== no job compiles, none is root, no build tools, no telemetry"
job sh -c 'test "$(id -u)" = 12345 && ! command -v gcc && test "$DO_NOT_TRACK" = true'
job svmkit train --solver swap2o --json --no-track > "$work/first.json"
python3 - "$work/first.json" <<'PY' || fail "the first job compiled"
import json, sys
sys.exit(json.load(open(sys.argv[1]))["fit_s"] > 3)
PY

echo "== a job on mounted data; the model and the run are the caller's"
job svmkit train /data/train.svm --test /data/test.svm --solver fcsmo -C 1 --tol 1e-2 --out model.svmkit --json > "$work/job.json"
for file in model.svmkit mlflow.db mlruns; do
  [ "$(stat -c %u:%g "$work/out/$file")" = "$owner" ] || fail "$file is not owned by $owner"
done

echo "== SIGTERM ends a job within 5 s, exit 0, with its best model"
job svmkit train /data/train.svm --solver fw --tol 1e-12 --max-iter 1000000000 --out stopped.svmkit --no-track --json > "$work/stopped.json" &
running=$!
for _ in $(seq 120); do pid=$(pgrep -u 12345 -f '^/opt/svmkit/bin/python3 .*stopped.svmkit') && break; sleep 0.5; done
sleep 8 # loading is over, iterations go on
began=$(date +%s%N)
kill -TERM "$pid"
wait $running || fail "exit $? after SIGTERM"
took=$((($(date +%s%N) - began) / 1000000))
echo "   $took ms"
[ "$took" -lt 5000 ] || fail "SIGTERM took $took ms"
grep -q '"status": "interrupted"' "$work/stopped.json" || fail "it was not interrupted: $(cut -c1-200 "$work/stopped.json")"
[ "$(stat -c %u "$work/out/stopped.svmkit")" = 12345 ] || fail "no model of the interrupted job"

echo "== a second job predicts with it"
job svmkit predict stopped.svmkit /data/test.svm --out labels.txt
[ "$(wc -l < "$work/out/labels.txt")" = 500 ] || fail "not 500 labels"
job svmkit evaluate model.svmkit /data/test.svm

echo "== compose.yaml: a server, its health, jobs that log to it; a name that is not allowed is refused"
part() { buildah run -v "$PWD:/src:ro" job -- python3 /src/tests/image/compose.py /src/compose.yaml "$@"; }
service() { # NAME WORD...: the words with the service's volumes, as the caller
  local mounts=() volume name=$1
  while IFS= read -r -d '' volume; do mounts+=(-v "$work/${volume#./}"); done < <(part "$name" volumes)
  buildah run --user "$owner" "${mounts[@]}" --workingdir /work job -- "${@:2}"
}
mapfile -d '' -t serve < <(part mlflow run)
mapfile -d '' -t health < <(part mlflow healthcheck)
mapfile -d '' -t train < <(part train entrypoint)
mapfile -d '' -t train_by_default < <(part train run)
service mlflow "${serve[@]}" > "$work/server.log" 2>&1 &
for _ in $(seq 60); do service mlflow "${health[@]}" 2> /dev/null && break; sleep 2; done
service mlflow "${health[@]}" || { tail "$work/server.log"; fail "the server is not healthy"; }
service train "${train[@]}" --solver fcsmo -C 1 --tol 1e-2 /data/train.svm --test /data/test.svm --register adult
service train "${train_by_default[@]}" > "$work/default.txt" 2>&1 || { tail "$work/default.txt"; fail "the service as it is"; }
service train svmkit predict models:/adult@latest /data/test.svm --tracking-uri http://mlflow:5000 --out served.txt
[ "$(wc -l < "$work/out/served.txt")" = 500 ] || fail "not 500 labels of the registered model"
[ "$(stat -c %u:%g "$work/store/mlflow.db")" = "$owner" ] || fail "the store is not owned by $owner"
[ -n "$(find "$work/store/artifacts" -name model.svmkit)" ] || fail "no model in the store"
service mlflow python3 - <<'PY' || fail "another host's name was served"
import sys, urllib.error, urllib.request
try:
    urllib.request.urlopen(urllib.request.Request("http://mlflow:5000/", headers={"Host": "elsewhere.example"}))
except urllib.error.HTTPError as refused:
    sys.exit(refused.code != 403)
sys.exit(1)
PY
pkill -u 12345 -f '^/opt/svmkit/bin/python3 .*mlflow'
wait

echo "== a plugin by one line in a derived image"
python3 -m pip wheel -q --no-deps -w "$work/derived" examples/third_party_plugin 2> /dev/null
printf 'FROM svmkit\nCOPY *.whl /tmp/\nRUN pip install -q /tmp/*.whl && svmkit warmup coord\n' > "$work/derived/Dockerfile"
buildah build -q -t svmkit-derived "$work/derived" > /dev/null
buildah from -q --name derived svmkit-derived > /dev/null
buildah run --user "$owner" -v "$work/out:/work" --workingdir /work derived -- svmkit train --solver coord --json --no-track > "$work/derived.json"
grep -q '"status": "converged"' "$work/derived.json" || fail "the plugin's solver: $(cut -c1-200 "$work/derived.json")"
echo "all held"
