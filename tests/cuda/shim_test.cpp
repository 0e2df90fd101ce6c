// SPDX-License-Identifier: Apache-2.0
// Tests that the shim finds the defect of a kernel for any seed of its random orders, and finds
// none in the correct kernel.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mote_cuda.h"
#include "trials.h"

MOTE_HOST_DEFINE

namespace mote::shim {
namespace {

constexpr int kSeeds = 50;

class Shim : public testing::TestWithParam<std::tuple<Trial, Engine>> {};

TEST_P(Shim, FindsTheDefectUnderEverySeed) {
  const auto& trial = std::get<Trial>(GetParam());
  const auto engine = std::get<Engine>(GetParam());
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string found = find_race(
        seed, [&](const Options& o) { return run(trial, false, o); }, engine);
    EXPECT_NE(found.find(trial.finding), std::string::npos)
        << "seed " << seed << ": " << (found.empty() ? "nothing found" : found);
  }
}

TEST_P(Shim, FindsNothingInTheCorrectTwin) {
  const auto& trial = std::get<Trial>(GetParam());
  const auto engine = std::get<Engine>(GetParam());
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    EXPECT_EQ(find_race(
                  seed, [&](const Options& o) { return run(trial, true, o); }, engine),
              "")
        << "seed " << seed;
}

std::string name_of(const testing::TestParamInfo<std::tuple<Trial, Engine>>& info) {
  const bool own = std::get<Engine>(info.param) == Engine::own;
  return std::string(std::get<Trial>(info.param).name) + (own ? "" : "_ucontext");
}

std::vector<Engine> engines() {
  if (best_engine() == Engine::ucontext) return {Engine::ucontext};
  return {Engine::own, Engine::ucontext};
}

INSTANTIATE_TEST_SUITE_P(Kernels, Shim,
                         testing::Combine(testing::ValuesIn(kTrials), testing::ValuesIn(engines())),
                         name_of);

INSTANTIATE_TEST_SUITE_P(Copies, Shim,
                         testing::Combine(testing::ValuesIn(kCopyTrials),
                                          testing::ValuesIn(engines())),
                         name_of);

TEST(ShimCopies, BringZerosForWhatIsNotRead) {
  for (const Order order : {Order::forward, Order::reverse}) {
    const auto made = run(kCopyTrials[1], true, {order, 1, best_engine()});
    ASSERT_EQ(made.error, "");
    std::vector<float> y(64);
    std::memcpy(y.data(), made.output.data(), made.output.size());
    for (std::size_t k = 0; k < 64; ++k)
      EXPECT_EQ(y[63 - k], k % 4 == 3 ? 0.0F : static_cast<float>(k + 1)) << k;
  }
}

TEST(ShimMemory, SharedMemoryHoldsNaNBeforeEachBlock) {
  const Trial counts = {"count", 3, 64, 64, [](auto, auto y, bool c) { count(y, c); }, ""};
  const auto right = [&](bool correct) {
    std::vector<float> y(64);
    const auto made = run(counts, correct, {});
    EXPECT_EQ(made.error, "");
    std::memcpy(y.data(), made.output.data(), made.output.size());
    return std::accumulate(y.begin(), y.end(), 0.0F);
  };
  EXPECT_EQ(right(true), 64.0F);
  EXPECT_EQ(right(false), 0.0F);
}

TEST(ShimMemory, DynamicSharedMemoryIsOneArrayOfTheBlock) {
  mote_host = calls();
  Shape shape = shape_of(2, 96);
  shape.dynamic_bytes = 96 * sizeof(int);
  std::vector<int> y(192);
  const std::string error = launch(shape, {Order::random, 7, best_engine()}, [&] {
    MOTE_DYNAMIC_SHARED(int, all);
    const unsigned t = threadIdx.x;
    all[t] = static_cast<int>(t + blockIdx.x);
    __syncthreads();
    y[blockIdx.x * 96 + t] = all[95 - t];
  });
  EXPECT_EQ(error, "");
  for (int k = 0; k < 192; ++k) EXPECT_EQ(y[static_cast<std::size_t>(k)], 95 - k % 96 + k / 96);
}

TEST(ShimShuffles, DoWhatCudaSays) {
  mote_host = calls();
  std::vector<int> down(32);
  std::vector<int> up(32);
  std::vector<int> in_groups(32);
  std::vector<unsigned> votes(32);
  const std::string error = launch(shape_of(1, 32), {Order::reverse, 0, best_engine()}, [&] {
    const int t = static_cast<int>(threadIdx.x);
    const unsigned mask = 0xffffffffU;
    const auto at = static_cast<std::size_t>(t);
    down[at] = __shfl_down_sync(mask, t, 3);
    up[at] = __shfl_up_sync(mask, t, 3U);
    in_groups[at] = __shfl_sync(mask, t, 1, 4);
    votes[at] = __ballot_sync(mask, t % 2 == 0);
  });
  ASSERT_EQ(error, "");
  for (int t = 0; t < 32; ++t) {
    const auto at = static_cast<std::size_t>(t);
    EXPECT_EQ(down[at], t + 3 < 32 ? t + 3 : t);
    EXPECT_EQ(up[at], t < 3 ? t : t - 3);
    EXPECT_EQ(in_groups[at], t / 4 * 4 + 1);
    EXPECT_EQ(votes[at], 0x55555555U);
  }
}

TEST(ShimBarriers, GiveEachThreadTheVoteOfAll) {
  mote_host = calls();
  std::vector<int> votes(std::size_t{64} * 3);
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    const std::string error = launch(shape_of(1, 64), {order, 5, best_engine()}, [&] {
      const unsigned t = threadIdx.x;
      for (unsigned round = 0; round < 3; ++round)
        votes[round * 64 + t] = __syncthreads_or(round != 1 && t == 17 * (round + 1));
    });
    ASSERT_EQ(error, "");
    for (std::size_t k = 0; k < votes.size(); ++k) EXPECT_EQ(votes[k] != 0, k / 64 != 1) << k;
  }
}

