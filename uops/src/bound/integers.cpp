// SPDX-License-Identifier: Apache-2.0
// Limits the size of a program's integers from its graph, to decide whether a double holds them.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <unordered_map>

#include "bound/value.h"
#include "graph/node.h"

namespace mote::bounds {
namespace {

constexpr int kAll = 64;         ///< nothing is known
constexpr int kOfPosition = 48;  ///< positions and sizes of tensors are less than 2^48

int bits_of(DType dtype) {
  if (is_integer(dtype)) return static_cast<int>(8 * size_of(dtype));
  return is_real(dtype) ? kAll : 1;
}

int bits_of(std::int64_t v) {
  const auto size = v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
  return static_cast<int>(std::bit_width(size));
}

/// Returns true for an expression of positions and sizes: a parameter may be any number.
bool is_position(const Expr& e) {
  return std::ranges::none_of(e.symbols(),
                              [](const Symbol& s) { return s.kind() == SymbolKind::param; });
}

using Known = std::unordered_map<const UopNode*, int>;

int bits_of(const uop::Map& m, const std::vector<int>& args) {
  const int most = *std::ranges::max_element(args);
  switch (m.op) {
    case MapOp::add:
    case MapOp::sub:
      return most + 1;
    case MapOp::mul:
      return args[0] + args[1];
    case MapOp::where:
      return std::max(args[1], args[2]);
    case MapOp::neg:
    case MapOp::abs:
    case MapOp::min:
    case MapOp::max:
      return most;
    case MapOp::philox:
      return 32;
    case MapOp::shift_right: {
      const auto* by = std::get_if<uop::Scalar>(&m.args[1].node().kind);
      const std::int64_t count = by != nullptr ? by->value.integer() : 0;
      if (args[0] == kAll || count < 0 || count > 63) return kAll;
      return std::max(args[0] - static_cast<int>(count), 0) + 1;  // towards -inf
    }
    default:
      return kAll;
  }
}

/// Returns the bits of one node, whose operands are known. Integers are computed in 64 bits: only a
/// cast narrows them.
int bits_of(const Uop& u, const Known& known) {
  const uop::Kind& kind = u.node().kind;
  if (u.dtype() == DType::boolean) return 1;
  if (std::holds_alternative<uop::Input>(kind) || std::holds_alternative<uop::Param>(kind))
    return bits_of(u.dtype());
  if (const auto* s = std::get_if<uop::Scalar>(&kind)) return bits_of(s->value.integer());
  if (const auto* i = std::get_if<uop::Iota>(&kind))
    return is_position(i->value) ? kOfPosition : kAll;
  std::vector<int> args;
  for (const Uop& x : operands(u)) args.push_back(is_real(x.dtype()) ? kAll : known.at(x.id()));
  if (const auto* i = std::get_if<uop::Reindex>(&kind))
    return std::max(args[0], bits_of(i->fill.integer()));
  if (const auto* s = std::get_if<uop::Select>(&kind))
    return std::max(known.at(s->x.id()), bits_of(s->fill.integer()));
  if (std::holds_alternative<uop::StopGradient>(kind)) return args[0];
  if (const auto* r = std::get_if<uop::Reduce>(&kind)) {
    constexpr int kTerms = 32;
    if (r->op == ReduceOp::sum) return args[0] + kTerms;
    if (r->op == ReduceOp::max || r->op == ReduceOp::min) return args[0];
    return r->op == ReduceOp::prod ? kAll : kOfPosition;
  }
  const auto* m = std::get_if<uop::Map>(&kind);
  if (m == nullptr) return kAll;
  if (m->op == MapOp::cast) return std::min(args[0], bits_of(u.dtype()));
  return bits_of(*m, args);
}

}  // namespace

bool fits_double(const Uop& integer) {
  constexpr int kDouble = 53;
  Known known;
  for (const Uop& u : topological(std::vector<Uop>{integer}))
    if (!is_real(u.dtype())) known.emplace(u.id(), std::min(bits_of(u, known), kAll));
  return known.at(integer.id()) <= kDouble;
}

}  // namespace mote::bounds
