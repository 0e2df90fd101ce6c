// SPDX-License-Identifier: Apache-2.0
// Measures the speed-up of the variant gen over the reference variant: softmax 4096x1024
// and a gelu chain of 4M elements, in float. Runs of the two alternate, so that a busy machine
// slows both; the ratio is that of the medians. $MOTE_RATIO is the least ratio that passes, with
// all threads; without it the sizes are an eighth and the limit is 4.
#include <fmt/format.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.h"
#include "mote/base/dlpack.h"
#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/generated/level.h"

namespace {

using Run = std::function<void()>;

constexpr int kRounds = 7;

double seconds(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + kRounds / 2);
  return values[kRounds / 2];
}

double ratio(const Run& slow, const Run& gen) {
  std::vector<double> of_slow;
  std::vector<double> of_gen;
  seconds(gen);
  for (int k = 0; k < kRounds; ++k) {
    of_slow.push_back(seconds(slow));
    of_gen.push_back(seconds(gen));
  }
  return median(of_slow) / median(of_gen);
}

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& v : out) {
    state = state * 1664525U + 1013904223U;
    v = static_cast<float>(state >> 8U) / 4194304.0F - 2.0F;
  }
  return out;
}

class Softmax {
 public:
  Softmax(std::int64_t rows, std::int64_t columns)
      : shape_{1, rows, columns, 1}, x_(numbers(rows * columns)), y_(x_.size()) {}

  Run run(std::string_view variant) {
    const mote_generated_kernel* kernel =
        mote::find_generated("softmax", variant, mote::DType::f32, 1);
    if (kernel == nullptr) throw std::runtime_error("no kernel of softmax");
    return [this, kernel] {
      DLTensor x = view(x_.data());
      DLTensor y = view(y_.data());
      const DLTensor* in[] = {&x};
      DLTensor* out[] = {&y};
      mote_call call{};
      call.size = sizeof(mote_call);
      call.op = "softmax";
      call.input_count = 1;
      call.output_count = 1;
      call.inputs = in;
      call.outputs = out;
      if (kernel->kernel.run(&call, nullptr) != MOTE_OK)
        throw std::runtime_error("softmax does not run");
    };
  }

 private:
  DLTensor view(float* data) {
    return {data, {kDLCPU, 0}, 3, mote::to_dlpack(mote::DType::f32), shape_ + 1, nullptr, 0};
  }

  std::int64_t shape_[4];
  std::vector<float> x_;
  std::vector<float> y_;
};

class GeluChain {
 public:
  explicit GeluChain(std::int64_t count) : x_(numbers(count)), r_(numbers(count)), y_(x_.size()) {}

  Run run(gelu_chain_kernel* kernel) {
    return [this, kernel] {
      const std::int64_t stride[] = {1};
      if (kernel(x_.data(), stride, r_.data(), stride, y_.data(), stride,
                 static_cast<std::int64_t>(x_.size()), 1.25, 0.5) != 0)
        throw std::runtime_error("gelu_chain does not run");
    };
  }

 private:
  std::vector<float> x_;
  std::vector<float> r_;
  std::vector<float> y_;
};

gelu_chain_kernel* best_gelu_chain() {
#ifdef MOTE_X86_LEVELS
  if (mote_level() == 4) return gelu_chain_v4;
  if (mote_level() == 3) return gelu_chain_v3;
#endif
  return gelu_chain_v0;
}

std::vector<int> thread_counts() {
#ifdef _OPENMP
  const int most = omp_get_num_procs();
  return most > 1 ? std::vector<int>{1, most} : std::vector<int>{1};
#else
  return {1};
#endif
}

void set_threads([[maybe_unused]] int count) {
#ifdef _OPENMP
  omp_set_num_threads(count);
#endif
}

/// Takes the best ratio over the thread counts, since a busy machine may have no second core to
/// give.
int measure(double at_least, std::int64_t smaller) {
  const std::int64_t rows = 4096 / smaller;
  Softmax softmax(rows, 1024);
  GeluChain chain(std::int64_t{4} * 1024 * 1024 / smaller);
  fmt::print("level x86-64-v{}, reference over gen, medians of {} alternating runs\n", mote_level(),
             kRounds);
  double of_softmax = 0;
  double of_chain = 0;
  const auto report = [](const std::string& what, double value, double& best) {
    fmt::print("{:32} {:6.1f}\n", what, value);
    best = std::max(best, value);
  };
  for (const int threads : thread_counts()) {
    set_threads(threads);
    report(fmt::format("softmax {}x1024, {} threads", rows, threads),
           ratio(softmax.run(mote::kReference), softmax.run(mote::kGen)), of_softmax);
    report(fmt::format("gelu chain, {} threads", threads),
           ratio(chain.run(gelu_chain_reference), chain.run(best_gelu_chain())), of_chain);
  }
  const bool enough = std::min(of_softmax, of_chain) >= at_least;
  if (!enough) fmt::print("below {:.1f}\n", at_least);
  return enough ? 0 : 1;
}

}  // namespace

int main() {
  const char* wanted = std::getenv("MOTE_RATIO");
  const double at_least = wanted != nullptr ? std::atof(wanted) : 4.0;
  try {
    return measure(at_least, wanted != nullptr ? 1 : 8);
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote_ratio: {}\n", e.what());
    return 1;
  }
}
