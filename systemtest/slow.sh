#!/bin/sh
# Runs the given test command for the tests in files with the build tag slow, and for nothing else of their packages.
set -eu
files=$(grep -rlE --include='*_test.go' '^//go:build slow( |$)' .)
# shellcheck disable=SC2086
names=$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' $files | sort -u | paste -sd '|' -)
# shellcheck disable=SC2086
exec "$@" -tags slow -run "^($names)\$" $(dirname $files | sort -u)
