// SPDX-License-Identifier: Apache-2.0
// Counts drawn cases over fixed seeds: far elements, long axes, ranks, ties, runs, magnitudes at
// the ends of a format, and redraws for cases that a subject declines. No kernel is run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "generate/redraw.h"
#include "mote/oracle/generate.h"
#include "run/near.h"

namespace mote {
namespace {

constexpr std::int64_t k31 = std::int64_t{1} << 31U;
constexpr std::int64_t k32 = std::int64_t{1} << 32U;

std::int64_t last_offset(const CaseTensor& t) {
  if (volume(t.shape) == 0 || t.left_out) return 0;
  const Placement placed = place(t.shape, t.layout);
  std::int64_t last = placed.offset;
  for (std::size_t k = 0; k < t.shape.size(); ++k) last += (t.shape[k] - 1) * placed.strides[k];
  return last;
}

using Counts = std::map<std::string, int>;

void count_far(Counts& seen, const CaseTensor& t, const std::string& role) {
  const std::int64_t last = last_offset(t);
  const auto bytes = last * static_cast<std::int64_t>(size_of(t.dtype));
  seen[role + " beyond 2^20"] += last > 1 << 20 && last < 1 << 24;
  seen[role + " beyond 2^24"] += last > 1 << 24 && last < 1 << 26;
  seen[role + " beyond 2^31 bytes"] += bytes > k31 && last < k31;
  seen[role + " beyond 2^32 bytes"] += bytes > k32 && last < k31;
  seen[role + " beyond 2^31"] += last >= k31;
  seen[role + " beyond 2^32"] += last >= k32;
  seen[role + " by its offset"] += t.layout.offset > 1 << 20;
  if (last < 1 << 20 || volume(t.shape) == 0) return;
  const Placement placed = place(t.shape, t.layout);
  for (std::size_t k = 0; k < t.shape.size(); ++k) {
    if (t.shape[k] > 1 && placed.strides[k] >= 1 << 19)
      seen[role + " along axis " + std::to_string(k)] += 1;
  }
}

TEST(Drawn, ElementsLieFarApartInEachTensorAlongEachAxis) {
  for (const auto& [op, dtype] : {std::pair{"neg", DType::f32}, std::pair{"gemm", DType::f64},
                                  std::pair{"conv2d", DType::bf16}, std::pair{"gather", DType::i64},
                                  std::pair{"add", DType::i8}, std::pair{"softmax", DType::f16}}) {
    Counts seen;
    const auto target = find_target(op);
    constexpr std::uint64_t kDraws = 8000;
    for (std::uint64_t position = 0; position < kDraws; ++position) {
      const Case c = generate(target, dtype, 11, position);
      for (const CaseTensor& t : c.inputs) count_far(seen, t, "an input");
      for (const CaseTensor& t : c.outputs) count_far(seen, t, "an output");
    }
    for (const auto& [what, count] : seen) {
      const bool has_sizes_between = what.find("2^31 bytes") == std::string::npos &&
                                     what.find("2^32 bytes") == std::string::npos;
      if (size_of(dtype) <= 2 && !has_sizes_between) continue;  // no size lies between these limits
      EXPECT_GE(count, 2) << op << ": " << what;
    }
    EXPECT_EQ(seen.count("an input along axis 0"), 1U) << op;
  }
}

TEST(Drawn, FarCasesTakeLittleMemory) {
  const auto target = find_target("conv2d");
  int far = 0;
  for (std::uint64_t position = 0; position < 3000; ++position) {
    const Case c = generate(target, DType::f64, 2, position);
    std::int64_t near = 0;
    bool is_far = false;
    for (const auto* tensors : {&c.inputs, &c.outputs})
      for (const CaseTensor& t : *tensors) {
        is_far = is_far || last_offset(t) > 1 << 20;
        near += near_elements(t.shape, place(t.shape, t.layout), size_of(t.dtype)) * 8;
      }
    if (!is_far) continue;
    ++far;
    EXPECT_LT(near, 64 << 20) << to_string(c);
  }
  EXPECT_GT(far, 60);
}

TEST(Near, RangesHoldEachElementAndWhatIsBesideIt) {
  const auto ranges = [](const char* layout, const std::vector<std::int64_t>& shape) {
    const CaseLayout l = parse_layout(layout, static_cast<int>(shape.size()));
    return near_ranges(shape, place(shape, l).strides, 4);
  };
  constexpr std::int64_t kNear = kNearBytes / 4;
  EXPECT_EQ(ranges("", {2, 3}), (std::vector<ElementRange>{{-kNear, kNear + 6}}));
  EXPECT_EQ(ranges("", {0, 3}), std::vector<ElementRange>{});
  EXPECT_EQ(
      ranges(":gap0x1000000", {2, 3}),
      (std::vector<ElementRange>{{-kNear, kNear + 3}, {1000003 - kNear, 1000003 + kNear + 3}}));
  EXPECT_EQ(ranges(":gap1x1000000", {2, 2}).size(), 4U);
  EXPECT_EQ(ranges(":gap0x8000", {2, 3}).size(), 1U);  // both sides of the gap are near
}

std::vector<std::int64_t> reduced_extents(const Case& c) {
  const Domain& domain = domain_of(c.program);
  const KnobValues at = knob_values(domain, c.binding.values);
  std::vector<std::int64_t> extents;
  for (std::size_t k = 0; k < domain.knobs.size(); ++k)
    if (domain.knobs[k].reduced) extents.push_back(at.values[k]);
  return extents;
}

/// 600 cases are the least number that 20 s of an op take.
TEST(Drawn, EachReducedAxisIsLongNowAndThen) {
  int ops = 0;
  for (const OpRecord& record : catalogue()) {
    const auto target = find_target(record.name);
    const DType dtype = record.dtypes.front();
    std::vector<std::int64_t> longest;
    for (std::uint64_t position = 0; position < 600; ++position) {
      const Case c = generate(target, dtype, 4, position);
      const std::vector<std::int64_t> extents = reduced_extents(c);
      longest.resize(std::max(longest.size(), extents.size()));
      for (std::size_t k = 0; k < extents.size(); ++k)
        longest[k] = std::max(longest[k], extents[k]);
    }
    if (longest.empty()) continue;
    ++ops;
    EXPECT_GT(std::ranges::max(longest), 1024) << record.name;
  }
  EXPECT_GT(ops, 40);
}

TEST(Drawn, LongAxesHaveManyLengths) {
  for (const char* op : {"sum", "mean", "var", "argmax", "softmax", "log_softmax", "logsumexp",
                         "norm2", "rms_norm", "layer_norm", "reduce_max"}) {
    Counts seen;
    constexpr int kDraws = 3000;
    for (std::uint64_t position = 0; position < kDraws; ++position) {
      const auto extents = reduced_extents(generate(find_target(op), DType::f32, 8, position));
      const std::int64_t n = std::ranges::max(extents);
      seen["1,025 to 4,600"] += n > 1024 && n <= 4600;
      seen["4,601 to 65,535"] += n > 4600 && n <= 65'535;
      seen["65,536 and more"] += n > 65'535;
      seen["200,000 and more"] += n >= 200'000;
    }
    EXPECT_GE(seen["1,025 to 4,600"], 30) << op;
    EXPECT_GE(seen["4,601 to 65,535"], 15) << op;
    EXPECT_GE(seen["65,536 and more"], 20) << op;
    EXPECT_GE(seen["200,000 and more"], 1) << op;
    EXPECT_LE(seen["65,536 and more"], kDraws / 20) << op;  // these are the slowest
  }
}

/// The work of a scan is the square of its length.
TEST(Drawn, ScansAreSeveralBlocksLong) {
  int blocks = 0;
  int long_ones = 0;
  for (std::uint64_t position = 0; position < 1500; ++position) {
    const std::int64_t n =
        std::ranges::max(reduced_extents(generate(find_target("cumsum"), DType::f32, 8, position)));
    blocks += n > 2048;
    long_ones += n > 4096;
  }
  EXPECT_GE(blocks, 15);
  EXPECT_GE(long_ones, 2);
}

TEST(Drawn, LeadingAxesAreLeftOut) {
  Counts seen;
  for (std::uint64_t position = 0; position < 400; ++position) {
    const Case c = generate(find_target("matmul"), DType::f32, 3, position);
    for (const CaseTensor& t : c.inputs) seen[t.name + std::to_string(t.shape.size())] += 1;
    seen["both"] += c.inputs[0].shape.size() < 4 && c.inputs[1].shape.size() < 4;
    EXPECT_EQ(to_string(parse_case(to_string(c))), to_string(c));
    const auto again = to_case(to_draft(c));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->inputs[0].shape, c.inputs[0].shape);
    EXPECT_EQ(again->inputs[1].shape, c.inputs[1].shape);
  }
  for (const char* what : {"a2", "a3", "b2", "b3", "both"}) EXPECT_GE(seen[what], 10) << what;
  EXPECT_GE(seen["a4"], 200);
}

TEST(Drawn, InnermostElementsLieApartToo) {
  int apart = 0;
  for (std::uint64_t position = 0; position < 800; ++position) {
    const Case c = generate(find_target("neg"), DType::f32, 3, position);
    const CaseTensor& x = c.inputs[0];
    const std::vector<std::int64_t> strides = place(x.shape, x.layout).strides;
    apart += std::ranges::count(strides, 1) == 0 && std::ranges::count(strides, 0) == 0;
  }
  EXPECT_GE(apart, 8);
}

// The elements that fills give.

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> elements(FillKind kind, std::uint64_t seed, DType dtype,
                             const std::vector<std::int64_t>& shape, int inputs = 1) {
  const std::int64_t count = volume(shape);
  const Filler filler({kind, seed}, {"x", dtype, 0, inputs, count, shape}, 9);
  std::vector<double> all;
  for (std::int64_t k = 0; k < count; ++k) all.push_back(store_as(filler.real(k), dtype).real());
  return all;
}

TEST(FillTies, AreOfZerosNaNInfinitiesAndEqualMaxima) {
  constexpr int kSeeds = 400;
  for (const DType dtype : {DType::f32, DType::f16, DType::f64}) {
    Counts seen;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const std::vector<double> x = elements(FillKind::ties, seed, dtype, {40});
      const double greatest = *std::ranges::max_element(x);
      const auto is_nan = [](double v) { return std::isnan(v); };
      const auto is_zero_of = [](bool negative) {
        return [negative](double v) { return v == 0 && std::signbit(v) == negative; };
      };
      const bool zeros =
          std::ranges::any_of(x, is_zero_of(true)) && std::ranges::any_of(x, is_zero_of(false));
      seen["+0 and -0"] += zeros;
      seen["+0 and -0 are the greatest"] +=
          zeros && std::ranges::none_of(x, is_nan) && greatest == 0;
      seen["several NaN"] += std::ranges::count_if(x, is_nan) > 1;
      seen["several inf"] += std::ranges::count(x, kInfinity) > 1;
      seen["several -inf"] += std::ranges::count(x, -kInfinity) > 1;
      seen["equal finite maxima"] +=
          std::isfinite(greatest) && greatest != 0 && std::ranges::count(x, greatest) > 1;
    }
    for (const auto& [what, count] : seen) EXPECT_GE(count, kSeeds / 20) << what;
  }
}

