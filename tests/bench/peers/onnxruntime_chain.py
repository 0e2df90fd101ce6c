#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures ONNX Runtime on chains of nodes of one element, for comparison with mote_compile_bench.

Prints JSON: nanoseconds that a run takes for each of 1,000 nodes, and milliseconds of creating a
session of 10,000 nodes with and without optimisations, all on one thread and as time of the process
on the CPU. Prints {"skipped": ...} where onnx or onnxruntime is missing.
"""

import json
import sys
import time


def chain(onnx, nodes):
    """Returns a model y = add(... add(x, c) ..., c), serialised."""
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    names = ["x"] + [f"t{k}" for k in range(1, nodes)] + ["y"]
    body = [helper.make_node("Add", [names[k], "c"], [names[k + 1]]) for k in range(nodes)]
    # A second input instead of a constant, so that nothing can be folded.
    inputs = [helper.make_tensor_value_info(name, real, [1]) for name in ("x", "c")]
    output = helper.make_tensor_value_info("y", real, [1])
    graph = helper.make_graph(body, "chain", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def options(ort, optimised):
    result = ort.SessionOptions()
    result.intra_op_num_threads = result.inter_op_num_threads = 1
    level = ort.GraphOptimizationLevel
    result.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    return result


def seconds(function, times):
    taken = []
    for _ in range(times):
        start = time.process_time()
        function()
        taken.append(time.process_time() - start)
    return sorted(taken)[len(taken) // 2]


def main():
    try:
        import numpy
        import onnx
        import onnxruntime as ort
    except ImportError as error:
        print(json.dumps({"skipped": str(error)}))
        return 0
    result = {"onnxruntime": ort.__version__}
    model = chain(onnx, 1000)
    session = ort.InferenceSession(model, options(ort, False), providers=["CPUExecutionProvider"])
    feed = {name: numpy.ones([1], numpy.float32) for name in ("x", "c")}
    session.run(None, feed)
    result["run_ns_a_node"] = 1e9 * seconds(lambda: session.run(None, feed), 201) / 1000
    model = chain(onnx, 10000)
    for optimised in (False, True):
        def create():
            ort.InferenceSession(model, options(ort, optimised), providers=["CPUExecutionProvider"])
        name = "session_ms_optimised" if optimised else "session_ms"
        result[name] = 1e3 * seconds(create, 5)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
