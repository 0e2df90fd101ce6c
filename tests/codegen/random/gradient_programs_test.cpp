// Random uop programs differentiated, twice: each against dual numbers and differences. A failure
// prints the program and its gradient; MOTE_GRADIENT_SEED=n runs one program,
// MOTE_RANDOM_PROGRAMS=n that many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "gradient_check.h"
#include "mote/base/error.h"
#include "random_program.h"
#include "trial.h"

namespace mote::test {
namespace {

bool has_gradient(const Program& p) {
  bool in = false, out = false;
  for (const Uop& u : p.inputs) in = in || is_real(u.dtype());
  for (const Output& o : p.outputs) out = out || is_real(o.value.dtype());
  return in && out;
}

/// Differences do not stop where a StopGradient says so.
bool stops(const Program& p) {
  std::vector<Uop> roots;
  for (const Output& o : p.outputs) roots.push_back(o.value);
  for (const Uop& u : topological(roots))
    if (std::holds_alternative<uop::StopGradient>(u.node().kind)) return true;
  return false;
}

/// Small whole numbers, with ties and zeros, or reals in (-2, 2).
std::vector<Array> some_inputs(const Program& p, Trial t, bool whole) {
  t.fill = Fill::integers;
  std::vector<Array> inputs = make_inputs(p, t);
  for (std::size_t k = 0; k < inputs.size() && !whole; ++k)
    if (is_real(inputs[k].dtype))
      inputs[k] = random_array(inputs[k].dtype, inputs[k].shape, t.seed * 16 + k);
  return inputs;
}

struct Tally {
  int programs = 0;
  int judged = 0;
  int second = 0;  ///< verdicts on gradients of gradients
};

void try_program(std::uint64_t seed, Tally& tally) {
  const Program p = random_program(seed);
  if (!has_gradient(p)) return;
  ++tally.programs;
  for (const Trial& t : make_trials(p, seed, 3)) {
    // Whole numbers sit on kinks, where differences do not converge: dual numbers judge alone.
    GradientCase kinks{p, some_inputs(p, t, true), t.params};
    GradientCase smooth{p, some_inputs(p, t, false), t.params};
    try {
      evaluate(p, kinks.inputs, t.params);
    } catch (const Error&) {
      continue;  // a size that bind() refuses
    }
    for (int order = 1; order <= 2; ++order) {
      const Judgement differences =
          stops(smooth.program) ? Judgement() : check_differences(smooth, seed);
      for (const Judgement& j :
           {check_adjoint(kinks, seed), check_adjoint(smooth, seed), differences}) {
        (order == 1 ? tally.judged : tally.second) += int{j.judged};
        ASSERT_TRUE(j.agrees) << "seed " << seed << ", order " << order << ", " << to_string(t)
                              << "\n"
                              << j.text << "\n"
                              << to_string(smooth.program) << "\n"
                              << to_string(gradient(smooth.program).program);
      }
      kinks = gradient_case(kinks, seed);
      smooth = gradient_case(smooth, seed);
    }
  }
}

TEST(RandomPrograms, GradientsAgreeWithDualNumbersAndDifferences) {
  if (const char* one = std::getenv("MOTE_GRADIENT_SEED")) {
    Tally tally;
    try_program(std::strtoull(one, nullptr, 10), tally);
    return;
  }
  const char* text = std::getenv("MOTE_RANDOM_PROGRAMS");
  const int count = text ? std::atoi(text) : 200;
  Tally tally;
  for (int k = 0; k < count && !HasFatalFailure(); ++k)
    try_program(static_cast<std::uint64_t>(k) + 1, tally);
  std::cout << tally.programs << " programs with a gradient, " << tally.judged << " verdicts, "
            << tally.second << " of order 2\n";
  // A generator or a check that degenerates is seen here.
  EXPECT_GE(tally.programs * 2, count);
  EXPECT_GE(tally.judged, tally.programs * 2);
  EXPECT_GE(tally.second, tally.programs);
}

}  // namespace
}  // namespace mote::test
