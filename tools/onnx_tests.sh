#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the node tests of a later ONNX than Debian's to build/onnx-tests, where ctest's
# mote_conformance_later finds them. Needs python3 with venv, and the network.
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.23.2
python3 -m venv build/onnx-venv
build/onnx-venv/bin/pip install --quiet "onnx==$version"
rm -rf build/onnx-tests
build/onnx-venv/bin/python - generate-data --output build/onnx-tests <<'python'
import warnings

import onnx.backend.test.case.node as node
import onnx.backend.test.cmd_tools as tools

warnings.simplefilter("ignore")
models = tools.model_test.collect_testcases
tools.model_test.collect_testcases = lambda: [*models(), *node.collect_testcases(None)]
tools.main()
python
echo "onnx_tests: $(find build/onnx-tests -name model.onnx | wc -l) tests of ONNX $version in build/onnx-tests"
