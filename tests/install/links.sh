#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# links.sh: checks that targets of the pages of this tree exist: relative links, and paths in `code` that begin
# with a folder of the tree. Each folder of sources has a README with a line "Read first …", and each word in
# `code` of that line that is a file's name exists there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0
missing() {
  echo "$1: $2 does not exist"
  status=1
}

exists() {  # a path, in which * stands for anything
  compgen -G "$1" >/dev/null
}

pages() {
  find . \( -path ./build -o -path ./.git -o -path '*/.cache' \) -prune -o -name '*.md' -print
}

while read -r page; do
  folder=$(dirname "$page")
  while read -r link; do
    exists "$folder/$link" || missing "$page" "$link"
  done < <(sed '/^```/,/^```/d; /^    /d; s/`[^`]*`//g' "$page" | grep -oP '\]\(\K[^)#: ]+(?=[)#])' || true)
  while read -r path; do
    exists "./${path%/}" || missing "$page" "$path"
  done < <(grep -oP '`\K(uops|macroops|codegen|generated|oracle|runtime|tests|docs|examples|tools|cmake)/[\w./*-]+(?=`)' "$page" || true)
done < <(pages)

while read -r folder; do
  [[ -e $folder/README.md ]] || missing "$folder" README.md
done < <(find {uops,codegen,oracle}/src runtime runtime/{backends,files} runtime/symbolic/src -mindepth 1 -maxdepth 1 -type d
         printf '%s\n' generated/{tool,bounds} oracle/tool)

for page in {uops,codegen,oracle,runtime/symbolic}/src/*/README.md codegen/src/schedule/*/README.md \
            runtime/{backends,files}/*/README.md generated/{tool,bounds}/README.md oracle/tool/README.md; do
  folder=$(dirname "$page")
  grep -qE '^- Read (first|in) ' "$page" || missing "$page" "a line 'Read first …'"
  while read -r word; do
    exists "$folder/$word*" || exists "*/include/mote/*/$word" || exists "*/include/$word" ||
      exists "$folder/../$word" || exists "$folder/../../$word" ||
      missing "$page" "$word"
  done < <(grep -oP '^- Read first .*' "$page" | grep -oP '`\K[a-z_/.]+(?=`)' || true)
done
exit $status
