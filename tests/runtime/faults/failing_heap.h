// SPDX-License-Identifier: Apache-2.0
// Runs an operation under a heap that refuses one allocation after the other: each refusal must
// become an error of its kind, keep no memory, and allow a retry.
#pragma once

#include <gtest/gtest.h>

#include <new>
#include <string>

#include "mote/runtime/status.h"
#include "runtime/heap_count.h"

namespace mote::test {

/// True if `act` failed because of a lack of memory; another error fails the test.
template <typename Act>
bool runs_out_of_memory(const std::string& where, const Act& act) {
  try {
    act();
    return false;
  } catch (const StatusError& error) {
    EXPECT_EQ(error.status(), MOTE_OUT_OF_MEMORY) << where << ": " << error.what();
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& error) {
    ADD_FAILURE() << where << ": " << error.what();
  }
  return true;
}

/// For n = 0, 1, … until no allocation is refused any more: makes a subject, lets act(subject) fail
/// at its n-th allocation (and at all later ones), then retries with memory and checks the result.
/// A refusal that act survived must not show in the result.
template <typename Make, typename Act, typename Check>
void survive_each_allocation(const Make& make, const Act& act, const Check& check) {
  {  // makes objects that are created once and stay
    auto subject = make();
    act(subject);
    check(subject);
  }
  for (const auto mode : {FailingHeap::Mode::once, FailingHeap::Mode::from_then_on}) {
    bool refused = true;
    for (int n = 0; refused && !testing::Test::HasFailure(); ++n) {
      const std::string where = "allocation " + std::to_string(n) +
                                (mode == FailingHeap::Mode::once ? "" : " and all after it");
      const int live = live_allocations();
      {
        auto subject = make();
        bool failed = false;
        {
          const FailingHeap heap(n, mode);
          failed = runs_out_of_memory(where, [&] { act(subject); });
          refused = heap.has_failed();
        }
        EXPECT_TRUE(refused || !failed) << where << ": an error though nothing was refused";
        if (failed) act(subject);
        check(subject);
      }
      EXPECT_EQ(live_allocations(), live) << where << ": memory is kept";
    }
  }
}

/// Expects an error of the caller, even if there is no memory for its text.
template <typename Call>
void expect_mistake(const Call& call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const StatusError& error) {
    if (error.status() != MOTE_INVALID) throw;
  }
}

struct Nothing {};

/// Does the same for an operation without a subject.
template <typename Act>
void survive_each_allocation(const Act& act) {
  survive_each_allocation([] { return Nothing{}; }, [&](Nothing&) { act(); }, [](Nothing&) {});
}

}  // namespace mote::test
