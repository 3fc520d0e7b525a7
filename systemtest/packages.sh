#!/bin/sh
# Names packages by how they are tested. "race" are those that `make test` runs with the race detector, "plain" those that it
# runs without, the longest first.
#
# Plain are the packages that start no goroutine, those whose only goroutines are a test's HTTP server, and those whose tests
# run whole clusters or whole servers, kill processes, or count for long (models, every length of a file, passwords): the race
# detector makes these three to ten times slower. "later" are the plain ones that are concurrent all the same: `make race` runs
# them with the race detector.
set -eu
heavy=" batch ledger/proof node node/ledgers cli replica index raft api replay warc web crawler/frontier index/dedup node/harvester node/notices node/session "
longest=" node raft "
long=" replica cli crawler api crawler/frontier "
go list -f '{{.Dir}} {{.ImportPath}}' ./... | while read -r dir name; do
  kind=plain
  if grep -qE 'httptest[.]NewServer' "$dir"/*.go; then kind=served; fi
  if grep -qE '^[[:space:]]*go |[.]Go[(]' "$dir"/*.go; then kind=race; fi
  case "$heavy" in *" ${name#holdfast/} "*) kind=heavy ;; esac
  order=3
  case "$long" in *" ${name#holdfast/} "*) order=2 ;; esac
  case "$longest" in *" ${name#holdfast/} "*) order=1 ;; esac
  case "$1 $kind" in
  "race race" | "plain plain" | "plain served" | "plain heavy" | "later served" | "later heavy")
    echo "$order $name" ;;
  esac
done | sort -k 1,1 -s | cut -d ' ' -f 2
