// SPDX-License-Identifier: Apache-2.0
// Differentiates random uop programs twice, and checks each gradient against dual numbers and
// differences. A failure prints the program and its gradient; MOTE_GRADIENT_SEED=n runs one
// program, MOTE_RANDOM_PROGRAMS=n that number of programs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "check_program.h"
#include "gradient_check.h"
#include "mote/base/error.h"
#include "mote/uops/invert.h"
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

/// True if the program has a StopGradient, which differences ignore.
bool stops(const Program& p) {
  const std::vector<Uop> roots = mote::roots(p);
  for (const Uop& u : topological(roots))
    if (std::holds_alternative<uop::StopGradient>(u.node().kind)) return true;
  return false;
}

/// Draws small whole numbers, with ties and zeros, or reals in (-2, 2).
std::vector<Array> some_inputs(const Program& p, Trial t, bool whole) {
  t.fill = Fill::integers;
  std::vector<Array> inputs = make_inputs(p, t);
  for (std::size_t k = 0; k < inputs.size() && !whole; ++k)
    if (is_real(inputs[k].dtype))
      inputs[k] = random_array(inputs[k].dtype, inputs[k].shape, t.seed * 16 + k);
  return inputs;
}

/// Returns a difference of the inverted program's results, except for the rounding of sums in
/// another order.
std::string inverted_differs(const GradientCase& c) {
  const Program q = invert(c.program);
  std::vector<DualArray> in;
  for (const Array& a : c.inputs) in.push_back(as_dual(a));
  DualTrace trace, other;
  const std::vector<DualArray> y = evaluate_dual(c.program, in, c.params, &trace);
  const std::vector<DualArray> z = evaluate_dual(q, in, c.params, &other);
  const Quad noise = trace.noise() + other.noise();
  for (std::size_t k = 0; k < y.size(); ++k)
    for (std::size_t n = 0; n < y[k].reals.size(); ++n) {
      const Quad a = y[k].reals[n].value, b = z[k].reals[n].value;
      const Quad error = a < b ? b - a : a - b;
      if (a == b || (a != a && b != b) || error <= noise) continue;
      return "output " + c.program.outputs[k].name + " differs:\n" + to_string(c.program) + "\n" +
             to_string(q);
    }
  return "";
}

int scatters(const Program& p) {
  const std::vector<Uop> roots = mote::roots(p);
  int count = 0;
  for (const Uop& u : topological(roots))
    count += int{std::holds_alternative<uop::Scatter>(u.node().kind)};
  return count;
}

/// True if the program reads a digit of a double, which has no meaning in binary128.
bool reads_digits(const Program& p) {
  const std::vector<Uop> roots = mote::roots(p);
  for (const Uop& u : topological(roots)) {
    const auto* m = std::get_if<uop::Map>(&u.node().kind);
    if (m && m->op == MapOp::lowest_bit) return true;
  }
  return false;
}

struct Tally {
  int scatters = 0;  ///< in first gradients
  int inverted = 0;  ///< those of them that invert removes
  int programs = 0;
  int judged = 0;
  int second = 0;  ///< verdicts on gradients of gradients
};

/// Tries the program of the seed, and the one with nodes that compute others' elements again.
void try_program(std::uint64_t seed, bool has_twins, Tally& tally) {
  const Program p = random_program(seed, {.has_twins = has_twins});
  if (!has_gradient(p) || reads_digits(p)) return;
  ++tally.programs;
  const Program g = gradient(p).program;
  tally.scatters += scatters(g);
  tally.inverted += scatters(g) - scatters(invert(g));
  for (const Trial& t : make_trials(p, seed, 3)) {
    // Whole numbers lie on kinks, where differences do not converge: only dual numbers judge.
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
        ASSERT_TRUE(j.agrees) << "seed " << seed << (has_twins ? " with twins" : "") << ", order "
                              << order << ", " << to_string(t) << "\n"
                              << j.text << "\n"
                              << to_string(smooth.program) << "\n"
                              << to_string(gradient(smooth.program).program);
      }
      kinks = gradient_case(kinks, seed);
      ASSERT_EQ(inverted_differs(kinks), "") << "seed " << seed << ", " << to_string(t);
      smooth = gradient_case(smooth, seed);
      if (!has_gradient(smooth.program)) break;  // for example, of a sum of inputs
    }
  }
}

TEST(RandomPrograms, GradientsAgreeWithDualNumbersAndDifferences) {
  if (const char* one = std::getenv("MOTE_GRADIENT_SEED")) {
    Tally tally;
    for (const bool has_twins : {false, true})
      try_program(std::strtoull(one, nullptr, 10), has_twins, tally);
    return;
  }
  const char* text = std::getenv("MOTE_RANDOM_PROGRAMS");
  const int count = text ? std::atoi(text) : 200;
  Tally tally;
  for (int k = 0; k < count && !HasFatalFailure(); ++k)
    for (const bool has_twins : {false, true})
      try_program(static_cast<std::uint64_t>(k) + 1, has_twins, tally);
  std::cout << tally.programs << " programs with a gradient, " << tally.judged << " verdicts, "
            << tally.second << " of order 2; " << tally.inverted << " of " << tally.scatters
            << " scatters inverted\n";
  // These limits show a generator or a check that degenerates.
  EXPECT_GE(tally.programs, count);
  EXPECT_GE(tally.judged, tally.programs * 2);
  EXPECT_GE(tally.second, tally.programs);
  EXPECT_GE(tally.inverted * 2, tally.scatters);
}

// Gradients are programs of shapes that the generator does not draw: the passes must keep their
// meaning too, with their scatters and inverted.
TEST(RandomPrograms, GradientsKeepTheirValuesThroughThePasses) {
  const char* text = std::getenv("MOTE_RANDOM_PROGRAMS");
  const int count = text ? std::atoi(text) : 60;
  CheckOptions options;
  options.run_c = false;
  int checked = 0;
  for (int k = 0; k < count; ++k) {
    const std::uint64_t seed = static_cast<std::uint64_t>(k) + 1;
    const Program p = random_program(seed);
    if (!has_gradient(p)) continue;
    const Program g = gradient(p).program;
    for (const Program& each : {g, invert(g)}) {
      const std::vector<Trial> trials = make_trials(each, seed, 2);
      std::optional<Mismatch> mismatch;
      try {
        mismatch = check_program(each, trials, options);
      } catch (const Error&) {
        continue;  // sizes that do not fit together
      }
      ++checked;
      ASSERT_FALSE(mismatch) << "seed " << seed << ": " << to_string(*mismatch) << "\n"
                             << to_string(each);
    }
  }
  EXPECT_GE(checked, count);
}

}  // namespace
}  // namespace mote::test
