// SPDX-License-Identifier: Apache-2.0
// Measures the float functions of gen kernels against the C library's in double: the greatest
// error over f32, and NaN, infinities, zeros and denormals, on each level of instruction sets that
// this machine has. Conversions to integers are compared with the reference's. A run tests every
// 997th float; with MOTE_EXHAUSTIVE=1 it tests all 2^32.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "mote/codegen/emit_c.h"
#include "mote/generated/level.h"

namespace mote {
namespace {

template <typename T>
using KernelTo = int(const float*, const std::int64_t*, T*, const std::int64_t*, std::int64_t,
                     std::int64_t, std::int64_t, std::int64_t);
using Kernel = KernelTo<float>;

}  // namespace
}  // namespace mote

extern "C" {
mote::Kernel mote_exp_f32_gen_v0, mote_expm1_f32_gen_v0, mote_log_f32_gen_v0, mote_log1p_f32_gen_v0,
    mote_tanh_f32_gen_v0, mote_erf_f32_gen_v0;
mote::KernelTo<std::uint8_t> mote_cast_u8_f32, mote_cast_u8_f32_gen_v0;
mote::KernelTo<std::int8_t> mote_cast_i8_f32, mote_cast_i8_f32_gen_v0;
mote::KernelTo<std::int32_t> mote_cast_i32_f32, mote_cast_i32_f32_gen_v0;
#ifdef MOTE_X86_LEVELS
mote::KernelTo<std::uint8_t> mote_cast_u8_f32_gen_v3, mote_cast_u8_f32_gen_v4;
mote::KernelTo<std::int8_t> mote_cast_i8_f32_gen_v3, mote_cast_i8_f32_gen_v4;
mote::KernelTo<std::int32_t> mote_cast_i32_f32_gen_v3, mote_cast_i32_f32_gen_v4;
mote::Kernel mote_exp_f32_gen_v3, mote_expm1_f32_gen_v3, mote_log_f32_gen_v3, mote_log1p_f32_gen_v3,
    mote_tanh_f32_gen_v3, mote_erf_f32_gen_v3;
mote::Kernel mote_exp_f32_gen_v4, mote_expm1_f32_gen_v4, mote_log_f32_gen_v4, mote_log1p_f32_gen_v4,
    mote_tanh_f32_gen_v4, mote_erf_f32_gen_v4;
#endif
}

namespace mote {
namespace {

struct Compiled {
  std::string function;
  int level;
  Kernel* kernel;
  double (*reference)(double);
};

std::vector<Compiled> all_compiled() {
  std::vector<Compiled> all = {
      {"exp", 0, mote_exp_f32_gen_v0, std::exp},    {"expm1", 0, mote_expm1_f32_gen_v0, std::expm1},
      {"log", 0, mote_log_f32_gen_v0, std::log},    {"log1p", 0, mote_log1p_f32_gen_v0, std::log1p},
      {"tanh", 0, mote_tanh_f32_gen_v0, std::tanh}, {"erf", 0, mote_erf_f32_gen_v0, std::erf}};
#ifdef MOTE_X86_LEVELS
  const std::vector<Kernel*> v3 = {mote_exp_f32_gen_v3,  mote_expm1_f32_gen_v3,
                                   mote_log_f32_gen_v3,  mote_log1p_f32_gen_v3,
                                   mote_tanh_f32_gen_v3, mote_erf_f32_gen_v3};
  const std::vector<Kernel*> v4 = {mote_exp_f32_gen_v4,  mote_expm1_f32_gen_v4,
                                   mote_log_f32_gen_v4,  mote_log1p_f32_gen_v4,
                                   mote_tanh_f32_gen_v4, mote_erf_f32_gen_v4};
  for (std::size_t k = 0; k < v3.size(); ++k) {
    if (mote_level() >= 3) all.push_back({all[k].function, 3, v3[k], all[k].reference});
    if (mote_level() >= 4) all.push_back({all[k].function, 4, v4[k], all[k].reference});
  }
#endif
  return all;
}

double declared(const std::string& function) {
  for (const FunctionAccuracy& f : gen_accuracy())
    if (function == f.function) return f.ulp;
  return -1;
}

/// Returns the distance between floats around y.
double spacing(float y) {
  constexpr float kLeastNormal = std::numeric_limits<float>::min();
  if (std::fabs(y) < kLeastNormal) return std::numeric_limits<float>::denorm_min();
  int exponent = 0;
  std::frexp(y, &exponent);
  return std::ldexp(1.0, exponent - 24);
}

/// Returns the error in units in the last place; infinite if the class of number or its sign is
/// wrong.
double error(double expected, float got) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : kWrong;
  if (std::isnan(got) || std::signbit(rounded) != std::signbit(got)) return kWrong;
  if (rounded == got) return std::isinf(got) ? 0 : std::fabs(expected - got) / spacing(rounded);
  // Within half a unit of the greatest float, both that float and infinity are near.
  constexpr double kGreatest = std::numeric_limits<float>::max();
  const double near = std::min(std::fabs(expected), kGreatest * 2);
  const double y = std::isinf(got)
                       ? std::copysign(kGreatest + spacing(got > 0 ? 3e38F : -3e38F), got)
                       : static_cast<double>(got);
  return std::fabs(std::copysign(near, expected) - y) /
         spacing(std::isinf(rounded) ? 3e38F : rounded);
}

struct Worst {
  double error = 0;
  float at = 0;
};

void measure(const Compiled& c, const std::vector<float>& x, Worst& worst) {
  std::vector<float> y(x.size());
  const std::int64_t strides[] = {1, 1, 1, 1};
  ASSERT_EQ(
      c.kernel(x.data(), strides, y.data(), strides, 1, 1, 1, static_cast<std::int64_t>(x.size())),
      0);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double e = error(c.reference(static_cast<double>(x[k])), y[k]);
    if (e > worst.error) worst = {e, x[k]};
  }
}

