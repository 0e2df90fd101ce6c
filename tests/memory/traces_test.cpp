// SPDX-License-Identifier: Apache-2.0
// The activations of nine CNNs (traces/README.md) fit into the least memory that any plan can have,
// with and without outputs that take the memory of inputs.
#include <gtest/gtest.h>

#include <map>

#include "mote/memory/check.h"
#include "mote/memory/plan.h"
#include "problems.h"

namespace mote {
namespace {

std::string trace_text(const std::string& name) {
  std::ifstream file(std::string(MOTE_TEST_TRACES) + "/" + name);
  if (!file) throw std::runtime_error("cannot open " + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Merges each output of a pair with its input if the input is read last where the output is
/// written, and no other output has taken it.
MemoryProblem in_place(const MemoryProblem& problem, const std::string& pairs) {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) by_name[problem.blocks[b].name] = b;
  std::vector<std::size_t> taken(problem.blocks.size());
  for (std::size_t b = 0; b < taken.size(); ++b) taken[b] = b;
  const auto lifetimes = problem.interference.lifetimes();
  std::vector<Lifetime> merged(lifetimes.begin(), lifetimes.end());
  std::stringstream lines(pairs);
  std::string line;
  std::getline(lines, line);  // the names of the columns
  while (std::getline(lines, line)) {
    const std::size_t comma = line.find(',');
    const std::size_t input = taken[by_name.at(line.substr(0, comma))];
    const std::size_t output = by_name.at(line.substr(comma + 1));
    EXPECT_EQ(problem.blocks[input].bytes, problem.blocks[output].bytes) << line;
    if (taken[output] != output || merged[input].end != merged[output].begin + 1) continue;
    taken[output] = input;
    merged[input].end = merged[output].end;
  }
  MemoryProblem result;
  std::vector<Lifetime> left;
  for (std::size_t b = 0; b < taken.size(); ++b) {
    if (taken[b] != b) continue;
    result.blocks.push_back(problem.blocks[b]);
    left.push_back(merged[b]);
  }
  result.interference = Interference::of_lifetimes(std::move(left));
  return result;
}

/// Expects a plan that meets the bound, which must be `bytes`, under both statements of
/// interference.
void expect_bound(const MemoryProblem& problem, std::uint64_t bytes) {
  for (const MemoryProblem& p : {problem, test::as_pairs(problem)}) {
    const MemoryPlan plan = plan_memory(p);
    const std::optional<Reason> defect = check_memory_plan(p, plan);
    EXPECT_FALSE(defect) << defect->text;
    EXPECT_EQ(plan.bound, bytes);
    EXPECT_EQ(plan.total, bytes) << plan.planner;
  }
}

struct Network {
  const char* name;
  std::uint64_t bytes;           ///< the most that are alive at once
  std::uint64_t in_place_bytes;  ///< the same, outputs in the memory of inputs
};
void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

class Traces : public testing::TestWithParam<Network> {};

TEST_P(Traces, MeetTheBound) {
  const Network& network = GetParam();
  const std::string name = network.name;
  const MemoryProblem problem = read_minimalloc(trace_text(name + ".csv")).problem;
  expect_bound(problem, network.bytes);
  expect_bound(in_place(problem, trace_text(name + ".in_place.csv")), network.in_place_bytes);
}

INSTANTIATE_TEST_SUITE_P(OfOnnx, Traces,
                         testing::Values(Network{"bvlc_alexnet", 2239488, 2239488},
                                         Network{"densenet121", 8429568, 7225344},
                                         Network{"inception_v1", 6422528, 4646400},
                                         Network{"inception_v2", 6422528, 4014080},
                                         Network{"resnet50", 9633792, 7225344},
                                         Network{"shufflenet", 3110912, 3110912},
                                         Network{"squeezenet", 6308352, 3928576},
                                         Network{"vgg19", 25690112, 25690112},
                                         Network{"zfnet512", 9124608, 9124608}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mote
