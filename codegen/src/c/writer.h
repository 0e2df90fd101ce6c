// SPDX-License-Identifier: Apache-2.0
// Writes the body of one C function: derived sizes, temporaries, statements.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "c/internal.h"
#include "cuda/row_vectors.h"
#include "cuda/rows.h"
#include "cuda/tiles.h"
#include "cuda/vector_access.h"

namespace mote::emit {

/// Returns the number of elements of a temporary that is small enough for the stack; nullopt for
/// others.
std::optional<std::int64_t> stack_size(const TensorDecl& t);
/// Returns the statements' outermost loops, also in branches.
std::vector<const Loop*> loops_in(const Body& b);

class Writer {
 public:
  Writer(const LoopProgram& p, Names& names, Printer& printer, Target target = Target::c);
  std::string function_body();
  /// Makes a function that every thread of a region runs: they share the loops of kind
  /// threads, each of which otherwise opens a region of its own.
  void join_region() { in_region_ = true; }
  /// Returns the body of a CUDA kernel, which is given memory for temporaries of rank 1 or more.
  /// `by_block`: iterations that are shared go to blocks of threads, otherwise to threads. `tiles`,
  /// a form of the program's body: a block takes a tile of them.
  std::string kernel_body(bool by_block, const cuda::TileForm* tiles = nullptr);
  /// Returns the body of a kernel of the form's program.
  std::string kernel_body(const cuda::VectorForm& vectors);
  std::string kernel_body(const cuda::RowVectorForm& vectors);

 private:
  /// The manner in which a store declares its rank-0 temporary.
  struct Declaration {
    bool is_constant;
  };
  const Declaration* declaration_at(const Stmt& s) const;

  /// A line that defines a constant: its position in out_, and that of its right side's uses.
  struct Definition {
    std::string constant;
    std::size_t begin, end;
    std::size_t uses_begin, uses_end;
  };

  void line(const std::string& text);
  void define(const std::string& constant, std::size_t uses_begin, const std::string& text);
  void leave_out_unread();
  void body(const Body& b, const Facts& facts);
  void statement(const Stmt& s, const Facts& facts);
  void loop(const Loop& l, const Facts& facts);
  void parallel_loops(const Loop& first, const Facts& facts);
  void grid_loops(const Loop& first, const Facts& facts);
  void grid_loop(const Loop& loop, const Facts& facts);
  void vector_loops(const Loop& loop, const Facts& facts);
  bool block_iteration(const Body& b, const Facts& facts, bool settled = true);
  void block_loop(const Loop& loop, const Facts& facts);
  void shared_iterations(const Loop& loop, const cuda::Share& share, const Facts& facts);
  void vector_iterations(const Loop& loop, const cuda::VectorLoop& vectors,
                         const cuda::Share& share, const Facts& facts, const std::string& begin,
                         const std::string& end);
  void grid_digits(const std::vector<const Loop*>& chain, const Facts& facts);
  std::vector<std::string> extents(const std::vector<cuda::TileAxis>& axes, const Facts& facts);
  std::vector<std::string> digits(const std::vector<cuda::TileAxis>& axes,
                                  const std::vector<std::string>& extents, const std::string& flat,
                                  const Facts& facts) const;
  friend class TileWriter;
  friend class RegisterWriter;
  std::vector<const Loop*> loops_over_panels(const Loop& first) const;
  void loop_over_panels(const std::vector<const Loop*>& chain, const Facts& facts);
  void register_loops(const Loop& loop, const Facts& facts);
  void declare_registers(const TensorDecl& t);
  std::int64_t lanes_of(DType dtype) const;
  const std::string& vector_type(DType dtype);
  std::string register_name(const std::string& tensor, std::int64_t row, std::int64_t vector);
  std::string vector_type_definitions() const;
  std::string adjacent_test(const Loop& l) const;
  void pragma(const std::string& text);
  std::string lanes(const Loop& l);
  void open_scope(Symbol variable, const Facts& facts);
  std::string scalar(const TensorDecl& t) const;
  const std::string& heap_name(const TensorDecl& t) const;
  std::string stride_definitions() const;
  std::string number_type(DType dtype) const;
  std::string start(ReduceOp op, DType dtype) const;
  /// Returns the limit of a loop: short text, or the name of a constant declared before the loop.
  std::string limit(const Expr& e, const std::string& hint, const Facts& facts);
  void limits_ahead(const Body& b, std::set<Symbol>& changing, const Facts& facts);
  std::string test_of_all_rows(const Loop& l) const;
  void rows_ahead(const Loop& unrolled, const std::set<Symbol>& changing, const Facts& facts);
  void open_accumulator(const Accumulator& a);
  void open_before_branch(const Body& b, std::size_t k);
  void branch(const If& i, const Facts& facts);
  void store(const Store& s, const Facts& facts, const Declaration* declaration);
  std::string target(const TensorDecl& t, const std::vector<Expr>& index, const Facts& facts) const;
  void store_reduce(const StoreReduce& s, const Facts& facts);
  void fold(const Fold& f, const Facts& facts);
  void fold_position(const Fold& f, const Facts& facts);
  void let(const Let& l, const Facts& facts);
  std::string stored(const Text& t, const TensorDecl& to, std::size_t uses_begin) const;
  Text joined(ScatterOp op, const Text& old, const Text& v, DType dtype) const;
  Text reduced(ReduceOp op, const Text& a, const Text& b) const;
  static ReduceOp logical(ReduceOp op);

  std::string statements(const Facts& facts);
  void scalars();
  void allocations(const Facts& facts);
  std::string unused_arguments() const;
  std::string unread_scalars() const;
  std::string wanted_outputs() const;

  const LoopProgram& p_;
  Names& names_;
  Printer& printer_;
  Target target_;
  bool in_region_ = false;
  std::string worker_ = "thread";          ///< takes a shared iteration: a thread or a block
  bool rolled_ = false;                    ///< the compiler is told not to unroll innermost loops
  const cuda::TileForm* tiles_ = nullptr;  ///< tiles by which blocks take shared iterations
  const cuda::VectorForm* vectors_ = nullptr;         ///< iterations of threads by vector access
  const cuda::RowVectorForm* row_vectors_ = nullptr;  ///< loops of blocks by vector access
  std::string out_;
  int indent_ = 1;
  std::vector<Definition> definitions_;  ///< of constants in out_, in order
  std::map<const Stmt*, Declaration> declares_;
  std::set<std::string> declared_;       ///< rank-0 temporaries that a store declares
  std::vector<const TensorDecl*> heap_;  ///< temporaries of rank 1 or more
  std::set<std::string> opened_;  ///< accumulators that stand before the branch with their loop
  std::map<const Expr*, std::string> limits_;  ///< limits of later loops, computed already
  /// The constants, defined already, that a row of a later unrolled loop reads.
  struct RowAhead {
    std::string guard;  ///< whether the row's statements are executed; empty if it is not computed
    std::map<Expr, Expr> indices;  ///< quotients in indices, and the constants that hold them
  };
  std::map<std::pair<const Loop*, std::int64_t>, RowAhead> rows_ahead_;
  bool has_all_rows_ = false;  ///< the text is for tiles whose rows all stand under no guard
  std::map<std::string, std::string> vector_types_;  ///< by the type of an element
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::string> registers_;
  std::set<std::string> accumulators_read_;
  std::set<std::string> names_read_;
};

}  // namespace mote::emit
