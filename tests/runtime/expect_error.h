// SPDX-License-Identifier: Apache-2.0
// Expects that a call fails with a StatusError of that status and with that part in its text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "mote/runtime/status.h"

namespace mote::test {

template <typename Call>
void expect_error(mote_status status, const std::string& part, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "no error; expected: " << part;
  } catch (const StatusError& e) {
    EXPECT_EQ(e.status(), status) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

}  // namespace mote::test
