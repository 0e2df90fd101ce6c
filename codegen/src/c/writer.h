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

namespace mote::emit {

/// Returns the number of elements of a temporary that is small enough for the stack; nullopt for
/// others.
std::optional<std::int64_t> stack_size(const TensorDecl& t);
/// Returns the statements' outermost loops, also in branches.
std::vector<const Loop*> loops_in(const Body& b);

/// The head of a loop in C.
struct LoopHead {
  std::string variable, begin, end;
  std::string step;  ///< what the variable does behind an iteration
  std::string text() const;
};

/// An element that an iteration of a loop reads or stores, and the array that holds those of a
/// block.
struct HeldElement {
  const TensorDecl* tensor;
  std::vector<Expr> index;
  std::string variable;
  bool is_loaded, is_stored;
};

/// A loop in vectors whose iterations run in blocks of as many as there are lanes.
struct BlocksOfLanes {
  std::vector<HeldElement> elements;
  std::vector<const Fold*> folds;
  std::string lane = {}, block = {};  ///< the variables in C: of a lane, and a block's first
};

/// The accumulator of a fold, and the array of its lanes.
struct LanesOfFold {
  const Fold* fold;
  std::string lanes, accumulator;
};

/// Writes C. An emitter of another language overrides what differs in it.
class Writer {
 public:
  Writer(const LoopProgram& p, Names& names, Printer& printer);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  virtual ~Writer() = default;
  std::string function_body();
  /// Makes a function that every thread of a region runs: they share the loops of kind
  /// threads, each of which otherwise opens a region of its own.
  void join_region() { in_region_ = true; }

 protected:
  /// Writes loops of kind threads, of which `first` is the outermost.
  virtual void threads_loops(const Loop& first, const Facts& facts);
  virtual void loop(const Loop& l, const Facts& facts);
  virtual void barrier();
  virtual void wait_for_copies(const WaitForCopies& wait);
  /// Writes what stands before a loop for the compiler.
  virtual void loop_pragmas(const Loop& l);
  /// True if a copy of 16-bit reals need not convert them, which also keeps the bits of NaN.
  virtual bool moves_bits() const { return p_.native; }
  /// Declares memory of a block, or of one of its threads, in an iteration of a grid.
  virtual void declare_of_block(const TensorDecl& t);
  /// Returns an element of 16 bits that is stored as it is, without its value.
  virtual std::optional<std::string> stored_bits(const Store& s, const Facts& facts) const;
  /// Returns true if the temporary of an iteration is an array on the stack, not in memory that all
  /// threads have together.
  virtual bool is_on_stack(const TensorDecl& t) const { return stack_size(t).has_value(); }

  void line(const std::string& text);
  void body(const Body& b, const Facts& facts);
  void statement(const Stmt& s, const Facts& facts);
  /// Declares the temporaries of one iteration of a loop.
  void open_scope(Symbol variable, const Facts& facts);
  /// Returns the limit of a loop: short text, or the name of a constant declared before the loop.
  Text limit(const Expr& e, const std::string& hint, const Facts& facts);
  void limits_ahead(const Body& b, std::set<Symbol>& changing, const Facts& facts);
  void elements_ahead(const Loop& l, const Facts& facts);
  std::map<Expr, std::string> quotients_ahead(const Loop& l, const Facts& facts);
  /// Defines the reciprocals of values that a loop in vectors divides by and does not change.
  std::vector<Divisor> divisors_ahead(const Loop& l, const Facts& facts);
  /// Declares the loop's accumulators, unless they stand before a branch around it.
  void open_accumulators(const Loop& l);
  void open_before_branch(const Body& b, std::size_t k);
  /// Returns the value of an accumulator that nothing was folded into.
  std::string start(ReduceOp op, DType dtype) const;

  /// Returns the text of the program's statements, and the parts that stand before it.
  std::string statements(const Facts& facts);
  std::string unread_scalars() const;
  void scalars();
  std::string stride_definitions() const;
  std::string order_definitions(const Facts& facts);
  std::string wanted_outputs() const;

  const LoopProgram& p_;
  Names& names_;
  Printer& printer_;
  std::string out_;
  int indent_ = 1;

