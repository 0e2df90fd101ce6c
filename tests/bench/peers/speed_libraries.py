# SPDX-License-Identifier: Apache-2.0
"""The cases of speed.py in PyTorch, JAX and ONNX Runtime.

Each function returns {subject: (call, outputs)}, where outputs() is {name: array in memory}, of the
call before.
"""

import numpy as np

from speed_data import physical


def torch_function(torch, data):
    """Returns f and its tensors: f computes the op, in the order of the reference's outputs."""
    op, p = data.op, data.params
    x = {k: torch.from_numpy(v) for k, v in data.x.items()}
    for name in x:
        if data.is_nhwc(name):
            x[name] = x[name].permute(0, 3, 1, 2)
    nn, aten = torch.nn.functional, torch.ops.aten
    stride = [p.get("stride0", 1), p.get("stride1", 1)]
    pads, groups = [p.get("pads0", 0), p.get("pads1", 0)], p.get("groups", 1)
    if op == "conv2d":
        return lambda x, w: nn.conv2d(x, w, None, stride, pads, 1, groups), [x["x"], x["w"]]
    if op == "conv2d.grad":
        return (lambda gy, x, w: aten.convolution_backward(
            gy, x, w, None, stride, pads, [1, 1], False, [0, 0], groups, [True, True, False])[:2],
                [x["gy"], x["x"], x["w"]])
    if op == "max_pool2d":
        window = [p["kernel0"], p["kernel1"]]
        return lambda x: nn.max_pool2d(x, window, stride, pads), [x["x"]]
    if op == "softmax":
        return lambda x: torch.softmax(x, -1), [x["x"].squeeze(-1)]
    if op == "softmax.grad":
        return (lambda gy, y: aten._softmax_backward_data(gy, y, -1, torch.float32),
                [x["gy"].squeeze(-1), x["y"].squeeze(-1)])
    if op in ("sum", "cumsum", "argmax"):
        axis = 1 if x["x"].shape[2] > 1 else -1
        whole = x["x"] if axis == 1 else x["x"].squeeze(-1)
        if op == "cumsum":
            return lambda x: torch.cumsum(x, axis), [whole]
        reduce = torch.sum if op == "sum" else torch.argmax
        return lambda x: reduce(x, axis), [whole]
    if op == "transpose":
        return lambda x: x.transpose(1, 2).contiguous(), [x["x"]]
    if op == "matmul":
        return torch.matmul, [x["a"], x["b"]]
    if op == "attention":
        return nn.scaled_dot_product_attention, [x["q"], x["k"], x["v"]]
    if op == "attention.grad":
        y, lse = aten._scaled_dot_product_flash_attention_for_cpu(x["q"], x["k"], x["v"])
        return (lambda gy, q, k, v, y, lse:
                aten._scaled_dot_product_flash_attention_for_cpu_backward(
                    gy, q, k, v, y, lse, 0.0, False),
                [x["gy"], x["q"], x["k"], x["v"], y, lse])
    if op == "layer_norm":
        count = [x["x"].shape[-1]]
        return (lambda x, gamma, beta: nn.layer_norm(x, count, gamma, beta),
                [x["x"], x["gamma"], x["beta"]])
    if op == "layer_norm.grad":
        count = [x["x"].shape[-1]]
        _, mean, rstd = aten.native_layer_norm(x["x"], count, x["gamma"], x["beta"], 1e-5)
        return (lambda gy, x, mean, rstd, gamma, beta: aten.native_layer_norm_backward(
            gy, x, count, mean, rstd, gamma, beta, [True, True, True]),
                [x["gy"], x["x"], mean, rstd, x["gamma"], x["beta"]])
    if op == "batch_norm_training":
        return (lambda x, gamma, beta, mean, var: aten._native_batch_norm_legit_functional(
            x, gamma, beta, mean, var, True, 0.1, 1e-5)[:1],
                [x[k] for k in ("x", "gamma", "beta", "input_mean", "input_var")])
    if op == "gelu":
        return nn.gelu, [x["x"]]
    if op == "embedding":
        return lambda index, weight: nn.embedding(index, weight), [x["index"], x["weight"]]
    return None, None


def torch_subjects(data, threads):
    import torch
    torch.set_num_threads(threads)
    function, inputs = torch_function(torch, data)
    if function is None:
        return {}
    names = list(data.expected)

    def subject(f):
        last = []

        def call():
            last[:] = [f(*inputs)]

        def outputs():
            ys = last[0] if isinstance(last[0], (tuple, list)) else [last[0]]
            return {k: y.permute(0, 2, 3, 1).contiguous().numpy() if data.is_nhwc(k) else
                    y.contiguous().numpy() for k, y in zip(names, ys)}

        return call, outputs

    with torch.no_grad():
        torch._dynamo.reset()
        return {"PyTorch": subject(function), "PyTorch compiled": subject(torch.compile(function))}


