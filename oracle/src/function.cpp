// SPDX-License-Identifier: Apache-2.0
// The function becomes a backend of one kernel: the C that `mote emit OP --plugin` prints, compiled
// here, with a pointer where the function would be linked.
#include "mote/oracle/function.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiled_c.h"
#include "function_report.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/plugin_text.h"
#include "mote/oracle/report.h"

namespace mote {
namespace {

constexpr const char* kName = "function";

struct Subject {
  std::shared_ptr<void> library;
  const mote_backend* backend = nullptr;
};

void require_arguments(const std::string& op, const Resolved& resolved,
                       const TypedFunction& function) {
  const std::vector<std::string> expected = c_argument_types(compile(resolved.program));
  if (!function.arguments || *function.arguments == expected) return;
  throw Error(
      fmt::format("{}: the function has other arguments than the op's kernel: got ({}), "
                  "expected ({})",
                  op, fmt::join(*function.arguments, ", "), fmt::join(expected, ", ")));
}

Subject subject_of(const std::string& op, const Resolved& resolved, const TypedFunction& function,
                   const FunctionOptions& options) {
  const PluginOptions how{.function = kName,
                          .accumulator = options.accumulator,
                          .row_major = options.row_major,
                          .nondeterministic = options.nondeterministic,
                          .pointer = true};
  Subject subject;
  subject.library = load_c(plugin_around(resolved, how));
  if (!subject.library) {
    throw Error(
        fmt::format("{}: the call of the function could not be compiled: $CC, or cc, does "
                    "not work here",
                    op));
  }
  *static_cast<void (**)()>(dlsym(subject.library.get(), kName)) = function.address;
  const auto init = reinterpret_cast<mote_status (*)(mote_plugin*)>(
      dlsym(subject.library.get(), "mote_plugin_init"));
  mote_plugin plugin{};
  init(&plugin);
  subject.backend = plugin.backends;
  return subject;
}

}  // namespace

FunctionReport report_of(const CampaignResult& result) {
  FunctionReport report;
  std::string declined;
  for (const Row& row : result.rows) {
    report.judged += row.judged;
    if (declined.empty()) declined = row.reason;
  }
  for (const Failure& f : result.failures) report.text += failure_text(f);
  if (report.judged == 0)
    report.text = declined.empty() ? "no case was judged" : "no case was judged: " + declined;
  report.passed = result.failures.empty() && report.judged > 0;
  return report;
}

FunctionReport check_function(const std::string& op, const TypedFunction& function,
                              const FunctionOptions& options) {
  const Resolved resolved = resolve_without(op, options.dtype, options.without);
  require_arguments(op, resolved, function);
  const Subject subject = subject_of(op, resolved, function, options);
  CampaignOptions campaign;
  campaign.ops = {op};
  campaign.backends = {{subject.backend, "", "built in"}};
  if (resolved.instance) campaign.dtype = resolved.instance->dtype;
  for (const std::string& text : options.cases) campaign.cases.push_back(parse_case(text));
  campaign.count = options.count;
  campaign.seed = options.seed;
  campaign.run.isolation =
      std::make_shared<Isolation>();  // after the subject: workers have it then
  return report_of(run_campaign(campaign));
}

}  // namespace mote
