// SPDX-License-Identifier: Apache-2.0
// Defines programs: named outputs over named inputs, parameters and sizes, with every equality of
// sizes unified. A program prints as text that parses back to an equal one; a .mote file holds one.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/facts.h"
#include "mote/uops/uop.h"

namespace MOTE_API mote {

/// A run-time parameter, used in indices ($stride) or as a value ($eps).
struct ParamDecl {
  std::string name;
  bool is_integer = true;  ///< int (usable in indices) or real
  std::optional<double> default_value;
  std::optional<std::int64_t> lower;  ///< least and greatest legal value, integers only
  std::optional<std::int64_t> upper;
  std::string meaning;
};

/// Returns the facts about parameters: the lower limits that they declare.
Facts facts_of(const std::vector<ParamDecl>& params);
/// Returns the facts of `outside`, extended by loops over all axes of a shape.
Facts facts_over(const std::vector<Expr>& shape, const Facts& outside);

struct Output {
  std::string name;
  Uop value;
};

/// A derived size with a name: OH = (H + $pad0 + $pad1 - $dilation*(KH - 1) - 1)/$stride + 1.
struct NamedSize {
  std::string name;
  Expr value;
};

/// The rule by which a free size follows from the inputs' shapes: extent(input, axis) = scale·size
/// + offset. For a broadcast axis, it is the extent of the first flagged axis in `candidates` whose
/// extent is not 1, else 1.
struct SizeRule {
  Symbol size;
  int input;  ///< position in Program::inputs
  int axis;
  Expr scale;  ///< an expression over parameters and sizes of earlier rules
  Expr offset;
  std::vector<std::pair<int, int>> candidates;  ///< (input, axis), for broadcast sizes; else empty
};

struct Program {
  std::string name;
  std::string equation;  ///< one line, for headers and docs; may be empty
  std::vector<ParamDecl> params;
  std::vector<Uop> inputs;  ///< every declared input, in order, used or not
  std::vector<Output> outputs;
  std::vector<NamedSize> sizes;  ///< in order of declaration; values over free sizes and params
  std::vector<SizeRule>
      size_rules;  ///< one per free size, in an order in which they can be applied
  std::vector<Constraint> constraints;  ///< unsolved by unification: checked at run time
};

/// Returns the uops of the outputs, in their order.
std::vector<Uop> roots(std::span<const Output> outputs);
inline std::vector<Uop> roots(const Program& p) { return roots(p.outputs); }
/// Returns the inputs, used or not, then the uops of the outputs.
std::vector<Uop> inputs_and_roots(std::vector<Uop> inputs, std::span<const Output> outputs);

/// The statements of a definition, before they are checked.
struct ProgramSpec {
  std::string name;
  std::string equation;
  std::vector<ParamDecl> params;
  std::vector<Uop> inputs;
  std::vector<Output> outputs;
  std::vector<NamedSize> sizes;
  std::vector<Constraint> constraints;
};

/// Collects the constraints of all nodes (Map arguments, Reindex shapes, Select, `constraints`),
/// unifies sizes everywhere, merges equal nodes, resolves dA0 to the declared extent of A, derives
/// the size rules. Throws Error "NAME: uop: axis k: …" for contradictions (3 and 5), sizes that do
/// not follow from the inputs, unknown parameters or inputs, names that are not words (letters,
/// digits and _) or are taken, and indices that divide by an expression that mentions a loop
/// variable and is not proved to be >= 1.
Program make_program(ProgramSpec spec);

std::string to_string(const Program& program);  ///< program text
/// Throws Error "program text: line L, column C: …".
Program parse_program(std::string_view text);
/// Returns true if the structure is equal: names, shapes, nodes.
bool equal(const Program& a, const Program& b);

/// Returns the position of the input or parameter; nullopt if there is none.
std::optional<int> find_input(const Program& p, std::string_view name);
std::optional<int> find_param(const Program& p, std::string_view name);

/// Returns by position whether the program reads the input's data. If not, it takes only its shape
/// from it.
std::vector<bool> read_inputs(const Program& p);

/// The values of all sizes and integer parameters for concrete shapes.
struct Binding {
  std::map<Symbol, std::int64_t> values;          ///< free sizes and integer parameters
  std::map<std::string, Number> params;           ///< all parameters
  std::vector<std::vector<std::int64_t>> inputs;  ///< the inputs' full extents (broadcast resolved)
  std::vector<std::vector<std::int64_t>> outputs;  ///< the outputs' extents
};
/// Applies the size rules and checks everything: ranks (leading broadcast axes may be missing and
/// count as 1), extents, divisibility, ranges of parameters (missing ones take their default),
/// constraints, no negative extent, no empty argmax. A divisor of an extent, a named size or a
/// constraint must be >= 1; so must a divisor of an index, unless its node has no element. Throws
/// Error "NAME: …: got …, expected … (x [1,4,4,5], w [2,3,3,3])".
Binding bind(const Program& p, const std::vector<std::vector<std::int64_t>>& input_shapes,
             const std::map<std::string, Number>& params);

}  // namespace mote
