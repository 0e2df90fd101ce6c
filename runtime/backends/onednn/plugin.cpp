// SPDX-License-Identifier: Apache-2.0
// The plug-in's table: one backend, "onednn", and the contract of each of its kernels.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "mote/base/dlpack.h"
#include "ops.h"

namespace {

using namespace mote;
using backend::Check;

constexpr mote_op_pair kInPlace = {.input = 0, .output = 0};

/// The greatest errors over floats, with and without AVX2, as
/// tests/runtime/onednn_accuracy_test.cpp measures them. The argument of exp is reduced with one
/// product, and a result below 2^-125 is 0. A logarithm of a value near 1, and e^x - 1, have an
/// error that does not shrink with the result.
constexpr mote_accuracy kExp = {"exp", 3, 1, 0x1p-125};
constexpr mote_accuracy kLog = {"log", 4, 0, 6.5e-6};
constexpr mote_accuracy kExpm1 = {"expm1", 4, 0, 7.5e-8};
constexpr mote_accuracy kErf = {"erf", 4, 0, 4e-7};
constexpr std::array kFunctions = {kExp, kLog, kExpm1, kErf, mote_accuracy{"log1p", 4, 0, 8e-6}};
constexpr std::array kMishFunctions = {kExp, mote_accuracy{"log1p", 4, 0, 9e-8}};

/// The promises of a kernel in addition to f32 sums and equal bits for equal calls.
struct Promise {
  const char* form = "direct";
  bool over_x = false;                            ///< y may overwrite the first input
  std::span<const mote_accuracy> functions = {};  ///< oneDNN's functions, which flush denormals
  bool ignores_nan = false;                       ///< a maximum or comparison drops NaN
};

constexpr mote_contract contract(const Promise& p) {
  return {.size = sizeof(mote_contract),
          .accumulator = MOTE_ACC_NATIVE,
          .multiply_rounding = 0,
          .flushes_denormals = p.functions.empty() ? 0 : 1,
          .deterministic = 1,
          .form = p.form,
          .function_count = static_cast<std::int32_t>(p.functions.size()),
          .in_place_count = p.over_x ? 1 : 0,
          .functions = p.functions.data(),
          .in_place = p.over_x ? &kInPlace : nullptr,
          .ignores_nan = p.ignores_nan ? 1 : 0,
          .reserved = 0,
          .indices = MOTE_INDICES_ANY,
          .reserved_end = 0};
}

constexpr mote_contract kDirect = contract({});
constexpr mote_contract kOverX = contract({.over_x = true});
constexpr mote_contract kFunction = contract({.over_x = true, .functions = kFunctions});
constexpr mote_contract kGates = contract({.form = "of_exp", .functions = kFunctions});
constexpr mote_contract kTanh = contract({.functions = kFunctions});
constexpr mote_contract kOfExp =
    contract({.form = "of_exp", .over_x = true, .functions = kFunctions});
constexpr mote_contract kMish = contract({.over_x = true, .functions = kMishFunctions});
constexpr mote_contract kFunctionOfNumbers =
    contract({.over_x = true, .functions = kFunctions, .ignores_nan = true});
constexpr mote_contract kOfNumbers = contract({.ignores_nan = true});
constexpr mote_contract kOverXOfNumbers = contract({.over_x = true, .ignores_nan = true});
constexpr mote_contract kCeiling = contract({.form = "ceiling"});
constexpr mote_contract kPaddingMultiplied = contract({.form = "padding_multiplied"});
constexpr mote_contract kRectified = contract({.form = "padding_multiplied", .ignores_nan = true});

struct Op {
  const char* name;
  onednn::Jobs (*build)(const onednn::Reader&);
  const mote_contract* contract;
};

constexpr std::array kOps = {
    Op{"matmul", onednn::matmul, &kDirect},
    Op{"gemm", onednn::gemm, &kDirect},
    Op{"conv1d", onednn::convolution, &kPaddingMultiplied},
    Op{"conv2d", onednn::convolution, &kPaddingMultiplied},
    Op{"conv2d_relu", onednn::convolution, &kRectified},
    Op{"conv3d", onednn::convolution, &kPaddingMultiplied},
    Op{"conv1d.grad", onednn::convolution_gradient, &kPaddingMultiplied},
    Op{"conv2d.grad", onednn::convolution_gradient, &kPaddingMultiplied},
    Op{"conv_transpose2d", onednn::deconvolution, &kPaddingMultiplied},
    Op{"max_pool2d", onednn::pooling, &kOfNumbers},
    Op{"max_pool3d", onednn::pooling, &kOfNumbers},
    Op{"avg_pool2d", onednn::pooling, &kDirect},
    Op{"avg_pool3d", onednn::pooling, &kDirect},
    Op{"avg_pool2d.grad", onednn::pooling_gradient, &kDirect},
    Op{"softmax", onednn::softmax, &kFunctionOfNumbers},
    Op{"log_softmax", onednn::softmax, &kFunctionOfNumbers},
    Op{"layer_norm", onednn::layer_norm, &kDirect},
    Op{"batch_norm", onednn::batch_norm, &kOverX},
    Op{"lrn", onednn::lrn, &kDirect},
    Op{"sum", onednn::reduction, &kDirect},
    Op{"mean", onednn::reduction, &kDirect},
    Op{"prod", onednn::reduction, &kDirect},
    Op{"reduce_max", onednn::reduction, &kOfNumbers},
    Op{"reduce_min", onednn::reduction, &kOfNumbers},
    Op{"norm1", onednn::reduction, &kDirect},
    Op{"norm2", onednn::reduction, &kDirect},
    Op{"sumsq", onednn::reduction, &kDirect},
    Op{"abs", onednn::eltwise, &kOverX},
    Op{"elu", onednn::eltwise, &kFunction},
    Op{"exp", onednn::eltwise, &kFunctionOfNumbers},
    Op{"gelu", onednn::eltwise, &kFunction},
    Op{"gelu_tanh", onednn::eltwise, &kFunction},
    Op{"leaky_relu", onednn::eltwise, &kOverX},
    Op{"mish", onednn::eltwise, &kMish},
    Op{"relu", onednn::eltwise, &kOverXOfNumbers},
    Op{"round", onednn::eltwise, &kOverX},
    Op{"sigmoid", onednn::eltwise, &kOfExp},
    Op{"softplus", onednn::eltwise, &kFunction},
    Op{"sqrt", onednn::eltwise, &kOverX},
    Op{"tanh", onednn::eltwise, &kFunction},
    Op{"add", onednn::binary, &kOverX},
    Op{"sub", onednn::binary, &kOverX},
    Op{"mul", onednn::binary, &kOverX},
    Op{"div", onednn::binary, &kOverX},
    Op{"max", onednn::binary, &kOverXOfNumbers},
    Op{"min", onednn::binary, &kOverXOfNumbers},
    Op{"equal", onednn::binary, &kDirect},
    Op{"not_equal", onednn::binary, &kDirect},
    Op{"greater", onednn::binary, &kOfNumbers},
    Op{"greater_or_equal", onednn::binary, &kOfNumbers},
    Op{"less", onednn::binary, &kDirect},
    Op{"less_or_equal", onednn::binary, &kDirect},
    Op{"concat", onednn::concat, &kDirect},
    Op{"lstm_cell", onednn::lstm_cell, &kGates},
    Op{"gru_cell", onednn::gru_cell, &kGates},
    Op{"rnn_cell", onednn::rnn_cell, &kTanh},
    Op{"matmul_integer", onednn::integer_matmul, &kDirect},
    Op{"qmatmul", onednn::integer_matmul, &kOfNumbers},
    Op{"conv2d_integer", onednn::integer_convolution, &kDirect},
    Op{"qconv2d", onednn::integer_convolution, &kOfNumbers},
    Op{"resize_nearest2d", onednn::resampling, &kDirect},
    Op{"resize_linear2d", onednn::resampling, &kCeiling},
};

/// Builds the jobs of the call and passes them to the body; an error of oneDNN becomes a refusal.
mote_status with_jobs(const mote_call* call,
                      const std::function<Check(const onednn::Jobs&)>& body) {
  return backend::guarded(*call, [&]() -> Check {
    try {
      const std::string_view name = call->op;
      for (const Op& op : kOps)
        if (name == op.name) return body(op.build(onednn::Reader(*call)));
      return backend::unsupported(fmt::format("no kernel for {}", name));
    } catch (const onednn::Declined& declined) {
      return declined.refusal;
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_out_of_memory)
        return backend::Refusal{MOTE_OUT_OF_MEMORY, error.what()};
      return backend::unsupported(fmt::format("oneDNN: {}", error.what()));
    }
  });
}

