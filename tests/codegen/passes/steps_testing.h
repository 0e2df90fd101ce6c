// SPDX-License-Identifier: Apache-2.0
// Takes steps of a schedule in tests: loops after them, or the message that refuses them.
#pragma once

#include <functional>
#include <string>

#include "mote/base/error.h"
#include "mote/codegen/schedule.h"
#include "pass_testing.h"

namespace mote::test {

/// Returns the message of the Error that f throws.
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

/// Returns the loops after the steps, which must mean what they meant before.
inline LoopProgram after(const LoopProgram& p, const std::string& steps) {
  const Version v = scheduled_by(p, parse_steps(steps), {.least_iterations = 1});
  verify(v.program);
  expect_same_meaning(p, v.program);
  return v.program;
}

/// Returns the loops of an op with these statements, called op.
inline LoopProgram compiled(const std::string& statements) {
  return compile(program("op op\n" + statements));
}

inline void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

/// Returns the message with which the steps are refused.
inline std::string refusal(const LoopProgram& p, const std::string& steps) {
  return error_of([&] { (void)scheduled_by(p, parse_steps(steps)); });
}

}  // namespace mote::test
