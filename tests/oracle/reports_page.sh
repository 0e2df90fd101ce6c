#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reports_page.sh MOTE MUTANTS FOLDER: checks the page of a campaign with a planted bug in a browser's layout,
# light and dark. Exits with 77 if there is no browser.
set -euo pipefail
mote=$1 mutants=$2 folder=$3
browser=""
for name in chromium chromium-browser google-chrome; do
  browser="$(command -v "$name" || true)"
  [[ -z "$browser" ]] || break
done
if [[ -z "$browser" ]]; then
  echo "no browser: install chromium to run this test"
  exit 77
fi

mkdir -p "$folder"
cd "$folder"
code=0
"$mote" check gemm --plugin "$mutants/gemm_correct.so" --plugin "$mutants/gemm_k_tail.so" \
  --count 120 --seed 12 --html page.html >check.txt || code=$?
if ((code != 1)); then
  echo "mote check: expected exit code 1, got $code"
  cat check.txt
  exit 1
fi

browse() {  # THEME ARGUMENTS...: --blink-settings' preferredColorScheme is 0 for dark, 1 for light
  local theme=$1
  shift
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --user-data-dir="$folder/profile" --blink-settings="preferredColorScheme=$theme" \
    --window-size=1200,1400 "$@" "file://$folder/page.html" 2>browser.txt
}
browse 1 --dump-dom >dom.html
for part in 'gemm-gemm-k-tail' '<svg' 'class="wrong5"' 'mote replay'; do
  grep -qF -- "$part" dom.html || { echo "the page as laid out lacks: $part"; exit 1; }
done
browse 1 --screenshot="$folder/light.png"
browse 0 --screenshot="$folder/dark.png"
for picture in light.png dark.png; do
  size="$(stat -c %s "$picture")"
  ((size > 10000)) || { echo "$picture: $size bytes, expected a picture"; exit 1; }
done
if cmp -s light.png dark.png; then
  echo "the page looks alike in light and dark"
  exit 1
fi
echo "passed: $folder/light.png, $folder/dark.png"