/// Returns the begin and end of the first run of one value in the first row along an axis.
std::pair<std::int64_t, std::int64_t> first_run(const std::vector<double>& x,
                                                const std::vector<std::int64_t>& shape,
                                                std::size_t axis, double value) {
  const std::int64_t stride = place(shape, {}).strides[axis];
  const auto holds = [&](std::int64_t k) {
    return k < shape[axis] && same(Number(x[static_cast<std::size_t>(k * stride)]), Number(value));
  };
  std::int64_t begin = 0;
  while (begin < shape[axis] && !holds(begin)) ++begin;
  std::int64_t end = begin;
  while (holds(end)) ++end;
  return {begin, end};
}

TEST(FillRuns, ArePrefixesAndSuffixesAlongEachAxisAndWholeRows) {
  const std::vector<std::int64_t> shape = {18, 40, 3};
  Counts seen;
  constexpr int kSeeds = 600;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<double> x = elements(FillKind::runs, seed, DType::f32, shape);
    for (const double value : {-kInfinity, kInfinity, std::nan(""), 0.0}) {
      const std::string of = std::to_string(value) + " ";
      const auto [begin, end] = first_run(x, shape, 1, value);
      seen[of + "prefix"] += begin == 0 && end >= 16 && end < 40;
      seen[of + "suffix"] += begin > 0 && end == 40 && end - begin >= 16;
      seen["piece"] += begin > 0 && end < 40 && end - begin >= 16;
      seen[of + "whole row"] += begin == 0 && end == 40;
      const auto [other_begin, other_end] = first_run(x, shape, 0, value);
      seen["axis 0"] += other_end - other_begin >= 16 && end - begin < 16;
    }
    std::set<double> values;
    for (std::int64_t row = 0; row < 18; ++row)
      values.insert(x[static_cast<std::size_t>(row * 120)]);
    seen["rows of several values"] += std::ranges::count_if(values, [](double v) {
                                        return std::isinf(v) || v == 0 || v == 1.5 || v == -2.5;
                                      }) > 2;
  }
  for (const auto& [what, count] : seen) EXPECT_GE(count, 2) << what;
  EXPECT_GE(seen["-inf prefix"], kSeeds / 50);
  EXPECT_GE(seen["-inf whole row"], kSeeds / 50);
}

