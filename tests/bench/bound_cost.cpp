// How many times the reference's time the error bound takes, for every op of the catalogue in
// float at sizes about 10^5 multiply-adds: where it is compiled, and where it is interpreted.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bounds.h"
#include "mote/oracle/exactness.h"
#include "mote/oracle/generate.h"
#include "reference.h"

namespace mote {
namespace {

constexpr int kRounds = 5;
constexpr std::uint64_t kDraws = 24;
constexpr double kLeastSeconds = 0.002;  ///< of what is timed at once

/// Of this thread: what others do on the machine does not count.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const std::function<void()>& run, int times) {
  const double start = now();
  for (int k = 0; k < times; ++k) run();
  return (now() - start) / times;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + kRounds / 2);
  return values[kRounds / 2];
}

/// Of the first cases of the op that with most work.
Case largest_case(const std::string& op, DType dtype) {
  std::optional<Case> largest;
  double most = -1;
  for (std::uint64_t position = 0; position < kDraws; ++position) {
    Case c = generate(find_target(op), dtype, 1, position);
    const double work = multiply_adds(*c.program, c.binding);
    double elements = 0;
    for (const CaseTensor& t : c.inputs) elements += static_cast<double>(volume(t.shape));
    if (std::max(work, elements) <= most) continue;
    most = std::max(work, elements);
    largest = std::move(c);
  }
  largest->fill = {FillKind::uniform, 1};
  return *largest;
}

std::vector<Dense> filled(const Case& c) {
  std::vector<Dense> inputs;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    const CaseTensor& t = c.inputs[k];
    const Filler filler(
        c.fill,
        {t.name, t.dtype, static_cast<int>(k), static_cast<int>(c.inputs.size()), volume(t.shape)},
        4);
    Dense& d = inputs.emplace_back(t.dtype, volume(t.shape));
    for (std::int64_t at = 0; at < d.count(); ++at)
      d.set(at, is_real(t.dtype) ? Number(filler.real(at)) : Number(filler.integer(at)));
  }
  return inputs;
}

struct Cost {
  double reference = 0;  ///< seconds
  double compiled = 0;   ///< times the reference's
  double interpreted = 0;
};

Cost measure(const Case& c) {
  std::vector<Dense> inputs = filled(c);
  std::vector<Dense> expected;
  for (const CaseTensor& t : c.outputs) expected.emplace_back(t.dtype, volume(t.shape));
  const auto reference = reference_for(c);
  const auto compiled = BoundOf::make(c, nullptr);
  const auto interpreted = BoundOf::interpreted(c);
  const auto of_reference = [&] { reference->run(c, inputs, expected); };
  const auto of_compiled = [&] { compiled->compute(c, inputs); };
  const auto of_interpreted = [&] { interpreted->compute(c, inputs); };
  const double once = seconds(of_reference, 1);
  const int times = static_cast<int>(std::clamp(kLeastSeconds / once, 1.0, 1e4));
  std::vector<double> references, by_c, by_blocks;
  for (int k = 0; k < kRounds; ++k) {
    references.push_back(seconds(of_reference, times));
    by_c.push_back(seconds(of_compiled, times) / references.back());
    by_blocks.push_back(seconds(of_interpreted, std::max(times / 4, 1)) / references.back());
  }
  return {median(references), median(by_c), median(by_blocks)};
}

int run(const std::vector<std::string>& ops, double limit) {
  fmt::print("{:30} {:>12} {:>10} {:>12}\n", "op", "reference", "compiled", "interpreted");
  std::vector<double> ratios;
  int beyond = 0;
  for (const OpRecord& record : catalogue()) {
    const bool wanted = ops.empty() || std::ranges::find(ops, record.name) != ops.end();
    if (!wanted || std::ranges::find(record.dtypes, DType::f32) == record.dtypes.end()) continue;
    const Case c = largest_case(record.name, DType::f32);
    bool bounded = false;
    for (std::size_t k = 0; k < c.outputs.size(); ++k)
      bounded = bounded || !is_certain(*c.program, k);
    if (!bounded) continue;
    const Cost cost = measure(c);
    fmt::print("{:30} {:9.3f} ms {:10.1f} {:12.1f}\n", record.name, cost.reference * 1e3,
               cost.compiled, cost.interpreted);
    std::fflush(stdout);
    ratios.push_back(cost.compiled);
    beyond += cost.compiled > limit ? 1 : 0;
  }
  std::ranges::sort(ratios);
  if (!ratios.empty())
    fmt::print("{} ops: median {:.1f}, greatest {:.1f}, {} above {:.0f}\n", ratios.size(),
               ratios[ratios.size() / 2], ratios.back(), beyond, limit);
  return beyond == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mote

int main(int argc, char** argv) {
  const char* wanted = std::getenv("MOTE_BOUND_COST");
  return mote::run({argv + 1, argv + argc}, wanted != nullptr ? std::atof(wanted) : 100);
}
