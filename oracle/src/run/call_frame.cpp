// SPDX-License-Identifier: Apache-2.0
// Builds call frames: absent optional inputs are NULL, and parameters keep the order of the
// program.
#include "run/call_frame.h"

#include <utility>

namespace mote {

CallFrame::CallFrame(const Case& c, const std::vector<DLTensor*>& inputs,
                     std::vector<DLTensor*> outputs)
    : op_(c.target->op()),
      inputs_(c.target->inputs().size(), nullptr),
      outputs_(std::move(outputs)) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    inputs_[static_cast<std::size_t>(c.target->input_position(c.inputs[k].name))] = inputs[k];
  }
  for (const ParamDecl& p : c.program->params) names_.push_back(p.name);
  for (const std::string& name : names_) {
    const Number& value = c.params.at(name);
    mote_param param{};
    param.name = name.c_str();
    param.is_real = value.is_real() ? 1 : 0;
    if (value.is_real()) {
      param.real = value.real();
    } else {
      param.integer = value.integer();
    }
    params_.push_back(param);
  }
  call_.size = sizeof(mote_call);
  call_.op = op_.c_str();
  call_.input_count = static_cast<std::int32_t>(inputs_.size());
  call_.output_count = static_cast<std::int32_t>(outputs_.size());
  call_.param_count = static_cast<std::int32_t>(params_.size());
  call_.inputs = inputs_.data();
  call_.outputs = outputs_.data();
  call_.params = params_.data();
  call_.message = message_.data();
  call_.message_bytes = message_.size();
}

void CallFrame::set_workspace(void* data, std::size_t bytes) {
  call_.workspace = data;
  call_.workspace_bytes = bytes;
}

}  // namespace mote
