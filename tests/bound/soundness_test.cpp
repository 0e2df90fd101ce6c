// SPDX-License-Identifier: Apache-2.0
// Tests that the bound raises no false alarm: every result that a correct implementation of a
// program may compute lies within it. Every op of the catalogue and random programs are run by
// implementations drawn at random.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "cases.h"
#include "mote/base/error.h"
#include "mote/uops/gradient.h"
#include "mote/uops/invert.h"
#include "perturbed.h"
#include "random_program.h"
#include "trial.h"

namespace mote::test {
namespace {

struct Tally {
  std::int64_t runs = 0, elements = 0, indeterminate = 0, alarms = 0;
  void print(const char* what) const {
    fmt::print("{}: {} evaluations of {} elements, {} indeterminate, {} false alarms\n", what, runs,
               elements, indeterminate, alarms);
  }
};

/// Checks `draws` implementations on one set of inputs.
void expect_sound(const Program& p, const Program& bound, const std::vector<Array>& inputs,
                  const std::map<std::string, Number>& params, std::uint64_t seed, int draws,
                  const std::string& what, Tally& tally, const Contract& contract = {}) {
  const Bounds bounds = bounds_of(bound, inputs, params);
  const std::vector<Array> reference = evaluate(p, inputs, params);
  for (int k = -1; k < draws; ++k) {
    const std::uint64_t s = seed * 1000 + static_cast<std::uint64_t>(k + 1);
    const Style style = random_style(s);
    const Verdicts v =
        judge(bounds, k < 0 ? reference : evaluate_perturbed(p, inputs, params, style, s, contract),
              reference);
    ++tally.runs;
    tally.elements += v.elements;
    tally.indeterminate += v.indeterminate;
    if (v.refused == 0) continue;
    ++tally.alarms;
    if (tally.alarms <= 20)
      ADD_FAILURE() << what << "\n  " << (k < 0 ? "the reference" : to_string(style)) << "\n  "
                    << v.refused << " of " << v.elements << ": " << v.first;
    return;
  }
}

/// Checks the cases number `first`, first + step, … of the sequence in which one round has a case
/// for every kind of data; generate() draws them, with or without optional inputs.
void expect_sound_cases(const OpRecord& record, DType dtype, std::int64_t first, std::int64_t step,
                        std::int64_t rounds, Tally& tally, const Contract& contract = {}) {
  std::map<TensorMask, Program> known;
  for (std::int64_t round = first; round < rounds * kDataKinds; round += step) {
    const std::optional<Case> c = draw_case(record, dtype, round);
    if (!c) continue;
    auto& b = known[c->instance.input_mask];
    if (b.outputs.empty()) b = bound(*c->program, contract);
    const auto kind = static_cast<Data>(round % kDataKinds);
    const auto seed = static_cast<std::uint64_t>(round);
    expect_sound(*c->program, b, draw_inputs(*c, kind, seed * 7919 + 1), c->params, seed, 4,
                 fmt::format("{} data {}", to_string(*c), static_cast<int>(kind)), tally, contract);
  }
}

/// Checks every op in its real dtypes, or in the others.
void expect_sound_catalogue(bool real, const char* what) {
  const std::int64_t rounds = setting("MOTE_BOUND_ROUNDS", 1);
  Tally tally;
  for (const OpRecord& record : catalogue()) {
    if (!is_wanted(record.name)) continue;
    for (const DType dtype : record.dtypes)
      if (is_real(dtype) == real) expect_sound_cases(record, dtype, 0, 1, rounds, tally);
  }
  tally.print(what);
  EXPECT_GT(tally.elements, 0);
}

TEST(Soundness, EveryOpOfTheCatalogue) { expect_sound_catalogue(true, "catalogue"); }

/// Checks integers, booleans and quantised ops: tensors of 8 bits next to real scales.
TEST(Soundness, EveryOpInItsIntegers) { expect_sound_catalogue(false, "catalogue, integers"); }

/// Returns accumulators other than the usual: f64 for all narrower dtypes and for real parts of
/// quantised ops; f32 for f64; 16 bits for 16 bits.
std::vector<Contract> other_accumulators(DType dtype) {
  const bool is_half = dtype == DType::f16 || dtype == DType::bf16;
  std::vector<Contract> contracts(1);
  contracts[0].accumulator = dtype == DType::f64 ? Accumulation::f32 : Accumulation::f64;
  if (is_half) contracts.emplace_back().accumulator = Accumulation::native;
  return contracts;
}

/// A round has a fifth of the cases of each op, gradients included; the kinds of data differ from
/// op to op.
TEST(Soundness, SumsInOtherAccumulators) {
  const std::int64_t rounds = setting("MOTE_BOUND_ROUNDS", 1);
  Tally tally;
  std::int64_t first = 0;
  for (const OpRecord* record : generated_ops()) {
    if (gradient_order(*record) > 1 || !is_wanted(record->name)) continue;
    for (const DType dtype : record->dtypes)
      for (const Contract& contract : other_accumulators(dtype))
        expect_sound_cases(*record, dtype, first++ % 5, 5, rounds, tally, contract);
  }
  tally.print("other accumulators");
  EXPECT_GT(tally.elements, 0);
}

/// Returns the program with f32 instead of f64, where rounding shows; nullopt if that is no valid
/// program.
std::optional<Program> in_f32(const Program& p) {
  std::string text = to_string(p);
  for (std::size_t at = text.find("f64"); at != std::string::npos; at = text.find("f64"))
    text.replace(at, 3, "f32");
  try {
    return parse_program(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(Soundness, GradientsOfEveryOp) {
  const std::int64_t rounds = setting("MOTE_BOUND_ROUNDS", 1);
  Tally tally;
  for (const OpRecord& record : catalogue()) {
    if (!is_wanted(record.name)) continue;
    const bool has_f32 = std::ranges::find(record.dtypes, DType::f32) != record.dtypes.end();
    const Instance instance{has_f32 ? DType::f32 : record.dtypes.front(), full_mask(record)};
    const auto program = instantiate(record, instance);
    std::optional<Program> g;
    try {
      g = invert(gradient(*program).program);
    } catch (const Error&) {  // no real values flow
      continue;
    }
    const Program b = bound(*g);
    for (std::int64_t round = 0; round < rounds * 4; ++round) {
      const auto seed = static_cast<std::uint64_t>(round);
      for (const Trial& t : make_trials(*g, seed + 3, 2)) {
        std::vector<Array> inputs;
        try {
          inputs = make_inputs(*g, t);
          evaluate(*g, inputs, t.params);
        } catch (const Error&) {  // the op does not have these sizes
          continue;
        }
        const auto kind = static_cast<Data>((round * 3 + tally.runs) % kDataKinds);
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          if (!is_real(inputs[k].dtype)) continue;
          inputs[k].values =
              draw(kind, inputs[k].dtype, std::ssize(inputs[k].values), seed * 77 + k);
        }
        expect_sound(*g, b, inputs, t.params, seed, 4,
                     fmt::format("{} data {} {}", g->name, static_cast<int>(kind), to_string(t)),
                     tally);
      }
    }
  }
  tally.print("gradients");
  EXPECT_GT(tally.elements, 0);
}

/// Checks gradients as the catalogue has them: for every choice of inputs, written by hand if the
/// record does so, of order 1 or 2. A round has a fifth of the cases of each; the kinds of data
/// differ from op to op.
void expect_sound_gradients(int order, const char* what) {
  const std::int64_t rounds = setting("MOTE_BOUND_ROUNDS", 1);
  Tally tally;
  std::int64_t first = 0;
  for (const OpRecord* record : generated_ops()) {
    if (gradient_order(*record) != order || !is_wanted(record->name)) continue;
    for (const DType dtype : record->dtypes)
      if (dtype != DType::f64) expect_sound_cases(*record, dtype, first++ % 5, 5, rounds, tally);
  }
  tally.print(what);
  EXPECT_GT(tally.elements, 0);
}

TEST(Soundness, GradientsAsTheCatalogueHasThem) {
  expect_sound_gradients(1, "gradients, all masks");
}

TEST(Soundness, SecondGradients) { expect_sound_gradients(2, "second gradients"); }

TEST(Soundness, RandomPrograms) {
  const std::int64_t count = setting("MOTE_BOUND_PROGRAMS", 150);
  const std::int64_t first = setting("MOTE_SEED", 1);
  Tally tally;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto seed = static_cast<std::uint64_t>(first + k);
    Program p = random_program(seed, {.most_nodes = 8, .most_elements = 300});
    if (seed % 4 != 0) p = in_f32(p).value_or(p);
    const Program b = bound(p);
    for (const Trial& t : make_trials(p, seed, 2)) {
      expect_sound(p, b, make_inputs(p, t), t.params, seed, 6,
                   fmt::format("MOTE_SEED={} MOTE_BOUND_PROGRAMS=1 {}\n{}", seed, to_string(t),
                               to_string(p)),
                   tally);
    }
  }
  tally.print("random programs");
  EXPECT_GT(tally.elements, 0);
}

/// The programs contain sums of sums, sums next to values that are not summed, and products.
TEST(Soundness, RandomProgramsInOtherAccumulators) {
  const std::int64_t count = setting("MOTE_BOUND_PROGRAMS", 150);
  const std::int64_t first = setting("MOTE_SEED", 1);
  Tally tally;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto seed = static_cast<std::uint64_t>(first + k);
    Program p = random_program(seed, {.most_nodes = 8, .most_elements = 300});
    Contract contract;
    contract.accumulator = seed % 4 == 0 ? Accumulation::f32 : Accumulation::f64;
    if (contract.accumulator == Accumulation::f64) p = in_f32(p).value_or(p);
    const Program b = bound(p, contract);
    for (const Trial& t : make_trials(p, seed, 2)) {
      expect_sound(p, b, make_inputs(p, t), t.params, seed, 6,
                   fmt::format("MOTE_SEED={} MOTE_BOUND_PROGRAMS=1 {}\n{}", seed, to_string(t),
                               to_string(p)),
                   tally, contract);
    }
  }
  tally.print("random programs, other accumulators");
  EXPECT_GT(tally.elements, 0);
}

}  // namespace
}  // namespace mote::test
