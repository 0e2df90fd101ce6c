// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/row_ranges.h"

namespace mote {

std::optional<Expr> greatest_in(const Expr& e, const Span& span) {
  const auto linear = linear_in(e, span.variable);
  const auto factor = linear ? linear->factor.constant() : std::nullopt;
  if (!factor) return std::nullopt;
  return linear->rest + *factor * (*factor > 0 ? span.last : span.first);
}

std::optional<RowRanges> row_ranges(const LoopRange& range, const Conditions& conditions,
                                    const Span& rows) {
  RowRanges s{range.begin, range.begin, range.end, range.end};
  for (const Condition& c : conditions) {
    const auto linear = linear_in(c.e, range.variable);
    if (c.kind != Condition::Kind::nonneg || !linear || linear->rest.mentions(range.variable))
      return std::nullopt;
    const auto most = greatest_in(linear->rest, rows);
    const auto least_negated = greatest_in(-linear->rest, rows);
    if (!most || !least_negated) return std::nullopt;
    if (linear->factor == Expr(1)) {
      s.begin = max(s.begin, -*most);
      s.all_begin = max(s.all_begin, *least_negated);
    } else if (linear->factor == Expr(-1)) {
      s.end = min(s.end, *most + 1);
      s.all_end = min(s.all_end, 1 - *least_negated);
    } else {
      return std::nullopt;
    }
  }
  return s;
}

}  // namespace mote
