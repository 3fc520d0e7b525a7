#!/bin/sh
# Names the packages that `make race` runs with the race detector, the longest first: those that start a goroutine or a test's
# server. In the others nothing can race.
set -eu
for name in node cli; do echo "holdfast/$name"; done
go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir name; do
  case "$name" in holdfast/node | holdfast/cli) continue ;; esac
  if grep -qE 'httptest[.]NewServer|^[[:space:]]*go |[.]Go[(]' "$dir"/*.go; then echo "$name"; fi
done
