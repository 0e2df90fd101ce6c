// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_graphs.h for executables.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "c/objects.h"
#include "c/symbols.h"
#include "c/tuning.h"
#include "mote/memory/plan.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

void take_passes(const mote_compile_options& known, CompileOptions& with) {
  if (known.passes == nullptr) {
    if (known.pass_count > 0) given(known.passes, "options.passes");
    return;
  }
  with.passes.emplace();
  for (const char* name : std::span(known.passes, known.pass_count))
    with.passes->emplace_back(&given(name, "options.passes"));
}

void take_largest(const mote_compile_options& known, CompileOptions& with) {
  const std::vector<TensorSymbol> inputs =
      symbols_of(known.largest_inputs, known.largest_count, "options.largest_inputs");
  if (!inputs.empty()) given(known.largest, "options.largest");
  for (std::size_t k = 0; k < inputs.size(); ++k)
    with.largest.emplace_back(inputs[k], tensor_of(known.largest[k]).form());
}

CompileOptions options_of(const mote_compile_options& given_options) {
  const mote_compile_options known = sized(given_options, offsetof(mote_compile_options, bound));
  CompileOptions with;
  if (known.outputs != nullptr)
    with.outputs = symbols_of(known.outputs, known.output_count, "options.outputs");
  with.bound = symbols_of(known.bound, known.bound_count, "options.bound");
  if (known.streams != 0) with.streams = known.streams;
  with.in_place = known.not_in_place == 0;
  with.memory = known.separate != 0 ? MemoryMode::separate : MemoryMode::planned;
  with.poison = known.poison != 0;
  with.order = checked_enum<EvaluationOrder>(known.order, MOTE_ORDER_GREEDY,
                                             "options.order is none of mote_evaluation_order");
  with.plan.planner = checked_enum<MemoryPlanner>(known.planner, MOTE_PLANNER_SEED,
                                                  "options.planner is none of mote_memory_planner");
  with.inexact = known.inexact != 0;
  with.without_nan = known.without_nan != 0;
  take_largest(known, with);
  take_passes(known, with);
  return with;
}

std::string report_text(const CompileReport& report, std::int32_t format) {
  if (format == MOTE_REPORT_TEXT) return to_text(report);
  if (format == MOTE_REPORT_JSON) return to_json(report);
  if (format == MOTE_REPORT_SVG) return to_svg(report);
  throw StatusError(MOTE_INVALID, "format is none of a plan: " + std::to_string(format));
}

}  // namespace

mote_status mote_symbolic_compile(const mote_symbolic* graph, const mote_compile_options* options,
                                  mote_context* context, mote_executable** executable) {
  return guarded(__func__, [&] {
    auto& result = given(executable, "executable");
    const CompileOptions with = options != nullptr ? options_of(*options) : CompileOptions{};
    result = new mote_executable{.executable = compile(given(graph, "graph").graph, with,
                                                       given(context, "context").context)};
  });
}

void mote_executable_free(mote_executable* executable) { delete executable; }

mote_status mote_executable_bind(mote_executable* executable, mote_symbol symbol,
                                 const mote_tensor* tensor) {
  return guarded(__func__, [&] {
    given(executable, "executable").executable.bind(symbol_of(symbol), tensor_of(tensor));
  });
}

mote_status mote_executable_run(mote_executable* executable) {
  return guarded(__func__, [&] { given(executable, "executable").executable.run(); });
}

mote_status mote_executable_output(const mote_executable* executable, mote_symbol symbol,
                                   mote_tensor** tensor) {
  return guarded(__func__, [&] {
    auto& result = given(tensor, "tensor");
    result = handle_of(given(executable, "executable").executable.output(symbol_of(symbol)));
  });
}

mote_status mote_executable_cancel(mote_executable* executable) {
  return guarded(__func__, [&] { given(executable, "executable").executable.cancel(); });
}

mote_status mote_executable_report(mote_executable* executable, int32_t format, const char** text) {
  return guarded(__func__, [&] {
    auto& result = given(text, "text");
    mote_executable& of = given(executable, "executable");
    switch (format) {
      case MOTE_REPORT_TEXT:
      case MOTE_REPORT_JSON:
      case MOTE_REPORT_SVG:
        of.text = report_text(of.executable.report(), format);
        break;
      case MOTE_REPORT_DOT:
        of.text = to_dot(of.executable.graph());
        break;
      case MOTE_REPORT_TRACE:
        if (of.traced != &of.executable.graph())
          throw StatusError(MOTE_INVALID, "no run with the latest shapes was recorded");
        of.text = to_trace_json(*of.traced, of.trace);
        break;
      default:
        throw StatusError(MOTE_INVALID,
                          "format is none of mote_report_format: " + std::to_string(format));
    }
    result = of.text.c_str();
  });
}

mote_status mote_executable_bytes(const mote_executable* executable, size_t* bytes,
                                  size_t* lower_bound) {
  return guarded(__func__, [&] {
    const CompileReport& report = given(executable, "executable").executable.report();
    if (bytes != nullptr) *bytes = report.arena_bytes;
    if (lower_bound != nullptr) *lower_bound = report.lower_bound;
  });
}

mote_status mote_symbolic_plan(mote_symbolic* graph, const mote_compile_options* options,
                               mote_context* context, int32_t format, const char** text,
                               size_t* bytes, size_t* lower_bound) {
  return guarded(__func__, [&] {
    mote_symbolic& of = given(graph, "graph");
    const CompileOptions with = options != nullptr ? options_of(*options) : CompileOptions{};
    const CompileReport report = plan_graph(of.graph, with, given(context, "context").context);
    if (text != nullptr) {
      of.text = report_text(report, format);
      *text = of.text.c_str();
    }
    if (bytes != nullptr) *bytes = report.arena_bytes;
    if (lower_bound != nullptr) *lower_bound = report.lower_bound;
  });
}

mote_status mote_executable_trace(mote_executable* executable, int32_t on) {
  return guarded(__func__, [&] {
    mote_executable& of = given(executable, "executable");
    Graph& graph = of.executable.graph();
    graph.trace_to(nullptr);
    if (on == 0) return;
    of.trace.runs.clear();
    of.traced = &graph;
    graph.trace_to(&of.trace);
  });
}

mote_status mote_executable_autotune(mote_executable* executable,
                                     const mote_tuning_options* options, size_t* commands) {
  return guarded(__func__, [&] {
    Graph& graph = given(executable, "executable").executable.graph();
    const TuningOptions with = options != nullptr ? tuning_options_of(*options) : TuningOptions{};
    const std::size_t asked = graph.autotune(with);
    if (commands != nullptr) *commands = asked;
  });
}

mote_status mote_executable_untuned(mote_executable* executable, const char** text) {
  return guarded(__func__, [&] {
    auto& result = given(text, "text");
    mote_executable& of = given(executable, "executable");
    of.text = lines_of(of.executable.graph().untuned());
    result = of.text.c_str();
  });
}
