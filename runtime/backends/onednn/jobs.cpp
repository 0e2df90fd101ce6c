// SPDX-License-Identifier: Apache-2.0
// Runs jobs. The workspace holds shared memory first, then the current job's copies of tensors in
// other layouts, and its scratchpad.
#include "jobs.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace mote::onednn {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t rounded(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Returns a row-major desc of the same dims.
memory::desc dense(const memory::desc& of) {
  const memory::dims dims = of.dims();
  memory::dims strides(dims.size(), 1);
  for (std::size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  return {dims, of.data_type(), strides};
}

std::size_t shared_bytes(const Jobs& jobs, std::map<int, std::size_t>* offsets) {
  std::size_t bytes = 0;
  std::map<int, std::size_t> seen;
  for (const Job& job : jobs)
    for (const Binding& b : job.bindings)
      if (b.argument.shared && seen.try_emplace(*b.argument.shared, bytes).second)
        bytes += rounded(b.wanted.get_size());
  if (offsets != nullptr) *offsets = seen;
  return bytes;
}

std::size_t own_bytes(const Job& job) {
  std::size_t bytes = rounded(job.scratchpad.get_size());
  for (const Binding& b : job.bindings)
    if (b.reorder) bytes += rounded(b.wanted.get_size());
  return bytes;
}

void copy(const Binding& b, memory& from, memory& to, dnnl::stream& stream) {
  b.reorder->execute(stream, from, to);
}

void run_job(const Job& job, char* memory_of_job, char* shared,
             const std::map<int, std::size_t>& offsets, dnnl::stream& stream) {
  std::unordered_map<int, memory> arguments;
  std::size_t used = 0;
  const auto take = [&](const memory::desc& desc) {
    char* const at = memory_of_job + used;
    used += rounded(desc.get_size());
    return memory(desc, engine(), at);
  };
  for (const Binding& b : job.bindings) {
    const Argument& a = b.argument;
    if (a.shared) {
      arguments.emplace(a.number, memory(b.wanted, engine(), shared + offsets.at(*a.shared)));
      continue;
    }
    memory own(a.lies, engine(), a.data);
    if (!b.reorder) {
      arguments.emplace(a.number, own);
      continue;
    }
    memory other = take(b.wanted);
    if (!a.is_output) copy(b, own, other, stream);
    arguments.emplace(a.number, other);
  }
  arguments.emplace(DNNL_ARG_SCRATCHPAD, take(job.scratchpad));
  job.primitive.execute(stream, arguments);
  for (const Binding& b : job.bindings) {
    if (!b.reorder || !b.argument.is_output) continue;
    memory own(b.argument.lies, engine(), b.argument.data);
    copy(b, arguments.at(b.argument.number), own, stream);
  }
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

std::vector<memory::desc> descs_of(const std::vector<Argument>& arguments, Layouts layouts) {
  std::vector<memory::desc> all;
  for (const Argument& a : arguments) {
    if (a.shared || layouts == Layouts::as_they_lie)
      all.push_back(a.lies);
    else if (layouts == Layouts::dense)
      all.push_back(dense(a.lies));
    else
      all.emplace_back(a.lies.dims(), a.lies.data_type(), memory::format_tag::any);
  }
  return all;
}

Job bound_job(const dnnl::primitive& primitive, const dnnl::primitive_desc_base& made,
              const std::vector<Argument>& arguments) {
  Job job{primitive, made.scratchpad_desc(), {}};
  for (const Argument& a : arguments) {
    Binding b{a, a.is_attribute ? dense(a.lies) : made.query_md(dnnl::query::exec_arg_md, a.number),
              std::nullopt};
    if (!a.shared && b.wanted != a.lies) {
      const memory::desc& from = a.is_output ? b.wanted : a.lies;
      const memory::desc& to = a.is_output ? a.lies : b.wanted;
      b.reorder.emplace(dnnl::reorder::primitive_desc(engine(), from, engine(), to));
    }
    job.bindings.push_back(std::move(b));
  }
  return job;
}

std::size_t workspace_bytes(const Jobs& jobs) {
  std::size_t most = 0;
  for (const Job& job : jobs) most = std::max(most, own_bytes(job));
  return shared_bytes(jobs, nullptr) + most;
}

void run_jobs(const Jobs& jobs, void* workspace) {
  dnnl::stream stream(engine());
  std::map<int, std::size_t> offsets;
  auto* const base = static_cast<char*>(workspace);
  const std::size_t shared = shared_bytes(jobs, &offsets);
  for (const Job& job : jobs) run_job(job, base + shared, base, offsets, stream);
  stream.wait();
}

}  // namespace mote::onednn
