// SPDX-License-Identifier: Apache-2.0
// A mote_call over the tensors of a case, with all that it points to.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"

namespace MOTE_API mote {

class CallFrame {
 public:
  /// Takes inputs and outputs in the program's order.
  CallFrame(const Case& c, const std::vector<DLTensor*>& inputs, std::vector<DLTensor*> outputs);
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  const mote_call& call() const { return call_; }
  void set_workspace(void* data, std::size_t bytes);
  std::string message() const { return message_.data(); }

 private:
  std::string op_;
  std::vector<std::string> names_;
  std::vector<mote_param> params_;
  std::vector<const DLTensor*> inputs_;
  std::vector<DLTensor*> outputs_;
  std::array<char, 1024> message_{};
  mote_call call_{};
};

}  // namespace mote
