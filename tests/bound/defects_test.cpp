// SPDX-License-Identifier: Apache-2.0
// Measures the sharpness of the bound: for every op that rounds, correct implementations drawn at
// random and defective ones derived from its graph are judged by the bound and by the tolerances of
// other projects. With MOTE_BOUND_TABLE=1 it prints the table of docs/bound.md. A run in which a
// defect changes nothing does not count.
#include "defects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "cases.h"
#include "mote/oracle/exactness.h"
#include "perturbed.h"
#include "tolerances.h"

namespace mote::test {
namespace {

constexpr int kCorrect = 10;
using PerJudge = std::array<std::int64_t, kJudges>;

/// The counts of one op. A run is fair to a judge if the judge refuses no correct variant on its
/// data; on fair runs its kills are compared with the bound's.
struct Sharpness {
  std::int64_t correct = 0, defective = 0;
  PerJudge alarms{}, kills{};
  PerJudge fair{}, fair_kills{}, bound_kills{};
  std::map<std::string, bool>
      killed;  ///< by defect that changes data: true if the bound refuses it
  std::string alarm;
  std::map<std::string, int> missed;  ///< defects that only another judge refuses, fairly

  std::int64_t survivors() const {
    return std::ranges::count_if(killed, [](const auto& k) { return !k.second; });
  }
  double share(std::size_t k) const {
    return double(kills[k]) / double(std::max<std::int64_t>(defective, 1));
  }
  /// True if the bound has at least as many kills as judge k, on all runs, or on the fair ones.
  bool holds(std::size_t k) const { return kills[0] >= kills[k]; }
  bool holds_fairly(std::size_t k) const { return bound_kills[k] >= fair_kills[k]; }
};

bool all_equal(const std::vector<Array>& a, const std::vector<Array>& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!(a[k] == b[k])) return false;
  return true;
}

/// Runs all on one set of data: correct implementations first, since they show which judges are
/// fair.
void run_data(const Case& c, const Program& b, const std::vector<Defect>& all, Data kind,
              std::uint64_t seed, Sharpness& s) {
  const std::vector<Array> inputs = draw_inputs(c, kind, seed * 6007 + 11);
  const std::vector<Array> reference = evaluate(*c.program, inputs, c.params);
  const Bounds bounds = bounds_of(b, inputs, c.params);
  std::array<bool, kJudges> alarmed{};
  for (std::uint64_t k = 0; k < kCorrect; ++k) {
    const Style style = random_style(seed * kCorrect + k);
    const std::vector<Array> y =
        evaluate_perturbed(*c.program, inputs, c.params, style, seed * kCorrect + k);
    const auto refused = refusals(bounds, y, reference);
    ++s.correct;
    for (std::size_t j = 0; j < kJudges; ++j) {
      s.alarms[j] += refused[j] ? 1 : 0;
      alarmed[j] = alarmed[j] || refused[j];
    }
    if (refused[0] && s.alarm.empty())
      s.alarm = fmt::format("{} data {} {}: {}", to_string(c), static_cast<int>(kind),
                            to_string(style), judge(bounds, y, reference).first);
  }
  const Style plain;
  const std::vector<Array> right = evaluate_perturbed(*c.program, inputs, c.params, plain, seed);
  for (const Defect& d : all) {
    const std::vector<Array> y =
        evaluate_perturbed(d.program, inputs, c.params, plain, seed, d.contract);
    if (all_equal(y, right)) continue;
    const auto refused = refusals(bounds, y, reference);
    ++s.defective;
    s.killed[d.name] = s.killed[d.name] || refused[0];
    for (std::size_t j = 0; j < kJudges; ++j) {
      s.kills[j] += refused[j] ? 1 : 0;
      if (alarmed[j]) continue;
      ++s.fair[j];
      s.fair_kills[j] += refused[j] ? 1 : 0;
      s.bound_kills[j] += refused[0] ? 1 : 0;
      if (refused[j] && !refused[0])
        ++s.missed[fmt::format("{} on data {} by {}", d.name, static_cast<int>(kind),
                               kJudgeNames[j])];
    }
  }
}

bool rounds_somewhere(const Program& p) {
  for (std::size_t k = 0; k < p.outputs.size(); ++k)
    if (is_real(p.outputs[k].value.dtype()) && !is_certain(p, k)) return true;
  return false;
}

struct Judged {
  const OpRecord* record;
  DType dtype;
  std::string name;
};
/// Returns every op that rounds in f32, and the quantised ops on tensors of 8 bits.
std::vector<Judged> judged_ops() {
  std::vector<Judged> all;
  for (const OpRecord& record : catalogue()) {
    if (!is_wanted(record.name)) continue;
    if (record.family == "quantised") {
      for (const DType dtype : {DType::u8, DType::i8})
        all.push_back({&record, dtype, fmt::format("{} ({})", record.name, name(dtype))});
    } else if (std::ranges::find(record.dtypes, DType::f32) != record.dtypes.end() &&
               rounds_somewhere(*instantiate(record, {DType::f32, full_mask(record)}))) {
      all.push_back({&record, DType::f32, record.name});
    }
  }
  return all;
}

Sharpness sharpness(const OpRecord& record, DType dtype, int rounds) {
  struct Derived {
    Program bound;
    std::vector<Defect> defects;
  };
  std::map<TensorMask, Derived> known;
  Sharpness s;
  for (int round = 0; round < rounds * (kDataKinds - 1); ++round) {
    const auto c = draw_case(record, dtype, round);
    if (!c || multiply_adds(*c->program, c->binding) > 1500) continue;
    auto [at, fresh] = known.try_emplace(c->instance.input_mask);
    if (fresh) at->second = {bound(*c->program), defects(*c->program)};
    run_data(*c, at->second.bound, at->second.defects, static_cast<Data>(round % (kDataKinds - 1)),
             static_cast<std::uint64_t>(round), s);
  }
  return s;
}

void print_line(const std::string& name, const Sharpness& s) {
  fmt::print("| {} | {} | {} | {} |", name, s.correct, s.defective, s.survivors());
  for (std::size_t k = 0; k < kJudges; ++k) {
    fmt::print(" {} / {:.0f}%", s.alarms[k], 100 * s.share(k));
    if (k > 0 && s.fair[k] < s.defective && s.fair[k] > 0)
      fmt::print(" ({:.0f}%, bound {:.0f}%)", 100.0 * double(s.fair_kills[k]) / double(s.fair[k]),
                 100.0 * double(s.bound_kills[k]) / double(s.fair[k]));
    fmt::print(" |");
  }
  fmt::print("\n");
}

TEST(Defects, TheBoundKillsAsManyAsTheTolerancesOfOthers) {
  const bool table = std::getenv("MOTE_BOUND_TABLE") != nullptr;
  const auto rounds = static_cast<int>(setting("MOTE_DEFECT_ROUNDS", table ? 3 : 1));
  if (table) {
    fmt::print("| op | correct | defective | never killed |");
    for (const char* name : kJudgeNames) fmt::print(" {} |", name);
    fmt::print("\n|---|---|---|---|---|---|---|---|---|\n");
  }
  std::int64_t ops = 0, hold = 0, hold_fairly = 0;
  PerJudge alarms{}, with_alarms{};
  std::vector<std::string> exceptions;
  std::string notes;  // printed after the table, whose rows they would interrupt
  for (const auto& [record, dtype, op] : judged_ops()) {
    const Sharpness s = sharpness(*record, dtype, rounds);
    ++ops;
    bool all = true, fairly = true;
    for (std::size_t k = 0; k < kJudges; ++k) {
      alarms[k] += s.alarms[k];
      with_alarms[k] += s.alarms[k] > 0 ? 1 : 0;
      all = all && s.holds(k);
      fairly = fairly && s.holds_fairly(k);
    }
    hold += all ? 1 : 0;
    hold_fairly += fairly ? 1 : 0;
    if (!fairly) exceptions.push_back(op);
    if (table) print_line(op, s);
    EXPECT_EQ(s.alarms[0], 0) << s.alarm;
    if (!table) continue;
    for (const auto& [what, count] : s.missed)
      if (!fairly) notes += fmt::format("{}: refused {} times: {}\n", op, count, what);
    for (const auto& [name, killed] : s.killed)
      if (!killed) notes += fmt::format("{}: never killed: {}\n", op, name);
  }
  fmt::print(
      "{} ops; at least as many kills as each tolerance: {}, on data where the tolerance "
      "refuses no correct variant: {}; exceptions: {}\n",
      ops, hold, hold_fairly, fmt::join(exceptions, ", "));
  for (std::size_t k = 0; k < kJudges; ++k)
    fmt::print("{}: {} false alarms, of {} ops\n", kJudgeNames[k], alarms[k], with_alarms[k]);
  fmt::print(stderr, "{}", notes);
  EXPECT_GE(10 * hold, 9 * ops);
  EXPECT_GE(10 * hold_fairly, 9 * ops);
}

}  // namespace
}  // namespace mote::test