/// Returns d, 16 x 8, after each lane of a warp has added to its four sums; lane = 4 g + q.
std::vector<float> by_a_warp(
    std::vector<float> d,
    const std::function<void(float (&sums)[4], std::size_t g, std::size_t q)>& multiply) {
  mote_host = calls();
  const std::string error = launch(shape_of(1, 32), {Order::random, 3, best_engine()}, [&] {
    const std::size_t g = threadIdx.x / 4, q = threadIdx.x % 4, t = q * 2;
    float* const own[4] = {&d[g * 8 + t], &d[g * 8 + t + 1], &d[(g + 8) * 8 + t],
                           &d[(g + 8) * 8 + t + 1]};
    float sums[4] = {*own[0], *own[1], *own[2], *own[3]};
    multiply(sums, g, q);
    for (std::size_t k = 0; k < 4; ++k) *own[k] = sums[k];
  });
  EXPECT_EQ(error, "");
  return d;
}

/// Runs mote_mma_m16n8k16_f16 or _bf16 on d = a b + d, given row by row, in the layout of
/// mote_cuda.h.
std::vector<float> multiplied(const std::vector<std::uint16_t>& a,
                              const std::vector<std::uint16_t>& b, std::vector<float> d,
                              bool is_bf16) {
  const auto pair = [](std::uint16_t first, std::uint16_t second) {
    return first | std::uint32_t{second} << 16U;
  };
  return by_a_warp(std::move(d), [&](float(&sums)[4], std::size_t g, std::size_t q) {
    const std::size_t t = q * 2;
    std::uint32_t left[4], right[2];
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t at = (g + k % 2 * 8) * 16 + t + k / 2 * 8;
      left[k] = pair(a[at], a[at + 1]);
    }
    for (std::size_t k = 0; k < 2; ++k)
      right[k] = pair(b[(t + k * 8) * 8 + g], b[(t + k * 8 + 1) * 8 + g]);
    is_bf16 ? mote_mma_m16n8k16_bf16(sums, left, right) : mote_mma_m16n8k16_f16(sums, left, right);
  });
}

/// Return the bits of a float as bf16, and as a normal f16.
std::uint16_t bf16(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16U);
}
std::uint16_t f16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  return static_cast<std::uint16_t>((bits >> 16U & 0x8000U) |
                                    (magnitude == 0 ? 0 : (magnitude - 0x38000000U) >> 13U));
}

