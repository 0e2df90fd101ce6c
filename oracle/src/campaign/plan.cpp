// SPDX-License-Identifier: Apache-2.0
#include "campaign/plan.h"

#include <algorithm>

#include "campaign/corpus.h"

namespace mote {

bool offers(const std::vector<BackendEntry>& backends, const Target& target) {
  return std::ranges::any_of(backends,
                             [&](const BackendEntry& e) { return has_kernel(e, target); });
}

bool is_asked_for(const CampaignOptions& options, const Case& c, const Targets& targets) {
  const bool op = options.ops.empty() || std::ranges::any_of(targets, [&](const auto& t) {
                    return t->text() == c.target->text();
                  });
  const bool dtype = options.dtypes.empty() ||
                     std::ranges::find(options.dtypes, c.instance.dtype) != options.dtypes.end();
  return op && dtype && hash_of(to_string(c)) % options.shard.count == options.shard.index;
}

std::vector<std::shared_ptr<const Target>> targets_of(const CampaignOptions& options) {
  std::vector<std::string> names = options.ops;
  if (names.empty()) {
    for (const OpRecord* record : generated_ops()) {
      const auto has = [&](const BackendEntry& e) {
        return e.program.empty() && has_kernel(*e.backend, record->name);
      };
      if (std::ranges::any_of(options.backends, has)) names.push_back(record->name);
    }
  }
  std::vector<std::shared_ptr<const Target>> targets;
  for (const std::string& name : names) {
    const auto target = find_target(name);
    if (std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
  }
  return targets;
}

std::int64_t planned_cases(const CampaignOptions& options) {
  const Targets targets = targets_of(options);
  std::int64_t planned = std::ranges::count_if(
      options.cases, [&](const Case& c) { return is_asked_for(options, c, targets); });
  if (!options.count) return options.budget_s ? 0 : planned;
  for (const auto& target : targets)
    if (offers(options.backends, *target))
      planned += *options.count / static_cast<std::int64_t>(options.shard.count);
  return planned;
}

std::vector<DType> dtypes_of(const CampaignOptions& options, const Target& target) {
  if (options.dtypes.empty()) return target.dtypes();
  std::vector<DType> dtypes = target.possible_dtypes();
  std::erase_if(dtypes, [&](DType dtype) {
    return std::ranges::find(options.dtypes, dtype) == options.dtypes.end();
  });
  return dtypes;
}

}  // namespace mote
