// SPDX-License-Identifier: Apache-2.0
// Counting cells, and which are left.
#include "mote/oracle/coverage.h"

#include <algorithm>

#include "add_once.h"
#include "mote/oracle/campaign.h"

namespace mote {
void count_cells(CellCounts& cells, const CaseFeatures& features, bool judged, bool declined) {
  for (const std::string& layout : features.layouts) {
    for (const std::string& value : features.values) {
      CellCount& count = cells[{layout, value}];
      ++count.cases;
      count.judged += judged ? 1 : 0;
      count.declined += declined ? 1 : 0;
    }
  }
}

Coverage make_coverage(const std::string& op, DType dtype, const std::string& backend,
                       const CellCounts& counted) {
  Coverage c{op, dtype, backend, possible_features(*find_target(op), dtype)};
  for (const auto& [cell, count] : counted) {  // also what only listed cases have
    add_once(c.of.layouts, cell.layout);
    add_once(c.of.values, cell.value);
  }
  const auto is_declined = [](const auto& cell) {
    return cell.second.declined == cell.second.cases;
  };
  const bool takes_none = !counted.empty() && std::ranges::all_of(counted, is_declined);
  for (const std::string& layout : c.of.layouts) {
    for (const std::string& value : c.of.values) {
      const auto at = counted.find({layout, value});
      const CellCount count = at == counted.end() ? CellCount{} : at->second;
      const bool declined = takes_none || (count.cases > 0 && count.declined == count.cases);
      auto& group = count.judged > 0 ? c.executed : declined ? c.declined : c.untested;
      group.push_back({layout, value});
    }
  }
  return c;
}

CoverageSum sum_of(const std::vector<Coverage>& coverage) {
  CoverageSum sum;
  for (const Coverage& c : coverage) {
    sum.executed += std::ssize(c.executed);
    sum.declined += std::ssize(c.declined);
    sum.untested += std::ssize(c.untested);
  }
  return sum;
}

double CoverageSum::percent() const {
  const std::int64_t wanted = executed + untested;
  return wanted == 0 ? 100 : 100.0 * static_cast<double>(executed) / static_cast<double>(wanted);
}

std::vector<Coverage> coverage_of(const CampaignOptions& options, const CampaignResult& result) {
  std::vector<Coverage> all;
  const auto add = [&](const std::string& op, DType dtype, const std::string& backend,
                       const CellCounts& cells) {
    const bool known = std::ranges::any_of(all, [&](const Coverage& c) {
      return c.op == op && c.dtype == dtype && c.backend == backend;
    });
    if (!known) all.push_back(make_coverage(op, dtype, backend, cells));
  };
  for (const Row& row : result.rows) add(row.op, row.dtype, row.backend, row.cells);
  if (!options.budget_s && !options.count) return all;
  for (const auto& target : targets_of(options))
    for (const DType dtype : dtypes_of(options, *target))
      for (const BackendEntry& e : options.backends)
        if (has_kernel(e, *target)) add(target->text(), dtype, e.name(), {});
  return all;
}

}  // namespace mote