TEST(FillRange, OverflowsAndUnderflowsSquaresSumsAndExponentials) {
  constexpr int kSeeds = 300;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    const RealFormat format = real_format(dtype);
    const double least = std::ldexp(1, format.least_exponent);
    const double least_normal = std::ldexp(1, format.least_exponent + format.precision - 1);
    Counts seen;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const std::vector<double> x = elements(FillKind::range, seed, dtype, {64});
      const auto most = [&](const auto& is) { return std::ranges::count_if(x, is) > 32; };
      const auto magnitude = [](double v) { return std::fabs(v); };
      seen["squares overflow"] += most(
          [&](double v) { return magnitude(v) > std::sqrt(format.greatest) && std::isfinite(v); });
      seen["squares underflow"] += most([&](double v) {
        return v != 0 && magnitude(v) < std::sqrt(least_normal) && magnitude(v) > 16 * least;
      });
      seen["squares are 0"] +=
          most([&](double v) { return v != 0 && std::ilogb(v) * 2 < format.least_exponent - 2; });
      seen["sums overflow"] += most([&](double v) { return v >= format.greatest / 4; });
      seen["exp overflows"] += std::ranges::any_of(x, [&](double v) {
        return v > std::log(format.greatest) && v < std::log(format.greatest) + 2;
      });
      seen["denormals"] += most([&](double v) { return v != 0 && magnitude(v) < least_normal; });
      seen["a few are great"] +=
          std::ranges::count_if(
              x, [&](double v) { return magnitude(v) > std::sqrt(format.greatest); }) < 20 &&
          std::ranges::any_of(x,
                              [&](double v) { return magnitude(v) > std::sqrt(format.greatest); });
      EXPECT_TRUE(std::ranges::all_of(x, [](double v) { return std::isfinite(v); })) << seed;
    }
    for (const auto& [what, count] : seen) EXPECT_GE(count, kSeeds / 30) << what << name(dtype);
  }
}

