// SPDX-License-Identifier: Apache-2.0
// The oracle measured: planted bugs, each a kernel that is right but for one defect, and correct
// twins. How many cases and seconds it takes to find each, and whether a twin is ever accused.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/campaign.h"

namespace MOTE_API mote {

struct Mutant {
  std::string name;   ///< of the plug-in and its backend
  std::string op;     ///< what it has a kernel for
  std::string needs;  ///< what finding it takes beside a case of the op: "isolated"; empty: nothing
  std::string text;   ///< what is wrong
  bool twin = false;  ///< nothing is
};

/// From lines "name file defect op needs text" (# begins a comment; needs "-" is nothing); a defect
/// called "correct" is a twin. Throws Error "PATH: line 4: …".
std::vector<Mutant> read_mutants(const std::string& path);

struct MutantOptions {
  std::string folder;        ///< where the plug-ins lie: NAME.so
  double budget_s = 60;      ///< to find one bug
  std::int64_t count = 300;  ///< cases of each twin
  std::uint64_t seed = 0;
  std::optional<double> shrink_s;  ///< most time to make a failure smaller, as CampaignOptions has it
  std::set<std::string> offered;   ///< needs that are met here
  CaseRunOptions run;
};

enum class MutantState : std::uint8_t {
  killed,       ///< found within the budget
  survived,     ///< not found, or not looked for: what it needs is not offered
  passed,       ///< a twin without a failure
  false_alarm,  ///< a twin with one
  unjudged      ///< no case was judged, or the plug-in cannot be loaded
};
std::string_view name(MutantState state);  ///< "false alarm"

struct MutantResult {
  Mutant mutant;
  MutantState state = MutantState::unjudged;
  std::int64_t cases = 0;          ///< run until it was found; of a twin: judged
  double seconds = 0;              ///< until it was found, without shrinking
  std::optional<Failure> failure;  ///< that which was found, and its smallest case
  std::string note;                ///< why it was not looked for
};
MutantResult measure(const Mutant& mutant, const MutantOptions& options);

/// What every result must be: killed, passed; or survived for want of what is not offered.
bool as_expected(const MutantResult& result);

/// The kill table, and a summary in words.
std::string mutants_text(const std::vector<MutantResult>& results, const Screen& screen = {});
/// A line of JSON for each.
std::string mutants_json(const std::vector<MutantResult>& results);

}  // namespace mote
