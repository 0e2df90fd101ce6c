// SPDX-License-Identifier: Apache-2.0
// Shape inference: the forms of a command's outputs from those of its inputs, before anything is
// computed or allocated.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/runtime/command.h"
#include "mote/runtime/registry.h"
#include "mote/runtime/tensor_form.h"

namespace MOTE_API mote {

/// "infer": an op's shape inference. It is called with at most as many inputs as the command's op
/// has; null stands for one that is left out. `dtype` is that of the instance if no input has it.
using InferShapes = std::function<std::vector<TensorForm>(
    const Command& command, std::span<const TensorForm* const> inputs, std::optional<DType> dtype)>;
inline constexpr OpAttribute<InferShapes> kInfer{"infer"};

/// Returns the shape inference that follows from the definition's sizes of axes: each extent of an
/// input is an equation, which is solved for a size that it mentions linearly once the others are
/// known. The op's definition must live as long as the function.
InferShapes infer_by_definition(const mote_op_definition& definition);

/// Returns one form for each output of the op, by the rules of run(): the command's axis, leading
/// axes as a batch, NumPy's broadcasting. By the definition, the forms are row-major, on the device
/// of the first input. It calls the op's attribute "infer", or else uses the definition. Throws
/// StatusError MOTE_INVALID if inputs do not fit each other, if an op of a library cannot be
/// computed of so few elements (the position of the least of none), or if the outputs do not follow
/// from the inputs; then `dtype` may be missing.
std::vector<TensorForm> infer(const Command& command, std::span<const TensorForm* const> inputs,
                              std::optional<DType> dtype = std::nullopt);
template <std::same_as<TensorForm> Form>
std::vector<TensorForm> infer(const Command& command, std::initializer_list<const Form*> inputs,
                              std::optional<DType> dtype = std::nullopt) {
  return infer(command, std::span(inputs.begin(), inputs.size()), dtype);
}
/// Takes the tensors' forms: they may have no data.
std::vector<TensorForm> infer(const Command& command, std::span<const Tensor* const> inputs,
                              std::optional<DType> dtype = std::nullopt);
std::vector<TensorForm> infer(const Command& command, std::initializer_list<const Tensor*> inputs,
                              std::optional<DType> dtype = std::nullopt);

/// Calls run() with new row-major outputs, on the device of the first input. Outputs that depend on
/// an optional input that is left out are empty tensors.
std::vector<Tensor> compute(const Command& command, std::span<const Tensor* const> inputs,
                            const RunOptions& options = {},
                            std::optional<DType> dtype = std::nullopt);
std::vector<Tensor> compute(const Command& command, std::initializer_list<const Tensor*> inputs,
                            const RunOptions& options = {},
                            std::optional<DType> dtype = std::nullopt);

}  // namespace mote
