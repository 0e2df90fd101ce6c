// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_rewriting.h for checkpoints, and those that list and run passes.
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "c/objects.h"
#include "c/symbols.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/pass.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

CheckpointReport checkpointed(mote_symbolic& graph, const mote_symbol* losses, std::size_t count,
                              const mote_checkpoint_options& options) {
  const mote_checkpoint_options known = sized(options, offsetof(mote_checkpoint_options, slots));
  return checkpoint(
      graph.graph, symbols_of(losses, count, "losses"),
      {.policy = checked_enum<CheckpointPolicy>(known.policy, MOTE_CHECKPOINT_CHEAP,
                                                "options.policy is none of mote_checkpoint_policy"),
       .slots = known.slots,
       .budget = known.budget,
       .keep = symbols_of(known.keep, known.keep_count, "options.keep"),
       .context = known.context != nullptr ? &known.context->context : nullptr});
}

std::vector<PassReport> apply(mote_symbolic& graph, const char* const* names, std::size_t count,
                              const PassOptions& options) {
  if (count > 0) given(names, "names");
  std::vector<std::string> list;
  for (const char* name : std::span(names, count)) list.emplace_back(&given(name, "a name"));
  return apply_passes(graph.graph, list, options);
}

/// Copies up to `room` names, which the table of passes keeps, and sets `count`.
void give_passes(const std::vector<std::string>& all, const char** names, std::size_t room,
                 std::size_t* count) {
  given(count, "count") = all.size();
  for (std::size_t k = 0; names != nullptr && k < std::min(room, all.size()); ++k)
    names[k] = find_pass(all[k]).name.c_str();
}

}  // namespace

mote_status mote_symbolic_checkpoint(mote_symbolic* graph, const mote_symbol* losses, size_t count,
                                     const mote_checkpoint_options* options, size_t* copies) {
  return guarded(__func__, [&] {
    const CheckpointReport report =
        checkpointed(given(graph, "graph"), losses, count, given(options, "options"));
    if (copies != nullptr) *copies = report.copies;
  });
}

mote_status mote_symbolic_checkpoint_with(mote_symbolic* graph, const mote_symbol* losses,
                                          size_t count, const mote_checkpoint_options* options,
                                          mote_checkpoint_report* report) {
  return guarded(__func__, [&] {
    mote_symbolic& of = given(graph, "graph");
    mote_checkpoint_report all =
        sized(given(report, "report"), offsetof(mote_checkpoint_report, segments));
    CheckpointReport known = checkpointed(of, losses, count, given(options, "options"));
    of.text = std::move(known.text);
    all.copies = known.copies;
    all.segments = known.segments;
    all.forward_nodes = known.forward_nodes;
    all.most_runs = known.most_runs;
    all.copied_bytes = known.copied_bytes;
    all.text = of.text.c_str();
    std::memcpy(report, &all, std::min(report->size, sizeof(all)));
  });
}

mote_status mote_pass_names(const char** names, size_t room, size_t* count) {
  return guarded(__func__, [&] { give_passes(pass_names(), names, room, count); });
}

mote_status mote_default_passes(const char** names, size_t room, size_t* count) {
  return guarded(__func__, [&] { give_passes(default_passes(), names, room, count); });
}

mote_status mote_pass_summary(const char* name, const char** summary) {
  return guarded(__func__, [&] {
    auto& result = given(summary, "summary");
    result = find_pass(&given(name, "name")).summary.c_str();
  });
}

mote_status mote_symbolic_apply_passes(mote_symbolic* graph, const char* const* names,
                                       size_t count) {
  return guarded(__func__, [&] { apply(given(graph, "graph"), names, count, {}); });
}

mote_status mote_symbolic_apply_passes_with(mote_symbolic* graph, const char* const* names,
                                            size_t count, const mote_pass_options* options,
                                            const char** reports) {
  return guarded(__func__, [&] {
    mote_symbolic& of = given(graph, "graph");
    PassOptions with;
    if (options != nullptr) {
      const mote_pass_options known = sized(*options, offsetof(mote_pass_options, fold_bytes));
      if (known.context != nullptr) with.context = &known.context->context;
      if (known.fold_bytes != 0) with.fold_bytes = known.fold_bytes;
      with.inexact = known.inexact != 0;
      with.verify = with.verify || known.verify != 0;
    }
    std::string lines;
    for (const PassReport& report : apply(of, names, count, with)) lines += report.text + "\n";
    of.text = std::move(lines);
    if (reports != nullptr) *reports = of.text.c_str();
  });
}
