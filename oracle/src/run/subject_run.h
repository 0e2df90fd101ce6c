// SPDX-License-Identifier: Apache-2.0
// One run of a subject's kernel over the buffers of a case, and what it left behind.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mote/oracle/run.h"
#include "run/buffer.h"
#include "run/call_frame.h"

namespace mote {

/// Memory of a call's tensors and of its workspace.
struct Bench {
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  Region workspace;  ///< bytes; the part from `lead` on is the kernel's, `workspace_bytes` of it
  std::size_t workspace_bytes = 0;

  std::vector<DLTensor*> input_tensors();
  /// NULL for one that the case leaves out.
  std::vector<DLTensor*> output_tensors(const Case& c);
};

/// What a call came to.
struct CallResult {
  mote_status status = MOTE_OK;
  std::string message;
  std::optional<Outcome> ended;  ///< the subject broke a rule or did not come back
};
using CallKernel = std::function<CallResult(const mote_call&)>;

struct RunResult {
  mote_status status = MOTE_OK;
  std::string message;
  std::optional<Outcome> ended;
  std::string damage;  ///< a write beside the elements or to an input; empty: none
  Verdict damage_verdict = Verdict::out_of_bounds;
  std::vector<Dense> outputs;
};

class SubjectRun {
 public:
  /// `frame` calls over the tensors of the bench.
  SubjectRun(const Case& c, Bench& bench, CallFrame& frame, CallKernel call)
      : case_(c), bench_(bench), frame_(frame), call_(std::move(call)) {}

  /// The inputs hold those elements; gaps, outputs and workspace the pattern.
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
