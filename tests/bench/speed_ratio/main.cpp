// SPDX-License-Identifier: Apache-2.0
// Holds the speed of gen relative to oneDNN and OpenBLAS: measures the cases of the group speed as
// `mote bench` does, in interleaved rounds with one thread, and compares each ratio with the one
// that was recorded on this processor. No slack is chosen. A sitting measures a case on new memory
// and gives the median of its rounds. kSittings of them, minutes apart, give the recorded interval,
// which holds the median of sittings with 99% (the ranks of the sign test). A case fails if the
// intervals of kSittings new sittings lie wholly above that one; the first that does not ends its
// measurement.
//
//   mote_speed_ratio FOLDER [--record] [OP...]
//
// The file of this machine's level in the folder, such as x86-64-v4.txt, has the recorded ratios.
// --record writes it. With ops, only their cases are measured, and the lines of others are kept.
//
// Exit codes: 0: no case is slower; 1: one is, or has wrong results; 2: a mistake of the caller, or
// a case without a recorded ratio; 77: nothing to compare with on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "bench/agreement.h"
#include "bench/measure.h"
#include "bench/samples.h"
#include "bench/threads.h"
#include "case_groups.h"
#include "expected.h"
#include "host.h"
#include "mote/base/error.h"
#include "mote/generated/level.h"
#include "mote/oracle/resolve.h"