 private:
  /// The manner in which a store declares its rank-0 temporary.
  struct Declaration {
    bool is_constant;
  };
  const Declaration* declaration_at(const Stmt& s) const;
  friend class RegisterWriter;

  /// A line that defines a constant: its position in out_, and that of its right side's uses.
  struct Definition {
    std::string constant;
    std::size_t begin, end;
    std::size_t uses_begin, uses_end;
  };

  void define(const std::string& constant, std::size_t uses_begin, const std::string& text);
  void leave_out_unread();
  std::vector<const Loop*> loops_over_panels(const Loop& first) const;
  void loop_over_panels(const std::vector<const Loop*>& chain, const Facts& facts);
  bool loops_in_order_or_apart(const Loop& first, const Facts& facts);
  void loop_apart(const Loop& l, const Facts& facts);
  void loops_with_ends(const std::vector<const Loop*>& chain, const std::string& test,
                       const Facts& facts);
  void loop_of_its_own(const Loop& l, const Facts& facts);
  std::string test_of_one_run(const Loop& first) const;
  void loops_in_one_run(const Loop& first, const std::string& test, const Facts& facts);
  void copy_in_lines_or_apart(const Loop& first, const Facts& facts);
  /// Pointers to the elements of panels that the rows of a tile read in the first iteration of the
  /// loops over its terms.
  struct RowPointers {
    std::set<Symbol> moving;  ///< the variables of these loops
    std::map<std::string, std::vector<std::string>> of_tensor;
  };
  RowPointers pointers_to_rows(const std::vector<const Loop*>& chain, const Facts& facts);
  struct ResultsInSquares;
  std::optional<ResultsInSquares> results_in_squares(const Loop& rows) const;
  void results_in_place(const Loop& rows, const ResultsInSquares& results,
                        const std::vector<KnownStride>& adjacent, const Facts& of_whole);
  void copy_by_squares(const Loop& rows, const ResultsInSquares& results, const Facts& of_whole);
  bool results_in_squares_or_apart(const Loop& rows, const Facts& facts);
  void register_loops(const Loop& loop, const Facts& facts);
  std::string element_where(const std::string& tensor, std::vector<Expr> index,
                            const std::map<Symbol, Expr>& values, const Facts& facts) const;
  void transposed_loops(const Loop& l, const Facts& facts);
  void transposed_columns(const Loop& terms, const Facts& facts);
  bool columns_transposed_or_apart(const Loop& first, const Facts& facts);
  void declare_registers(const TensorDecl& t);
  std::int64_t lanes_of(DType dtype) const;
  const std::string& vector_type(DType dtype);
  std::string register_name(const std::string& tensor, std::int64_t row, std::int64_t vector);
  std::string vector_type_definitions() const;
  /// Writes `if (test) { form } else { other }`.
  template <typename Form, typename Other>
  void in_two_forms(const std::string& test, const Form& form, const Other& other) {
    line("if (" + test + ") {");
    ++indent_;
    form();
    --indent_;
    line("} else {");
    ++indent_;
    other();
    --indent_;
    line("}");
  }
  /// A loop over the results of a tile: the iterations of a whole one, the test whether it is
  /// whole, and the head of the loop of any other.
  struct TileResults {
    std::int64_t iterations;
    std::string test_of_whole;
    LoopHead head;
  };
  void forms_of_results(const Loop& l, const TileResults& tile, const Facts& facts,
                        const Facts& inside);
  void prefetch(const Loop& l, const PrefetchedElement& e, const Facts& facts);
  void forms_of_loop(const Loop& l, const LoopHead& head, const Facts& inside);
  void iterations(const Loop& l, const LoopHead& head, const Body& of_loop, const Facts& inside);
  void iterations_in_vectors(const Loop& l, const LoopHead& head, const Body& of_loop,
                             const Facts& inside);
  std::optional<BlocksOfLanes> blocks_of_lanes(const Loop& l, const Body& of_loop,
                                               const Facts& inside) const;
  template <typename Statements>
  void loop_over_lanes(const BlocksOfLanes& blocks, const Statements& statements);
  void iterations_by_lanes(const Loop& l, const LoopHead& head, const Body& of_loop,
                           BlocksOfLanes blocks, const Facts& inside);
  std::map<std::string, LanesOfFold> open_lanes(const BlocksOfLanes& blocks);
  void combine_lanes(const LanesOfFold& folded);
  void pairs_of_blocks(const Loop& l, const LoopHead& head, const Body& of_loop,
                       const BlocksOfLanes& blocks, const LanesOfFold& first, const Facts& inside);
  void iterations_left(const Loop& l, const LoopHead& head, const Body& of_loop,
                       BlocksOfLanes& blocks, const Facts& inside);
  std::string adjacent_test(const Loop& l, int parameter) const;
  std::string all_wanted_test(const std::set<Symbol>& outputs) const;
  std::vector<const Loop*> merged_parts(const Loop& first) const;
  std::string part_of(const Loop& first, const Facts& facts);
  void end_of_part(const Loop& first, const std::string& part,
                   const std::vector<const Loop*>& merged, const Facts& facts);
  void pragma(const std::string& text);
  std::string lanes(const Loop& l);
  std::string scalar(const TensorDecl& t) const;
  const std::string& heap_name(const TensorDecl& t) const;
  std::string number_type(DType dtype) const;
  std::string test_of_all_rows(const Loop& l) const;
  void rows_ahead(const Loop& unrolled, const std::set<Symbol>& changing, const Facts& facts);
  void open_accumulator(const Accumulator& a);
  void branch(const If& i, const Facts& facts);
  void store(const Store& s, const Facts& facts, const Declaration* declaration);
  std::string target(const TensorDecl& t, const std::vector<Expr>& index, const Facts& facts) const;
  void store_reduce(const StoreReduce& s, const Facts& facts);
  std::optional<Text> kept_or_0(const Value& v, const Facts& facts);
  void fold(const Fold& f, const Facts& facts);
  Text under_test(const Fold& f, const Text& v);
  void fold_position(const Fold& f, const Facts& facts);
  void let(const Let& l, const Facts& facts);
  std::string stored(const Text& t, const TensorDecl& to, std::size_t uses_begin) const;
  Text combined(ScatterOp op, const Text& old, const Text& v, DType dtype) const;
  Text reduced(ReduceOp op, const Text& a, const Text& b) const;
  static ReduceOp logical(ReduceOp op);

