// SPDX-License-Identifier: Apache-2.0
// What the files of the C emitter share: identifiers, the text of expressions and values, and the
// writer of one function. In: a loop program; out: C11 text.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mote/codegen/emit_c.h"
#include "mote/codegen/walk.h"
#include "mote/uops/map_ops.h"

namespace mote::emit {

/// The language that a function's body is in: C, or a CUDA kernel.
enum class Target : std::uint8_t { c, cuda };

using text::Precedence;
using enum text::Precedence;
/// The C type of an expression: what arithmetic on it would be done in. `truth`: any scalar whose
/// zeroness counts; `flag`: 0 or 1.
enum class CType : std::uint8_t { f32, f64, i32, i64, flag, truth };  // i8, u8 are i32 in C

struct Text {
  std::string text;
  Precedence precedence = kTight;
  CType type = CType::i64;
};

/// In parentheses if it binds less tightly than `least`.
std::string within(const Text& t, Precedence least);
/// A right operand or an argument of unary minus: a leading minus gets parentheses too.
std::string operand(const Text& t, Precedence least);
/// A truth as 0 or 1; any other number as it is.
Text as_number(const Text& t);
/// The ops of one and two arguments, but cast.
Text unary(MapOp op, const Text& x);
Text binary(MapOp op, Text a, const Text& b);
/// The same in float, of floats; the ops without a real result as above. native_binary: in float if
/// either argument is a float, else as binary().
Text float_unary(MapOp op, const Text& x);
Text float_binary(MapOp op, const Text& a, const Text& b);
Text native_binary(MapOp op, const Text& a, const Text& b);
Text as_float(const Text& t);     ///< a real or a number, converted to float
std::string float_text(float v);  ///< shortest text that reads back as v
/// function(a), function(a, b).
std::string call(std::string_view function, const Text& a);
std::string call(std::string_view function, const Text& a, const Text& b);
inline bool is_real_type(CType t) { return t == CType::f32 || t == CType::f64; }
std::string real_text(double v);           ///< shortest text that reads back as v
std::string integer_text(std::int64_t v);  ///< INT64_C(…) where an int would not hold it
std::string literal(const Number& n);      ///< either
/// "float", "double", "int32_t", …; 16-bit reals: "uint16_t".
std::string storage_type(DType dtype);
/// "double", "int64_t", "bool"; natively "float" for f32, f16 and bf16.
std::string local_type(DType dtype, bool native);
CType type_of_local(DType dtype, bool native);
/// The reals that native arithmetic takes in float: f32, and f16 and bf16 between their elements.
constexpr bool is_in_float(DType dtype) { return is_real(dtype) && dtype != DType::f64; }
/// Elements of 16 bits from floats, and back.
std::string narrow(const Text& x, DType dtype);
Text widened(const std::string& element, DType dtype);
/// Breaks a line that is longer than 100 columns at its outermost operators and commas.
std::string wrap(const std::string& line);

/// C identifiers for everything in a program: its own name where that is free, else with
/// underscores behind it. Deterministic.
class Names {
 public:
  explicit Names(const LoopProgram& p);

  const std::string& tensor(const std::string& name) const { return at("tensor", name); }
  const std::string& strides(const std::string& name) const { return at("strides", name); }
  const std::string& size(const std::string& name) const { return at("size", name); }
  const std::string& param(const std::string& name) const { return at("param", name); }
  const std::string& local(const std::string& name) const { return at("local", name); }
  const std::string& position(const std::string& name) const { return at("position", name); }
  /// One stride, as a constant of its own.
  const std::string& stride(const std::string& tensor, std::size_t axis) const {
    return at("stride", tensor + "/" + std::to_string(axis));
  }
  /// Of a temporary with a scope of unknown size: all threads' arrays.
  const std::string& slab(const std::string& tensor) const { return at("slab", tensor); }
  const std::string& symbol(Symbol s) const;
  /// An accumulator after its loop: of argmax and argmin the position.
  const std::string& result(const std::string& accumulator) const {
    return at(names_.contains({"position", accumulator}) ? "position" : "local", accumulator);
  }
  bool has_local(const std::string& name) const { return names_.contains({"local", name}); }
  /// A loop's variable that is in no loop of the program.
  void add_symbol(Symbol s) {
    if (!has_local(s.name())) add("local", s.name(), s.name());
  }
  /// From now on the tensor's elements are those of another array.
  void rename_tensor(const std::string& name, const std::string& array) {
    names_[{"tensor", name}] = array;
  }
  /// One more identifier that nothing uses yet.
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

/// Prints index expressions, conditions and values. Derived sizes appear by name; those used are
/// collected in used_sizes.
class Printer {
 public:
  Printer(const LoopProgram& p, const Names& names, Target target = Target::c);

