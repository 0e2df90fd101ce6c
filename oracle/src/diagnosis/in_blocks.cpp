// SPDX-License-Identifier: Apache-2.0
// A kernel that goes through an axis in blocks may lose what it carries from block to block, or may
// count locations from the start of a block. Blocks are powers of two.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/hypotheses.h"
#include "mote/oracle/layout.h"

namespace mote::diagnosis {
namespace {

/// A scan loses its carry: from each element's value, the value at the end of an earlier block is
/// subtracted, so that the sum covers the element's own block and `kept` blocks before it.
std::optional<std::vector<Dense>> without_carry(const Observed& of, std::size_t output,
                                                std::size_t axis, std::int64_t block,
                                                std::int64_t kept) {
  const Indices& shape = of.of.outputs[output].shape;
  if (shape[axis] <= block * (1 + kept) || !is_real(of.expected[output].dtype()))
    return std::nullopt;
  std::vector<Dense> outputs = copies_of(of.expected);
  const std::int64_t inner = place(shape, {}).strides[axis];
  for_each_along(shape, axis, [&](std::int64_t linear, std::int64_t at) {
    const std::int64_t lost = (at / block - kept) * block - 1;
    if (lost < 0) return;
    const Dense& y = of.expected[output];
    outputs[output].set(linear,
                        Number(y.at(linear).real() - y.at(linear - (at - lost) * inner).real()));
  });
  return outputs;
}

void add_lost_carries(std::vector<Hypothesis>& all, const Observed& o) {
  for (std::size_t output = 0; output < o.of.outputs.size(); ++output)
    for (std::size_t axis = 0; axis < o.of.outputs[output].shape.size(); ++axis)
      for (unsigned bits = 12; bits > 1; --bits)  // the largest block that fits is used
        for (const std::int64_t kept : {0, 1}) {
          const std::int64_t block = std::int64_t{1} << bits;
          if (o.of.outputs[output].shape[axis] <= block) continue;
          all.push_back(
              {"missing term",
               fmt::format("with axis {} of {} in blocks of {}, of which {} counts,", axis,
                           o.of.outputs[output].name, block,
                           kept == 0 ? "none before its own" : "one before its own"),
               [=](const Observed& of) { return without_carry(of, output, axis, block, kept); }});
        }
}

/// Adds hypotheses by which an op counts the locations that it finds (its integer outputs) within a
/// block of an axis.
void add_blocks(std::vector<Hypothesis>& all, const Observed& o) {
  const auto is_location = [](const CaseTensor& t) { return t.dtype == DType::i64; };
  if (!std::ranges::any_of(o.of.outputs, is_location)) return;
  for (unsigned bits = 16; bits > 2; --bits) {  // the largest block that fits is used
    const std::int64_t block = std::int64_t{1} << bits;
    all.push_back({"index wraps", fmt::format("with positions counted within blocks of {}", block),
                   [block](const Observed& of) -> std::optional<std::vector<Dense>> {
                     std::vector<Dense> outputs = copies_of(of.expected);
                     for (Dense& y : outputs)
                       for (std::int64_t at = 0; at < y.count() && y.dtype() == DType::i64; ++at)
                         y.set(at, Number(y.at(at).integer() % block));
                     return outputs;
                   }});
  }
}

}  // namespace

std::vector<Hypothesis> block_hypotheses(const Observed& o) {
  std::vector<Hypothesis> all;
  add_lost_carries(all, o);
  add_blocks(all, o);
  return all;
}

}  // namespace mote::diagnosis