/// Measures the floats with the bits first, first + step, … below 2^32, 4096 at a time.
Worst sweep(const Compiled& c, std::uint64_t first, std::uint64_t step) {
  Worst worst;
  std::vector<float> x;
  for (std::uint64_t bits = first; bits < (std::uint64_t{1} << 32U);) {
    x.clear();
    for (; x.size() < 4096 && bits < (std::uint64_t{1} << 32U); bits += step)
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    measure(c, x, worst);
  }
  return worst;
}

Worst sweep_all(const Compiled& c, std::uint64_t step) {
  const std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> workers;
  std::mutex mutex;
  Worst worst;
  for (std::uint64_t k = 0; k < threads; ++k)
    workers.emplace_back([&, k] {
      const Worst own = sweep(c, k * step, threads * step);
      const std::lock_guard lock(mutex);
      if (own.error > worst.error) worst = own;
    });
  for (std::thread& worker : workers) worker.join();
  return worst;
}

TEST(GenAccuracy, IsWithinWhatIsDeclaredOverAllFloats) {
  const char* exhaustive = std::getenv("MOTE_EXHAUSTIVE");
  const std::uint64_t step = exhaustive != nullptr && *exhaustive == '1' ? 1 : 997;
  for (const Compiled& c : all_compiled()) {
    const Worst worst = sweep_all(c, step);
    fmt::print("{:6} level {}: {:.3f} ulp at {:a}, declared {}\n", c.function, c.level, worst.error,
               worst.at, declared(c.function));
    EXPECT_LE(worst.error, declared(c.function)) << c.function << " at " << worst.at;
    EXPECT_GT(worst.error, 0.4) << "the sweep has seen hardly anything";
  }
}

TEST(GenAccuracy, HoldsAtTheEdges) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x;
  for (const float edge :
       {0.0F, 1e-45F, 1.17549435e-38F, 1e-30F, 0.34657359F, 0.5F, 0.70710678F, 1.0F, 1.41421356F,
        4.0F, 10.0F, 30.0F, 87.33654F, 88.72283F, 89.0F, 103.97208F, 104.0F, 3.4028235e38F, kInf})
    for (const float near : {std::nextafter(edge, 0.0F), edge, std::nextafter(edge, kInf)}) {
      x.push_back(near);
      x.push_back(-near);
    }
  x.push_back(std::numeric_limits<float>::quiet_NaN());
  for (const Compiled& c : all_compiled()) {
    Worst worst;
    measure(c, x, worst);
    EXPECT_LE(worst.error, declared(c.function)) << c.function << " at " << worst.at;
  }
}

/// Expects that the kernel converts all floats, and those around the limits, as the reference does.
template <typename T>
void expect_exact(const std::string& what, KernelTo<T>* reference, KernelTo<T>* kernel) {
  const char* exhaustive = std::getenv("MOTE_EXHAUSTIVE");
  const std::uint64_t step = exhaustive != nullptr && *exhaustive == '1' ? 1 : 997;
  std::vector<float> x;
  for (const float limit : {0.0F, 1.0F, 127.0F, 128.0F, 255.0F, 256.0F, 2147483648.0F})
    for (const float near : {std::nextafter(limit, -1.0F), limit, limit + 0.5F,
                             std::nextafter(limit, std::numeric_limits<float>::infinity())})
      x.insert(x.end(), {near, -near});
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32U);) {
    for (; x.size() < 4096 && bits < (std::uint64_t{1} << 32U); bits += step)
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    std::vector<T> expected(x.size()), got(x.size());
    const std::int64_t strides[] = {1, 1, 1, 1};
    const auto count = static_cast<std::int64_t>(x.size());
    ASSERT_EQ(reference(x.data(), strides, expected.data(), strides, 1, 1, 1, count), 0);
    ASSERT_EQ(kernel(x.data(), strides, got.data(), strides, 1, 1, 1, count), 0);
    for (std::size_t k = 0; k < x.size(); ++k)
      ASSERT_EQ(got[k], expected[k]) << what << " of " << x[k];
    x.clear();
  }
}

TEST(GenAccuracy, ConversionsToIntegersAreExact) {
  expect_exact("u8", mote_cast_u8_f32, mote_cast_u8_f32_gen_v0);
  expect_exact("i8", mote_cast_i8_f32, mote_cast_i8_f32_gen_v0);
  expect_exact("i32", mote_cast_i32_f32, mote_cast_i32_f32_gen_v0);
#ifdef MOTE_X86_LEVELS
  if (mote_level() >= 3) {
    expect_exact("u8, level 3", mote_cast_u8_f32, mote_cast_u8_f32_gen_v3);
    expect_exact("i8, level 3", mote_cast_i8_f32, mote_cast_i8_f32_gen_v3);
    expect_exact("i32, level 3", mote_cast_i32_f32, mote_cast_i32_f32_gen_v3);
  }
  if (mote_level() >= 4) {
    expect_exact("u8, level 4", mote_cast_u8_f32, mote_cast_u8_f32_gen_v4);
    expect_exact("i8, level 4", mote_cast_i8_f32, mote_cast_i8_f32_gen_v4);
    expect_exact("i32, level 4", mote_cast_i32_f32, mote_cast_i32_f32_gen_v4);
  }
#endif
}

}  // namespace
}  // namespace mote
