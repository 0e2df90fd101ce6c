// SPDX-License-Identifier: Apache-2.0
// Inside of the uop graph: making nodes, comparing them, and the texts of types in messages.
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

/// What of a program an error is about: the whole, a node, or an entry of a list of its
/// ProgramSpec.
struct Culprit {
  enum class Kind : std::uint8_t { program, node, param, input, output, size, require };
  Kind kind = Kind::program;
  std::size_t entry = 0;
  const UopNode* node = nullptr;

  static Culprit of(const Uop& u) { return {Kind::node, 0, u.id()}; }
};

/// An Error about a part of a program, for whoever knows where its text stands.
class ProgramError : public Error {
 public:
  ProgramError(const std::string& what, Culprit culprit) : Error(what), culprit_(culprit) {}
  const Culprit& culprit() const { return culprit_; }

 private:
  Culprit culprit_;
};

/// A new node; long chains of nodes are freed without recursion. Error above kMaxDepth.
Uop make_node(uop::Kind kind, DType dtype, std::vector<Expr> shape,
              std::vector<std::string> axis_names);

/// Equal kind, dtype and shape, with operands compared by identity; axis names are not looked at.
bool same_node(const UopNode& a, const UopNode& b);
std::size_t hash_node(const UopNode& n);

/// The node with other operands (in the order of operands()) and symbols replaced everywhere. The
/// equalities that it states are dropped.
Uop rebuild(const Uop& u, const std::vector<Uop>& args, const std::map<Symbol, Expr>& env);

/// A Reindex, or the simpler node with exactly its meaning (x itself; one Reindex for two of which
/// the inner is always read in range). `fill` is already a value of x's dtype.
Uop make_reindex(const Uop& x, std::vector<Expr> shape, std::vector<std::string> names,
                 std::vector<Expr> from, Number fill, std::vector<Constraint> constraints);

/// `reduced` with the axes of x that it lost brought back with extent 1, under their old names.
Uop keep_axes(const Uop& reduced, const Uop& x, const std::vector<int>& axes);

/// The number as a value of dtype, exactly (for constants, fills): Error when 2.5 is to be an i32.
Number constant_of(const Number& n, DType dtype, std::string_view what);

/// An axis from its text; errors say line and column.
Axis parse_axis(std::string_view text, int line, int column);
/// "oh" for the size OH; "" for what is not just a size.
std::string default_axis_name(const Expr& extent);
bool is_identifier(std::string_view text);

std::optional<MapOp> find_map_op(std::string_view name);
std::optional<ReduceOp> find_reduce_op(std::string_view name);
std::optional<ScatterOp> find_scatter_op(std::string_view name);
/// A word of the program text (an op, a dtype, `over`, …), which cannot name a value.
bool is_reserved_word(std::string_view name);
/// Every node that the roots need, by the edges that `reads` gives, operands first, each once.
std::vector<Uop> topological(std::span<const Uop> roots,
                             const std::function<std::vector<Uop>(const Uop&)>& reads);
/// The checks of make_program before and after the nodes are known. They throw ProgramError.
void check_names(const ProgramSpec& spec);
void check_nodes(const ProgramSpec& spec, const std::vector<Uop>& nodes);

/// Calls f with every index expression that the node holds: its shape, Iota's value, Reindex's
/// from, Scatter's to.
void for_each_expr(const Uop& u, const std::function<void(const Expr&)>& f);
/// The extents of the loop variables in the node's index expressions: its shape; for a Scatter that
/// of what it writes.
const std::vector<Expr>& index_space(const Uop& u);
/// The equalities that the node states (Reindex, Scatter).
std::span<const Constraint> stated_constraints(const Uop& u);

std::string shape_text(std::span<const Expr> shape);          ///< [N, 3]
std::string shape_text(std::span<const std::int64_t> shape);  ///< [1,4,4,5]
std::string type_text(const Uop& u);                          ///< f32[N, 3]

/// An op of one argument.
inline Uop apply1(MapOp op, const Uop& x) { return map(op, std::vector<Uop>{x}); }

}  // namespace mote
