#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# printed.sh KIND EXPECTED PRINTED: each line of the file EXPECTED must be part of a line of PRINTED, in that
# order; "..." or "…" stands for lines in between. KIND output compares them unchanged; KIND report ignores
# numbers, which belong to one run.
set -euo pipefail
awk -v kind="$1" '
  { if (kind == "report") gsub(/[0-9][0-9.]*/, "#"); gsub(/ +/, " ") }
  NR == FNR { if ($0 != "..." && $0 != "…" && $0 != "") expected[++count] = $0; next }
  at < count && index($0, expected[at + 1]) { ++at }
  END { if (at < count) { print "not printed: " expected[at + 1]; exit 1 } }
' "$2" "$3"
