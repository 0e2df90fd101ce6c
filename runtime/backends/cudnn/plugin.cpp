// SPDX-License-Identifier: Apache-2.0
// The backends cudnn and cudnn_tf32: the table of ops, and the contract of each kernel.
#include <array>
#include <span>
#include <vector>

#include "cuda/offered_device.h"
#include "ops.h"
#include "parameters.h"

namespace mote::cudnn {
namespace {

using nvidia::Op;
using nvidia::Table;

constexpr std::array kOverX = {mote_op_pair{.input = 0, .output = 0}};

/// The accuracies of functions. cuDNN documents none. These values come from the appendix on
/// mathematical functions of NVIDIA's CUDA C++ programming guide: for float those of the fast
/// intrinsics for exp (2 + 1.173 |x| ulp) and log (3 ulp, 2^-21.41 for x from 1/2 to 2), and of the
/// library for tanh and pow; for double those of the library. The guide counts from the correctly
/// rounded result, half an ulp nearer than the exact one. An ulp is up to two roundoffs of the
/// argument. e^x - 1 has the error that exp has near 1, where an ulp is 2^-23.
constexpr double kCorrectlyRounded = 0.5;
constexpr double kExpUlps = 2 + kCorrectlyRounded;
constexpr double kExpArgument = 2 * 1.173;
constexpr double kLogNear1 = 3.5888e-7;  ///< 2^-21.41, rounded up
constexpr mote_accuracy accuracy(const char* function, double ulps) {
  return {function, ulps + kCorrectlyRounded, 0, 0};
}
constexpr std::array kFunctions = {
    mote_accuracy{"exp", kExpUlps, kExpArgument, 0},
    mote_accuracy{"log", 3 + kCorrectlyRounded, 0, kLogNear1},
    mote_accuracy{"expm1", kExpUlps, kExpArgument, kExpUlps * 0x1p-23}, accuracy("tanh", 2),
    accuracy("pow", 4)};
constexpr std::array kRoot = {accuracy("sqrt", 2)};
constexpr std::array kFunctionsF64 = {accuracy("exp", 1), accuracy("log", 1), accuracy("expm1", 1),
                                      accuracy("tanh", 1), accuracy("pow", 2)};

/// The contracts of the kernels of one kind. cuDNN's manual does not say whether a convolution
/// multiplies the zeros in its pads, and so whether an infinite weight makes a NaN of one:
/// `windowed` promises nothing if an operand is not finite. Nor does it say how a norm computes the
/// variance: `one_pass` is the formula that loses more digits. For the root cuDNN may use CUDA's
/// rsqrt, which has 2 ulp in the guide.
struct Contracts {
  mote_contract direct, windowed, over_x, function, function_over_x, norm, one_pass;
};
constexpr Contracts contracts(Kind kind) {
  const std::span<const mote_accuracy> functions =
      kind == Kind::f64 ? std::span<const mote_accuracy>(kFunctionsF64) : kFunctions;
  return {
      .direct = nvidia::contract({.kind = kind}),
      .windowed =
          nvidia::contract({.kind = kind, .functions = nvidia::sums_of(kind), .ignores_nan = true}),
      .over_x = nvidia::contract({.kind = kind, .in_place = kOverX}),
      .function = nvidia::contract({.kind = kind, .functions = functions}),
      .function_over_x =
          nvidia::contract({.kind = kind, .functions = functions, .in_place = kOverX}),
      .norm = nvidia::contract({.kind = kind, .functions = kRoot}),
      .one_pass = nvidia::contract({.kind = kind, .functions = kRoot, .form = "one_pass"}),
  };
}
constexpr Contracts kF32 = contracts(Kind::f32);
constexpr Contracts kF64 = contracts(Kind::f64);
constexpr Contracts kNarrow = contracts(Kind::narrow);
constexpr Contracts kTf32 = contracts(Kind::tf32);

/// Cells multiply by cuBLAS, whose choice of kernels depends on the work of other streams: NVIDIA's
/// release notes of cuDNN 8 say so, and no later ones contradict it.
constexpr auto kWithTensorCores = with(kFunctions, nvidia::kTensorCores);
constexpr mote_contract cell_contract(Kind kind, bool is_gradient = false) {
  const std::span<const mote_accuracy> functions =
      kind == Kind::f64    ? std::span<const mote_accuracy>(kFunctionsF64)
      : kind == Kind::tf32 ? std::span<const mote_accuracy>(kWithTensorCores)
                           : std::span<const mote_accuracy>(kFunctions);
  return nvidia::contract(
      {.kind = kind, .functions = functions, .ignores_nan = is_gradient, .deterministic = false});
}
constexpr mote_contract kF32Cell = cell_contract(Kind::f32);
constexpr mote_contract kF64Cell = cell_contract(Kind::f64);
constexpr mote_contract kTf32Cell = cell_contract(Kind::tf32);
// As for norms below, no manual says whether a gradient of infinities is infinite or NaN.
constexpr mote_contract kF32CellGradient = cell_contract(Kind::f32, true);
constexpr mote_contract kF64CellGradient = cell_contract(Kind::f64, true);
constexpr mote_contract kTf32CellGradient = cell_contract(Kind::tf32, true);
constexpr std::array<Op, 11> cells(const mote_contract& by, const mote_contract& gradient) {
  return {Op{"lstm_cell", recurrent_cell, &by},
          Op{"gru_cell", recurrent_cell, &by},
          Op{"rnn_cell", recurrent_cell, &by},
          Op{"lstm_cell.grad", recurrent_gradient, &gradient},
          Op{"gru_cell.grad", recurrent_gradient, &gradient},
          Op{"lstm_sequence", recurrent_sequence, &by, kBackwards},
          Op{"gru_sequence", recurrent_sequence, &by, kBackwards},
          Op{"rnn_sequence", recurrent_sequence, &by, kBackwards},
          Op{"lstm_sequence.grad", recurrent_sequence_gradient, &gradient, kBackwards},
          Op{"gru_sequence.grad", recurrent_sequence_gradient, &gradient, kBackwards},
          Op{"rnn_sequence.grad", recurrent_sequence_gradient, &gradient, kBackwards}};
}

/// The ops that multiply, in all kinds.
constexpr std::array<Op, 5> convolutions(const Contracts& by) {
  return {Op{"conv1d", convolution, &by.windowed, kWindow1d},
          Op{"conv2d", convolution, &by.windowed, kWindow2d},
          Op{"conv2d_relu", convolution, &by.windowed, kWindow2d},
          Op{"conv3d", convolution, &by.windowed, kWindow3d},
          Op{"conv_transpose2d", transposed_convolution, &by.windowed, kTransposed2d}};
}
constexpr std::array<Op, 3> gradients(const Contracts& by) {
  return {Op{"conv1d.grad", convolution_gradient, &by.windowed, kWindow1d},
          Op{"conv2d.grad", convolution_gradient, &by.windowed, kWindow2d},
          Op{"conv3d.grad", convolution_gradient, &by.windowed, kWindow3d}};
}

/// The other ops of f32 and f64, and of 16-bit reals.
constexpr std::array<Op, 27> others(const Contracts& by) {
  return {Op{"max_pool2d", pooling, &by.direct, kMaxPool2d},
          Op{"max_pool3d", pooling, &by.direct, kMaxPool3d},
          Op{"avg_pool2d", pooling, &by.direct, kAveragePool2d},
          Op{"avg_pool3d", pooling, &by.direct, kAveragePool3d},
          Op{"softmax", softmax, &by.function},
          Op{"log_softmax", softmax, &by.function},
          Op{"lrn", lrn, &by.function, kLrn},
          Op{"relu", activation, &by.over_x},
          Op{"elu", activation, &by.function_over_x, kEluAlpha},
          Op{"sigmoid", activation, &by.function_over_x},
          Op{"silu", activation, &by.function_over_x},
          Op{"tanh", activation, &by.function_over_x},
          Op{"add", operation, &by.direct},
          Op{"sub", operation, &by.direct},
          Op{"mul", operation, &by.direct},
          Op{"min", operation, &by.direct},
          Op{"max", operation, &by.direct},
          Op{"sqrt", square_root, &by.direct},
          Op{"sum", reduction, &by.direct},
          Op{"mean", reduction, &by.direct},
          Op{"prod", reduction, &by.direct},
          Op{"reduce_min", reduction, &by.direct},
          Op{"reduce_max", reduction, &by.direct},
          Op{"norm1", reduction, &by.direct},
          Op{"norm2", reduction, &by.direct},
          Op{"global_avg_pool", reduction, &by.direct},
          Op{"global_max_pool", reduction, &by.direct}};
}

/// Ops that cuDNN has only for f32 and f64, since it takes parameters of 16-bit ops as floats; and
/// gradients, which the catalogue has in these dtypes.
constexpr std::array<Op, 7> wide_only(const Contracts& by) {
  return {Op{"batch_norm", batch_norm, &by.direct, kEpsilon},
          Op{"batch_norm_training", batch_norm_training, &by.direct, kTraining},
          Op{"avg_pool2d.grad", pooling_gradient, &by.direct, kAveragePool2d},
          Op{"avg_pool3d.grad", pooling_gradient, &by.direct, kAveragePool3d},
          Op{"softmax.grad", softmax_gradient, &by.direct},
          Op{"sigmoid.grad", activation_gradient, &by.direct},
          Op{"tanh.grad", activation_gradient, &by.direct}};
}

/// The contract of gradients of norms, for f32 only. No manual says in which order the terms of a
/// gradient are added, and so whether infinities give infinities or NaN.
constexpr mote_contract kNormGradient =
    nvidia::contract({.kind = Kind::f32, .functions = kRoot, .ignores_nan = true});
constexpr std::array kNormGradients = {
    Op{"layer_norm.grad", norm_gradient, &kNormGradient, kEpsilon},
    Op{"layer_norm_with_statistics.grad", norm_gradient, &kNormGradient, kEpsilon},
    Op{"rms_norm.grad", norm_gradient, &kNormGradient, kEpsilon},
    Op{"instance_norm.grad", norm_gradient, &kNormGradient, kEpsilon}};

/// Norms that the graph API has for f32 and 16-bit reals.
constexpr std::array<Op, 5> graph_norms(const Contracts& by) {
  return {Op{"layer_norm", row_norm, &by.one_pass, kEpsilon},
          Op{"layer_norm_with_statistics", row_norm, &by.one_pass, kEpsilon},
          Op{"rms_norm", row_norm, &by.norm, kEpsilon},
          Op{"instance_norm", instance_norm, &by.one_pass, kEpsilon},
          Op{"group_norm", group_norm, &by.one_pass, kGroups}};
}

/// f16 stores 0 below half of its least number.
constexpr auto kF16AttentionFunctions =
    with(kWithTensorCores, mote_accuracy{"operand", 0, 0, 0x1p-25});
/// Attention multiplies softmax's results by v in the dtype in which it would store them. A mask's
/// -inf may hide all keys of a query, for which cuDNN documents no result.
constexpr mote_contract attention_contract(Kind kind, int bits,
                                           const char* form = "divided_weights",
                                           bool deterministic = true) {
  const std::span<const mote_accuracy> functions =
      kind == Kind::f16 ? std::span<const mote_accuracy>(kF16AttentionFunctions)
                        : std::span<const mote_accuracy>(kWithTensorCores);
  return nvidia::contract({.kind = kind,
                           .functions = functions,
                           .ignores_nan = true,
                           .form = form,
                           .multiply_rounding = bits,
                           .deterministic = deterministic});
}
constexpr mote_contract kF16Attention = attention_contract(Kind::f16, 11);
constexpr mote_contract kBf16Attention = attention_contract(Kind::bf16, 8);
/// NVIDIA documents which engines of the gradient are deterministic on some GPUs, but no note of an
/// engine says so. In f16 gradients of scores would leave its range, which no contract allows.
constexpr mote_contract kBf16AttentionGradient = attention_contract(Kind::bf16, 8, "direct", false);

template <std::size_t... Counts>
constexpr auto joined(const std::array<Op, Counts>&... parts) {
  std::array<Op, (Counts + ...)> all{};
  std::size_t next = 0;
  const auto add = [&](const auto& part) {
    for (const Op& op : part) all[next++] = op;
  };
  (add(parts), ...);
  return all;
}

constexpr auto kF32Ops =
    joined(convolutions(kF32), gradients(kF32), others(kF32), wide_only(kF32), graph_norms(kF32),
           cells(kF32Cell, kF32CellGradient), kNormGradients);
constexpr auto kF64Ops = joined(convolutions(kF64), gradients(kF64), others(kF64), wide_only(kF64),
                                cells(kF64Cell, kF64CellGradient));
constexpr auto kNarrowOps = joined(convolutions(kNarrow), others(kNarrow), graph_norms(kNarrow));
constexpr std::array kF16Ops = {Op{"attention", attention, &kF16Attention, kAttention}};
constexpr std::array kBf16Ops = {
    Op{"attention", attention, &kBf16Attention, kAttention},
    Op{"attention.grad", attention_gradient, &kBf16AttentionGradient, kAttention}};
constexpr auto kTf32Ops =
    joined(convolutions(kTf32), gradients(kTf32), cells(kTf32Cell, kTf32CellGradient));
constexpr Table kF32Table = {"cudnn", Kind::f32, kF32Ops};
constexpr Table kF64Table = {"cudnn", Kind::f64, kF64Ops};
constexpr Table kNarrowTable = {"cudnn", Kind::narrow, kNarrowOps};
constexpr Table kF16Table = {"cudnn", Kind::f16, kF16Ops};
constexpr Table kBf16Table = {"cudnn", Kind::bf16, kBf16Ops};
constexpr Table kTf32Table = {"cudnn_tf32", Kind::tf32, kTf32Ops};

}  // namespace
}  // namespace mote::cudnn

extern "C" mote_status mote_plugin_devices(const mote_device** devices, int32_t* count) {
  return mote::cuda::offer_device(devices, count);
}

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  using namespace mote::cudnn;
  static const mote::nvidia::Backends backends(
      "cudnn",
      mote::nvidia::kernels_of<kF32Table, kF64Table, kNarrowTable, kF16Table, kBf16Table>(),
      "cudnn_tf32", mote::nvidia::kernels_of<kTf32Table>());
  return backends.offer(*plugin);
}
