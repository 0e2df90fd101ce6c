// SPDX-License-Identifier: Apache-2.0
// A program whose workers a test launches: it serves a backend of y = -x for row-major tensors.
//   serves_negation right|wrong|crashes|silent
#include <csignal>
#include <cstdlib>
#include <string>

#include "fake_backend.h"
#include "isolate/launch.h"

namespace {

std::int64_t count(const DLTensor* x) {
  std::int64_t all = 1;
  for (int axis = 0; axis < x->ndim; ++axis) all *= x->shape[axis];
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const char* const given = std::getenv(mote::isolate::kWorkerVariable);
  if (given == nullptr || how == "silent") return 1;
  const mote::test::FakeBackend fake("neg", [&](const mote_call* call) {
    if (how == "crashes") std::raise(SIGSEGV);
    const std::int64_t n = count(call->inputs[0]);
    const float* x = mote::test::floats(call->inputs[0]);
    float* y = mote::test::floats(call->outputs[0]);
    for (std::int64_t k = 0; k < n; ++k) y[k] = how == "wrong" && k == 2 ? x[k] : -x[k];
    return MOTE_OK;
  });
  mote::isolate::serve_workers(given, fake.get(), nullptr);
}
