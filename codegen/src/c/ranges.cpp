// SPDX-License-Identifier: Apache-2.0
// Prints operations on integers by what is known of their ranges: comparisons that are always the
// same, and, in native programs, arithmetic in 32 bits where all values fit.
#include <fmt/format.h>

#include "c/internal.h"

namespace mote::emit {
namespace {

/// Returns op(x, c) if it is the same for every x of the range: compilers warn of such comparisons.
std::optional<bool> decided(MapOp op, IntegerRange x, std::int64_t c) {
  const auto known = [](bool always, bool never) {
    return always || never ? std::optional(always) : std::nullopt;
  };
  switch (op) {
    case MapOp::lt:
      return known(x.greatest < c, x.least >= c);
    case MapOp::le:
      return known(x.greatest <= c, x.least > c);
    case MapOp::gt:
      return known(x.least > c, x.greatest <= c);
    case MapOp::ge:
      return known(x.least >= c, x.greatest < c);
    case MapOp::eq:
      return known(false, c < x.least || c > x.greatest);
    case MapOp::ne:
      return known(c < x.least || c > x.greatest, false);
    default:
      return std::nullopt;
  }
}

MapOp mirrored(MapOp op) {
  switch (op) {
    case MapOp::lt:
      return MapOp::gt;
    case MapOp::le:
      return MapOp::ge;
    case MapOp::gt:
      return MapOp::lt;
    case MapOp::ge:
      return MapOp::le;
    default:
      return op;
  }
}

}  // namespace

std::optional<IntegerRange> Printer::range_of(const Value& v) const {
  return mote::range_of(p_, v, [&](const std::string& name) {
    const auto found = ranges_.find(name);
    return found == ranges_.end() ? std::nullopt : found->second;
  });
}

void Printer::bind(const Let& let) { ranges_[let.name] = range_of(let.value); }

CType Printer::type_of_name(const std::string& name, DType dtype) const {
  const auto kept = local_types_.find(name);
  return kept != local_types_.end() ? kept->second : type_of_local(dtype, p_.native);
}

std::optional<bool> Printer::decided_by_range(const value::Op& op) const {
  if (op.args.size() != 2) return std::nullopt;
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    const auto* c = std::get_if<value::Constant>(&op.args[1 - k]->kind);
    if (!c || c->number.is_real()) continue;
    if (const auto range = range_of(op.args[k]))
      return decided(k == 0 ? op.op : mirrored(op.op), *range, c->number.integer());
  }
  return std::nullopt;
}

/// Returns an operation on integers that vectors have many of: in 32 bits where all values fit, and
/// without a branch. `range`: that of the result. Returns nullopt for any other.
std::optional<Text> Printer::native_integer(MapOp op, const Text& a, const Text& b,
                                            const std::optional<IntegerRange>& range) const {
  const Text x = as_number(a);
  const Text y = as_number(b);
  const bool is_logical = op == MapOp::logical_and || op == MapOp::logical_or;
  const bool reads_truths = a.type == CType::byte || b.type == CType::byte;
  if (is_logical && in_vectors_ && reads_truths) {
    const char* symbol = op == MapOp::logical_and ? "&" : "|";
    return Text{fmt::format("({} {} {})", within(x, kTight), symbol, within(y, kTight)), kUnary,
                CType::flag};
  }
  const bool is_sum = op == MapOp::add || op == MapOp::sub || op == MapOp::mul;
  if ((!is_sum && op != MapOp::max && op != MapOp::min) || !is_short(x) || !is_short(y) ||
      !fits(range, DType::i32))
    return std::nullopt;
  return short_binary(op, x, y, uses_);
}

}  // namespace mote::emit
