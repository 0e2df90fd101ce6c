// One run of a subject's kernel over the buffers of a case, and what it left behind.
#pragma once

#include <string>
#include <vector>

#include "buffer.h"
#include "call_frame.h"

namespace mote {

struct RunResult {
  mote_status status = MOTE_OK;
  std::string message;
  std::string damage;  ///< a write beside the elements or to an input; empty: none
  std::vector<Dense> outputs;
};

class SubjectRun {
 public:
  /// `workspace` is what the kernel asks for, in bytes; `inputs` are the elements that the input
  /// buffers are to hold; `frame` calls over the buffers.
  SubjectRun(const Case& c, const mote_kernel& kernel, std::size_t workspace, CallFrame& frame,
             const std::vector<Dense>& inputs, std::vector<Buffer>& input_buffers,
             std::vector<Buffer>& output_buffers)
      : case_(c),
        kernel_(kernel),
        workspace_(workspace),
        frame_(frame),
        inputs_(inputs),
        input_buffers_(input_buffers),
        output_buffers_(output_buffers) {}

  /// Gaps, outputs and workspace hold the pattern beforehand.
  RunResult run(Poison pattern);

 private:
  void collect_inputs(RunResult& result, Poison pattern);
  void collect_outputs(RunResult& result, Poison pattern);

  const Case& case_;
  const mote_kernel& kernel_;
  std::size_t workspace_;
  CallFrame& frame_;
  const std::vector<Dense>& inputs_;
  std::vector<Buffer>& input_buffers_;
  std::vector<Buffer>& output_buffers_;
};

}  // namespace mote
