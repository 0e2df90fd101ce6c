#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pytest.sh FOLDER ARGUMENTS...: runs pytest in the environment that environment.sh has made.
# Exit code 77: there is none, or every test of it was skipped.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
folder=$1
shift
if [[ ! -x "$folder/venv/bin/python" || ! -e "$folder/venv/installed.txt" ]]; then
  echo "skipped: there is no environment of Python packages (PyPI was not reachable)"
  exit 77
fi
cd "$here"
export PYTHONPATH="$folder/package" PYTHONDONTWRITEBYTECODE=1
status=0
"$folder/venv/bin/python" -m pytest -p mote_kernels.pytest_plugin -p no:cacheprovider -q -rs "$@" || status=$?
[[ $status != 5 ]] || exit 77
exit $status
