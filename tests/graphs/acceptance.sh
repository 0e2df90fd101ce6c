#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# acceptance.sh: checks that each test that docs/graphs-acceptance.md names exists: `Suite.Name` as a test of
# googletest in tests/, a word without a dot as a test of ctest; and that each row names one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
page=docs/graphs-acceptance.md
status=0
fail() {
  echo "$page: $1"
  status=1
}

tests=$(grep -rhoP '^TEST(_[PF])?\(\K\w+, *\w+' tests --include='*.cpp' | sed 's/, */./' | sort -u)
ctests=$(grep -rhoP 'add_test\(NAME \K\w+' tests --include=CMakeLists.txt | sort -u)
rows=$(grep -P '^\| [A-Z]\d+[a-z]? \|' "$page")
[[ $(wc -l <<<"$rows") -ge 60 ]] || fail "there are fewer rows than 60"
while read -r row; do
  named=$(sed 's/.*|\([^|]*\)|$/\1/' <<<"$row" | grep -oP '`\K[\w.]+(?=`)' || true)
  [[ -n $named ]] || fail "no test is named in: $row"
  for name in $named; do
    case $name in
      *.*) grep -qxF "$name" <<<"$tests" || fail "there is no test $name" ;;
      *) grep -qxF "$name" <<<"$ctests" || fail "there is no test $name of ctest" ;;
    esac
  done
done <<<"$rows"
exit $status
