// SPDX-License-Identifier: Apache-2.0
// Poisons the buffers, runs the kernel, and collects the results.
#include "run/subject_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "mote/oracle/text.h"

namespace mote {
namespace {

unsigned char workspace_byte(Poison pattern) { return pattern == Poison::first ? 0xa5 : 0x5a; }

unsigned char* workspace_memory(const Bench& bench) {
  return static_cast<unsigned char*>(bench.workspace.memory);
}

void poison_workspace(const Bench& bench, Poison pattern) {
  std::fill_n(workspace_memory(bench), bench.workspace.count, workspace_byte(pattern));
}

bool workspace_damaged(const Bench& bench, Poison pattern) {
  const unsigned char* all = workspace_memory(bench);
  const unsigned char* begin = all + bench.workspace.lead;
  const auto is_other = [&](unsigned char b) { return b != workspace_byte(pattern); };
  return std::any_of(all, begin, is_other) ||
         std::any_of(begin + bench.workspace_bytes, all + bench.workspace.count, is_other);
}

std::string describe_damage(const CaseTensor& t, std::int64_t at) {
  const std::string where = at < 0 ? counted(-at, "element") + " before the first"
                                   : counted(at, "element") + " after the first, where it has none";
  return fmt::format("writes outside of {}: {}", t.name, where);
}

}  // namespace

std::vector<DLTensor*> Bench::input_tensors() {
  std::vector<DLTensor*> all;
  for (Buffer& b : inputs) all.push_back(b.tensor());
  return all;
}

std::vector<DLTensor*> Bench::output_tensors(const Case& c) {
  std::vector<DLTensor*> all;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    all.push_back(c.outputs[k].left_out ? nullptr : outputs[k].tensor());
  return all;
}

RunResult SubjectRun::run(const std::vector<Dense>& inputs, Poison pattern) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    bench_.inputs[k].poison(pattern);
    bench_.inputs[k].write(inputs[k]);
  }
  for (std::size_t k = 0; k < bench_.outputs.size(); ++k)
    if (!shared_input(case_, case_.outputs[k])) bench_.outputs[k].poison(pattern);
  poison_workspace(bench_, pattern);
  const std::size_t workspace = bench_.workspace_bytes;
  frame_.set_workspace(workspace > 0 ? workspace_memory(bench_) + bench_.workspace.lead : nullptr,
                       workspace);
  CallResult called = call_(frame_.call());
  RunResult result;
  result.status = called.status;
  result.message = std::move(called.message);
  result.ended = std::move(called.ended);
  if (result.ended) return result;
  collect_inputs(result, inputs, pattern);
  collect_outputs(result, pattern);
  if (result.damage.empty() && workspace_damaged(bench_, pattern))
    result.damage = "writes outside of its workspace";
  return result;
}

void SubjectRun::collect_inputs(RunResult& result, const std::vector<Dense>& inputs,
                                Poison pattern) {
  for (std::size_t k = 0; k < inputs.size() && result.damage.empty(); ++k) {
    const CaseTensor& t = case_.inputs[k];
    Buffer& buffer = bench_.inputs[k];
    const auto takes_it = [&](const CaseTensor& y) { return shared_input(case_, y) == k; };
    if (std::ranges::any_of(case_.outputs, takes_it)) continue;  // it is collected as that output
    if (!buffer.holds(inputs[k])) {
      result.damage = "writes to its input " + t.name;
      result.damage_verdict = Verdict::changed_input;
    } else if (const auto beside = buffer.damage(pattern)) {
      note_damage(result, t, buffer, *beside);
    }
  }
}

void SubjectRun::collect_outputs(RunResult& result, Poison pattern) {
  for (std::size_t k = 0; k < bench_.outputs.size(); ++k) {
    const CaseTensor& t = case_.outputs[k];
    Buffer& buffer = bench_.outputs[k];
    result.outputs.emplace_back(t.dtype, t.left_out ? 0 : volume(t.shape));
    if (t.left_out) continue;
    buffer.read(result.outputs.back());
    const auto beside = buffer.damage(pattern);
    if (beside && result.damage.empty()) note_damage(result, t, buffer, *beside);
  }
}

void SubjectRun::note_damage(RunResult& result, const CaseTensor& t, const Buffer& buffer,
                             std::int64_t at) {
  const bool gap = at > 0 && at < buffer.reach();
  result.damage = gap ? fmt::format("writes into a gap of {}: {} after the first", t.name,
                                    counted(at, "element"))
                      : describe_damage(t, at);
  result.damage_verdict = gap ? Verdict::wrote_gap : Verdict::out_of_bounds;
}

}  // namespace mote