  std::string heap_shape(const TensorDecl& t, const Facts& facts);
  void allocations(const Facts& facts);
  void allocate_block(const std::string& block, const Facts& facts);
  std::string unused_arguments() const;

  bool in_region_ = false;
  std::vector<Definition> definitions_;  ///< of constants in out_, in order
  std::map<const Stmt*, Declaration> declares_;
  std::set<std::string> declared_;       ///< rank-0 temporaries that a store declares
  std::vector<const TensorDecl*> heap_;  ///< temporaries of rank 1 or more
  std::set<std::string> opened_;  ///< accumulators that stand before the branch with their loop
  std::map<const Expr*, Text> limits_;  ///< limits of later loops, computed already
  /// The constants, defined already, that a row of a later unrolled loop reads.
  struct RowAhead {
    std::string guard;  ///< whether the row's statements are executed; empty if it is not computed
    std::map<Expr, Expr> indices;  ///< quotients in indices, and the constants that hold them
  };
  std::map<std::pair<const Loop*, std::int64_t>, RowAhead> rows_ahead_;
  const Loop* apart_ = nullptr;  ///< a loop that is not written as one with the loop in it
  RowPointers row_pointers_;
  std::string fold_under_;     ///< the test under which folds change an accumulator; empty: always
  bool has_all_rows_ = false;  ///< the text is for tiles whose rows all stand under no guard
  std::map<std::string, std::string> vector_types_;  ///< by the type of an element
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::string> registers_;
  /// Accumulators that are kept in 32 bits, of which vectors hold more; a thread of a GPU gains
  /// nothing, and NVRTC takes more registers.
  std::set<std::string> short_extrema_;
  std::set<std::string> accumulators_read_;
  std::set<std::string> names_read_;
};

}  // namespace mote::emit
