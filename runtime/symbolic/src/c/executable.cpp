// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_graphs.h for executables, and for the planner of memory.
#include <cstddef>
#include <utility>
#include <vector>

#include "c/objects.h"
#include "c/symbols.h"
#include "mote/graph/picture.h"
#include "mote/memory/plan.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

mote_status mote_symbolic_compile(const mote_symbolic* graph, const mote_compile_options* options,
                                  mote_context* context, mote_executable** executable) {
  return guarded(__func__, [&] {
    auto& result = given(executable, "executable");
    CompileOptions with;
    if (options != nullptr) {
      const mote_compile_options known = sized(*options, offsetof(mote_compile_options, bound));
      if (known.outputs != nullptr)
        with.outputs = symbols_of(known.outputs, known.output_count, "options.outputs");
      with.bound = symbols_of(known.bound, known.bound_count, "options.bound");
      if (known.streams != 0) with.streams = known.streams;
      with.in_place = known.not_in_place == 0;
      with.memory = known.separate != 0 ? MemoryMode::separate : MemoryMode::planned;
      with.poison = known.poison != 0;
      const std::vector<TensorSymbol> inputs =
          symbols_of(known.largest_inputs, known.largest_count, "options.largest_inputs");
      if (!inputs.empty()) given(known.largest, "options.largest");
      for (std::size_t k = 0; k < inputs.size(); ++k)
        with.largest.emplace_back(inputs[k], tensor_of(known.largest[k]).form());
    }
    result = new mote_executable{
        compile(given(graph, "graph").graph, with, given(context, "context").context), {}};
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
        of.text = to_text(of.executable.report());
        break;
      case MOTE_REPORT_JSON:
        of.text = to_json(of.executable.report());
        break;
      case MOTE_REPORT_SVG:
        of.text = to_svg(of.executable.report());
        break;
      case MOTE_REPORT_DOT:
        of.text = to_dot(of.executable.graph());
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

mote_status mote_plan_memory(const mote_memory_block* blocks, size_t count, uint64_t* offsets,
                             uint64_t* total, uint64_t* bound) {
  return guarded(__func__, [&] {
    if (count > 0) {
      given(blocks, "blocks");
      given(offsets, "offsets");
    }
    MemoryProblem problem;
    std::vector<Lifetime> lifetimes;
    for (const mote_memory_block& block : std::span(blocks, count)) {
      problem.blocks.push_back({block.bytes, block.alignment, {}});
      lifetimes.push_back({block.begin, block.end});
    }
    problem.interference = Interference::of_lifetimes(std::move(lifetimes));
    const MemoryPlan plan = plan_memory(problem);
    std::ranges::copy(plan.offsets, offsets);
    if (total != nullptr) *total = plan.total;
    if (bound != nullptr) *bound = plan.bound;
  });
}
