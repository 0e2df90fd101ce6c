// SPDX-License-Identifier: Apache-2.0
// Measures oneDNN's functions against the C library's in double: their greatest errors over f32 are
// within those that the backend's contracts declare. A run tests every 9973rd float and evenly
// spaced ones around 0 and 1; with MOTE_EXHAUSTIVE=1 it tests all 2^32. ONEDNN_MAX_CPU_ISA=AVX2 or
// SSE41 measures the code of older machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "mote/base/dlpack.h"
#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "support/call.h"

namespace mote {
namespace {

constexpr double kLeastNormal = std::numeric_limits<float>::min();

const mote_kernel& kernel(const char* op) {
  static const Plugin plugin = load_plugin(MOTE_ONEDNN_PLUGIN);
  return *test::kernel_of(*plugin.backends.at(0), op);
}

/// An op that computes `function` once: its exact value, the weight of an error of the function in
/// it, and the function's exact value.
struct Measured {
  const char* op;
  const char* function;
  double (*exact)(double);
  double (*weight)(double);
  double (*inner)(double);
  bool (*counts)(double);
};

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double sech2(double x) { return 1 / (std::cosh(x) * std::cosh(x)); }
double one(double) { return 1; }
bool always(double) { return true; }

const Measured kAll[] = {
    {"exp", "exp", [](double x) { return std::exp(x); }, one, [](double x) { return std::exp(x); },
     always},
    {"tanh", "tanh", [](double x) { return std::tanh(x); }, one,
     [](double x) { return std::tanh(x); }, always},
    {"elu", "expm1", [](double x) { return std::expm1(x); }, one,
     [](double x) { return std::expm1(x); }, [](double x) { return x < 0; }},
    {"gelu", "erf", [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); },
     [](double x) { return std::fabs(x) / 2; },
     [](double x) { return std::erf(x * std::sqrt(0.5)); },
     [](double x) { return x != 0 && std::isfinite(x); }},
    {"softplus", "log1p", softplus, one,
     [](double x) { return std::log1p(std::exp(-std::fabs(x))); },
     [](double x) { return std::isfinite(x); }},
    {"mish", "log1p", [](double x) { return x * std::tanh(softplus(x)); },
     [](double x) { return std::fabs(x) * sech2(softplus(x)); },
     [](double x) { return std::log1p(std::exp(-std::fabs(x))); },
     [](double x) { return std::isfinite(x) && x != 0; }},
};

/// Computes all floats of a block by the kernel.
std::vector<float> run(const mote_kernel& k, std::vector<float>& x) {
  std::vector<float> y(x.size());
  std::int64_t shape[] = {1, 1, 1, static_cast<std::int64_t>(x.size())};
  DLTensor in{.data = x.data(),
              .device = {kDLCPU, 0},
              .ndim = 4,
              .dtype = to_dlpack(DType::f32),
              .shape = shape,
              .strides = nullptr,
              .byte_offset = 0};
  DLTensor out = in;
  out.data = y.data();
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  char message[256] = "";
  mote_call call{};
  call.size = sizeof call;
  call.op = k.op;
  call.input_count = call.output_count = 1;
  call.inputs = inputs;
  call.outputs = outputs;
  call.message = message;
  call.message_bytes = sizeof message;
  std::size_t bytes = 0;
  EXPECT_EQ(workspace_of(k, call, bytes), MOTE_OK) << message;
  std::vector<double> workspace(bytes / sizeof(double) + 1);
  call.workspace = workspace.data();
  call.workspace_bytes = bytes;
  EXPECT_EQ(run_kernel(k, call, nullptr), MOTE_OK) << message;
  return y;
}

double ulp_of(double y) {
  const double a = std::max(std::fabs(y), kLeastNormal);
  return std::ldexp(1.0, std::ilogb(a) - 23);
}

struct Worst {
  double ulp = 0;  ///< the error of the function
  double abs = 0;  ///< the error beyond the declared ulps
  float at_ulp = 0;
  float at_abs = 0;
  bool flushes = false;
};

/// Records the function's error at x, in ulps and beyond the declared ones.
void look(const Measured& m, float x, float got, const mote_accuracy& promise, Worst& worst) {
  const double exact = m.exact(x);
  constexpr double kGreatest = std::numeric_limits<float>::max();
  // Values that may be flushed, or that overflow, are not measured in ulps.
  if (!m.counts(x) || std::fabs(x) < kLeastNormal || !(std::fabs(exact) < 0.999 * kGreatest))
    return;
  if (got == 0 && exact != 0 && std::fabs(exact) < kLeastNormal * (1 + 1e-5)) worst.flushes = true;
  if (std::fabs(exact) < kLeastNormal * (1 + 1e-5)) return;
  const double weight = m.weight(x);
  if (weight < 1e-30) return;
  const double error = std::fabs(got - exact);
  // The op's other roundings do not count as the function's.
  const double own = m.weight == one ? error : std::max(0.0, error - 2 * ulp_of(exact)) / weight;
  const double unit = ulp_of(m.inner(x));
  if (own / unit > worst.ulp) worst.ulp = own / unit, worst.at_ulp = x;
  // Only exp of these functions is declared to round its argument; its slope is its value.
  const double argument = promise.arg * 0x1p-24 * std::fabs(x) * std::fabs(m.inner(x));
  const double beyond = own - promise.ulp * unit - argument;
  if (beyond > worst.abs) worst.abs = beyond, worst.at_abs = x;
}

mote_accuracy declared(const mote_contract& contract, const char* function) {
  for (const mote_accuracy& a : accuracies_of(contract))
    if (std::string(a.function) == function) return a;
  return {.function = function, .ulp = 4, .arg = 0, .abs = 0};
}

Worst measure(const Measured& m, const mote_accuracy& promise, std::uint64_t step) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  const mote_kernel& k = kernel(m.op);
  Worst worst;
  std::vector<float> x;
  const auto flush = [&] {
    const std::vector<float> y = run(k, x);
    for (std::size_t at = 0; at < x.size(); ++at) look(m, x[at], y[at], promise, worst);
    x.clear();
  };
  const auto add = [&](float value) {
    x.push_back(value);
    if (x.size() == kBlock) flush();
  };
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step)
    add(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (int n = -100000; n < 100000; ++n) {
    add(1 + static_cast<float>(n) * 0x1p-18F);
    add(static_cast<float>(n) * 0x1p-14F);
  }
  flush();
  return worst;
}

TEST(OneDnnAccuracy, OfEveryFunctionIsDeclared) {
  const char* exhaustive = std::getenv("MOTE_EXHAUSTIVE");
  const std::uint64_t step = exhaustive != nullptr && *exhaustive == '1' ? 1 : 9973;
  for (const Measured& m : kAll) {
    const mote_contract& contract = *kernel(m.op).contract;
    const mote_accuracy promise = declared(contract, m.function);
    const Worst worst = measure(m, promise, step);
    std::printf("%-8s %-5s: %.4g ulp at %.9g; beyond %g ulp %.4g at %.9g%s\n", m.op, m.function,
                worst.ulp, static_cast<double>(worst.at_ulp), promise.ulp, worst.abs,
                static_cast<double>(worst.at_abs), worst.flushes ? "; flushes" : "");
    EXPECT_LE(worst.abs, promise.abs) << m.op;
    EXPECT_TRUE(contract.flushes_denormals != 0 || !worst.flushes) << m.op;
  }
}

}  // namespace
}  // namespace mote
