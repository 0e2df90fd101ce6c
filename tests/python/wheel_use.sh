#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel_use.sh WHEEL FOLDER: installs the wheel in an empty environment and uses it without a compiler.
set -euo pipefail
wheel=$1 folder=$2
python="${MOTE_TEST_PYTHON:-python3}"
bytes=$(stat -c %s "$wheel")
echo "wheel: $(basename "$wheel"), $((bytes / 1000)) kB"
((bytes <= 40000000)) || { echo "the wheel has more than 40 MB"; exit 1; }
[[ "$wheel" == *-py3-none-manylinux_*.whl ]] || { echo "the wheel's tags are not py3-none-manylinux"; exit 1; }
rm -rf "$folder"
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-input --disable-pip-version-check "$wheel"
library=$("$folder/venv/bin/python" -c 'from mote_kernels._door import library_path as p; print(p())')
ldd "$library" | awk -v own="$(dirname "$library")" '
  /not found/ { print "missing: " $1; bad = 1 }
  / => \// && index($3, own) != 1 && $1 !~ /^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s)\.so/ {
    print "from outside of the wheel: " $0; bad = 1 }
  END { exit bad }'
cat >"$folder/use.py" <<'END'
import numpy as np
import mote_kernels as mote

def relu(x):
    return np.maximum(x, 0)

r = mote.check(relu, "relu", count=50, seed=1)
assert r.passed and r.isolated, str(r)
mote.assert_close(relu(np.float32([1, -1])), "relu", np.float32([1, -1]))
own = mote.op('op double "y = 2 x"\ninput x f32[N]\noutput y = x + x')
assert mote.check(lambda x: x + x, own, count=20, seed=1).passed
g = mote.dynamic.Graph()
x = g.variable(np.float32([1, 2]))
assert (x * x).backward([x])[0].numpy().tolist() == [2, 4]
print(r)
END
cd "$folder"
mkdir -p bin home
for tool in env bash cat; do ln -sf "$(command -v $tool)" bin/; done  # no cc
CC=/nonexistent HOME="$folder/home" PATH="$folder/bin" "$folder/venv/bin/python" use.py
PATH="$folder/bin" "$folder/venv/bin/mote" --version
PATH="$folder/bin" "$folder/venv/bin/python" -m mote_kernels check relu --backend gen --count 20 --dtype f32 >/dev/null
echo "the wheel works without a compiler"
