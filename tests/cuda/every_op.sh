#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# every_op.sh MOTE PLUGIN CACHE BACKEND: runs the oracle over every op of the catalogue and every gradient, as
# CUDA on the shim. MOTE_CUDA_CASES is the number of cases (default 2; the nightly preset sets it). It runs in
# one process, since a worker for each case would load the plug-in, and with it the catalogue, each time.
set -eu
export MOTE_CACHE="$3"
exec "$1" check --plugin "$2" --in-process --backend "$4" --seed 1 \
  --count "${MOTE_CUDA_CASES:-2}"
