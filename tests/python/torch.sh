#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch.sh BUILD FOLDER: runs nightly_torch.py by the first Python that has PyTorch: $MOTE_TORCH_PYTHON, or
# Debian's with python3-torch. Exit code 77: none has. pytest and cffi come from PyPI if they are missing.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
folder=$2
python=""
for candidate in "${MOTE_TORCH_PYTHON:-}" /usr/bin/python3 python3; do
  [[ -n "$candidate" ]] && "$candidate" -c 'import torch' 2>/dev/null && { python=$candidate; break; }
done
[[ -n "$python" ]] || { echo "skipped: no Python here has PyTorch (Debian: python3-torch)"; exit 77; }
"$here/environment.sh" "$1" "$folder" || exit $?
if [[ ! -e "$folder/torch/installed" ]]; then
  "$python" -m venv --system-site-packages "$folder/torch"
  # A virtual environment's packages are none of the system's.
  "$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])' \
    >"$("$folder/torch/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch_of.pth"
  "$folder/torch/bin/pip" install -q --no-input --disable-pip-version-check \
    'cffi==2.1.1' 'pytest==9.2.0' 'ml_dtypes==0.5.4' 'ninja==1.13.0' || { echo "skipped: PyPI is not reachable"; exit 77; }
  touch "$folder/torch/installed"
fi
cd "$here"
export PYTHONPATH="$folder/package" PYTHONDONTWRITEBYTECODE=1 PATH="$folder/torch/bin:$PATH"
"$folder/torch/bin/python" -m pytest -p no:cacheprovider -p mote_kernels.pytest_plugin -q -rs nightly_torch.py
