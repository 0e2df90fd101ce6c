// SPDX-License-Identifier: Apache-2.0
// Before all tests: the registry that everybody shares is made where memory ends at one allocation
// after the other, and is whole in the end.
#include <gtest/gtest.h>

#include <new>

#include "mote/runtime/catalogue.h"
#include "mote/runtime/registry.h"
#include "runtime/heap_count.h"

// A size that no machine has is null from AddressSanitizer too, which asks by this name.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

int refusals = 0;

/// There are thousands of allocations, so that not each one's turn comes.
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
  const auto definitions = registry.column<mote::Definition>(mote::kDefinition);
  for (mote::OpId op = 0; op < registry.size(); ++op)
    EXPECT_EQ(registry.name(op), definitions.at(op)->name);
}

}  // namespace

int main(int argc, char** argv) {
  make_registry();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