namespace mote::bench {
namespace {

using tool::MeasuredBench;
using tool::MeasuredCase;
using tool::PreparedSubject;

/// The interval of the median of this number of sittings is all of them.
constexpr int kSittings = tool::kLeastRounds;
constexpr double kSubjectSeconds = 0.1;
constexpr int kSkipped = 77;
constexpr const char* kPeers[] = {"onednn", "openblas"};

struct RatioArguments {
  std::string folder;
  bool record = false;
  std::vector<std::string> ops;
};

/// Measures gen and its peers in turn on new memory. Throws Error if results are wrong.
std::vector<SpeedRatio> measured_ratios(const Case& c, const std::vector<BackendEntry>& backends) {
  MeasuredBench bench(c);
  MeasuredCase measured;
  for (const BackendEntry& e : backends) bench.add(e, measured);
  const auto gen = std::ranges::find(measured.subjects, "gen", &PreparedSubject::name);
  if (measured.subjects.size() < 2 || gen == measured.subjects.end()) return {};
  const tool::ResultAgreement agreement = agreement_of(c, measured.subjects);
  if (!agreement.wrong.empty())
    throw Error(fmt::format("{}: wrong results of {}: {}", c.target->op(),
                            agreement.wrong[0].backend, agreement.wrong[0].reason));
  bench.measure(measured, {.seconds = kSubjectSeconds});
  std::vector<SpeedRatio> ratios;
  for (const PreparedSubject& s : measured.subjects)
    if (&s != &*gen)
      ratios.push_back(
          {s.name(), to_string(c), tool::ratio_of_times(gen->seconds, s.seconds).ratio});
  return ratios;
}

std::string shown(const tool::Median& m) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", m.value, m.low, m.high);
}

/// Measures the cases in kSittings passes, so that a case's measurements are far apart in time.
std::vector<SpeedRatio> recorded_ratios(const std::vector<Case>& cases,
                                        const std::vector<BackendEntry>& backends) {
  std::vector<std::vector<SpeedRatio>> passes(kSittings);
  for (std::vector<SpeedRatio>& pass : passes) {
    for (const Case& c : cases) {
      for (SpeedRatio& r : measured_ratios(c, backends)) {
        fmt::print("{:9} {} {}\n", r.peer, shown(r.ratio), r.case_text);
        pass.push_back(std::move(r));
      }
      std::fflush(stdout);
    }
  }
  std::vector<SpeedRatio> all;
  for (std::size_t k = 0; k < passes[0].size(); ++k) {
    std::vector<double> sittings;
    for (const std::vector<SpeedRatio>& pass : passes) sittings.push_back(pass.at(k).ratio.value);
    all.push_back({passes[0][k].peer, passes[0][k].case_text, tool::median_of(sittings)});
  }
  return all;
}

/// Prints how the case's ratios compare with the recorded ones; true if none is slower.
bool holds(const Case& c, const std::vector<BackendEntry>& backends, const SpeedRatios& recorded) {
  bool none_slower = true;
  for (const SpeedRatio& r : measured_ratios(c, backends)) {
    const SpeedRatio* known = recorded.find(r.peer, r.case_text);
    if (known == nullptr)
      throw Error(fmt::format("no ratio to {} is recorded for '{}': record with --record {}",
                              r.peer, r.case_text, c.target->op()));
    const SpeedChange how = change(r.ratio, known->ratio);
    fmt::print("{:6} {:9} {} recorded {} {}\n",
               how == SpeedChange::slower   ? "SLOWER"
               : how == SpeedChange::faster ? "faster"
                                            : "same",
               r.peer, shown(r.ratio), shown(known->ratio), r.case_text);
    none_slower = none_slower && how != SpeedChange::slower;
  }
  std::fflush(stdout);
  return none_slower;
}

/// Measures the cases, and those that are slower again after the others; true if none is slower
/// each time.
bool all_hold(std::vector<Case> cases, const std::vector<BackendEntry>& backends,
              const SpeedRatios& recorded) {
  for (int k = 0; k < kSittings && !cases.empty(); ++k)
    std::erase_if(cases, [&](const Case& c) { return holds(c, backends, recorded); });
  for (const Case& c : cases) fmt::print("slower in {} sittings: {}\n", kSittings, to_string(c));
  return cases.empty();
}

RatioArguments arguments_of(std::span<char*> words) {
  RatioArguments arguments;
  for (const std::string word : words.subspan(1)) {
    if (word == "--record")
      arguments.record = true;
    else if (arguments.folder.empty())
      arguments.folder = word;
    else
      arguments.ops.push_back(word);
  }
  if (arguments.folder.empty()) throw Error("usage: mote_speed_ratio FOLDER [--record] [OP...]");
  return arguments;
}

std::vector<Case> cases_of(const std::vector<std::string>& ops) {
  for (const std::string& op : ops) find_target(op);
  std::vector<Case> all = read_cases(tool::case_file("speed"));
  std::erase_if(all, [&](const Case& c) {
    return !ops.empty() && std::ranges::find(ops, c.target->op()) == ops.end();
  });
  return all;
}

/// gen, and the peers that this machine has.
std::vector<BackendEntry> backends_of(const Backends& found) {
  std::vector<BackendEntry> chosen;
  for (const BackendEntry& e : found.all)
    if (e.program.empty() &&
        (e.name() == "gen" || std::ranges::find(kPeers, e.name()) != std::end(kPeers)))
      chosen.push_back(e);
  return chosen;
}

int run(const RatioArguments& arguments) {
  const std::string path = fmt::format("{}/x86-64-v{}.txt", arguments.folder, mote_level());
  std::optional<SpeedRatios> recorded = read_ratios(path);
  if (!arguments.record && (!recorded || recorded->processor != tool::cpu_model())) {
    fmt::print("skipped: {} has no ratios of this processor ({}); --record measures them\n", path,
               tool::cpu_model());
    return kSkipped;
  }
  tool::set_kernel_threads(1);
  const Backends found = find_backends({});
  const std::vector<BackendEntry> backends = backends_of(found);
  if (backends.size() < 2) {
    fmt::print("skipped: this machine has neither oneDNN nor OpenBLAS\n");
    return kSkipped;
  }
  const std::vector<Case> cases = cases_of(arguments.ops);
  if (!arguments.record) return all_hold(cases, backends, *recorded) ? 0 : 1;
  SpeedRatios made{tool::cpu_model(), tool::date_text().substr(0, 10), {}};
  if (recorded && recorded->processor == made.processor && !arguments.ops.empty()) {
    made.rows = recorded->rows;
    std::erase_if(made.rows, [&](const SpeedRatio& r) {
      return std::ranges::any_of(cases, [&](const Case& c) { return to_string(c) == r.case_text; });
    });
  }
  for (SpeedRatio& r : recorded_ratios(cases, backends)) made.rows.push_back(std::move(r));
  std::ofstream(path) << to_string(made);
  return 0;
}

}  // namespace
}  // namespace mote::bench

int main(int argc, char** argv) {
  try {
    return mote::bench::run(mote::bench::arguments_of({argv, static_cast<std::size_t>(argc)}));
  } catch (const std::exception& e) {
    fmt::print(stderr, "mote_speed_ratio: {}\n", e.what());
    return 2;
  }
}
