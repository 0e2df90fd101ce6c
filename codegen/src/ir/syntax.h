// SPDX-License-Identifier: Apache-2.0
// The syntax of expressions in the text of loop programs: one tree for index expressions,
// conditions and values, since only a whole text says which of them it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/told.h"
#include "mote/base/text_cursor.h"
#include "mote/codegen/loops.h"

namespace mote::loop_text {

/// The levels of brackets, signs and operators inside each other that are read: kernels have less
/// than 30.
inline constexpr int kMaxNesting = 500;

/// A cursor with phrases of several words, and dtypes.
class Cursor : public TextCursor {
 public:
  explicit Cursor(std::string_view text);
  /// Accepts all words of a phrase, or none.
  bool accept_phrase(std::string_view phrase);
  bool peek_phrase(std::string_view phrase);
  void expect_phrase(std::string_view phrase);
  int small_integer(std::string_view what);  ///< reads one that is not negative
  DType dtype();
  /// Returns what stands behind the next word on its line.
  std::string behind_word();
  /// Reads what stands before a '(' on the line: the name of a program.
  std::string name_before_bracket();
};

/// The meanings of names, as far as the text has been read. A name has its last meaning.
struct Names {
  struct Meaning {
    enum class Kind : std::uint8_t { tensor, variable, let, accumulator };
    Kind kind;
    std::optional<DType> dtype = {};  ///< of a tensor's elements, of the value of a let, of a fold
    ReduceOp op = ReduceOp::sum;
  };
  std::map<std::string, Meaning, std::less<>> known;
  std::map<std::string, Expr, std::less<>> sizes;   ///< their values
  std::map<std::string, bool, std::less<>> params;  ///< true for integers
  DType real = DType::f64;                          ///< of real parameters, real_dtype_of()

  const Meaning* find(std::string_view name) const;
  /// Returns all names, for messages.
  std::vector<std::string> all() const;
};

struct Syntax {
  enum class Kind : std::uint8_t {
    number,
    name,
    param,     ///< $name
    element,   ///< name[args]
    call,      ///< name(args)
    chain,     ///< args with operators between them, of one precedence
    negative,  ///< -args[0]
    logical_not,
    guard  ///< (args[0] ? args[1] : literal)
  };
  Kind kind;
  std::size_t at = 0;  ///< its position, of a chain that of the first operator
  std::string name = {};
  Literal literal = {};
  std::vector<Syntax> args = {};
  std::vector<MapOp> operators = {};
  /// The first arguments of a chain that are one index expression: 2 of i - 1 - x[i]. 0: none are.
  std::size_t index_count = 0;
  std::optional<DType> dtype = {};  ///< of index(i, f32)
  bool reads_as_index = false;      ///< it could be an index expression
  bool names_variable = false;      ///< with a variable or a size in it, outside of elements
  Told told = {};

  /// True if it is an index expression wherever a value may stand, too.
  bool is_index() const { return reads_as_index && names_variable; }
  /// Returns the index expression that the chain begins with.
  Syntax index_part() const;
};

/// Reads the longest expression. Throws Error with its position.
Syntax parse_syntax(Cursor& text, const Names& names);

/// Throws Error that lists the names.
[[noreturn]] void fail_unknown(const Syntax& s, const Cursor& text, const Names& names);

/// They turn syntax into what it means. Throw Error with its position.
Expr index_of(const Syntax& s, const Cursor& text, const Names& names);
Conditions conditions_of(const Syntax& s, const Cursor& text, const Names& names);
/// `known`: the dtype that is known where the value stands.
Value value_of(const Syntax& s, const Cursor& text, const Names& names, std::optional<DType> known);
Number number_of(const Syntax& s, const Cursor& text, DType dtype);

}  // namespace mote::loop_text
