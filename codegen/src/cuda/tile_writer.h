// SPDX-License-Identifier: Apache-2.0
// Writes kernels whose blocks have memory of their own: shared memory, registers, fragments.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel_writer.h"

namespace mote::emit {

class TileWriter : public KernelWriter {
 public:
  using KernelWriter::KernelWriter;

 protected:
  void opening(const Facts& facts) override;
  void open_iteration(const std::vector<const Loop*>& chain, const Facts& facts) override;
  void loop(const Loop& l, const Facts& facts) override;
  void block_loop(const Loop& l, const Facts& facts) override;
  void barrier() override;
  void wait_for_copies(const WaitForCopies& wait) override;
  void declare_of_block(const TensorDecl& t) override;
  std::optional<std::string> stored_bits(const Store& s, const Facts& facts) const override;

 private:
  /// The digits of the numbers from the anchor's variable on, in arrays in shared memory: 64-bit
  /// divisions are expensive. The anchor is a loop over tiles or slices.
  struct Table {
    const Loop* loop;  ///< one of the loops with these digits
    const Loop* anchor;
    bool is_next = false;  ///< true once the numbers of the anchor's next iteration may be written
    std::vector<std::string> arrays{};  ///< one for each digit
    std::vector<std::string> extents{};
    std::string count{};
  };
  /// A nest of two loops that threads share. The strings name variables of the kernel; empty: none.
  struct Nest {
    std::string along = "false";  ///< true if adjacent threads take iterations of the inner loop
    std::string vectors = {};     ///< true if 16 bytes can be copied at a time
    int elements = 0;             ///< the number of elements in 16 bytes
  };
  struct Copy {
    const Store* store;
    const value::Load* load;
    Condition outer, inner;  ///< hold for elements that exist, each along one of the loops
  };

  template <typename... T>
  void write(fmt::format_string<T...> format, T&&... values) {
    line(fmt::format(format, std::forward<T>(values)...));
  }
  void open(const std::string& head);
  void close();
  std::string text(const Expr& e, const Facts& facts) const { return printer_.expr(e, facts).text; }

  // Shared memory (tile_tables.cpp).
  void shared_arrays();
  void find_loops(const Body& body);
  void add_table(const Loop& l, const Facts& facts);
  Table* table_of(const Loop& l);
  void counts_of(Table& table, const Facts& facts);
  void fill(const Table& table, const Expr& from, const Facts& facts);
  void define_digits(const Loop& l, const Facts& facts);

  // Nests of threads (tile_nests.cpp).
  static bool is_nest(const Loop& l);
  void prepare_nest(const Loop& outer, const Facts& facts);
  std::string distance_along(const std::string& tensor, const std::vector<Expr>& index,
                             const Loop& l, const Facts& facts);
  std::string distance_of_digits(const std::string& tensor, const std::vector<Expr>& index,
                                 const Loop& l, const Facts& facts);
  std::string along(const Loop& outer, const Facts& facts);
  std::optional<Copy> copy_in(const Loop& outer) const;
  std::string is_vector_along(const value::Load& load, const Loop& l, int elements);
  std::string vectors(const Loop& outer, Nest& nest);
  void threads_nest(const Loop& outer, const Facts& facts);
  void positions(const Loop& outer, const Nest& nest, const Facts& facts);
  void elements_of_nest(const Loop& outer, const Nest& nest, const Facts& facts);
  void vectors_of_nest(const Loop& outer, const Nest& nest, const Facts& facts);

  // Asynchronous copies (tile_copies.cpp).
  void prepare_copies();
  void operands(const Facts& facts);
  void copy_ahead(const Loop& outer, const Facts& facts);

  // Fragments (tile_fragments.cpp).
  void fragment_loops(const Loop& l, const Facts& facts);
  std::string layout() const;
  std::string masks(const Loop& rows) const;
  void multiply(const Loop& rows, const StoreReduce& sum, const Facts& facts);

  std::vector<const Loop*> loops_;  ///< all of them, those of the grid first
  std::vector<Table> tables_;
  std::map<const Loop*, Nest> nests_;  ///< by the outer loop
  std::set<std::string> of_threads_;   ///< the variables that say which thread runs
  /// The operands of asynchronous copies, by their number in shared memory: the first of the
  /// copies, and the name of a variable.
  std::map<Expr, std::pair<const Loop*, std::string>> operands_;
  std::string lane_, part_, room_, number_;
};

}  // namespace mote::emit
