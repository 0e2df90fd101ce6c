// SPDX-License-Identifier: Apache-2.0
// Measures the oracle on planted bugs, which are kernels with one defect each, and on correct
// twins: the cases and seconds that it takes to find each bug, and whether a twin is ever accused.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/campaign.h"

namespace MOTE_API mote {

struct Mutant {
  std::string name;  ///< the name of the plug-in and its backend
  std::string op;    ///< the op of its kernel
  /// The requirement for finding it besides a case of the op: "isolated"; empty: none.
  std::string needs;
  std::string text;   ///< a description of the defect
  bool twin = false;  ///< it has no defect
};

/// Reads lines "name file defect op needs text" (# begins a comment; needs "-" is nothing); a
/// defect called "correct" is a twin. Throws Error "PATH: line 4: …".
std::vector<Mutant> read_mutants(const std::string& path);

struct MutantOptions {
  std::string folder;        ///< the folder of the plug-ins: NAME.so
  double budget_s = 60;      ///< the time limit to find one bug
  std::int64_t count = 300;  ///< cases of each twin
  std::uint64_t seed = 0;
  std::optional<double> shrink_s;  ///< the maximum time to shrink a failure; as in CampaignOptions
  std::set<std::string> offered;   ///< the needs that are met here
  CaseRunOptions run;
};

enum class MutantState : std::uint8_t {
  killed,       ///< found within the budget
  survived,     ///< not found, or not looked for since its needs are not met
  passed,       ///< a twin without a failure
  false_alarm,  ///< a twin with a failure
  unjudged      ///< no case was judged, or the plug-in cannot be loaded
};
std::string_view name(MutantState state);  ///< "false alarm"

struct MutantResult {
  Mutant mutant;
  MutantState state = MutantState::unjudged;
  std::int64_t cases = 0;          ///< cases run until it was found; for a twin: judged
  double seconds = 0;              ///< time until it was found, without shrinking
  std::optional<Failure> failure;  ///< the failure that was found, and its smallest case
  std::string note;                ///< the reason if it was not looked for
};
MutantResult measure(const Mutant& mutant, const MutantOptions& options);

/// True for killed and passed, and for survived if its needs are not offered.
bool as_expected(const MutantResult& result);

/// The kill table, and a summary in words.
std::string mutants_text(const std::vector<MutantResult>& results, const Screen& screen = {});
/// One line of JSON a result.
std::string mutants_json(const std::vector<MutantResult>& results);

}  // namespace mote
