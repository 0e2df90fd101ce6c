// SPDX-License-Identifier: Apache-2.0
// Turns the function into a backend of one kernel: it compiles the C that `mote emit OP --plugin`
// prints, with a pointer in place of the linked function.
#include "mote/oracle/function.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "campaign/function_replay.h"
#include "campaign/function_report.h"
#include "isolate/code_address.h"
#include "mote/base/error.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/plugin_text.h"
#include "mote/oracle/report.h"
#include "report/declined.h"
#include "source/compiled_c.h"

namespace mote {
namespace {

constexpr const char* kName = "function";

struct Subject {
  std::string text;  ///< the C text of the library
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

void require_name(const std::string& name) {
  const auto is_bad = [](char ch) {
    return std::isgraph(static_cast<unsigned char>(ch)) == 0 || ch == '"';
  };
  if (name.empty() || std::ranges::any_of(name, is_bad))
    throw Error(
        fmt::format("the function's name: expected letters without blanks, got '{}'", name));
}

/// Code that the library's constructors run. If the function's code is not found, it ends the
/// process.
constexpr const char* kFindsFunction = R"(
#include <unistd.h>

__attribute__((constructor)) static void find_the_function(void) {{
  void* const at = mote_address({0}, {1}U);
  if (at == NULL) _exit(1);
  *(void**)(void*)&{2} = at;
}}
)";

/// The plug-in compiled again; it finds the function by its location in its file. Throws Error.
std::shared_ptr<const CLibrary> library_of(const std::string& text, const TypedFunction& function) {
  const auto at = isolate::locate(reinterpret_cast<const void*>(function.address));
  if (!at) throw Error("the function is in no file");
  auto library = compile_library(
      isolate::kAddressInC + text +
      fmt::format(kFindsFunction, isolate::c_literal(at->module), at->offset, kName));
  if (!library) throw Error("the function's call could not be compiled");
  return library;
}

Subject subject_of(const std::string& op, const Resolved& resolved, const TypedFunction& function,
                   const FunctionOptions& options) {
  const PluginOptions how{.function = kName,
                          .accumulator = options.accumulator,
                          .needs = options.needs,
                          .row_major = options.row_major,
                          .nondeterministic = options.nondeterministic,
                          .pointer = true,
                          .indices = options.indices};
  Subject subject;
  subject.text = plugin_around(resolved, how);
  subject.library = load_c(subject.text);
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

FunctionReport report_of(const CampaignResult& result,
                         const std::function<std::string(const Case&)>& replay) {
  FunctionReport report;
  std::int64_t declined = 0;
  std::string reason;
  for (const Row& row : result.rows) {
    report.judged += row.judged;
    declined += row.count(Verdict::declined);
    if (reason.empty()) reason = row.reason;
  }
  for (const Failure& f : result.failures) report.text += failure_text(f, {.replay = replay});
  if (report.judged == 0)
    report.text = reason.empty() ? "no case was judged" : "no case was judged: " + reason;
  const bool declines_late = std::ranges::any_of(result.rows, &Row::declines_late);
  if (declines_late) report.text += declined_text(result.rows);
  report.passed = result.failures.empty() && report.judged > 0 && !declines_late;
  if (report.passed) {
    report.text =
        fmt::format("passed: {} case{} judged", report.judged, report.judged == 1 ? "" : "s");
    if (declined > 0) report.text += fmt::format(", {} declined: {}", declined, reason);
  }
  return report;
}

FunctionReport check_function(const std::string& op, const TypedFunction& function,
                              const FunctionOptions& options) {
  const Resolved resolved = resolve_without(op, options.dtype, options.without);
  require_arguments(op, resolved, function);
  require_name(options.name);
  const std::optional<Replay> replay = asked_replay(op, resolved, options.name);
  if (replay && !replay->only) return {true, 0, "not judged: " + replay->of_another};
  const Subject subject = subject_of(op, resolved, function, options);
  mote_backend backend = *subject.backend;
  backend.name = options.name.c_str();
  CampaignOptions campaign;
  campaign.ops = {op};
  campaign.backends = {{&backend, "", "built in"}};
  if (resolved.instance) campaign.dtypes = {resolved.instance->dtype};
  if (!resolved.instance && options.dtype) campaign.dtypes = {*options.dtype};
  for (const std::string& text : options.cases) campaign.cases.push_back(parse_case(text));
  campaign.count = options.count;
  if (replay) {  // no other case of the function runs, and it is not shrunk
    campaign.cases = {*replay->only};
    campaign.count = 0;
    campaign.shrink_s = 0;
  }
  campaign.seed = options.seed;
  const std::string command = options.command.empty() ? program_command() : options.command;
  const auto finished = [&] {
    return report_of(run_campaign(campaign), [&](const Case& c) { return replay_by(command, c); });
  };
  if (options.in_process) return finished();
  std::shared_ptr<const CLibrary> again;
  campaign.run.isolation =
      std::make_shared<Isolation>();  // after the subject, so that workers have it
  campaign.run.isolation->offer_library(backend, [&] {
    again = library_of(subject.text, function);
    return again->path;
  });
  return finished();
}

}  // namespace mote
