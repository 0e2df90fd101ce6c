// SPDX-License-Identifier: Apache-2.0
// The inside of the uop graph: making nodes, comparing them, and the texts of types in messages.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mote/base/error.h"
#include "mote/base/overloaded.h"
#include "mote/uops/program.h"

namespace mote {

/// The part of a program that an error is about: the whole, a node, or an entry of a list of its
/// ProgramSpec.
struct Culprit {
  enum class Kind : std::uint8_t { program, node, param, input, output, size, require };
  Kind kind = Kind::program;
  std::size_t entry = 0;
  const UopNode* node = nullptr;

  static Culprit of(const Uop& u) { return {Kind::node, 0, u.id()}; }
};

/// An Error about a part of a program, for a caller that knows the position of its text.
class ProgramError : public Error {
 public:
  ProgramError(const std::string& what, Culprit culprit) : Error(what), culprit_(culprit) {}
  const Culprit& culprit() const { return culprit_; }

 private:
  Culprit culprit_;
};

/// Makes a node; long chains of nodes are freed without recursion. Throws Error above kMaxDepth.
Uop make_node(uop::Kind kind, DType dtype, std::vector<Expr> shape,
              std::vector<std::string> axis_names);

/// Returns true for equal kind, dtype and shape, with operands compared by identity; axis names are
/// ignored.
bool same_node(const UopNode& a, const UopNode& b);
std::size_t hash_node(const UopNode& n);

/// Returns the node with other operands (in the order of operands()) and symbols replaced
/// everywhere. The equalities that it states are dropped.
Uop rebuild(const Uop& u, const std::vector<Uop>& args, const std::map<Symbol, Expr>& env);

/// Makes a Reindex, or a simpler node with exactly its meaning (x itself; one Reindex for two if
/// the inner one is always read in range). `fill` is already a value of x's dtype.
Uop make_reindex(const Uop& x, std::vector<Expr> shape, std::vector<std::string> names,
                 std::vector<Expr> from, Number fill, std::vector<Constraint> constraints);

/// Returns `reduced` with the axes that it lost from x, with extent 1 and their old names.
Uop keep_axes(const Uop& reduced, const Uop& x, const std::vector<int>& axes);

/// Returns the number as an exact value of dtype (for constants, fills). Throws Error if 2.5 is to
/// be an i32.
Number constant_of(const Number& n, DType dtype, std::string_view what);

/// Parses an axis; errors give line and column.
Axis parse_axis(std::string_view text, int line, int column);
/// Returns "oh" for the size OH; "" for an extent that is not just a size.
std::string default_axis_name(const Expr& extent);
bool is_identifier(std::string_view text);

/// Returns true for a word of the program text (an op, a dtype, `over`, …), which cannot name a
/// value.
bool is_reserved_word(std::string_view word);
/// Returns every node that the roots need once, operands first, by the edges that `reads` gives.
std::vector<Uop> topological(std::span<const Uop> roots,
                             const std::function<std::vector<Uop>(const Uop&)>& reads);
/// These are the checks of make_program before and after the nodes are known; they throw
/// ProgramError.
void check_names(const ProgramSpec& spec);
void check_nodes(const ProgramSpec& spec, const std::vector<Uop>& nodes);

/// Calls f with every index expression that the node holds: its shape, Iota's value, Reindex's
/// from, Scatter's to.
void for_each_expr(const Uop& u, const std::function<void(const Expr&)>& f);
/// Returns the extents of the loop variables in the node's index expressions: its shape, or for a
/// Scatter the shape of x.
const std::vector<Expr>& index_space(const Uop& u);
/// Returns the equalities that the node states (Reindex, Scatter).
std::span<const Constraint> stated_constraints(const Uop& u);

std::string shape_text(std::span<const Expr> shape);          ///< [N, 3]
std::string shape_text(std::span<const std::int64_t> shape);  ///< [1,4,4,5]
std::string type_text(const Uop& u);                          ///< f32[N, 3]

/// Applies an op of one argument.
inline Uop apply1(MapOp op, const Uop& x) { return map(op, std::vector<Uop>{x}); }

}  // namespace mote
