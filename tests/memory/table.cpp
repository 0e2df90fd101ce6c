// SPDX-License-Identifier: Apache-2.0
// memory_table: plans MiniMalloc's instances and traces of networks, and prints the table of
// runtime/memory/README.md: bytes against the bound, and the seconds of one core.
#include <cstdio>
#include <ctime>

#include "mote/memory/check.h"
#include "mote/memory/plan.h"
#include "problems.h"
#include "traces.h"

namespace mote {
namespace {

struct Row {
  double ratio = 0, seconds = 0;
};

Row measured(const MemoryProblem& problem, const MemoryPlanOptions& options) {
  const std::clock_t start = std::clock();
  const MemoryPlan plan = plan_memory(problem, options);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (const std::optional<Reason> defect = check_memory_plan(problem, plan))
    std::printf("DEFECT: %s\n", defect->text.c_str());
  return {static_cast<double>(plan.total) / static_cast<double>(plan.bound), seconds};
}

void print_row(const std::string& name, const MemoryProblem& problem, const Row& given) {
  std::printf("| %s | %zu | %llu |", name.c_str(), problem.blocks.size(),
              static_cast<unsigned long long>(memory_bound(problem)));
  for (const MemoryEffort effort : {MemoryEffort::fast, MemoryEffort::normal}) {
    const Row row = measured(problem, {.effort = effort});
    std::printf(" %.4f (%.3f s) |", row.ratio, row.seconds);
  }
  std::printf(" %.4f (%.3f s) |", given.ratio, given.seconds);
  const Row seed = measured(problem, {.planner = MemoryPlanner::seed});
  std::printf(" %.4f (%.3f s) |\n", seed.ratio, seed.seconds);
  std::fflush(stdout);
}

}  // namespace
}  // namespace mote

int main() {
  using namespace mote;
  std::printf(
      "| set | blocks | bound, bytes | fast | normal | thorough | seed |\n"
      "|---|---|---|---|---|---|---|\n");
  double seconds = 0;
  for (const char set : std::string("ABCDEFGHIJK")) {
    const MemoryProblem problem =
        read_minimalloc(test::minimalloc_text(std::string(1, set) + ".1048576.csv")).problem;
    const Row given = measured(problem, {.effort = MemoryEffort::thorough, .enough = 1048576});
    seconds += given.seconds;
    print_row(std::string("MiniMalloc ") + set, problem, given);
  }
  std::printf("all eleven within 1,048,576 bytes: %.2f s\n", seconds);
  for (const auto& [name, problem] : test::network_traces())
    print_row(name, problem, measured(problem, {.effort = MemoryEffort::thorough}));
}
