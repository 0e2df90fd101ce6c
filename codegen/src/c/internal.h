// SPDX-License-Identifier: Apache-2.0
// The parts that the files of the C emitter share: identifiers, and the text of expressions and
// values. In: a loop program; out: C11 text.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c/helpers.h"
#include "c/uses.h"
#include "ir/integer_range.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/walk.h"
#include "mote/uops/map_ops.h"

namespace mote::emit {

using text::Precedence;
using enum text::Precedence;
/// The C type of an expression, in which C would compute with it; i8 and u8 are i32 in C. `flag`: 0
/// or 1. `truth`: a result of isnan() or isinf(), where any number but 0 is true. `byte`: a bool in
/// memory, where any number but 0 is true as well.
enum class CType : std::uint8_t { f32, f64, i32, i64, flag, truth, byte };

struct Text {
  std::string text;
  Precedence precedence = kTight;
  CType type = CType::i64;
  char prefix = '\0';  ///< the operator of a unary operation, or a minus at the text's start
  std::optional<double> constant = std::nullopt;  ///< the value of a real number in text
  std::string inverted = {};  ///< of ~ of an integer: the argument, as it stands behind the ~
};

/// Returns the text, in parentheses if it binds less tightly than `least`.
std::string within(const Text& t, Precedence least);
/// Returns '-' if the text, written by within(), begins with a minus, else 0.
char leading_minus(const Text& t, Precedence least);
/// Returns the text as a right operand, or an argument of unary minus: a leading minus gets
/// parentheses too.
std::string operand(const Text& t, Precedence least);
/// Returns a truth as 0 or 1; any other number as it is.
Text as_number(const Text& t);
/// Returns a real or a number, converted to float.
Text as_float(const Text& t);
/// Returns `a op b`, of that type, with the parentheses that C or its compilers ask for.
Text infix_text(const Infix& in, const Text& a, const Text& b, CType type);
/// Returns an op, other than cast, of one and of two arguments. The functions that it calls are
/// added to `uses`.
Text unary(MapOp op, const Text& x, Uses& uses);
Text binary(MapOp op, Text a, const Text& b, Uses& uses);
/// Returns the same in float, of floats; the ops without a real result as above.
Text float_unary(MapOp op, const Text& x, Uses& uses);
Text float_binary(MapOp op, const Text& a, const Text& b, Uses& uses);
/// Returns the operation on two integers of 32 bits whose result fits them: a sum, a difference, a
/// product, a maximum or a minimum.
Text short_binary(MapOp op, const Text& a, const Text& b, Uses& uses);
bool is_short(const Text& t);  ///< true for an integer of at most 32 bits
/// Returns it in float if either argument is a float, in 32 bits if it is the maximum or minimum of
/// two short integers, otherwise as binary().
Text native_binary(MapOp op, const Text& a, const Text& b, Uses& uses);
/// Returns true if the op compares a value with itself, which compilers warn of.
bool is_self_comparison(MapOp op, const Text& a, const Text& b);
struct SelfComparison {
  Text text;
  bool reads_value;
};
/// Returns the result of such a comparison: a constant, or for reals a test for NaN, which reads
/// the value.
SelfComparison self_comparison(MapOp op, const Text& a, Uses& uses);
/// Returns function(a), function(a, b).
std::string call(std::string_view function, const Text& a, Uses& uses);
std::string call(std::string_view function, const Text& a, const Text& b, Uses& uses);
std::string float_text(float v);  ///< shortest text that reads back as v
inline bool is_real_type(CType t) { return t == CType::f32 || t == CType::f64; }
std::string real_text(double v);           ///< shortest text that reads back as v
std::string integer_text(std::int64_t v);  ///< INT64_C(…) where an int would not hold it
std::string literal(const Number& n);      ///< either
/// Returns the texts above as values of a C type: a minus is a unary operator.
Text integer_literal(std::int64_t v, CType type);
Text real_literal(double v, CType type);
Text float_literal(float v);
/// Returns the C type of an element: "float", "double", "int32_t" …; "uint16_t" for reals of 16
/// bits.
std::string storage_type(DType dtype);
/// Returns the C type of a local: "double", "int64_t", "bool"; natively "float" for f32, f16, bf16.
std::string local_type(DType dtype, bool native);
/// Returns the C type in which a temporary's elements are kept.
std::string local_type(const TensorDecl& t, bool native);
/// Returns the bytes of that type.
std::size_t bytes_of_local(const TensorDecl& t, bool native);
CType type_of_local(DType dtype, bool native);
/// Returns true for reals that native arithmetic computes in float: f32, f16 and bf16.
constexpr bool is_in_float(DType dtype) { return is_real(dtype) && dtype != DType::f64; }
/// Returns an element of 16 bits from a float, and a float from such an element.
std::string narrow(const Text& x, DType dtype, Uses& uses);
Text widened(const std::string& element, DType dtype, Uses& uses);
/// Breaks a line that is longer than 100 columns at its outermost operators and commas.
std::string wrap(const std::string& line);

/// The C identifiers for everything in a program: its own name if that is free, otherwise the name
/// with underscores behind it. They are deterministic.
class Names {
 public:
  explicit Names(const LoopProgram& p);

