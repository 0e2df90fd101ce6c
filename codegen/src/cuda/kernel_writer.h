// SPDX-License-Identifier: Apache-2.0
// Writes the bodies of CUDA kernels: what differs from a C function. Loops that threads share
// stride over the grid, and memory for temporaries is given.
#pragma once

#include <string>
#include <vector>

#include "c/writer.h"
#include "row_vectors.h"
#include "rows.h"
#include "tiles.h"
#include "vector_access.h"

namespace mote::emit {

/// A thread takes each shared iteration.
class KernelWriter : public Writer {
 public:
  using Writer::Writer;
  std::string kernel_body();

 protected:
  void threads_loops(const Loop& first, const Facts& facts) override;
  void loop_pragmas(const Loop& l) override;
  bool is_on_stack(const TensorDecl& /*t*/) const override { return false; }
  /// Returns what takes a shared iteration: a thread or a block.
  virtual std::string worker() const { return "thread"; }
  virtual void iteration(const Body& b, const Facts& facts) { body(b, facts); }

  /// Returns the number of iterations of each loop: short text, or a constant declared here.
  std::vector<std::string> extents(const std::vector<cuda::TileAxis>& axes, const Facts& facts);
  /// Returns the loops' variables as digits of an iteration's number, the innermost's the lowest.
  std::vector<std::string> digits(const std::vector<cuda::TileAxis>& axes,
                                  const std::vector<std::string>& extents, const std::string& flat,
                                  const Facts& facts) const;

 private:
  void grid_loop(const Loop& loop, const Facts& facts);
  void grid_digits(const std::vector<const Loop*>& chain, const Facts& facts);

  bool rolled_ = false;  ///< the compiler is told not to unroll innermost loops
};

/// A block takes each shared iteration: its threads share the loops in it.
class BlockWriter : public KernelWriter {
 public:
  using KernelWriter::KernelWriter;

 protected:
  std::string worker() const override { return "block"; }
  void iteration(const Body& b, const Facts& facts) override { block_iteration(b, facts, true); }
  /// Writes the iterations of the loop that stand before those that are taken one by one, and
  /// returns where these begin, to which `begin` is added.
  virtual std::string iterations_before(const Loop& /*loop*/, const cuda::Share& /*share*/,
                                        const Facts& /*facts*/, const std::string& begin,
                                        const std::string& /*end*/) {
    return begin;
  }

 private:
  bool block_iteration(const Body& b, const Facts& facts, bool settled);
  void block_loop(const Loop& loop, const Facts& facts);
  void shared_iterations(const Loop& loop, const cuda::Share& share, const Facts& facts);
};

/// A block takes each shared iteration, and its threads move 16 bytes of a row at a time.
class RowVectorWriter : public BlockWriter {
 public:
  RowVectorWriter(const cuda::RowVectorForm& form, Names& names, Printer& printer)
      : BlockWriter(form.program, names, printer), form_(form) {}

 protected:
  std::string iterations_before(const Loop& loop, const cuda::Share& share, const Facts& facts,
                                const std::string& begin, const std::string& end) override;

 private:
  void vector_iterations(const Loop& loop, const cuda::VectorLoop& vectors,
                         const cuda::Share& share, const Facts& facts, const std::string& begin,
                         const std::string& end);

  const cuda::RowVectorForm& form_;
};

/// A thread takes the iterations of 16 bytes of elements.
class VectorWriter : public KernelWriter {
 public:
  VectorWriter(const cuda::VectorForm& form, Names& names, Printer& printer)
      : KernelWriter(form.program, names, printer), form_(form) {}

 protected:
  void threads_loops(const Loop& first, const Facts& facts) override;

 private:
  const cuda::VectorForm& form_;
};

}  // namespace mote::emit
