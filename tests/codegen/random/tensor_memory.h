// SPDX-License-Identifier: Apache-2.0
// A tensor in memory of its own with strides drawn at random: padded, permuted, negative, repeated
// (inputs), or dense. Bytes that belong to no element hold a pattern, so that stray writes show and
// what is read there is no likely result; the pages around the memory are closed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mote/base/dlpack.h"
#include "mote/base/kernel.h"
#include "mote/uops/evaluate.h"
#include "rng.h"
#include "trial.h"

namespace mote::test {

class TensorMemory {
 public:
  /// Stores the given values (an output has none: every element holds the pattern). Half of the
  /// tensors lie at one end of their pages, so that the byte before or behind them is closed.
  /// `is_dense`: no room is left between elements.
  TensorMemory(const Array& a, bool is_dense, Rng& rng);

  DLTensor view();
  Array values() const;
  /// Throws Error if a byte outside of the elements was changed; for an input, any byte.
  void check_untouched(bool is_input) const;

 private:
  std::size_t offset(const std::vector<std::int64_t>& index) const;
  std::span<std::byte> open() const;

  DType dtype_;
  std::vector<std::int64_t> shape_, strides_;
  struct Pages {
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
    Pages() = default;
    explicit Pages(std::size_t open);
    Pages(Pages&& other) noexcept;
    Pages& operator=(Pages&& other) noexcept;
    ~Pages();
  };
  Pages pages_;  ///< of which the first and the last are closed
  std::vector<std::byte> initial_;
  std::size_t first_ = 0;   ///< offset in bytes of element 0, 0, … in what is open
  std::size_t origin_ = 0;  ///< that of the call's pointer
};

/// Calls the kernel on these inputs, which lie in memory with strides drawn from the trial's seed,
/// and returns the outputs: by one call, or by two that ask for some outputs each. Throws Error if
/// the kernel refuses, or writes outside of an output's elements.
std::vector<Array> run_on_memory(const Program& p, const std::vector<Array>& inputs, const Trial& t,
                                 const std::function<mote_status(const mote_call&)>& kernel);

}  // namespace mote::test
