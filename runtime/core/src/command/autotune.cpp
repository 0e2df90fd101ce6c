// SPDX-License-Identifier: Apache-2.0
// Measures kernels: candidates run in turn on scratch tensors of the same extents and strides, so
// that a disturbance of the machine slows all of them; the least median wins.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "command/call_workspace.h"
#include "command/check_call.h"
#include "command/kernel_call.h"
#include "command/kernel_choice.h"
#include "command/signature.h"
#include "device/device_copy.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tune.h"
#include "tensor/view.h"

namespace mote {
namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Allocates a tensor with x's extents and strides; row-major if x has no element, or if its
/// elements share memory in another way than by strides of 0.
Tensor same_form(const Tensor& x) {
  Tensor one = x;  // x without the axes that repeat
  for (int axis = x.rank(); axis-- > 0 && x.element_count() > 0;)
    if (x.stride(axis) == 0) one = one.select(axis, 0);
  const std::optional<Device> device = Device::of(x.device());
  if (x.element_count() > 0 && one.is_distinct()) return image_of(x, device);
  return device ? Tensor(x.dtype(), x.shape(), *device) : Tensor(x.dtype(), x.shape());
}

/// Computes y = x, where y is a same_form of x.
void fill_from(const Tensor& x, const Tensor& y) {
  if (x.element_count() == 0) return;
  Tensor from = x;
  Tensor to = y;
  for (int axis = y.rank(); axis-- > 0;) {
    if (y.stride(axis) != 0) continue;
    from = from.select(axis, 0);
    to = to.select(axis, 0);
  }
  copy(from, to);
}

/// The tensors of a call that are present, in the order of its operands.
std::vector<const Tensor*> present(std::span<const Tensor* const> inputs,
                                   std::span<Tensor* const> outputs) {
  std::vector<const Tensor*> all(inputs.begin(), inputs.end());
  all.insert(all.end(), outputs.begin(), outputs.end());
  std::erase(all, nullptr);
  return all;
}

/// Copies of the call's tensors.
class Scratch {
 public:
  Scratch(const CallTensors& tensors, std::vector<const Tensor*> given)
      : given_(std::move(given)), call_(tensors) {
    const std::size_t count = tensors.operands.size();
    tensors_.reserve(count);
    operands_.reserve(count);
    for (std::size_t n = 0; n < count; ++n) {
      const CallOperand& o = tensors.operands[n];
      tensors_.push_back(o.is_output ? place(n) : same_form(*given_[n]));
      operands_.push_back({o.meaning, &tensors_.back().dl(), o.is_output});
    }
    call_.operands = operands_;
    restore();
  }
  /// Restores the inputs, as a run in place requires.
  void restore() {
    for (std::size_t n = 0; n < operands_.size(); ++n)
      if (!operands_[n].is_output) fill_from(*given_[n], tensors_[n]);
  }

  const CallTensors& tensors() const { return call_; }

 private:
  /// Returns the tensor of output n: that of the input with which it shares memory, or a new one.
  Tensor place(std::size_t n) const {
    const Tensor& y = *given_[n];
    for (std::size_t m = 0; m < n; ++m)
      if (overlap(*given_[m], y)) return tensors_[m];
    return same_form(y);
  }

  std::vector<const Tensor*> given_;
  std::vector<Tensor> tensors_;
  std::vector<CallOperand> operands_;
  CallTensors call_;
};

/// A kernel that takes the call, and its samples so far.
struct Candidate {
  NamedKernel named;
  std::size_t workspace_bytes;
  KernelRun run;
  int repeats = 1;
  std::vector<double> samples = {};
  bool dropped = false;

  double least() const { return *std::ranges::min_element(samples); }
  double median() const {
    std::vector<double> sorted = samples;
    std::ranges::nth_element(sorted,
                             sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
    return sorted[sorted.size() / 2];
  }
};

/// A sample of a short kernel consists of enough runs to take this time, at most kMaxRepeats.
constexpr double kSampleNanoseconds = 20e3;
constexpr int kMaxRepeats = 1000;
/// A kernel whose best sample takes more than this factor times the fastest one's is not measured
/// again.
constexpr double kHopeless = 3;

class Measurement {
 public:
  Measurement(const Command& command, const CallTensors& tensors, std::vector<const Tensor*> given,
              Context& context)
      : command_(command),
        scratch_(tensors, std::move(given)),
        input_room_(tensors.input_count),
        output_room_(tensors.output_count),
        views_(tensors.operands.size()),
        axes_(tensors.operands.size()),
        dl_(tensors.operands.size()),
        fitted_(fit_call(command, scratch_.tensors(), views_, axes_)),
        call_(command, scratch_.tensors(), fitted_,
              {.inputs = input_room_, .outputs = output_room_, .dl = dl_}) {
    options_.context = &context;
    call_.listen(message_);
  }

  std::vector<Candidate> measure(const TuningOptions& options) {
    const Clock::time_point start = Clock::now();
    find_candidates();
    for (Candidate& c : candidates_) warm_up(c);
    for (int round = 0; round < std::max(options.rounds, 1); ++round) {
      if (round > 0 && nanoseconds_since(start) > options.seconds * 1e9) break;
      for (Candidate& c : candidates_)
        if (!c.dropped) sample(c);
      drop_hopeless();
    }
    std::erase_if(candidates_, [](const Candidate& c) { return c.samples.empty(); });
    if (candidates_.empty()) fail_call(command_, status_, reason_.c_str());
    return std::move(candidates_);
  }

