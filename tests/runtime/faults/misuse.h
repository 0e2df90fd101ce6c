// SPDX-License-Identifier: Apache-2.0
// Invalid calls, each with the status that it must give.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "mote/runtime/status.h"

namespace mote::test {

inline constexpr std::int64_t kGreatestMagnitude = std::numeric_limits<std::int64_t>::max();

struct Misuse {
  const char* what;
  std::function<void()> call;
  mote_status status = MOTE_INVALID;
};

/// Expects that each call throws a StatusError of its status with a text of one nonempty line.
inline void expect_refused(const std::vector<Misuse>& calls) {
  for (const Misuse& m : calls) {
    try {
      m.call();
      ADD_FAILURE() << m.what << ": no error";
    } catch (const StatusError& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.status(), m.status) << m.what << ": " << text;
      EXPECT_GT(text.size(), 10U) << m.what << ": " << text;
      EXPECT_NE(text.find(':'), std::string::npos) << m.what << ": " << text;
      EXPECT_EQ(text.find('\n'), std::string::npos) << m.what << ": " << text;
    } catch (const std::exception& error) {
      ADD_FAILURE() << m.what << ": not a StatusError: " << error.what();
    }
  }
}

}  // namespace mote::test
