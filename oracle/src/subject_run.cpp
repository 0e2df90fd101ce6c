// Poison, run, collect.
#include "subject_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "mote/base/kernel_call.h"

namespace mote {
namespace {

constexpr std::int64_t kWorkspaceGuard = 256;

/// Memory that a kernel asks for, poisoned, with a guard after it.
class Workspace {
 public:
  Workspace(std::size_t bytes, Poison pattern)
      : bytes_(static_cast<std::int64_t>(bytes)),
        byte_(pattern == Poison::first ? 0xa5 : 0x5a),
        memory_(DType::boolean, bytes_ + kWorkspaceGuard) {
    std::fill_n(bytes_begin(), memory_.count(), byte_);
  }
  void* data() { return memory_.data(); }
  bool damaged() {
    return std::any_of(bytes_begin() + bytes_, bytes_begin() + memory_.count(),
                       [this](unsigned char b) { return b != byte_; });
  }

 private:
  unsigned char* bytes_begin() { return static_cast<unsigned char*>(memory_.data()); }

  std::int64_t bytes_;
  unsigned char byte_;
  Dense memory_;
};

std::string describe_damage(const CaseTensor& t, std::int64_t at) {
  const std::string where = at < 0
                                ? fmt::format("{} elements before the first", -at)
                                : fmt::format("{} elements after the first, where it has none", at);
  return fmt::format("writes beside {}: {}", t.name, where);
}

}  // namespace

RunResult SubjectRun::run(Poison pattern) {
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    input_buffers_[k].poison(pattern);
    input_buffers_[k].write(inputs_[k]);
  }
  for (Buffer& b : output_buffers_) b.poison(pattern);
  Workspace workspace(workspace_, pattern);
  frame_.set_workspace(workspace_ > 0 ? workspace.data() : nullptr, workspace_);
  RunResult result;
  result.status = run_kernel(kernel_, frame_.call(), nullptr);
  result.message = frame_.message();
  collect_inputs(result, pattern);
  collect_outputs(result, pattern);
  if (result.damage.empty() && workspace.damaged()) result.damage = "writes beside its workspace";
  return result;
}

void SubjectRun::collect_inputs(RunResult& result, Poison pattern) {
  for (std::size_t k = 0; k < inputs_.size() && result.damage.empty(); ++k) {
    const CaseTensor& t = case_.inputs[k];
    if (!input_buffers_[k].holds(inputs_[k])) {
      result.damage = "writes to its input " + t.name;
    } else if (const auto beside = input_buffers_[k].damage(pattern)) {
      result.damage = describe_damage(t, *beside);
    }
  }
}

void SubjectRun::collect_outputs(RunResult& result, Poison pattern) {
  for (std::size_t k = 0; k < output_buffers_.size(); ++k) {
    const CaseTensor& t = case_.outputs[k];
    result.outputs.emplace_back(t.dtype, t.left_out ? 0 : volume(t.shape));
    if (!t.left_out) output_buffers_[k].read(result.outputs.back());
    const auto beside = output_buffers_[k].damage(pattern);
    if (beside && result.damage.empty()) result.damage = describe_damage(t, *beside);
  }
}

}  // namespace mote
