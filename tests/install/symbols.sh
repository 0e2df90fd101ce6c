#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# symbols.sh PREFIX LIBDIR FOLDER: checks the needed libraries and exports of the shared libraries. The runtime
# needs only the compiler's own libraries; all export only names of mote.
set -euo pipefail
lib="$1/$2"
failed=0
check() { # check WHAT GOT EXPECTED
  if [[ "$2" != "$3" ]]; then
    echo "$1: got '$2', expected '$3'"
    failed=1
  fi
}

needed="$(readelf -d "$lib/libmote.so" | sed -n 's/.*NEEDED.*\[\(.*\)\].*/\1/p' | sort)"
beyond="$(grep -vE '^(libc|libm|libgcc_s|libstdc\+\+|libgomp)\.so\.[0-9]+$' <<<"$needed" || true)"
check "libraries that libmote.so needs beyond the compiler's" "$beyond" ""

for name in mote mote_npz mote_compiler mote_oracle; do
  file="$lib/lib$name.so"
  check "SONAME of $file" "$(readelf -d "$file" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')" "lib$name.so.0.3"
  others="$(nm --dynamic --defined-only --demangle "$file" | cut -d' ' -f3- |
    grep -vE '^(mote_|mote::|(typeinfo|typeinfo name|vtable) for mote::)' | head -5 || true)"
  check "what $file exports in addition to mote's" "$others" ""
done
check "whether libmote.so exports run()" \
  "$(nm --dynamic --defined-only --demangle "$lib/libmote.so" | grep -c ' mote::PreparedCommand::run()$')" 1
stripped="$(mktemp)"
strip -o "$stripped" "$(readlink -f "$lib/libmote.so")"
echo "libmote.so, stripped: $(stat -c %s "$stripped") bytes"
rm -f "$stripped"
exit "$failed"
