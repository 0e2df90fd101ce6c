// SPDX-License-Identifier: Apache-2.0
// Makes the facts about parameters, and keeps those of a thread while its SharedProofs live.
#include "mote/uops/shared_proofs.h"

#include <map>
#include <utility>
#include <vector>

#include "mote/uops/program.h"

namespace mote {
namespace {

using LowerLimits = std::vector<std::pair<Symbol, std::int64_t>>;

struct Kept {
  int scopes = 0;
  std::map<LowerLimits, Facts> facts;
};
thread_local Kept kept;

Facts facts_from(const LowerLimits& limits) {
  Facts facts;
  for (const auto& [symbol, limit] : limits) facts.set_lower(symbol, limit);
  return facts;
}

}  // namespace

SharedProofs::SharedProofs() { ++kept.scopes; }
SharedProofs::~SharedProofs() {
  if (--kept.scopes == 0) kept.facts.clear();
}

Facts facts_of(const std::vector<ParamDecl>& params) {
  LowerLimits limits;
  for (const ParamDecl& p : params)
    if (p.is_integer && p.lower) limits.emplace_back(Symbol(SymbolKind::param, p.name), *p.lower);
  if (kept.scopes == 0) return facts_from(limits);
  const auto known = kept.facts.find(limits);
  return known != kept.facts.end() ? known->second
                                   : kept.facts.emplace(limits, facts_from(limits)).first->second;
}

}  // namespace mote