  Text expr(const Expr& e, const Facts& facts) const;
  Text conditions(const Conditions& c, Facts& facts) const;  ///< adds them to the facts
  Text value(const Value& v, const Facts& facts) const;
  /// The value as a number, never as a mere truth; an i64 of any integer.
  Text number(const Value& v, const Facts& facts) const;
  /// tensor[index…] with strides (row-major for temporaries).
  std::string element(const TensorDecl& t, const std::vector<Expr>& index,
                      const Facts& facts) const;
  /// The same as a value, with the type that it is stored in.
  Text element_value(const TensorDecl& t, const std::vector<Expr>& index, const Facts& facts) const;
  /// The expression as in program text but for the $ of parameters, derived sizes by name: for
  /// comments.
  std::string shape_text(const Expr& e) const;

  /// Only the first n derived sizes may be used from now on.
  void limit_sizes(std::size_t n) {
    size_limit_ = n;
    named_memo_.clear();
  }
  const std::set<std::string>& used_sizes() const { return used_sizes_; }
  /// A stride by its own name, one of used_strides() from now on.
  std::string named_stride(const std::string& tensor, std::size_t axis) const;
  /// Tensor and axis of each stride that stands by its own name.
  const std::set<std::pair<std::string, std::size_t>>& used_strides() const {
    return used_strides_;
  }
  /// A Let that is kept in another type than its dtype's.
  void set_local_type(const std::string& name, CType type) { local_types_[name] = type; }
  const Names& names() const { return names_; }
  const LoopProgram& program() const { return p_; }

  /// Rank-0 temporaries are plain locals.
  static bool is_local(const TensorDecl& t) {
    return t.role == TensorRole::temporary && t.shape.empty();
  }

 private:
  Expr named(const Expr& e) const;
  Text product(const Term& t, const Facts& facts) const;
  Text atom(const Atom& a, const Facts& facts) const;
  Text quotient(const Atom& a, const Facts& facts) const;
  Text load(const Atom& a, const Facts& facts) const;
  Text sum(const Expr& e, const Facts& facts) const;
  std::string comparison(const Condition& c, const Facts& facts) const;
  Text operation(const value::Op& op, DType dtype, const Facts& facts) const;
  Text cast(const Value& x, DType to, const Facts& facts) const;
  Text guard(const value::Guard& g, const Facts& facts) const;
  Text parameter(const value::Param& p, DType dtype) const;
  /// a * stride of the axis; nullopt where that is known to be 0.
  std::optional<Text> strided(const TensorDecl& t, std::size_t axis, const Expr& index,
                              const Facts& facts) const;
  static Text float_operation(const value::Op& op, std::vector<Text> args);
  Text argument(MapOp op, const Text& x) const;

  const LoopProgram& p_;
  const Names& names_;
  Target target_;
  std::vector<NamedSize> sizes_;  ///< derived ones worth a name
  std::size_t size_limit_;
  mutable std::set<std::string> used_sizes_;
  mutable std::set<std::pair<std::string, std::size_t>> used_strides_;
  std::map<std::string, CType> local_types_;
  mutable std::map<Expr, Expr> named_memo_;
};

/// The checks of a call and the functions that a mote_kernel points to.
std::string thunk(const LoopProgram& p, const Names& names, const EmitOptions& options);
/// `const int64_t OH = …;` for the derived sizes that the printer has used, in order.
std::string size_definitions(Printer& printer, const Facts& facts);
std::string function_name(const LoopProgram& p, const EmitOptions& options);
/// `int f(const float *x, …)`, wrapped, without semicolon or brace.
std::string signature(const LoopProgram& p, const Names& names, const std::string& function);
/// `x, sx, …`: the arguments of a call with the same names.
std::string argument_names(const LoopProgram& p, const Names& names);
/// The equation, tensors and parameters, as they stand in a comment: lines that begin with " *".
/// The comment says that the arguments in `nullable` may be NULL.
std::string signature_comment(const LoopProgram& p, const Printer& printer,
                              const std::vector<std::string>& nullable = {});
std::string header_comment(const LoopProgram& p, const Printer& printer,
                           const std::vector<std::string>& nullable = {});
std::string comment_lines(const std::string& text);  ///< words over lines that begin with " * "
std::string comment_text(std::string text);          ///< that cannot end the comment it stands in
/// The arguments of the typed function, in order: how the thunk calls it.
struct Argument {
  enum class Kind : std::uint8_t { tensor, size, param };
  Kind kind;
  std::string name;  ///< in the program
};
std::vector<Argument> arguments(const LoopProgram& p);
/// A helper function of emitted C; it stands after those that it calls. A name that begins with
/// "reduction(" is that of a declaration which a clause needs.
struct Helper {
  std::string_view name;
  std::string_view text;
};
bool is_helper(const std::string& function);  ///< a name that the preludes' text defines
std::span<const Helper> fast_helpers();       ///< those of fast kernels alone
std::span<const Helper> bound_helpers();      ///< next_up, next_down, lowest_bit
/// The helpers among the preludes' that `text` calls, and those that they call. For CUDA without
/// those that are about threads and memory of the host.
std::string helpers_for(const std::string& text, Target target = Target::c);

}  // namespace mote::emit
