#!/bin/sh
# Names the packages that start goroutines ("race"), in their code or their tests, or the others ("plain").
set -eu
go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir name; do
  if grep -qE '^[[:space:]]*go |[.]Go[(]|httptest[.]NewServer' "$dir"/*.go; then kind=race; else kind=plain; fi
  if [ "$kind" = "$1" ]; then echo "$name"; fi
done
