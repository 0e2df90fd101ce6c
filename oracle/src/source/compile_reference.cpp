// SPDX-License-Identifier: Apache-2.0
// Compiles a reference at run time: C of the program with its thunk.
#include <dlfcn.h>

#include "judge/reference.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "source/compiled_c.h"

namespace mote {
namespace {

constexpr const char* kFunction = "mote_reference";

}  // namespace

std::shared_ptr<const Reference> compile_reference(const std::shared_ptr<const LoopProgram>& loops,
                                                   std::vector<std::string> call_inputs) {
  EmitOptions options;
  options.function = kFunction;
  options.standalone = true;
  options.thunk = true;
  options.call_inputs = std::move(call_inputs);
  const std::string text = "#include \"mote/base/thunk.h\"\n" + emit_c(*loops, options);
  const std::shared_ptr<void> library = load_c(text);
  if (!library) return nullptr;
  using Call = mote_status (*)(const mote_call*, void*);
  const auto call =
      reinterpret_cast<Call>(dlsym(library.get(), (std::string(kFunction) + "_run").c_str()));
  if (call == nullptr) return nullptr;
  const auto run = [library, call](const Case& of, std::vector<Dense>& in,
                                   std::vector<Dense>& out) {
    run_dense(of, in, out, [&](const mote_call* c) { return call(c, nullptr); });
  };
  const auto bytes = [loops](const Case& of) { return temporary_bytes(*loops, of); };
  return std::make_shared<const Reference>(Reference{"C compiled by cc", run, bytes});
}

}  // namespace mote
