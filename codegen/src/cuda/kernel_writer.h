// SPDX-License-Identifier: Apache-2.0
// Writes the bodies of CUDA kernels: what differs from a C function. Memory for temporaries is
// given, and loops that threads, blocks, warps or the threads of a block share stride over these.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "c/writer.h"
#include "row_vectors.h"
#include "tiles.h"

namespace mote::emit {

class KernelWriter : public Writer {
 public:
  using Writer::Writer;
  std::string kernel_body();

 protected:
  void threads_loops(const Loop& first, const Facts& facts) override;
  void loop(const Loop& l, const Facts& facts) override;
  void loop_pragmas(const Loop& l) override;
  void barrier() override { line("__syncthreads();"); }
  /// Writes what stands before the statements of the kernel.
  virtual void opening(const Facts& /*facts*/) {}
  /// Writes what stands before the statements of an iteration of these loops of a grid.
  virtual void open_iteration(const std::vector<const Loop*>& /*chain*/, const Facts& /*facts*/) {}
  virtual void block_loop(const Loop& l, const Facts& facts);
  bool is_on_stack(const TensorDecl& /*t*/) const override { return false; }
  bool moves_bits() const override { return false; }

  /// Returns the number of iterations of each loop: short text, or a constant declared here.
  std::vector<std::string> extents(const std::vector<LoopDigit>& axes, const Facts& facts);
  /// Returns the loops' variables as digits of an iteration's number, the innermost's the lowest.
  std::vector<std::string> digits(const std::vector<LoopDigit>& axes,
                                  const std::vector<std::string>& extents, const std::string& flat,
                                  const Facts& facts) const;
  /// Returns the distance in memory of the elements at neighbouring values of the variable; empty
  /// if it is not known.
  std::string distance(const std::string& tensor, const std::vector<Expr>& index, Symbol variable,
                       const Facts& facts) const;
  /// Returns function(arguments).
  std::string called(const std::string& function, const std::string& arguments) const {
    return call(function, Text{arguments}, printer_.uses());
  }

 private:
  /// The text of a worker's number and of the count of workers that share a loop.
  struct Share {
    std::string who;
    std::string count;
  };
  void grid_loops(const Loop& first, const Share& share, const Facts& facts);
  void grid_loop(const Loop& loop, const Share& share, const Facts& facts);
  void grid_digits(const std::vector<const Loop*>& chain, const Share& share, const Facts& facts);
  void nest_loop(const Loop& l, const Facts& facts);
  void shared_loop(const Loop& l, const Share& share, const Facts& facts);
  void vector_accesses(const Loop& each, std::int64_t elements, const Facts& facts);
  const std::string& vector_name(const std::string& tensor, int number);
  void combine(const Loop& l);

  bool rolled_ = false;    ///< the compiler is told not to unroll innermost loops
  bool in_warps_ = false;  ///< the text is for an iteration of one warp
  std::map<std::pair<std::string, int>, std::string> vectors_;  ///< by tensor and number in a loop
  std::string at_;                                              ///< the element within a vector
};

}  // namespace mote::emit