  const std::string& tensor(const std::string& name) const { return at("tensor", name); }
  const std::string& strides(const std::string& name) const { return at("strides", name); }
  const std::string& size(const std::string& name) const { return at("size", name); }
  const std::string& param(const std::string& name) const { return at("param", name); }
  const std::string& local(const std::string& name) const { return at("local", name); }
  const std::string& position(const std::string& name) const { return at("position", name); }
  /// The constant that holds one stride.
  const std::string& stride(const std::string& tensor, std::size_t axis) const {
    return at("stride", tensor + "/" + std::to_string(axis));
  }
  /// The arrays of all threads, for a temporary with a scope of unknown size.
  const std::string& slab(const std::string& tensor) const { return at("slab", tensor); }
  const std::string& symbol(Symbol s) const;
  /// An accumulator after its loop; the position, if it is that of argmax or argmin.
  const std::string& result(const std::string& accumulator) const {
    return at(names_.contains({"position", accumulator}) ? "position" : "local", accumulator);
  }
  bool has_local(const std::string& name) const { return names_.contains({"local", name}); }
  /// Adds a name that fresh() returned as one of a local.
  void add_local(const std::string& name) { names_[{"local", name}] = name; }
  /// Gives a local another text, from now on; returns the one that it had.
  std::string rename_local(const std::string& name, std::string text) {
    std::swap(names_.at({"local", name}), text);
    return text;
  }
  /// Returns one more identifier that nothing uses yet.
  std::string fresh(const std::string& hint);

 private:
  const std::string& at(const char* kind, const std::string& name) const;
  void add(const char* kind, const std::string& name, const std::string& hint);
  void add_locals(const Body& body, const std::set<std::string>& enclosing);
  void add_variable(const std::string& name, const std::set<std::string>& enclosing);

  std::map<std::pair<std::string, std::string>, std::string> names_;
  std::set<std::string> taken_;
  std::set<std::string> variables_;  ///< loop variables so far, by their names in the program
};

/// A divisor in float that a loop does not change, and the constants, defined before the loop,
/// whose product is 1 over it.
struct Divisor {
  Value value;
  std::string scale, reciprocal;
};

/// Prints index expressions, conditions and values. Derived sizes appear by name. The names and
/// functions in the printed text are collected in uses().
class Printer {
 public:
  Printer(const LoopProgram& p, const Names& names, Target target = Target::c);

