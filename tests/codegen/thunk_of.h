// SPDX-License-Identifier: Apache-2.0
// The thunk of a program, compiled and loaded.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "c_library.h"
#include "call.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"

namespace mote::test {

/// Its three functions, as a kernel.
class ThunkOf {
 public:
  explicit ThunkOf(const std::string& text, EmitOptions options = {})
      : library_(c_text(text, std::move(options))) {
    kernel_.can_run = library_.function<mote_status(const mote_call*)>("kernel_can_run");
    kernel_.run = library_.function<mote_status(const mote_call*, void*)>("kernel_run");
    kernel_.run_checked =
        library_.function<mote_status(const mote_call*, void*)>("kernel_run_checked");
  }
  const mote_kernel& kernel() const { return kernel_; }
  /// Returns the message of can_run, and expects its status.
  std::string refusal(Call& call, mote_status status = MOTE_INVALID) const {
    EXPECT_EQ(call.can_run(kernel_), status);
    return call.message();
  }

 private:
  static std::string c_text(const std::string& text, EmitOptions options) {
    options.function = "kernel";
    options.thunk = true;
    const auto program = std::make_shared<const Program>(parse_program(text));
    return emit_c_includes() + "#include \"mote/base/thunk_outputs.h\"\n" + emit_c_prelude_used() +
           emit_c(compile(program), options);
  }
  /// Returns the helpers as a header would have them, where unused ones cause no warning.
  static std::string emit_c_prelude_used() {
    return "#pragma GCC diagnostic ignored \"-Wunused-function\"\n" + emit_c_prelude();
  }

  CLibrary library_;
  mote_kernel kernel_{};
};

/// A convolution along one axis, with groups.
inline const ThunkOf& conv() {
  static const ThunkOf thunk(R"(op conv
param stride int = 1 in 1..
param groups int = 1 in 1..
param scale real
input x f32[N, $groups*CG, W]
input w f32[$groups*CO, CG, K]
size OW = (W - K)/$stride + 1
t = x[i0, i1/CO*CG + i3, i2*$stride + i4 over N, $groups*CO, OW, CG, K]
output y = sum[3, 4](t * w[i1, i3, i4 over N, $groups*CO, OW, CG, K]) * $scale
)");
  return thunk;
}

}  // namespace mote::test
