// SPDX-License-Identifier: Apache-2.0
// Finds or makes references: the generated kernel, compiled C, or the interpreter as the last
// resort.
#include "judge/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "blocks/evaluate.h"
#include "mote/base/error.h"
#include "mote/base/variant_names.h"
#include "mote/codegen/passes.h"
#include "mote/generated/kernels.h"
#include "run/call_frame.h"

namespace mote {
namespace {

const mote_kernel* find_kernel(const Case& c) {
  const mote_generated_kernel* found =
      find_generated(c.target->op(), kReference, c.instance.dtype, c.instance.input_mask);
  return found != nullptr ? &found->kernel : nullptr;
}

std::shared_ptr<const Reference> generated(const Case& c, const mote_kernel& kernel) {
  const auto loops = std::make_shared<const LoopProgram>(compile(c.program));
  const auto run = [&kernel](const Case& of, std::vector<Dense>& in, std::vector<Dense>& out) {
    run_dense(of, in, out, [&](const mote_call* call) {
      const mote_status fits = kernel.can_run(call);
      return fits == MOTE_OK ? kernel.run(call, nullptr) : fits;
    });
  };
  const auto bytes = [loops](const Case& of) { return temporary_bytes(*loops, of); };
  return std::make_shared<const Reference>(Reference{"generated kernel", run, bytes});
}

std::shared_ptr<const Reference> make_reference(const Case& c) {
  if (const mote_kernel* kernel = c.target->is_file() ? nullptr : find_kernel(c)) {
    return generated(c, *kernel);
  }
  return reference_of(c, std::make_shared<const LoopProgram>(compile(c.program)));
}

}  // namespace

std::shared_ptr<const Reference> reference_of(const Case& c,
                                              const std::shared_ptr<const LoopProgram>& loops) {
  std::vector<std::string> inputs;
  for (const InputDecl& input : c.target->inputs()) inputs.push_back(input.name);
  if (auto compiled = compile_reference(loops, std::move(inputs))) return compiled;
  return interpreted(loops->source);
}

std::shared_ptr<const Reference> interpreted(const std::shared_ptr<const Program>& program) {
  const auto evaluator = std::make_shared<const blocks::Evaluator>(program);
  const auto run = [evaluator](const Case& of, std::vector<Dense>& in, std::vector<Dense>& out) {
    evaluator->run(of, in, out);
  };
  const auto bytes = [evaluator](const Case& of) { return evaluator->bytes(of); };
  return std::make_shared<const Reference>(Reference{"interpreter", run, bytes});
}

std::size_t temporary_bytes(const LoopProgram& loops, const Case& c) {
  constexpr auto kTooMany = std::numeric_limits<std::size_t>::max();
  std::size_t total = 0;
  for (const TensorDecl& t : loops.tensors) {
    if (t.role != TensorRole::temporary) continue;
    std::size_t bytes = sizeof(double);
    for (const Expr& e : t.shape) {
      const std::int64_t extent = std::max<std::int64_t>(evaluate(e, c.binding.values), 0);
      if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) return kTooMany;
    }
    if (__builtin_add_overflow(total, bytes, &total)) return kTooMany;
  }
  return total;
}

void run_dense(const Case& c, std::vector<Dense>& inputs, std::vector<Dense>& outputs,
               const std::function<mote_status(const mote_call*)>& run) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const CaseTensor& t : c.inputs) shapes.push_back(t.shape);
  for (const CaseTensor& t : c.outputs) shapes.push_back(t.shape);
  std::vector<DLTensor> tensors;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    tensors.push_back(dense_tensor(inputs[k], shapes[k]));
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    tensors.push_back(dense_tensor(outputs[k], shapes[inputs.size() + k]));
  }
  std::vector<DLTensor*> in;
  std::vector<DLTensor*> out;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    (k < inputs.size() ? in : out).push_back(&tensors[k]);
  }
  const CallFrame frame(c, in, out);
  const mote_status status = run(&frame.call());
  if (status == MOTE_OK) return;
  throw Error(fmt::format(
      "{}: the reference could not run: {}", c.target->op(),
      frame.message().empty() ? fmt::format("status {}", int{status}) : frame.message()));
}

std::shared_ptr<const Reference> reference_for(const Case& c) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, DType, TensorMask>, std::shared_ptr<const Reference>>
      known;
  const std::lock_guard lock(mutex);
  auto& reference = known[{c.target->text(), c.instance.dtype, c.instance.input_mask}];
  if (!reference) reference = make_reference(c);
  return reference;
}

}  // namespace mote
