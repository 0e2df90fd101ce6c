#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the activations of the nine CNNs of onnx's light models as MiniMalloc's CSV, at batch 1.

Needs onnx (pip install onnx==1.23.2). In: the models in the package. Out, in the folder of this
script: NAME.csv with id,lower,upper,size, and NAME.in_place.csv with input,output.

Nodes are numbered from 1 in the file's order; those that depend on no input of the graph but
weights are left out, as the graph's inputs are. A block is a node's first output; it is alive from
the node that writes it until after the last one that reads it. The outputs of Reshape and Dropout
(which does nothing in inference) are views of their inputs and no blocks.
A pair (input, output) may share memory: the op promises it, and the two have one size. Whether
the input is read later is for the reader of the file to see: its lifetime must end at that node.
"""

import collections
import pathlib

import onnx
import onnx.backend.test
from onnx import shape_inference

MODELS = ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet",
          "squeezenet", "vgg19", "zfnet512"]
VIEWS = {"Reshape", "Dropout"}
# The ops whose definition in mote's catalogue promises an input's memory to the output; of Conv,
# pools, Gemm, LRN and Concat it does not.
IN_PLACE = {"Relu", "BatchNormalization", "Add", "Sum", "Mul", "Softmax"}


def bytes_of(value):
    count = 4
    for axis in value.type.tensor_type.shape.dim:
        count *= axis.dim_value
    return count


def running_nodes(graph):
    """Returns the nodes that depend on an input of the graph that has no initializer."""
    weights = {tensor.name for tensor in graph.initializer}
    reached = {value.name for value in graph.input} - weights
    nodes = []
    for node in graph.node:
        if reached.intersection(node.input):
            reached.update(node.output)
            nodes.append(node)
    return nodes


def trace(graph):
    """Returns the blocks, by name [lower, upper, size], and the pairs that may share memory."""
    values = {v.name: v for v in [*graph.value_info, *graph.input, *graph.output]}
    nodes = running_nodes(graph)
    root = {}
    blocks = collections.OrderedDict()
    pairs = []
    for time, node in enumerate(nodes, 1):
        for name in node.input:
            if name in root:
                blocks[root[name]][1] = time + 1
        output = node.output[0]
        if node.op_type in VIEWS and node.input[0] in root:
            root[output] = root[node.input[0]]
            continue
        root[output] = output
        blocks[output] = [time, time + 1, bytes_of(values[output])]
        if node.op_type in IN_PLACE:
            for name in dict.fromkeys(root[i] for i in node.input if i in root):
                if blocks[name][2] == blocks[output][2]:
                    pairs.append((name, output))
    for value in graph.output:
        blocks[root[value.name]][1] = len(nodes) + 2
    return blocks, pairs


def main():
    folder = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "light"
    here = pathlib.Path(__file__).parent
    for name in MODELS:
        model = shape_inference.infer_shapes(onnx.load(folder / f"light_{name}.onnx"))
        blocks, pairs = trace(model.graph)
        lines = ["id,lower,upper,size"]
        lines += [f"{block},{lower},{upper},{size}" for block, (lower, upper, size) in blocks.items()]
        (here / f"{name}.csv").write_text("\n".join(lines) + "\n")
        lines = ["input,output"] + [f"{a},{b}" for a, b in pairs]
        (here / f"{name}.in_place.csv").write_text("\n".join(lines) + "\n")
        print(f"{name}: {len(blocks)} blocks, {sum(b[2] for b in blocks.values())} bytes, "
              f"{len(pairs)} pairs")


if __name__ == "__main__":
    main()
