#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that a name in a namespace of mote belongs to one type in the whole project: a program may
# link all of it, and then one type's functions would be called for the other.
#   one_type.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"

# Prints "NAMESPACE::NAME FILE" for each type that is defined outside of unnamed namespaces.
types() {
  find uops macroops codegen generated oracle runtime -name '*.h' -o -name '*.cpp' | sort | xargs awk '
    FNR == 1 { depth = 0 }
    /^(inline )?namespace( |$)/ {
      name = $0
      sub(/^(inline )?namespace ?/, "", name); sub(/MOTE_API /, "", name); sub(/ ?\{.*/, "", name)
      space[++depth] = name
      next
    }
    /^}  \/\/ namespace/ && depth > 0 { --depth; next }
    /^(template <.*> )?(struct|class|union|enum|enum class) (MOTE_API )?[A-Za-z_0-9]+( final)?( : | ?\{)/ {
      name = $0
      sub(/^(template <.*> )?(struct|class|union|enum class|enum) (MOTE_API )?/, "", name)
      sub(/[^A-Za-z_0-9].*/, "", name)
      path = ""
      for (k = 1; k <= depth; k++) {
        if (space[k] == "") next
        path = path space[k] "::"
      }
      if (path != "") print path name, FILENAME
    }'
}

all=$(types | sort -u)
count=$(wc -l <<<"$all")
if ((count < 500)); then
  echo "only $count types were found: is $1 the source folder?"
  exit 1
fi
twice=$(awk '{ files[$1] = files[$1] " " $2; times[$1]++ } END { for (n in times) if (times[n] > 1) print n ":" files[n] }' <<<"$all")
if [[ -n $twice ]]; then
  printf 'types of one name:\n%s\n' "$twice"
  exit 1
fi
echo "$count types have names of their own"