TEST(Drawn, EveryKindOfDataIsDrawnAndReplays) {
  std::map<FillKind, int> seen;
  for (std::uint64_t position = 0; position < 600; ++position) {
    const Case c = generate(find_target("gemm"), DType::f32, 5, position);
    ++seen[c.fill.kind];
    EXPECT_EQ(parse_case(to_string(c)).fill, c.fill);
  }
  for (const FillKind kind : {FillKind::ties, FillKind::runs, FillKind::range})
    EXPECT_GE(seen[kind], 25) << name(kind);
}

// Redraws for declined cases.

struct Taken {
  int first = 0;    ///< taken at the first draw
  int another = 0;  ///< taken at another draw of the same position
  int declined = 0;
  double share() const { return double(first + another) / (first + another + declined); }
};

/// Draws cases as a campaign does.
Taken deal(const char* op, DType dtype, const Takes& takes) {
  const auto target = find_target(op);
  Taken taken;
  for (std::uint64_t position = 0; position < 400; ++position) {
    if (takes(generate(target, dtype, 6, position))) {
      ++taken.first;
    } else if (!keeps_first_draw(position) && another_draw({target, dtype, 6, position}, takes)) {
      ++taken.another;
    } else {
      ++taken.declined;
    }
  }
  return taken;
}