/// The elements of the left operand, 16 x 16, and of the right one and the sums, 16 x 8.
constexpr std::size_t kLeft = 256, kRight = 128;

/// The matrices lie side by side in a row of memory; element (row, column) is row * 256 + column.
TEST(ShimTensorCores, LoadFragmentsByRowsThatLanesName) {
  mote_host = calls();
  alignas(16) std::uint16_t memory[8][32];
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 32; ++column)
      memory[row][column] = static_cast<std::uint16_t>(row * 256 + column);
  std::uint32_t plain[32][4], transposed[32][4];
  const std::string error = launch(shape_of(1, 32), {Order::random, 5, best_engine()}, [&] {
    const unsigned t = threadIdx.x;
    const std::uint16_t* const row = &memory[t % 8][t / 8 * 8];
    mote_load_fragments(plain[t], row);
    mote_load_fragments_transposed(transposed[t], row);
  });
  ASSERT_EQ(error, "");
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      const unsigned g = lane / 4, t = lane % 4 * 2, from = matrix * 8;
      EXPECT_EQ(plain[lane][matrix],
                memory[g][from + t] | std::uint32_t{memory[g][from + t + 1]} << 16U);
      EXPECT_EQ(transposed[lane][matrix],
                memory[t][from + g] | std::uint32_t{memory[t + 1][from + g]} << 16U);
    }
}

TEST(ShimTensorCores, LoadRowsAtWholeVectorsOnly) {
  mote_host = calls();
  alignas(16) std::uint16_t memory[32 * 8 + 8] = {};
  const auto from = [&](unsigned first) {
    return launch(shape_of(1, 32), {}, [&] {
      std::uint32_t fragments[4];
      mote_load_fragments(fragments, memory + first + 8 * threadIdx.x);
    });
  };
  EXPECT_EQ(from(0), "");
  EXPECT_NE(from(4).find("thread 0,0,0: loads a row at an address that 16 doesn't divide in line "),
            std::string::npos);
}

/// A product that is exact in each format, for any order of the terms.
struct Product {
  std::size_t terms;
  std::vector<float> left, right, start;  ///< 16 x terms, terms x 8, 16 x 8
};

Product small_integers(std::size_t terms) {
  Product p{terms, std::vector<float>(16 * terms), std::vector<float>(terms * 8),
            std::vector<float>(kRight)};
  for (std::size_t k = 0; k < p.left.size(); ++k) p.left[k] = static_cast<float>(k * 7 % 23) - 11;
  for (std::size_t k = 0; k < p.right.size(); ++k) p.right[k] = static_cast<float>(k * 5 % 19) - 9;
  for (std::size_t k = 0; k < p.start.size(); ++k) p.start[k] = static_cast<float>(k);
  return p;
}

void expect_product(const std::vector<float>& y, const Product& p) {
  for (std::size_t m = 0; m < 16; ++m)
    for (std::size_t n = 0; n < 8; ++n) {
      float expected = p.start[m * 8 + n];
      for (std::size_t k = 0; k < p.terms; ++k)
        expected += p.left[m * p.terms + k] * p.right[k * 8 + n];
      EXPECT_EQ(y[m * 8 + n], expected) << m << ", " << n;
    }
}

TEST(ShimTensorCores, MultiplyAsLanesHoldTheOperands) {
  const Product p = small_integers(16);
  for (const bool is_bf16 : {false, true}) {
    const auto narrow = is_bf16 ? bf16 : f16;
    std::vector<std::uint16_t> a, b;
    for (const float x : p.left) a.push_back(narrow(x));
    for (const float x : p.right) b.push_back(narrow(x));
    expect_product(multiplied(a, b, p.start, is_bf16), p);
  }
}

