// SPDX-License-Identifier: Apache-2.0
// Finds the stages whose iterations go over adjacent elements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stage_form.h"

namespace mote::cuda {

/// The bytes that a thread moves at once.
inline constexpr int kVectorBytes = 16;

/// A stage as one loop over all its iterations in steps of 16 bytes, for tensors without gaps.
struct VectorForm {
  LoopProgram program;        ///< the loop; the tensors are of rank 1 there, with a stride of 1
  std::vector<Expr> extents;  ///< extents of the stage's own loops, outermost first
  std::vector<std::string> loads;   ///< tensors of which each iteration reads its own element
  std::vector<std::string> stores;  ///< tensors of which each iteration stores its own element
  int elements;  ///< the number of the widest of their elements that 16 bytes hold

  std::vector<std::string> vector_tensors() const;
  Expr iterations() const;
};

/// Puts the iterations of a stage in steps of 16 bytes, each a simd loop; the last step may have
/// fewer iterations. Returns nullopt if an iteration accesses anything other than elements at its
/// own index and scalars, or uses its loops' variables otherwise. `stage` ends with loops of
/// threads.
std::optional<VectorForm> vectorise_elements(const LoopProgram& p, const Body& stage);

/// Takes the step `thread_vectors`.
Refusal take_thread_vectors(StageForm& form, const Step& step, std::string& effect);
Schedules thread_vectors_to_try(const StageSearch& search);
/// Adds "4 elements of x" to the effect.
void add_vector(std::string& effect, int elements, const std::string& tensor);

}  // namespace mote::cuda