/// True if the copies would be large and mostly gaps: in a tensor's own layout oneDNN copies
/// everything between its first element and its last.
bool copies_mostly_gaps(const mote_call& call, const onednn::Jobs& jobs) {
  constexpr std::size_t kMaxTimes = 64;
  std::size_t elements = 0;
  const auto add = [&](const DLTensor* t) {
    if (t != nullptr) elements += backend::bytes_of_elements(*t);
  };
  for (std::int32_t k = 0; k < call.input_count; ++k) add(call.inputs[k]);
  for (std::int32_t k = 0; k < call.output_count; ++k) add(call.outputs[k]);
  return backend::is_mostly_gaps(onednn::workspace_bytes(jobs), elements, kMaxTimes);
}

mote_status can_run(const mote_call* call) {
  return with_jobs(call, [&](const onednn::Jobs& jobs) -> Check {
    if (copies_mostly_gaps(*call, jobs))
      return backend::unsupported(
          fmt::format("{}: copies of the tensors are mostly gaps", call->op));
    return std::nullopt;
  });
}

std::size_t workspace_bytes(const mote_call* call) {
  std::size_t bytes = 0;
  with_jobs(call, [&](const onednn::Jobs& jobs) -> Check {
    bytes = onednn::workspace_bytes(jobs);
    return std::nullopt;
  });
  return bytes;
}

mote_status run(const mote_call* call, void*) {
  return with_jobs(call, [&](const onednn::Jobs& jobs) -> Check {
    const std::size_t bytes = onednn::workspace_bytes(jobs);
    if (bytes > call->workspace_bytes || (bytes > 0 && call->workspace == nullptr))
      return backend::invalid(
          fmt::format("workspace of {} bytes, expected {}", call->workspace_bytes, bytes));
    onednn::run_jobs(jobs, call->workspace);
    return std::nullopt;
  });
}

}  // namespace

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  static const std::string version = [] {
    const dnnl_version_t* v = dnnl_version();
    return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
  }();
  static const auto kernels = [] {
    std::array<mote_kernel, kOps.size()> all{};
    for (std::size_t k = 0; k < all.size(); ++k)
      all[k] = {.size = sizeof(mote_kernel),
                .op = kOps[k].name,
                .contract = kOps[k].contract,
                .can_run = can_run,
                .workspace_bytes = workspace_bytes,
                .run = run,
                .run_checked = nullptr};
    return all;
  }();
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "onednn",
                                       .version = version.c_str(),
                                       .kernel_count = static_cast<std::int32_t>(kernels.size()),
                                       .reserved = 0,
                                       .kernels = kernels.data()};
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
