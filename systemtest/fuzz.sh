#!/bin/sh
# Runs every fuzz target of the project for $FUZZ (default 10s), $JOBS at a time (default 1), and names those that found something.
# With PACKAGES only the targets of those: PACKAGES='./warc ./crawler/...'. With JOBS over 1 each target has one worker.
# By default Go spends up to a minute on making each input smaller that reaches new code, and tries nothing else meanwhile: 20 attempts have to do.
set -eu
FUZZ=${FUZZ:-10s} JOBS=${JOBS:-1} PACKAGES=${PACKAGES:-./...}

# One target: what it printed comes out in one piece, what it found is noted in $found.
if [ $# = 3 ]; then
  dir=$1 name=$2 target=$3
  [ "$JOBS" -gt 1 ] && workers=-parallel=1 || workers=
  out=$(mktemp)
  trap 'rm -f "$out"' EXIT
  # shellcheck disable=SC2086
  if (cd "$dir" && go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZ" -fuzzminimizetime 20x $workers .) </dev/null >"$out" 2>&1; then
    printf '== %s %s\n%s\n' "$name" "$target" "$(grep '^fuzz: elapsed' "$out" | tail -n 1)"
    exit
  fi
  # On a busy machine Go calls it a failure when its own clock ends a run; a finding is written to a file.
  if grep -q '^ *context deadline exceeded$' "$out" && ! grep -q 'Failing input written to' "$out"; then
    printf '== %s %s\n%s\nended by the clock, nothing found\n' "$name" "$target" "$(cat "$out")"
    exit
  fi
  printf '== %s %s\n%s\n' "$name" "$target" "$(cat "$out")"
  echo " $name/$target" >>"$found"
  exit
fi

# shellcheck disable=SC2086
dirs=$(go list -f '{{.Dir}}' $PACKAGES)
targets=$(for dir in $dirs; do
  for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go 2>/dev/null | sed 's/^func //'); do
    echo "$dir $(basename "$dir") $target"
  done
done)
if [ -z "$targets" ]; then
  echo "no fuzz target in $PACKAGES" >&2
  exit 1
fi
found=$(mktemp)
trap 'rm -f "$found"' EXIT
export FUZZ JOBS found
echo "$targets" | xargs -P "$JOBS" -n 3 sh "$0"
if [ -s "$found" ]; then
  echo "found something:$(tr -d '\n' <"$found")"
  exit 1
fi
