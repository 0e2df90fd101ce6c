// SPDX-License-Identifier: Apache-2.0
// Before all tests the shared registry is made while one allocation after the other fails; it must
// be complete in the end.
#include <gtest/gtest.h>

#include <new>

#include "mote/runtime/catalogue.h"
#include "mote/runtime/registry.h"
#include "runtime/heap_count.h"

// AddressSanitizer calls this function: an allocation of an impossible size must return null.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

int refusals = 0;

/// Skips some of the thousands of allocations.
void make_registry() {
  for (int n = 0;; n += 1 + n / 16) {
    const mote::test::FailingHeap heap(n, mote::test::FailingHeap::Mode::once);
    try {
      (void)mote::Registry::global();
      return;
    } catch (const std::bad_alloc&) {
      ++refusals;
    }
  }
}

TEST(FailingHeap, TheSharedRegistryIsWholeAfterRefusals) {
  EXPECT_GT(refusals, 10);
  const mote::Registry& registry = mote::Registry::global();
  EXPECT_EQ(registry.size(), static_cast<std::size_t>(mote_op_count));
  const auto definitions = registry.column(mote::kDefinition);
  for (mote::OpId op = 0; op < registry.size(); ++op)
    EXPECT_EQ(registry.name(op), definitions.at(op)->name);
}

}  // namespace

int main(int argc, char** argv) {
  make_registry();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
