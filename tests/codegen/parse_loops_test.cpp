// SPDX-License-Identifier: Apache-2.0
// Tests that the text of a loop program reads back as an equal program: those of the whole
// catalogue, at every stage of the compiler, and programs by hand with all that the text can say.
#include "mote/codegen/parse_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loop_variables.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "mote/macroops/catalogue.h"
#include "random_schedule.h"
#include "trial.h"

namespace mote {
namespace {

using namespace test;

/// Reads the program's text back, and returns whether it is the same program with the same text.
testing::AssertionResult reads_back(const LoopProgram& p) {
  const std::string text = to_string(p);
  try {
    const LoopProgram again = parse_loops(text, p.source);
    const std::string printed = to_string(again);
    if (printed != text)
      return testing::AssertionFailure() << "expected\n" << text << "got\n" << printed;
    if (!equal(again, p)) return testing::AssertionFailure() << "another program:\n" << text;
    return testing::AssertionSuccess();
  } catch (const Error& e) {
    return testing::AssertionFailure() << e.what() << " in\n" << text;
  }
}

/// Interprets the program and what its text reads back as, on small inputs: all bits are the same.
void expect_same_results(const LoopProgram& p, std::uint64_t seed) {
  for (const Trial& trial : make_trials(*p.source, seed, 1)) {
    if (!meets_constraints(*p.source, trial)) continue;
    const std::vector<Array> inputs = make_inputs(*p.source, trial);
    std::vector<Array> expected;
    try {
      expected = interpret(p, inputs, trial.params);
    } catch (const std::exception&) {
      continue;  // an index is out of range, or nothing has a greatest element
    }
    EXPECT_EQ(interpret(parse_loops(to_string(p), p.source), inputs, trial.params), expected)
        << to_string(p) << to_string(trial);
  }
}

class ParseLoops : public testing::TestWithParam<int> {};

/// Every eighth record.
std::vector<const OpRecord*> part(int which) {
  std::vector<const OpRecord*> records;
  const auto all = generated_ops();
  for (std::size_t k = static_cast<std::size_t>(which); k < all.size(); k += 8)
    records.push_back(all[k]);
  return records;
}

TEST_P(ParseLoops, ReadsEveryStageOfTheCatalogueBack) {
  for (const OpRecord* record : part(GetParam())) {
    SCOPED_TRACE(record->name);
    const Instance instance = instances(*record).back();
    const auto program = instantiate(*record, instance);
    EXPECT_TRUE(reads_back(lower_per_uop(program)));
    const LoopProgram loops = compile(program, [&](const char* stage, const LoopProgram& p) {
      EXPECT_TRUE(reads_back(p)) << stage;
    });
    expect_same_results(loops, 1);
    for (const Version& v : schedule(loops).versions) EXPECT_TRUE(reads_back(v.program)) << v.name;
    const CudaProgram cuda = cuda_program(loops, CudaVariant::gen);
    for (const CudaKernel* kernel : all_kernels(cuda))
      EXPECT_TRUE(reads_back(kernel->loops())) << kernel->function;
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Parts, ParseLoops, testing::Range(0, 8));

}  // namespace
}  // namespace mote