  Text expr(const Expr& e, const Facts& facts) const;
  /// Returns true if the text has sums and products alone: no quotients, calls or elements.
  bool is_polynomial(const Expr& e) const;
  Text conditions(const Conditions& c, Facts& facts) const;  ///< adds them to the facts
  /// Returns true for conditions on the outputs of a call that hold by the facts.
  static bool are_known(const Conditions& conditions, const Facts& facts);
  Text value(const Value& v, const Facts& facts) const;
  /// Returns the value as a number, never as a mere truth; any integer as an i64.
  Text number(const Value& v, const Facts& facts) const;
  /// Returns tensor[index…] with strides (row-major for temporaries).
  std::string element(const TensorDecl& t, const std::vector<Expr>& index,
                      const Facts& facts) const;
  /// Returns the text between the brackets.
  std::string offset(const TensorDecl& t, const std::vector<Expr>& index, const Facts& facts) const;
  /// Returns the element as a value, with the type that it is stored in.
  Text element_value(const TensorDecl& t, const std::vector<Expr>& index, const Facts& facts) const;
  /// Returns the expression for a comment: as in program text, without the $ of parameters, and
  /// with derived sizes by name.
  std::string shape_text(const Expr& e) const;

  /// Allows only the first n derived sizes from now on.
  void limit_sizes(std::size_t n) {
    size_limit_ = n;
    named_memo_.clear();
  }
  Uses& uses() const { return uses_; }
  /// Returns an identifier that is printed as one that is read.
  const std::string& read(const std::string& identifier) const {
    uses_.read(identifier);
    return identifier;
  }
  /// Returns a stride by its own name.
  const std::string& named_stride(const std::string& tensor, std::size_t axis) const {
    return read(names_.stride(tensor, axis));
  }
  /// States strides that the text printed from now on may rely on, besides the program's.
  void assume(std::vector<KnownStride> strides) { assumed_ = std::move(strides); }
  /// Returns true if the text printed now may rely on that stride.
  bool is_known(const KnownStride& stride) const;
  /// Prints that element of the tensor by the name of a variable that holds it, from now on.
  void hold(const std::string& tensor, std::vector<Expr> index, std::string variable) {
    held_.push_back({tensor, std::move(index), std::move(variable)});
  }
  void release_all() { held_.clear(); }
  /// Returns how many elements are held; the latest are released until there are that many.
  std::size_t count_held() const { return held_.size(); }
  void release_to(std::size_t count) { held_.resize(count); }
  /// States whether the text printed from now on stands in a loop that is run in vectors.
  void set_in_vectors(bool in_vectors) { in_vectors_ = in_vectors; }
  bool in_vectors() const { return in_vectors_; }
  /// States whether the text printed from now on is computed again and again, as a limit that
  /// changes with a loop is: divisions by parameters that are 1 in most calls are left out there.
  void set_divides_rarely(bool rarely) { divides_rarely_ = rarely; }
  /// Prints values that are these index expressions by the names of constants, from now on.
  void set_constants(std::map<Expr, std::string> constants) { constants_ = std::move(constants); }
  /// Prints divisions by these values as products, from now on.
  void set_divisors(std::vector<Divisor> divisors) { divisors_ = std::move(divisors); }
  /// Declares that a Let, or an accumulator, is kept in another type than its dtype's.
  void set_local_type(const std::string& name, CType type) { local_types_[name] = type; }
  /// Returns the type that a name, or an accumulator, of the dtype is kept in.
  CType type_of_name(const std::string& name, DType dtype) const;
  /// Remembers the range of the value of a Let.
  void bind(const Let& let);
  const Names& names() const { return names_; }
  const LoopProgram& program() const { return p_; }
  Target target() const { return target_; }

  /// Rank-0 temporaries are plain locals.
  static bool is_local(const TensorDecl& t) {
    return t.role == TensorRole::temporary && t.shape.empty();
  }