 private:
  void find_candidates() {
    const CallTensors& t = scratch_.tensors();
    for (NamedKernel& named :
         kernels_of(command_, t.instance, t.input_mask, options_.context->backends())) {
      if (!may_be_asked(*named.kernel->contract, t, options_.without_nan)) continue;
      const mote_status answer = call_.can_run(*named.kernel);
      if (answer != MOTE_OK) {
        keep(answer);
        continue;
      }
      std::size_t bytes = 0;
      const mote_status fits = call_.workspace_bytes(*named.kernel, bytes);
      if (fits != MOTE_OK) {
        keep(fits);
        continue;
      }
      if (options_.context->workspace().allows(bytes))
        candidates_.push_back({named, bytes, call_.run_of(*named.kernel)});
    }
  }
  void keep(mote_status answer) {
    if (!reason_.empty()) return;
    status_ = answer;
    reason_ = message_.data();
  }

  /// Returns the nanoseconds of that number of runs, or nothing if one failed.
  std::optional<double> time(const Candidate& c, int runs) {
    CallWorkspace workspace(c.workspace_bytes, options_, scratch_.tensors().device);
    call_.call().workspace = workspace.data();
    call_.call().workspace_bytes = c.workspace_bytes;
    const Clock::time_point start = Clock::now();
    for (int k = 0; k < runs; ++k) {
      const mote_status status = call_.run(c.run, nullptr);
      if (status == MOTE_OK) continue;
      keep(status);
      return std::nullopt;
    }
    const double duration = nanoseconds_since(start);
    const mote_status status = workspace.outcome(MOTE_OK, call_.call());
    if (status == MOTE_OK) return duration;
    keep(status);
    return std::nullopt;
  }

  /// Runs the kernel twice: the first run brings code and data into the caches, the second
  /// determines the number of runs in a sample. A call in place makes one run a sample, on restored
  /// inputs.
  void warm_up(Candidate& c) {
    const bool once = scratch_.tensors().in_place;
    for (int k = 0; k < 2 && !c.dropped; ++k) {
      if (once) scratch_.restore();
      const std::optional<double> duration = time(c, 1);
      c.dropped = !duration;
      if (!duration || once) continue;
      const double repeats = kSampleNanoseconds / std::max(*duration, 1.0);
      c.repeats = std::clamp(static_cast<int>(repeats), 1, kMaxRepeats);
    }
  }
  void sample(Candidate& c) {
    if (scratch_.tensors().in_place) scratch_.restore();
    const std::optional<double> duration = time(c, c.repeats);
    c.dropped = !duration;
    if (duration)
      c.samples.push_back(*duration / c.repeats);
    else
      c.samples.clear();
  }
  void drop_hopeless() {
    double best = -1;
    for (const Candidate& c : candidates_)
      if (!c.samples.empty() && (best < 0 || c.least() < best)) best = c.least();
    for (Candidate& c : candidates_)
      if (!c.samples.empty() && c.least() > kHopeless * best) c.dropped = true;
  }

  const Command& command_;
  Scratch scratch_;
  std::vector<const DLTensor*> input_room_;
  std::vector<DLTensor*> output_room_;
  std::vector<KernelView> views_;
  std::vector<AxisStrides> axes_;
  std::vector<DLTensor> dl_;
  FittedCall fitted_;
  KernelCall call_;
  CallMessage message_{};
  RunOptions options_;
  std::vector<Candidate> candidates_;
  mote_status status_ = MOTE_UNSUPPORTED;
  std::string reason_;
};

TuningEntry entry_of(const Command& command, const CallTensors& tensors, const Signature& signature,
                     const std::vector<Candidate>& candidates) {
  const Candidate& best = *std::ranges::min_element(candidates, {}, &Candidate::median);
  TuningEntry entry = {.command = command,
                       .signature = {signature.words().begin(), signature.words().end()},
                       .example = describe_call(command, tensors).substr(1),
                       .kernel = best.named.name,
                       .fastest = best.named.kernel,
                       .timings = {}};
  for (const Candidate& c : candidates) entry.timings.push_back({c.named.name, c.median()});
  return entry;
}

}  // namespace

const TuningEntry& autotune(const Command& command, std::span<const Tensor* const> inputs,
                            std::span<Tensor* const> outputs, Context& context,
                            const TuningOptions& options) {
  std::vector<CallOperand> operands(inputs.size() + outputs.size());
  std::vector<int> slots(operands.size());
  std::vector<const DLTensor*> given(operands.size());
  list_tensors(inputs, outputs, given);
  const CallTensors tensors = check_call(command, std::span(given).first(inputs.size()),
                                         std::span(given).subspan(inputs.size()), operands, slots);
  const Signature signature(command, tensors);
  TuningTable& table = context.tuning();
  const TuningEntry* known = table.find(command, signature.words());
  if (known != nullptr && !options.again) return *known;
  Measurement measurement(command, tensors, present(inputs, outputs), context);
  table.put(entry_of(command, tensors, signature, measurement.measure(options)));
  return *table.find(command, signature.words());
}

const TuningEntry& autotune(const Command& command, std::initializer_list<const Tensor*> inputs,
                            std::initializer_list<Tensor*> outputs, Context& context,
                            const TuningOptions& options) {
  return autotune(command, std::span(inputs.begin(), inputs.size()),
                  std::span(outputs.begin(), outputs.size()), context, options);
}

}  // namespace mote
