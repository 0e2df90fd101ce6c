// SPDX-License-Identifier: Apache-2.0
// A command: an op, its parameters, and the axis that it works along. It is a value that compares,
// hashes and prints; a parameter that equals its default is not part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mote/base/arithmetic.h"
#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/base/ops.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/registry.h"
#include "mote/runtime/tensor.h"

namespace MOTE_API mote {

/// A parameter's value by name.
struct Setting {
  /// Stores an integer of any type as an integer and a floating-point number as a real.
  template <Arithmetic T>
  Setting(std::string_view parameter, T number) : name(parameter) {
    to_real_or_integer(number, [&](auto converted) { value = converted; });
  }

  std::string_view name;
  std::variant<std::int64_t, double> value;
};

class Command {
 public:
  /// Throws StatusError for an unknown op or parameter (with near matches), a value of the wrong
  /// kind or out of range, a parameter given twice, and a missing one that has no default.
  explicit Command(std::string_view op, std::span<const Setting> settings = {},
                   std::optional<int> axis = std::nullopt,
                   const Registry& registry = Registry::global());
  Command(std::string_view op, std::initializer_list<Setting> settings,
          std::optional<int> axis = std::nullopt)
      : Command(op, std::span(settings.begin(), settings.size()), axis) {}

  OpId op() const { return op_; }
  const Registry& registry() const { return *registry_; }
  const mote_op_definition& definition() const { return *definition_; }
  std::optional<int> axis() const { return axis_; }
  /// True if the op computes each element only from those at its index, and all tensors have the
  /// same axes.
  bool is_pointwise() const { return pointwise_; }
  /// Returns the kernels made at build time; empty for an op that is not in a generated library.
  std::span<const GeneratedKernel> generated() const { return generated_; }
  /// Returns the parameters in the order of the op's definition.
  std::span<const mote_param> params() const { return params_; }

  std::size_t hash() const { return hash_; }

  friend bool operator==(const Command& a, const Command& b);

 private:
  const Registry* registry_;
  OpId op_;
  const mote_op_definition* definition_;
  std::optional<int> axis_;
  bool pointwise_;
  std::span<const GeneratedKernel> generated_;
  std::vector<mote_param> params_;
  std::size_t hash_;
};

std::string to_string(const Command& command);  ///< "conv2d stride0=2 pads1=1", "softmax axis=1"
/// Reads a text that to_string wrote. Throws StatusError for any other text, and whatever the
/// constructor throws.
Command parse_command(std::string_view text, const Registry& registry = Registry::global());

class Context;

struct RunOptions {
  /// Backends that are asked first, in this order; the context's and the generated kernels come
  /// after them.
  std::span<const mote_backend* const> backends = {};
  /// The stream that is handed to the kernel; null: the result is complete when run returns.
  void* stream = nullptr;
  /// Memory for kernels that need workspace; a kernel that needs more declines. Nothing else uses
  /// it during the call. If empty: the context's pool, or a new allocation without a context.
  std::span<std::byte> workspace = {};
  /// The source of backends, measured times and pooled workspace (context.h).
  Context* context = nullptr;
  /// No input holds a NaN or an infinity, or the caller accepts any result for them: kernels whose
  /// contract ignores them are asked too.
  bool without_nan = false;
};

/// Runs the command. An input that is left out is null; inputs at the end may be missing.
/// Everything is checked before data is touched: counts, dtypes, ranks, extents, memory that
/// outputs share with inputs (an in-place pair of the op may, if both are the same view), and
/// elements of an output that share memory.
/// Axes: a pointwise op takes up to 12, with NumPy's broadcasting. Other ops take their canonical
/// ranks, or more: excess leading axes are a batch, if the op has a batch as its first axis. With
/// an axis, an op over [R, N, C] takes the axes before it as R and those after it as C (an op over
/// [R, N] takes it and those after it as N). A loss over [R, K, C] that gets x of another rank
/// works along axis 1: [N, K], [N, K, H, W]. Axes are merged where strides allow it, else the
/// kernel runs once for each index. Throws StatusError "softmax: …" with the reason of the kernel
/// that declined. With up to 64 inputs and 64 outputs, a call without workspace allocates nothing.
void run(const Command& command, std::span<const Tensor* const> inputs,
         std::span<Tensor* const> outputs, const RunOptions& options = {});
void run(const Command& command, std::initializer_list<const Tensor*> inputs,
         std::initializer_list<Tensor*> outputs, const RunOptions& options = {});

}  // namespace mote

template <>
struct std::hash<mote::Command> {
  std::size_t operator()(const mote::Command& command) const { return command.hash(); }
};
