// SPDX-License-Identifier: Apache-2.0
// Checks the programs of the regression tests, which are texts, through every stage.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "check_program.h"
#include "mote/codegen/passes.h"

namespace mote::test {

inline Program program(const std::string& text) { return parse_program("op regression\n" + text); }

inline void expect_agreement(const std::string& text, int trials = 8) {
  const Program p = program(text);
  const auto m = check_program(p, make_trials(p, 1, trials));
  EXPECT_FALSE(m) << to_string(*m) << "\n" << to_string(p);
}

inline LoopCount compiled_count(const std::string& text) {
  return count(compile(std::make_shared<const Program>(program(text))));
}

}  // namespace mote::test