/// d is 1 and there are sixteen products of 2^-23 (1 - 2^-7): all their digits are cut off.
TEST(ShimTensorCores, CutDigitsOffWhereOthersWouldRound) {
  const std::vector<std::uint16_t> a(kLeft, bf16(0x1p-23F)), b(kRight, bf16(1 - 0x1p-7F));
  for (const float y : multiplied(a, b, std::vector<float>(kRight, 1.0F), true)) EXPECT_EQ(y, 1.0F);
  // With a start of 0 they are the greatest terms, and whole.
  for (const float y : multiplied(a, b, std::vector<float>(kRight, 0.0F), true))
    EXPECT_EQ(y, 16 * 0x1p-23F * (1 - 0x1p-7F));
}

/// Does the same with mote_mma_m16n8k8_tf32.
std::vector<float> multiplied_in_tf32(const std::vector<float>& a, const std::vector<float>& b,
                                      std::vector<float> d) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  return by_a_warp(std::move(d), [&](float(&sums)[4], std::size_t g, std::size_t q) {
    const std::uint32_t left[4] = {bits(a[g * 8 + q]), bits(a[(g + 8) * 8 + q]),
                                   bits(a[g * 8 + q + 4]), bits(a[(g + 8) * 8 + q + 4])};
    const std::uint32_t right[2] = {bits(b[q * 8 + g]), bits(b[(q + 4) * 8 + g])};
    mote_mma_m16n8k8_tf32(sums, left, right);
  });
}

TEST(ShimTensorCores, MultiplyTf32AsLanesHoldTheOperands) {
  const Product p = small_integers(8);
  expect_product(multiplied_in_tf32(p.left, p.right, p.start), p);
}

/// Operands lose the bits beyond 11, sums lose those that a step cuts off.
TEST(ShimTensorCores, CutDigitsOffOfTf32) {
  constexpr std::size_t kHalf = kLeft / 2, kSums = kRight;  // half the columns of bf16
  const std::vector<float> zero(kSums, 0.0F), one(kRight / 2, 1.0F);
  for (const float y : multiplied_in_tf32(std::vector<float>(kHalf, 1 + 0x1.8p-11F), one, zero))
    EXPECT_EQ(y, 8.0F);
  const std::vector<float> small(kHalf, 0x1p-23F * (1 - 0x1p-7F));
  for (const float y : multiplied_in_tf32(small, one, std::vector<float>(kSums, 1.0F)))
    EXPECT_EQ(y, 1.0F);
}

TEST(ShimTensorCores, RoundToTf32) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  constexpr float kGreatest = std::numeric_limits<float>::max();
  const std::pair<float, float> all[] = {{1 + 0x1p-10F, 1 + 0x1p-10F},
                                         {1 + 0x1p-11F, 1 + 0x1p-10F},
                                         {-1 - 0x1p-11F, -1 - 0x1p-10F},
                                         {1 + 0x1.fep-12F, 1},
                                         {2 - 0x1p-12F, 2},
                                         {0x1p-137F, 0x1p-136F},
                                         {0x1p-138F, 0},
                                         {kInfinite, kInfinite},
                                         {-kInfinite, -kInfinite},
                                         {kGreatest, 0x1.ffcp127F},
                                         {-kGreatest, -0x1.ffcp127F},
                                         {0x1.ffcffep127F, 0x1.ffcp127F}};
  for (const auto& [x, expected] : all) EXPECT_EQ(mote_to_tf32(x), expected) << x;
  EXPECT_TRUE(std::isnan(mote_to_tf32(std::bit_cast<float>(0x7f800001U))));
  EXPECT_TRUE(std::isnan(mote_to_tf32(std::bit_cast<float>(0xffc00000U))));
}

TEST(ShimTensorCores, KeepInfinitiesAndNaN) {
  std::vector<std::uint16_t> a(kLeft, f16(1)), b(kRight, f16(1));
  constexpr std::uint16_t kInfinite = 0x7c00;
  a[0 * 16 + 3] = kInfinite;
  a[1 * 16 + 3] = kInfinite;
  a[1 * 16 + 14] = kInfinite | 0x8000;
  b[14 * 8 + 5] = 0;
  const std::vector<float> y = multiplied(a, b, std::vector<float>(kRight, 1.0F), false);
  EXPECT_EQ(y[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(y[8]));
  EXPECT_TRUE(std::isnan(y[8 + 5]));
  EXPECT_EQ(y[2 * 8 + 5], 16.0F);
}

}  // namespace
}  // namespace mote::shim
