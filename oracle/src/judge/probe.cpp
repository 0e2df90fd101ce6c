// SPDX-License-Identifier: Apache-2.0
#include "judge/probe.h"

#include <algorithm>
#include <cmath>

#include "generate/random.h"

namespace mote {
namespace {

constexpr double kFactor = 64;
constexpr std::int64_t kLong = 4096;  ///< one element of that many is hardly ever the greatest

/// The greatest magnitude of a fill's elements; 0 if a probe is not useful.
double scale_of(FillKind fill, DType dtype) {
  switch (fill) {
    case FillKind::integer:
    case FillKind::uniform:
      return 1;
    case FillKind::mean:
    case FillKind::negative:
      return 101;
    case FillKind::tiny:
      return 0x1p-14;
    case FillKind::extreme:
      return dtype == DType::f16 ? 0x1p8 : 0x1p20;
    case FillKind::index:  // it has greater elements if the result is exact
      return 9;
    case FillKind::onehot:  // its one element is a probe already
    case FillKind::special:
    case FillKind::zeros:
    case FillKind::ties:
    case FillKind::runs:
    case FillKind::range:
      return 0;
  }
  return 0;
}

}  // namespace

void draw_probe(Case& c, std::uint64_t seed) {
  Random random(seed);
  const auto is_long = [](const CaseTensor& t) {
    return std::ranges::any_of(t.shape, [](std::int64_t n) { return n >= kLong; });
  };
  const bool hides = std::ranges::any_of(c.inputs, is_long);
  if (!hides && !random.chance(25)) return;
  std::vector<const CaseTensor*> inputs;
  for (const CaseTensor& t : c.inputs)
    if (is_real(t.dtype) && volume(t.shape) > 1 && scale_of(c.fill.kind, t.dtype) > 0)
      inputs.push_back(&t);
  if (inputs.empty()) return;
  const CaseTensor& t = *inputs[static_cast<std::size_t>(random.below(std::ssize(inputs)))];
  SetElement e{t.name, {}, Number(0.0)};
  const bool last = random.chance(hides ? 90 : 60);
  for (const std::int64_t extent : t.shape)
    e.index.push_back(last ? extent - 1 : random.below(extent));
  const double sign = random.chance(hides ? 90 : 75) ? 1 : -1;
  e.value = Number(sign * kFactor * scale_of(c.fill.kind, t.dtype));
  c.set.push_back(std::move(e));
}

}  // namespace mote