bool is_nhwc(const CaseTensor& t) {
  const std::vector<std::int64_t> strides = place(t.shape, t.layout).strides;
  return strides == place(t.shape, parse_layout(":nhwc", 4)).strides;
}

TEST(Redraw, GoesToWhatASubjectTakes) {
  const struct {
    const char* what;
    const char* op;
    Takes takes;
  } subjects[] = {
      {"gemm without c", "gemm", [](const Case& c) { return c.inputs.size() == 2; }},
      {"gemm with c", "gemm", [](const Case& c) { return c.inputs.size() == 3; }},
      {"layer_norm with gamma and beta", "layer_norm",
       [](const Case& c) { return c.inputs.size() == 3; }},
      {"row-major alone", "matmul",
       [](const Case& c) {
         return std::ranges::all_of(c.inputs,
                                    [](const CaseTensor& t) { return t.layout.contiguous(); }) &&
                c.outputs[0].layout.contiguous() && c.outputs[0].in_place.empty();
       }},
      {"channels last alone, no bias", "conv2d",
       [](const Case& c) {
         return c.inputs.size() == 2 && is_nhwc(c.inputs[0]) && is_nhwc(c.inputs[1]) &&
                is_nhwc(c.outputs[0]);
       }},
      {"rank 4 alone", "matmul",
       [](const Case& c) {
         return c.inputs[0].shape.size() == 4 && c.inputs[1].shape.size() == 4;
       }},
      {"default parameters", "conv2d", [](const Case& c) {
         return std::ranges::all_of(c.program->params, [&](const ParamDecl& p) {
           return !p.default_value ||
                  c.params.at(p.name).integer() == static_cast<std::int64_t>(*p.default_value);
         });
       }}};
  for (const auto& subject : subjects) {
    const Taken taken = deal(subject.op, DType::f32, subject.takes);
    EXPECT_GE(taken.share(), 0.85) << subject.what;
    EXPECT_GE(taken.declined, 5) << subject.what;  // coverage shows the declined ones
  }
}

TEST(Redraw, GivesUpWhereNothingIsTaken) {
  std::set<std::string> asked;
  const Takes takes = [&](const Case& c) {
    asked.insert(to_string(c));
    return false;
  };
  EXPECT_FALSE(another_draw({find_target("gemm"), DType::i32, 6, 1}, takes));
  EXPECT_EQ(asked.size(), kMaxAttempts);
}

}  // namespace
}  // namespace mote