 private:
  Expr named(const Expr& e) const;
  const Expr& printed(const Expr& e) const;  ///< named(e), computed once
  Text product(const Term& t, const Facts& facts) const;
  Text atom(const Atom& a, const Facts& facts) const;
  Text quotient(const Atom& a, const Facts& facts) const;
  Text load(const Atom& a, const Facts& facts) const;
  Text sum(const Expr& e, const Facts& facts) const;
  std::string comparison(const Condition& c, const Facts& facts) const;
  Text operation(const Value& v, const Facts& facts) const;
  std::optional<Text> by_reciprocal(const value::Op& op, const Facts& facts) const;
  Text cast(const Value& x, DType to, const Facts& facts) const;
  Text guard(const value::Guard& g, const Facts& facts) const;
  Text parameter(const value::Param& p, DType dtype) const;
  /// Returns index * stride of the axis; nullopt if that is known to be 0.
  std::optional<Text> strided(const TensorDecl& t, std::size_t axis, const Expr& index,
                              const Facts& facts) const;
  bool is_row_major(const TensorDecl& t) const;
  Text choice(const Text& condition, const Text& a, const Text& b) const;
  Text where(const value::Op& op, const std::vector<Text>& args) const;
  Text argument(MapOp op, const Text& x) const;
  std::optional<IntegerRange> range_of(const Value& v) const;
  std::optional<bool> decided_by_range(const value::Op& op) const;
  std::optional<Text> native_integer(MapOp op, const Text& a, const Text& b,
                                     const std::optional<IntegerRange>& range) const;

  const LoopProgram& p_;
  const Names& names_;
  Target target_;
  std::vector<NamedSize> sizes_;  ///< derived ones worth a name
  std::size_t size_limit_;
  mutable Uses uses_;
  bool in_vectors_ = false;
  bool divides_rarely_ = false;
  std::vector<KnownStride> assumed_;
  struct Held {
    std::string tensor;
    std::vector<Expr> index;
    std::string variable;
  };
  std::vector<Held> held_;
  std::map<Expr, std::string> constants_;
  std::vector<Divisor> divisors_;
  std::map<std::string, CType> local_types_;
  std::map<std::string, std::optional<IntegerRange>> ranges_;  ///< of names so far
  mutable std::map<Expr, Expr> named_memo_;
};

/// Returns the checks of a call and the functions that a mote_kernel points to; the functions that
/// they call are added to `calls`.
std::string thunk(const LoopProgram& p, const Names& names, const EmitOptions& options,
                  std::set<std::string>& calls);
/// Returns the text, behind its includes and helpers if the options ask for one file; the names of
/// the functions that it calls are added to the options' helpers.
std::string with_helpers(const std::string& text, const std::set<std::string>& calls,
                         const std::string& includes, const EmitOptions& options);
/// Returns `const int64_t OH = …;` for the derived sizes that the printer has used, in order.
std::string size_definitions(Printer& printer, const Facts& facts);
std::string function_name(const LoopProgram& p, const EmitOptions& options);
/// Returns `int f(const float *x, …)`, wrapped, without semicolon or brace.
std::string signature(const LoopProgram& p, const Names& names, const std::string& function);
/// Returns `x, sx, …`, the arguments of a call with the same names.
std::string argument_names(const LoopProgram& p, const Names& names);
/// Returns the equation, tensors and parameters as lines of a comment, which begin with " *". The
/// comment says that the arguments in `nullable` may be NULL.
std::string signature_comment(const LoopProgram& p, const Printer& printer,
                              const std::vector<std::string>& nullable = {});
std::string header_comment(const LoopProgram& p, const Printer& printer,
                           const std::vector<std::string>& nullable = {});
std::string comment_lines(const std::string& text);  ///< words over lines that begin with " * "
std::string comment_text(std::string text);          ///< that cannot end the comment it stands in
/// An argument of the typed function.
struct Argument {
  enum class Kind : std::uint8_t { tensor, size, param };
  Kind kind;
  std::string name;  ///< in the program
};
/// Returns the arguments in the order in which the thunk passes them.
std::vector<Argument> arguments(const LoopProgram& p);

}  // namespace mote::emit
