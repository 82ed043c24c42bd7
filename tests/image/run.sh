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
trap 'rm -rf "$work"; buildah rm job > /dev/null 2>&1 || true' EXIT
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

mkdir -p "$work/data" "$work/out"
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
chown "$owner" "$work/out"
buildah from -q --name job svmkit > /dev/null
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
echo "all held"
