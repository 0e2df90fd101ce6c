// SPDX-License-Identifier: Apache-2.0
// Backends made from a function, for tests of verdicts.
#pragma once

#include <cstring>
#include <functional>

#include "mote/base/kernel.h"

namespace mote::test {

/// A backend "fake" whose only kernel runs `run`. Only one may exist at a time.
class FakeBackend {
 public:
  using Run = std::function<mote_status(const mote_call*)>;

  FakeBackend(const char* op, Run run, bool deterministic = true, const char* form = "direct") {
    current() = std::move(run);
    contract_ = {};
    contract_.size = sizeof contract_;
    contract_.deterministic = deterministic ? 1 : 0;
    contract_.form = form;
    kernel_ = {};
    kernel_.size = sizeof kernel_;
    kernel_.op = op;
    kernel_.contract = &contract_;
    kernel_.can_run = [](const mote_call*) { return MOTE_OK; };
    kernel_.workspace_bytes = [](const mote_call*) { return std::size_t{16}; };
    kernel_.run = [](const mote_call* call, void*) { return current()(call); };
    backend_ = {};
    backend_.size = sizeof backend_;
    backend_.name = "fake";
    backend_.kernel_count = 1;
    backend_.kernels = &kernel_;
  }
  FakeBackend(const FakeBackend&) = delete;
  FakeBackend& operator=(const FakeBackend&) = delete;

  const mote_backend& get() const { return backend_; }
  mote_kernel& kernel() { return kernel_; }
  mote_contract& contract() { return contract_; }

 private:
  static Run& current() {
    static Run run;
    return run;
  }
  mote_contract contract_;
  mote_kernel kernel_;
  mote_backend backend_;
};

/// Returns the first element of a tensor of f32.
inline float* floats(const DLTensor* t) {
  return reinterpret_cast<float*>(static_cast<char*>(t->data) + t->byte_offset);
}

}  // namespace mote::test
