// SPDX-License-Identifier: Apache-2.0
// Runs a subject's kernel once over the buffers of a case, and collects its effects.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mote/oracle/run.h"
#include "run/buffer.h"
#include "run/call_frame.h"

namespace mote {

/// The memory of a call's tensors and of its workspace.
struct Bench {
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  Region workspace;  ///< bytes; the kernel may use `workspace_bytes` from `lead` on
  std::size_t workspace_bytes = 0;

  std::vector<DLTensor*> input_tensors();
  /// The outputs; NULL for one that the case leaves out.
  std::vector<DLTensor*> output_tensors(const Case& c);
};

/// The result of a call.
struct CallResult {
  mote_status status = MOTE_OK;
  std::string message;
  std::optional<Outcome> ended;  ///< set if the subject broke a rule or did not return
};
using CallKernel = std::function<CallResult(const mote_call&)>;

struct RunResult {
  mote_status status = MOTE_OK;
  std::string message;
  std::optional<Outcome> ended;
  std::string damage;  ///< a write near the elements or to an input; empty: none
  Verdict damage_verdict = Verdict::out_of_bounds;
  std::vector<Dense> outputs;
};

class SubjectRun {
 public:
  /// `frame` must call over the tensors of the bench.
  SubjectRun(const Case& c, Bench& bench, CallFrame& frame, CallKernel call)
      : case_(c), bench_(bench), frame_(frame), call_(std::move(call)) {}

  /// Runs with those elements in the inputs, and the pattern in gaps, outputs and workspace.
  RunResult run(const std::vector<Dense>& inputs, Poison pattern);

 private:
  void collect_inputs(RunResult& result, const std::vector<Dense>& inputs, Poison pattern);
  void collect_outputs(RunResult& result, Poison pattern);
  static void note_damage(RunResult& result, const CaseTensor& t, const Buffer& buffer,
                          std::int64_t at);

  const Case& case_;
  Bench& bench_;
  CallFrame& frame_;
  CallKernel call_;
};

}  // namespace mote
