// SPDX-License-Identifier: Apache-2.0
// Outputs from inputs: their dtypes and shapes, before anything is computed or allocated.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/runtime/command.h"

namespace MOTE_API mote {

struct TensorForm {
  DType dtype;
  AxisList shape;

  friend bool operator==(const TensorForm&, const TensorForm&) = default;
};
std::string to_string(const TensorForm& form);  ///< "f32[2,3]"

/// "infer": an op's shape inference, called with as many inputs as the command's op has; those left
/// out are null. `dtype` is that of the instance where no input has it.
using InferShapes = std::function<std::vector<TensorForm>(
    const Command& command, std::span<const Tensor* const> inputs, std::optional<DType> dtype)>;
inline constexpr const char* kInfer = "infer";

/// What the definition's texts of axes imply: each extent of an input is an equation, which solves
/// for a size that it mentions linearly once the others are known. The op's definition lives as
/// long as the function.
InferShapes infer_by_definition(const mote_op_definition& definition);

/// One for each output of the op, as run() takes them: with the command's axis, axes in front as a
/// batch, NumPy's broadcasting. Looks at metadata only: tensors may have no data. By the op's
/// attribute "infer", without one by its definition. StatusError MOTE_INVALID where inputs do not
/// fit each other, and where the outputs do not follow from them: then `dtype` may be missing.
std::vector<TensorForm> infer(const Command& command, std::span<const Tensor* const> inputs,
                              std::optional<DType> dtype = std::nullopt);
std::vector<TensorForm> infer(const Command& command, std::initializer_list<const Tensor*> inputs,
                              std::optional<DType> dtype = std::nullopt);

/// run() with new row-major outputs. Those that are not there without an optional input are empty.
std::vector<Tensor> compute(const Command& command, std::span<const Tensor* const> inputs,
                            const RunOptions& options = {},
                            std::optional<DType> dtype = std::nullopt);
std::vector<Tensor> compute(const Command& command, std::initializer_list<const Tensor*> inputs,
                            const RunOptions& options = {},
                            std::optional<DType> dtype = std::nullopt);

}  // namespace mote
