#!/bin/sh
# Runs every fuzz target of the project for $FUZZ (default 10s).
set -eu
FUZZ=${FUZZ:-10s}
go list -f '{{.Dir}}' ./... | while read -r dir; do
  for target in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go 2>/dev/null | sed 's/^func //'); do
    echo "== $(basename "$dir") $target"
    (cd "$dir" && go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZ" . </dev/null)
  done
done
