#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# acceptance.sh: checks that each test that docs/graphs-acceptance.md and docs/dynamic.md name for a sentence
# exists: `Suite.Name` as a test of googletest in tests/ (`*` stands for any letters), a word without a dot as a
# test of ctest; and that each row names one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0
fail() {
  echo "$page: $1"
  status=1
}

tests=$(grep -rhoP '^TEST(_[PF])?\(\K\w+, *\w+' tests --include='*.cpp' | sed 's/, */./' | sort -u)
ctests=$(grep -rhoP '(add_test\(NAME |mote_add_test\()\K\w+' tests --include=CMakeLists.txt | sort -u)
check_rows() {  # PAGE LEAST_ROWS: checks the tests in the last column of the rows of numbered sentences
  local rows row named name
  page=$1
  rows=$(grep -P '^\| [A-Z]\d+[a-z]?(, [A-Z]\d+[a-z]?)*( \||:)' "$page")
  [[ $(wc -l <<<"$rows") -ge $2 ]] || fail "there are fewer rows than $2"
  while read -r row; do
    named=$(sed 's/.*|\([^|]*\)|$/\1/' <<<"$row" | grep -oP '`\K[\w.]+\*?(?=`)' || true)
    [[ -n $named ]] || fail "no test is named in: $row"
    for name in $named; do
      case $name in
        *.*) grep -qx -- "${name//\*/.*}" <<<"$tests" || fail "there is no test $name" ;;
        *) grep -qxF "$name" <<<"$ctests" || fail "there is no test $name of ctest" ;;
      esac
    done
  done <<<"$rows"
}
check_rows docs/graphs-acceptance.md 60
check_rows docs/dynamic.md 12
exit $status
