// SPDX-License-Identifier: Apache-2.0
// Counts cells, and finds those that are left.
#include "mote/oracle/coverage.h"

#include <algorithm>
#include <set>

#include "add_once.h"
#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "mote/oracle/campaign.h"

namespace mote {
namespace {

bool all_declined(const CellCount& count) {
  return count.cases > 0 && count.declined == count.cases;
}

/// The sum of the cells that have the value.
CellCount sum_with_value(const CellCounts& counted, const std::string& value) {
  CellCount sum;
  for (const auto& [cell, count] : counted) {
    if (cell.value != value) continue;
    sum.cases += count.cases;
    sum.declined += count.declined;
    sum.declined_by_run += count.declined_by_run;
  }
  return sum;
}

/// True if a kernel of the op honours an in-place pair.
bool may_take_memory(const mote_backend& backend, const Target& target) {
  if (target.record() == nullptr) return true;
  for (std::int32_t k = 0; k < backend.kernel_count; ++k) {
    const mote_kernel& kernel = kernel_at(backend, k);
    const auto honours = [&](const std::pair<int, int>& pair) {
      return promises_in_place(*kernel.contract, pair.first, pair.second);
    };
    if (target.op() == kernel.op && std::ranges::any_of(target.record()->in_place, honours))
      return true;
  }
  return false;
}

/// True if the backend declined every case before it saw any data.
bool is_ruled_out(const CellCount& count) {
  return all_declined(count) && count.declined_by_run == 0;
}

}  // namespace

void count_cells(CellCounts& cells, const CaseFeatures& features, const Outcome& outcome) {
  for (const std::string& layout : features.layouts) {
    for (const std::string& value : features.values) {
      CellCount& count = cells[{layout, value}];
      ++count.cases;
      count.judged += outcome.judged() ? 1 : 0;
      count.declined += outcome.verdict == Verdict::declined ? 1 : 0;
      count.declined_by_run += outcome.declined_by_run ? 1 : 0;
    }
  }
}

Coverage make_coverage(const std::string& op, DType dtype, const std::string& backend,
                       const CellCounts& counted, bool takes_memory) {
  const auto target = find_target(op);
  Coverage c{op, dtype, backend, possible_features(*target, dtype)};
  for (const auto& [cell, count] : counted) {  // cells that only listed cases have count too
    add_once(c.of.layouts, cell.layout);
    add_once(c.of.values, cell.value);
  }
  const auto of_all = [&](const auto& is) {
    return !counted.empty() &&
           std::ranges::all_of(counted, [&](const auto& cell) { return is(cell.second); });
  };
  const bool takes_none = of_all(all_declined), rules_out_all = of_all(is_ruled_out);
  std::set<std::string> not_taken;
  for (const std::string& value : optional_tensor_values(*target))
    if (is_ruled_out(sum_with_value(counted, value))) not_taken.insert(value);
  for (const std::string& layout : c.of.layouts) {
    const bool no_memory = layout == kInPlaceLayout && !takes_memory;
    for (const std::string& value : c.of.values) {
      const auto at = counted.find({layout, value});
      const CellCount count = at == counted.end() ? CellCount{} : at->second;
      const bool ruled_out =
          count.judged == 0 && (rules_out_all || no_memory || not_taken.contains(value));
      const bool declined = takes_none || ruled_out || all_declined(count);
      auto& group = count.judged > 0 ? c.executed : declined ? c.declined : c.untested;
      group.push_back({layout, value});
      if (ruled_out) c.ruled_out.push_back({layout, value});
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
    sum.ruled_out += std::ssize(c.ruled_out);
  }
  return sum;
}

double CoverageSum::percent() const {
  const std::int64_t wanted = cells() - ruled_out;
  return wanted == 0 ? 100 : 100.0 * static_cast<double>(executed) / static_cast<double>(wanted);
}

std::vector<Coverage> coverage_of(const CampaignOptions& options, const CampaignResult& result) {
  std::vector<Coverage> all;
  const auto add = [&](const std::string& op, DType dtype, const std::string& backend,
                       const CellCounts& cells) {
    const auto at = std::ranges::find(options.backends, backend, &BackendEntry::name);
    const bool takes_memory =
        at == options.backends.end() || may_take_memory(*at->backend, *find_target(op));
    const bool known = std::ranges::any_of(all, [&](const Coverage& c) {
      return c.op == op && c.dtype == dtype && c.backend == backend;
    });
    if (!known) all.push_back(make_coverage(op, dtype, backend, cells, takes_memory));
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
