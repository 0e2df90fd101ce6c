// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the error bound relative to the reference, for every op of the catalogue in
// float at sizes about 10^5 multiply-adds. The bound is evaluated in full, both as the oracle does
// it (compiled where it has few nodes) and interpreted. Times are CPU times of the thread; the
// three are measured in turns of equal length and the least of each counts, since other load can
// only add to it. $MOTE_BOUND_COST is the greatest median that passes (default 10); with
// $MOTE_BOUND_CASES each op's case is printed too. Arguments name the ops to measure, gradients too
// (conv2d.grad).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "blocks/demand.h"
#include "blocks/inline.h"
#include "blocks/masked.h"
#include "blocks/storage.h"
#include "judge/bounds.h"
#include "judge/reference.h"
#include "mote/oracle/generate.h"
#include "mote/oracle/memory.h"
#include "mote/uops/bound.h"

namespace mote {
namespace {

constexpr std::size_t kRounds = 15;
constexpr std::uint64_t kDraws = 48;
constexpr double kWork = 1e5;            ///< the wanted number of multiply-adds
constexpr double kLeastSeconds = 0.005;  ///< the least duration of one timed sample

/// Returns the CPU time of this thread, to which other load on the machine does not add.
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

/// Returns the number of repetitions that take kLeastSeconds together.
int times_of(const std::function<void()>& run) {
  run();  // allocates memory and fills caches
  return static_cast<int>(std::clamp(kLeastSeconds / seconds(run, 1), 1.0, 1e4));
}

bool is_empty(const CaseTensor& t) { return volume(t.shape) == 0; }

double elements(const blocks::Extents& shape) {
  double count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
  return count;
}

/// Estimates the work: the number of terms of the largest sum that a window or a mask leaves, or
/// the number of elements of the largest output; 0 if an input is empty. Elements of inputs do not
/// count: a resize to one pixel reads four of them.
double work_of(const Case& c) {
  if (std::ranges::any_of(c.inputs, is_empty)) return 0;
  const Program program = blocks::inlined(*c.program).value_or(*c.program);
  const std::vector<Uop> outputs = roots(program);
  const Sizes& sizes = c.binding.values;
  double work = 0;
  for (const Uop& u : outputs)
    work = std::max(work, elements(blocks::extents_of(u.shape(), sizes)));
  blocks::Demand demand(outputs);
  for (const Uop& u : topological(outputs)) {
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    if (r == nullptr) continue;
    const blocks::Extents shape = blocks::extents_of(r->x.shape(), sizes);
    const auto mask = blocks::masked(*r, demand.conditions_of_terms(u, *r));
    const double share = mask ? blocks::chosen_share(mask->conditions, shape, sizes) : 1;
    work = std::max(work, share * elements(shape));
  }
  return work;
}

/// Returns the case whose work is nearest to kWork among the op's first cases.
Case wanted_case(const std::string& op, DType dtype) {
  std::optional<Case> nearest;
  double least = 0;
  for (std::uint64_t position = 0; position < kDraws; ++position) {
    Case c = generate(find_target(op), dtype, 1, position);
    const double off = std::fabs(std::log(std::max(work_of(c), 0.1) / kWork));
    if (nearest && off >= least) continue;
    least = off;
    nearest = std::move(c);
  }
  nearest->fill = {FillKind::uniform, 1};
  return *nearest;
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
  double reference = 0;  ///< in seconds
  double bound = 0;      ///< relative to the reference
  double interpreted = 0;
};

Cost measure(const Case& c) {
  std::vector<Dense> inputs = filled(c);
  std::vector<Dense> expected;
  for (const CaseTensor& t : c.outputs) expected.emplace_back(t.dtype, volume(t.shape));
  const auto reference = reference_for(c);
  const auto bound = BoundOf::make(c, nullptr);
  const auto interpreted = BoundOf::interpreted(c);
  const auto of_reference = [&] { reference->run(c, inputs, expected); };
  const auto of_bound = [&] { bound->compute(c, inputs); };
  const auto of_interpreted = [&] { interpreted->compute(c, inputs); };
  const std::array<std::function<void()>, 3> runs = {of_reference, of_bound, of_interpreted};
  std::array<int, 3> times{};
  std::array<double, 3> least{};
  for (std::size_t k = 0; k < runs.size(); ++k) times[k] = times_of(runs[k]);
  least.fill(HUGE_VAL);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t turn = 0; turn < runs.size(); ++turn) {
      const std::size_t k = (round + turn) % runs.size();  // each runs after each other one
      least[k] = std::min(least[k], seconds(runs[k], times[k]));
    }
  }
  return {least[0], least[1] / least[0], least[2] / least[0]};
}

std::size_t node_count(const Program& p) {
  const std::vector<Uop> outputs = roots(p);
  return topological(outputs).size();
}

bool is_bounded(const Case& c) {
  for (std::size_t k = 0; k < c.outputs.size(); ++k)
    if (!is_certain(*c.program, k)) return true;
  return false;
}

constexpr double kWanted = 10;

std::vector<std::string> ops_of_f32() {
  std::vector<std::string> names;
  for (const OpRecord& record : catalogue())
    if (std::ranges::find(record.dtypes, DType::f32) != record.dtypes.end())
      names.push_back(record.name);
  return names;
}

int run(const std::vector<std::string>& ops, double limit) {
  fmt::print("{:30} {:>6} {:>8} {:>12} {:>8} {:>12}\n", "op", "nodes", "work", "reference", "bound",
             "interpreted");
  const bool prints_cases = std::getenv("MOTE_BOUND_CASES") != nullptr;
  std::vector<double> ratios;
  for (const std::string& op : ops) {
    const Case c = wanted_case(op, DType::f32);
    if (!is_bounded(c)) continue;
    const Cost cost = measure(c);
    fmt::print("{:30} {:6} {:8.0f} {:9.3f} ms {:8.1f} {:12.1f}\n", op,
               node_count(bound(*c.program)), work_of(c), cost.reference * 1e3, cost.bound,
               cost.interpreted);
    if (prints_cases) fmt::print("  {}\n", to_string(c));
    std::fflush(stdout);
    ratios.push_back(cost.bound);
  }
  if (ratios.empty()) return 0;
  std::ranges::sort(ratios);
  const double middle = ratios[ratios.size() / 2];
  fmt::print("{} ops: median {:.1f}, greatest {:.1f}, {} above {:.0f}\n", ratios.size(), middle,
             ratios.back(), std::ranges::count_if(ratios, [](double r) { return r > kWanted; }),
             kWanted);
  if (middle > limit) fmt::print("the median is above {:.1f}\n", limit);
  return middle > limit ? 1 : 0;
}

}  // namespace
}  // namespace mote

int main(int argc, char** argv) {
  const char* given = std::getenv("MOTE_BOUND_COST");
  mote::keep_freed_memory();  // as `mote check` does
  try {
    const double wanted = given != nullptr ? std::atof(given) : mote::kWanted;
    const std::vector<std::string> ops(argv + 1, argv + argc);
    return mote::run(ops.empty() ? mote::ops_of_f32() : ops, wanted);
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote_bound_cost: {}\n", e.what());
    return 1;
  }
}
