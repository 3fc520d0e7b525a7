#!/bin/sh
# Runs the given test command for the tests that are built without the race detector only (//go:build !race), in packages
# that have the others run with it: large inputs, and processes that are killed.
set -eu
grep -rlE --include='*_test.go' '^//go:build !race$' . | xargs -n 1 dirname | sort -u | while read -r dir; do
  files=$(grep -lE '^//go:build !race$' "$dir"/*_test.go)
  # shellcheck disable=SC2086
  names=$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' $files | paste -sd '|' -)
  "$@" -run "^($names)\$" "$dir" </dev/null
done
