#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme.sh BUILD FOLDER: follows README.md in its order in a copy of the tree. A line of a code block that
# starts with "$ " is a command; the lines after it in the block must be in its output. A command exits with 0,
# or as its comment says: "# exit code 1". Commands of mote in the text between are run too.
#
# Commands that install, build or test all of mote are left out: tools/test.sh; cmake with --preset, also where
# tools/quickstart.sh calls it: the build is BUILD. `mote mutants` is left out since it runs for minutes.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
build=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/copy/build" "$folder/bin" "$folder/home"
# In a checkout its files are copied, even uncommitted ones; otherwise all files that were not built.
if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
  git -C "$root" ls-files -z --cached --others --exclude-standard
else
  (cd "$root" && find . -path ./build -prune -o -type f -print0)
fi | tar -C "$root" --null --files-from=- --ignore-failed-read -cf - | tar -C "$folder/copy" -xf -
ln -s "$build" "$folder/copy/build/release"
cat >"$folder/bin/cmake" <<END
#!/usr/bin/env bash
for argument in "\$@"; do
  [[ "\$argument" != --preset ]] || { echo "readme.sh: left out: cmake \$*"; exit 0; }
done
exec "$(command -v cmake)" "\$@"
END
chmod +x "$folder/bin/cmake"
export PATH="$folder/bin:$PATH" HOME="$folder/home" CMAKE_GENERATOR="${GENERATOR:-Ninja}"
export QUICKSTART_BUDGET=2s  # instead of 20s

# Writes steps/NN.sh, and steps/NN.report with the expected output.
mkdir "$folder/steps"
awk -v steps="$folder/steps/" '
  function command(text) { printf "%s\n", text >sprintf("%s%03d.sh", steps, ++step) }
  /^```/ { fenced = !fenced; shown = 0; next }
  fenced || /^    / {
    line = fenced ? $0 : substr($0, 5)
    if (line ~ /^\$ /) { command(substr(line, 3)); shown = 1 }
    else if (shown) print line >sprintf("%s%03d.report", steps, step)
    next
  }
  /^ *$/ { next }
  {
    shown = 0
    # Takes commands in the text, like `mote ops conv2d`, but no form with a word in capitals.
    rest = $0
    while (match(rest, /`mote [^`]*`/)) {
      text = substr(rest, RSTART + 1, RLENGTH - 2)
      rest = substr(rest, RSTART + RLENGTH)
      if (text !~ /[A-Z][A-Z]/ && text !~ /…/) command(text)
    }
  }
' "$root/README.md"

cd "$folder/copy"
failed=0 commands=0
for step in "$folder"/steps/*.sh; do
  text="$(cat "$step")"
  [[ "$text" != tools/test.sh* && "$text" != "mote mutants"* ]] || continue
  commands=$((commands + 1))
  wanted=0
  [[ ! "$text" =~ "exit code "([0-9]+) ]] || wanted=${BASH_REMATCH[1]}
  if [[ "$text" == "export "* ]]; then  # as in the shell that a reader types into
    eval "$text"
    continue
  fi
  got=0
  bash -euo pipefail "$step" >"${step%.sh}.printed" 2>&1 || got=$?
  if ((got != wanted)); then
    echo "README.md: '$text' exits with $got, expected $wanted:"
    cat "${step%.sh}.printed"
    failed=1
  fi
  report="${step%.sh}.report"
  if [[ -f "$report" ]] && ! "$here/printed.sh" report "$report" "${step%.sh}.printed"; then
    echo "by '$text' of README.md, which printed"
    cat "${step%.sh}.printed"
    failed=1
  fi
done
((commands >= 12)) || { echo "only $commands commands in README.md"; exit 1; }
((failed == 0)) || exit 1
echo "README.md: $commands commands work in their order"
