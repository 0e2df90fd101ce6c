// SPDX-License-Identifier: Apache-2.0
// The catalogue's kernels as CUDA, and those of ops that a plug-in adds: the instance of an op that
// a call needs, and its source.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "mote/macroops/catalogue.h"
#include "support/call.h"

namespace mote::cuda {

using Variant = CudaVariant;

/// Makes the kernels of a variant from the loops.
using MakeCuda =
    std::function<CudaProgram(const LoopProgram&, Variant, const EmitOptions& options)>;

/// One instance of an op.
class OpInstance {
 public:
  OpInstance(const OpRecord& record, const Instance& instance, MakeCuda make = cuda_program);

  const OpRecord& record() const { return record_; }
  const Instance& instance() const { return instance_; }
  const Program& program() const { return *program_; }
  const std::string& function() const { return function_; }
  /// Returns the position in the record of each input of the program.
  const std::vector<int>& positions() const { return positions_; }
  /// Returns the source, which the first call makes; safe from any thread. The variant gen of an op
  /// that draws random bits is the reference's: every backend draws the same.
  const CudaProgram& source(Variant variant) const;
  /// True if the variant differs from others: tf32 does only if products are rounded to tf32.
  bool has(Variant variant) const;

 private:
  const OpRecord& record_;
  Instance instance_;
  std::shared_ptr<const Program> program_;
  std::string function_;
  std::vector<int> positions_;
  MakeCuda make_;
  mutable std::array<std::once_flag, 3> once_;
  mutable std::array<CudaProgram, 3> sources_;
};

/// True if the op sums products of two inputs' elements in f32: others have no variant tf32.
bool may_have_tf32(const OpRecord& record);

/// Adds ops to those that have kernels; one takes the place of the catalogue's op of its name. It
/// must be called before the functions below.
void add_ops(std::vector<OpRecord> records);
/// Returns the ops that have kernels: generated_ops(), then those that were added.
std::span<const OpRecord* const> ops_with_kernels();
/// True if add_ops() added the record.
bool is_added_op(const OpRecord& record);

/// Returns the instances of one op of ops_with_kernels(), made at the first call, never moved.
/// Empty for an unknown op.
std::span<const std::unique_ptr<OpInstance>> instances_of(std::string_view op);

/// Returns the instance whose inputs have the call's dtypes, and whose optional inputs are the
/// call's; else nullptr, with the reason in `refusal`.
const OpInstance* find_instance(const mote_call& call, backend::Check& refusal);

}  // namespace mote::cuda
