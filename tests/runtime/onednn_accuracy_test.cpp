// oneDNN's functions against the C library's in double: their greatest errors over f32 are within
// what the backend's contracts declare, and near enough to it that the contracts say something. A
// run looks at every 9973rd float, and at all around 0 and 1 in fewer steps; with MOTE_EXHAUSTIVE=1
// at all 2^32.
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

/// An op that computes `function` once: its exact value, how far an error of the function reaches
/// into it, and the function's exact value there.
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
    {"log", "log", [](double x) { return std::log(x); }, one, [](double x) { return std::log(x); },
     [](double x) { return x > 0; }},
    {"tanh", "tanh", [](double x) { return std::tanh(x); }, one,
     [](double x) { return std::tanh(x); }, always},
    {"elu", "expm1", [](double x) { return std::expm1(x); }, one,
     [](double x) { return std::expm1(x); }, [](double x) { return x < 0; }},
    {"gelu", "erf", [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); },
     [](double x) { return std::fabs(x) / 2; }, [](double x) { return std::erf(x * std::sqrt(0.5)); },
     [](double x) { return x != 0 && std::isfinite(x); }},
    {"softplus", "log1p", softplus, one,
     [](double x) { return std::log1p(std::exp(-std::fabs(x))); },
     [](double x) { return std::isfinite(x); }},
    {"mish", "log1p", [](double x) { return x * std::tanh(softplus(x)); },
     [](double x) { return std::fabs(x) * sech2(softplus(x)); },
     [](double x) { return std::log1p(std::exp(-std::fabs(x))); },
     [](double x) { return std::isfinite(x) && x != 0; }},
};

/// All floats of a block, computed by the kernel.
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
  double ulp = 0;  ///< of the function, where nothing absolute is allowed
  double abs = 0;  ///< beyond `given` ulps
  float at_ulp = 0, at_abs = 0;
  int flushed = 0;
  int wrong = 0;  ///< NaN or infinity where there is none, or none where there is
  float at_wrong = 0;
};

void look(const Measured& m, float x, float got, double ulp, Worst& worst) {
  const double exact = m.exact(x);
  if (!m.counts(x)) return;
  if (std::isnan(exact) || std::fabs(exact) > std::numeric_limits<float>::max() ||
      !std::isfinite(got)) {
    const bool near_overflow = std::fabs(exact) > 0.999 * std::numeric_limits<float>::max();
    if (std::isnan(exact) != std::isnan(got) || (!near_overflow && !std::isfinite(got))) {
      ++worst.wrong;
      worst.at_wrong = x;
    }
    return;
  }
  const double error = std::fabs(got - exact);
  if (got == 0 && std::fabs(exact) < 2 * kLeastNormal) {
    worst.flushed += exact != 0;
    return;
  }
  if (std::fabs(exact) < kLeastNormal) return;
  const double weight = m.weight(x);
  const double rest = std::max(0.0, error - 2 * ulp_of(exact));  // the op's other roundings
  const double of_function = (weight == 1 ? error : rest / weight);
  const double in_ulps = of_function / ulp_of(m.inner(x));
  if (in_ulps > worst.ulp) worst.ulp = in_ulps, worst.at_ulp = x;
  const double beyond = of_function - ulp * ulp_of(m.inner(x));
  if (weight > 1e-30 && beyond > worst.abs) worst.abs = beyond, worst.at_abs = x;
}

mote_accuracy declared(const mote_contract& contract, const char* function) {
  for (const mote_accuracy& a : accuracies_of(contract))
    if (std::string(a.function) == function) return a;
  return {.function = function, .ulp = 4, .arg = 0, .abs = 0};
}

TEST(OneDnnAccuracy, OfEveryFunctionIsDeclared) {
  const char* exhaustive = std::getenv("MOTE_EXHAUSTIVE");
  const std::uint64_t step = exhaustive != nullptr && *exhaustive == '1' ? 1 : 9973;
  constexpr std::size_t kBlock = std::size_t{1} << 16;
  for (const Measured& m : kAll) {
    const mote_kernel& k = kernel(m.op);
    const mote_accuracy promise = declared(*k.contract, m.function);
    Worst worst;
    std::vector<float> x;
    const auto flush = [&] {
      const std::vector<float> y = run(k, x);
      for (std::size_t at = 0; at < x.size(); ++at) look(m, x[at], y[at], promise.ulp, worst);
      x.clear();
    };
    const auto add = [&](float value) {
      x.push_back(value);
      if (x.size() == kBlock) flush();
    };
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step)
      add(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    for (int n = -50000; n < 50000; ++n) {
      add(1 + static_cast<float>(n) * 0x1p-17F);
      add(static_cast<float>(n) * 0x1p-13F);
    }
    flush();
    std::printf("%-9s %-6s: %.4g ulp (at %.9g); beyond %g ulp %.4g (at %.9g); flushed %d, wrong %d (%.9g)\n", m.op,
                m.function, worst.ulp, static_cast<double>(worst.at_ulp), promise.ulp, worst.abs,
                static_cast<double>(worst.at_abs), worst.flushed, worst.wrong, static_cast<double>(worst.at_wrong));
    EXPECT_LE(worst.abs, promise.abs) << m.op;
    EXPECT_GE(worst.abs, promise.abs / 4) << m.op << ": declared too wide";
    if (worst.flushed > 0) EXPECT_NE(k.contract->flushes_denormals, 0) << m.op;
    EXPECT_EQ(worst.wrong, 0) << m.op << " of " << worst.at_wrong;
  }
}

}  // namespace
}  // namespace mote
