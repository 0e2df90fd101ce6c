// SPDX-License-Identifier: Apache-2.0
// Tests the workspace pool: reuse, the limit, waiting, allocators without memory; and kernels that
// decline when there is too little.
#include "mote/runtime/workspace.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "mote/runtime/command.h"
#include "mote/runtime/context.h"
#include "mote/runtime/prepared.h"
#include "runtime/expect_error.h"
#include "runtime/failing_allocator.h"
#include "runtime/fake_backend.h"
#include "runtime/plain_records.h"

namespace mote {
namespace {

using test::expect_error;
using test::FailingAllocator;
using test::FakeBackend;

TEST(Workspace, BlocksAreKeptForTheNextLease) {
  FailingAllocator allocator;
  WorkspacePool pool(kNoWorkspaceLimit, allocator.hook());
  void* first = nullptr;
  {
    const auto lease = pool.lease(1000);
    first = lease.data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % kAlignment, 0U);
    std::memset(first, 1, 1000);
  }
  EXPECT_EQ(pool.lease(900).data(), first);
  EXPECT_EQ(allocator.calls, 1);
  EXPECT_EQ(pool.held(), 1024U);
  pool.trim();
  EXPECT_EQ(pool.held(), 0U);
  EXPECT_EQ(allocator.live, 0);
  EXPECT_EQ(pool.lease(0).data(), nullptr);
}

TEST(Workspace, TheLimitIsOnAllTogether) {
  FailingAllocator allocator;
  WorkspacePool pool(256, allocator.hook());
  expect_error(MOTE_OUT_OF_MEMORY, "workspace: 257 bytes are asked for, the limit is 256",
               [&] { pool.lease(257); });
  expect_error(MOTE_OUT_OF_MEMORY, "the limit is 256", [&] { pool.lease(SIZE_MAX); });
  { const auto small = pool.lease(64); }
  { const auto large = pool.lease(256); }  // the small block goes back to the allocator
  EXPECT_EQ(pool.held(), 256U);
  EXPECT_EQ(allocator.live, 1);
}

TEST(Workspace, AnAllocatorWithNothingIsAnErrorAndThePoolGoesOn) {
  FailingAllocator allocator{.fails_from = 1};
  WorkspacePool pool(1 << 20, allocator.hook());
  { const auto lease = pool.lease(100); }
  expect_error(MOTE_OUT_OF_MEMORY, "the allocator has no", [&] { pool.lease(1000); });
  EXPECT_EQ(pool.held(), 0U);  // the idle block was returned first
  allocator.fails_from = -1;
  EXPECT_NE(pool.lease(1000).data(), nullptr);
}

TEST(Workspace, ThreadsShareTheLimit) {
  WorkspacePool pool(1024);
  std::atomic<std::size_t> leased = 0;
  std::atomic<bool> beyond = false;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned k = 0; k < 300; ++k) {
        const std::size_t bytes = std::size_t{64} * (1 + (k * 7 + t * 5) % 16);
        const auto lease = pool.lease(bytes);
        if (leased.fetch_add(bytes) + bytes > 1024) beyond = true;
        std::memset(lease.data(), static_cast<int>(t), bytes);
        leased.fetch_sub(bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(beyond);
  EXPECT_LE(pool.held(), 1024U);
}

TEST(Workspace, AKernelThatWantsTooMuchDeclines) {
  FakeBackend<1> fake("relu");
  fake.wants = 2000;
  fake.on_run = [](const mote_call* call) {
    std::memset(call->workspace, 7, call->workspace_bytes);
    return MOTE_OK;
  };
  const Command relu("relu");
  const Tensor x(DType::f32, {3});
  fill(x, -1.0);
  Tensor y(DType::f32, {3});
  Context small({.backends = {&fake.backend}, .workspace_limit = 1999});
  run(relu, {&x}, {&y}, {.context = &small});
  EXPECT_EQ(fake.runs, 0);
  EXPECT_EQ(y.real_at({0}), 0);  // a generated kernel computed it

  Context large({.backends = {&fake.backend}, .workspace_limit = 4096});
  run(relu, {&x}, {&y}, {.context = &large});
  EXPECT_EQ(fake.runs, 1);
  EXPECT_EQ(large.workspace().held(), 2048U);

  alignas(64) std::array<std::byte, 2064> own{};
  const std::span<std::byte> odd = std::span(own).subspan(1);
  run(relu, {&x}, {&y}, {.backends = fake.list, .workspace = odd});  // 2000 bytes from byte 64 on
  EXPECT_EQ(fake.runs, 2);
  EXPECT_EQ(own[0], std::byte{0});
  EXPECT_EQ(own[64], std::byte{7});
  run(relu, {&x}, {&y}, {.backends = fake.list, .workspace = odd.first(2062)});
  EXPECT_EQ(fake.runs, 2);
}

/// The kernel asks for 100 bytes and writes up to `beyond` bytes more.
TEST(Workspace, AKernelThatWritesBeyondWhatItAskedForFails) {
  FakeBackend<1> fake("relu");
  fake.wants = 100;
  std::size_t beyond = 0;
  fake.on_run = [&](const mote_call* call) {
    std::memset(call->workspace, 7, call->workspace_bytes + beyond);
    return MOTE_OK;
  };
  const Command relu("relu");
  const Tensor x(DType::f32, {3});
  fill(x, -1.0);
  Tensor y(DType::f32, {3});
  Context context({.backends = {&fake.backend}});
  PreparedCommand prepared(relu, {&x}, {&y}, {.backends = fake.list, .context = &context});
  const RunOptions ways[] = {{.backends = fake.list}, {.context = &context}};
  const std::string what =
      "relu: the kernel wrote beyond the 100 bytes of workspace that it asked for";
  for (const std::size_t more : {std::size_t{0}, std::size_t{1}, kWorkspaceMargin}) {
    beyond = more;
    for (const RunOptions& way : ways) {
      if (more == 0) {
        run(relu, {&x}, {&y}, way);
      } else {
        expect_error(MOTE_FAILED, what, [&] { run(relu, {&x}, {&y}, way); });
      }
    }
    if (more == 0) {
      prepared.run();
    } else {
      expect_error(MOTE_FAILED, what, [&] { prepared.run(); });
    }
  }
  EXPECT_EQ(fake.runs, 9);
}

TEST(Workspace, WhereNoOtherKernelTakesTheCallItSaysWhy) {
  static const char* const axes[] = {"I"};
  static const mote_op_tensor tensor = {"t", "T", 0, 1, axes, 0, 1, nullptr};
  static const mote_op_definition definition =
      test::plain_definition("hungry", {&tensor, 1}, {&tensor, 1});
  Registry registry;
  register_op("hungry", registry).set(kDefinition, &definition);
  FakeBackend<1> fake("hungry");
  fake.wants = 5000;
  const Tensor x(DType::f32, {3});
  Tensor y(DType::f32, {3});
  Context context({.backends = {&fake.backend}, .workspace_limit = 4999});
  expect_error(
      MOTE_OUT_OF_MEMORY,
      "hungry: a kernel needs 5000 bytes of workspace, which is more than there may be", [&] {
        run(Command("hungry", {}, std::nullopt, registry), {&x}, {&y}, {.context = &context});
      });
}

}  // namespace
}  // namespace mote