def jax_function(jax, data):
    jnp, lax, p, op = jax.numpy, jax.lax, data.params, data.op
    stride = (p.get("stride0", 1), p.get("stride1", 1))
    pads = [(p.get("pads0", 0), p.get("pads2", 0)), (p.get("pads1", 0), p.get("pads3", 0))]

    def order(name, of_weights):
        letters = "OIHW" if of_weights else "NCHW"
        return letters[0] + letters[2:] + letters[1] if data.is_nhwc(name) else letters

    def conv(x, w):
        return lax.conv_general_dilated(
            x, w, stride, pads, feature_group_count=p.get("groups", 1),
            dimension_numbers=(order("x", False), order("w", True), order("x", False)))

    def attention(q, k, v):
        scores = q @ k.transpose(0, 1, 3, 2) / q.shape[-1] ** 0.5
        return jax.nn.softmax(scores, -1) @ v

    def layer_norm(x, gamma, beta):
        mean = x.mean(-1, keepdims=True)
        var = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(var + 1e-5) * gamma + beta

    def batch_norm(x, gamma, beta, input_mean, input_var):
        mean = x.mean((0, 2), keepdims=True)
        var = ((x - mean) ** 2).mean((0, 2), keepdims=True)
        y = (x - mean) * lax.rsqrt(var + 1e-5) * gamma[:, None] + beta[:, None]
        return (y,)

    def pool(x):
        window, steps = [p["kernel0"], p["kernel1"]], list(stride)
        spread = (lambda a, b: [b, *a, b]) if data.is_nhwc("x") else (lambda a, b: [b, b, *a])
        return lax.reduce_window(x, -jnp.inf, lax.max, spread(window, 1), spread(steps, 1),
                                 spread(pads, (0, 0)))

    def gradient(f):
        return lambda gy, *inputs: jax.vjp(f, *inputs)[1](gy)

    by_op = {
        "conv2d": (conv, "x w"), "conv2d.grad": (gradient(conv), "gy x w"),
        "max_pool2d": (pool, "x"), "softmax": (lambda x: jax.nn.softmax(x, 1), "x"),
        "softmax.grad": (lambda gy, y: y * (gy - (gy * y).sum(1, keepdims=True)), "gy y"),
        "sum": (lambda x: x.sum(1), "x"), "cumsum": (lambda x: jnp.cumsum(x, 1), "x"),
        "argmax": (lambda x: jnp.argmax(x, 1), "x"),
        "transpose": (lambda x: x.transpose(0, 2, 1), "x"), "matmul": (jnp.matmul, "a b"),
        "attention": (attention, "q k v"), "attention.grad": (gradient(attention), "gy q k v"),
        "layer_norm": (layer_norm, "x gamma beta"),
        "layer_norm.grad": (gradient(layer_norm), "gy x gamma beta"),
        "batch_norm_training": (batch_norm, "x gamma beta input_mean input_var"),
        "gelu": (lambda x: jax.nn.gelu(x, approximate=False), "x"),
        "embedding": (lambda weight, index: jnp.take(weight, index, axis=0, mode="clip"),
                      "weight index"),
    }
    return by_op.get(op, (None, ""))


def jax_subjects(data, threads):
    del threads  # the number of processors of the process
    import jax
    function, names = jax_function(jax, data)
    if function is None:
        return {}
    inputs = [jax.device_put(data.x[k]) for k in names.split()]
    compiled = jax.jit(function).lower(*inputs).compile()
    last = []

    def call():
        last[:] = [jax.block_until_ready(compiled(*inputs))]

    def outputs():
        ys = last[0] if isinstance(last[0], (tuple, list)) else [last[0]]
        return {k: np.asarray(y) for k, y in zip(data.expected, ys)}

    return {"JAX": (call, outputs)}


def onnx_nodes(data):
    """Returns the nodes of a model as (op, inputs, attributes) and constants; None: it has no op.

    Convolutions and pooling are in the order NCHW alone.
    """
    p = data.params
    if any(data.nhwc.values()):
        return None
    window = {"strides": [p.get("stride0", 1), p.get("stride1", 1)],
              "pads": [p.get(f"pads{k}", 0) for k in range(4)]}
    one = {"axis": np.array([1], np.int64)}
    return {
        "conv2d": ("Conv", ["x", "w"], {**window, "group": p.get("groups", 1)}, {}),
        "max_pool2d": ("MaxPool", ["x"], {**window, "kernel_shape": [p.get("kernel0", 1),
                                                                      p.get("kernel1", 1)]}, {}),
        "softmax": ("Softmax", ["x"], {"axis": 1}, {}),
        "sum": ("ReduceSum", ["x", "axis"], {"keepdims": 0}, one),
        "cumsum": ("CumSum", ["x", "axis"], {}, {"axis": np.array(1, np.int64)}),
        "argmax": ("ArgMax", ["x"], {"axis": 1, "keepdims": 0}, {}),
        "transpose": ("Transpose", ["x"], {"perm": [0, 2, 1]}, {}),
        "matmul": ("MatMul", ["a", "b"], {}, {}),
        "attention": ("Attention", ["q", "k", "v"], {}, {}),
        "layer_norm": ("LayerNormalization", ["x", "gamma", "beta"], {"axis": -1}, {}),
        "gelu": ("Gelu", ["x"], {}, {}),
        "embedding": ("Gather", ["weight", "index"], {"axis": 0}, {}),
    }.get(data.op)


def onnxruntime_subjects(data, threads):
    import onnx
    import onnxruntime
    made = onnx_nodes(data)
    if made is None:
        return {}
    op, names, attributes, constants = made
    helper, y = onnx.helper, next(iter(data.expected))
    of = lambda a: helper.np_dtype_to_tensor_dtype(a.dtype)
    squeezed = {k: v for k, v in data.x.items() if k in names}
    graph = helper.make_graph(
        [helper.make_node(op, names, [y], **attributes)], data.op,
        [helper.make_tensor_value_info(k, of(v), v.shape) for k, v in squeezed.items()],
        [helper.make_tensor_value_info(y, of(data.expected[y]), None)],
        [onnx.numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    binding, into = session.io_binding(), physical(data.expected[y], False)
    for k, v in squeezed.items():
        binding.bind_input(k, "cpu", 0, v.dtype, v.shape, v.ctypes.data)
    binding.bind_output(y, "cpu", 0, into.dtype, into.shape, into.ctypes.data)
    into[...] = 0
    return {"ONNX Runtime": (lambda: session.run_with_iobinding(binding), lambda: {y: into})}
