// SPDX-License-Identifier: Apache-2.0
// The launches of one call: kernels with their arguments, and the memory that they share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "catalogue_kernels.h"
#include "mote/base/kernel.h"

namespace mote::cuda {

/// The limits of a launch, and the thresholds for the choice of kernels.
struct Grid {
  int threads = kCudaThreads;  ///< the threads of a block, except in kernels of tiles
  std::int64_t least_side =
      kCudaTile / 2;  ///< the minimum number of rows and columns for a kernel of tiles
  /// The minimum number of pipelined tiles; the minimum number of their rows and columns is three
  /// times least_side.
  std::int64_t least_pipelined_tiles = 96;
  /// The minimum number of elements of a row that a block takes, for a reduction and for a map.
  std::int64_t least_row = 16;
  std::int64_t least_map_row = 128;
  /// A stage is launched in parts if its iterations occupy fewer threads than `busy` (four times
  /// that, if one thread rather than a block takes an iteration) and each thread would go over at
  /// least `least_terms` terms.
  std::int64_t busy = 65536;
  std::int64_t least_terms = 256;
  std::int64_t most_blocks = 65536;
  /// The maximum memory of all threads' own temporaries together, and that of the parts of a
  /// distributed program.
  std::int64_t most_bytes = std::int64_t{256} << 20;
};

/// The value of an argument: a pointer, a number, or the strides of a tensor.
struct ArgumentValue {
  std::array<std::int64_t, kMaxRank> words{};
};

struct Launch {
  const CudaKernel* kernel;
  std::int64_t blocks;
  int threads;  ///< the threads of a block
  std::vector<ArgumentValue> arguments;
};

/// A tensor of the call at the rank that the kernel gives it; axes that repeat have stride 0.
struct TensorView {
  const DLTensor* tensor = nullptr;  ///< nullptr: an output that the call leaves out
  void* data = nullptr;
  std::array<std::int64_t, kMaxRank> strides{};
  std::size_t missing = 0;  ///< leading axes that the tensor lacks

  std::size_t rank() const { return missing + static_cast<std::size_t>(tensor->ndim); }
  std::int64_t extent(std::size_t axis) const {
    return axis < missing ? 1 : tensor->shape[axis - missing];
  }
};

class Plan {
 public:
  /// Checks everything that the op demands of the call; the reason of a failure is in `refusal`.
  /// Pointers to data are checked if `run` is true.
  Plan(const mote_call& call, const OpInstance& instance, Variant variant, bool run,
       const Grid& grid, backend::Check& refusal);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// Returns the launches. `data` has the address of each tensor of the kernel, inputs before
  /// outputs, as in views(); `workspace` has workspace_bytes() bytes, aligned to 64.
  std::vector<Launch> launches(const std::vector<void*>& data, void* workspace) const;
  const std::vector<TensorView>& views() const { return views_; }
  std::size_t input_count() const { return instance_.program().inputs.size(); }

 private:
  backend::Check read_inputs();
  backend::Check read_outputs();
  backend::Check check_input_data();
  backend::Check read_params();
  const CudaProgram& chosen() const;
  void lay_out();
  std::int64_t threads_of(const CudaKernel& kernel) const;
  std::int64_t value(const Expr& e) const;
  bool has_tiles_for(const CudaKernel& kernel) const;
  bool suits(const CudaKernel& kernel, const std::vector<void*>& data) const;
  bool has_strides_of(const CudaKernel& kernel) const;
  bool is_last_of_stage(const CudaKernel& kernel) const;
  bool is_too_short(const CudaKernel& kernel) const;
  bool takes_parts(const CudaKernel& first) const;
  bool is_launched(const CudaKernel& kernel) const;
  double bytes_of(const CudaTemporary& t) const;
  bool is_by_vectors(const VectorOperand& operand, const std::vector<void*>& data) const;
  bool has_vectors(const VectorRow& row, const std::vector<void*>& data) const;
  bool is_by_vectors(std::size_t tensor, const std::vector<Expr>& extents, const void* data) const;
  ArgumentValue argument(const CudaArgument& a, const std::vector<void*>& data,
                         void* workspace) const;
  std::size_t tensor_at(const std::string& name) const;

  const mote_call& call_;
  const OpInstance& instance_;
  Variant variant_;
  bool run_;
  Grid grid_;
  std::map<std::string, Number> params_;
  Binding binding_;
  std::vector<TensorView> views_;
  const CudaProgram* source_ = nullptr;
  std::set<int> in_parts_;             ///< stages that are launched in parts
  std::vector<std::int64_t> threads_;  ///< the threads of each kernel
  std::vector<std::size_t> offsets_;   ///< the offset of each temporary in the workspace
  std::size_t workspace_bytes_ = 0;
};

}  // namespace mote::cuda
