// SPDX-License-Identifier: Apache-2.0
// Tests plug-ins that a program loads: from a path, from the environment's paths, late; and faulty
// ones, at load and at each call.
#include "mote/runtime/plugins.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "mote/base/kernel_call.h"
#include "mote/runtime/command.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;
namespace fs = std::filesystem;

std::string plugin(const std::string& name) {
  return std::string(MOTE_TEST_PLUGINS) + "/" + name + ".so";
}

const mote_backend* backend_of(const std::string& name) {
  return load_backends(plugin(name)).front();
}

/// Runs the op on two elements of -2 with that backend before the generated kernels, or without a
/// backend; returns the first result.
double first_result(const mote_backend* backend, const char* op) {
  const Tensor x(DType::f32, {2});
  fill(x, -2.0);
  Tensor y(DType::f32, {2});
  const std::size_t count = backend != nullptr ? 1 : 0;
  run(Command(op), {&x}, {&y}, {.backends = {&backend, count}, .stream = nullptr});
  return y.real_at({0});
}

TEST(Plugins, AFileIsLoadedOnce) {
  const mote_backend* first = backend_of("negates_0");
  EXPECT_STREQ(first->name, "negates_0");
  EXPECT_EQ(first, backend_of("negates_0"));
  const auto all = loaded_backends();
  EXPECT_EQ(std::ranges::count(all, first), 1);
  EXPECT_EQ(first_result(first, "neg"), 2);
}

TEST(Plugins, WhatIsNoPlugInIsNamed) {
  const auto refused = [](const char* file, const char* reason) {
    const std::string path = plugin(file);
    expect_error(MOTE_FAILED, "plug-in " + path + ": " + reason, [&] { load_backends(path); });
  };
  refused("not_there", "cannot open shared object file");
  refused("ends_in_init", "crashed while loading (SIGABRT)");
  refused("throws_in_init", "mote_plugin_init threw an exception: no licence");
  refused("other_abi", "has ABI version 2, expected 1");
  refused("namesake", "there is a backend negates_0 already, that of " MOTE_TEST_PLUGINS);
}

TEST(Plugins, OneThatIsNoGoodDoesNotStopTheRest) {
  const fs::path folder = testing::TempDir() + "mote_plugins_" + std::to_string(getpid());
  fs::create_directory(folder);
  std::ofstream(folder / "a_text.so") << "not a library";
  fs::copy_file(plugin("negates_1"), folder / "b.so", fs::copy_options::overwrite_existing);
  std::ofstream(folder / "readme.txt") << "no plug-in either";
  const std::string locations =
      folder.string() + ":" + plugin("other_abi") + "::" + plugin("negates_2");
  setenv("MOTE_PLUGIN_PATH", locations.c_str(), 1);
  const std::vector<std::string> problems = load_found_backends();
  unsetenv("MOTE_PLUGIN_PATH");
  ASSERT_GE(problems.size(), 2U);
  EXPECT_NE(problems[0].find("a_text.so: "), std::string::npos) << problems[0];
  EXPECT_NE(problems[1].find("ABI version 2"), std::string::npos) << problems[1];
  for (const char* name : {"negates_1", "negates_2"})
    EXPECT_TRUE(std::ranges::any_of(loaded_backends(), [&](const mote_backend* b) {
      return std::strcmp(b->name, name) == 0;
    })) << name;
  fs::remove_all(folder);
}

TEST(Plugins, ArriveWhileOthersRun) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> runners;
  std::atomic<int> wrong = 0, runs = 0;
  for (int t = 0; t < 2; ++t)
    runners.emplace_back([&] {
      Tensor x(DType::f32, {64});
      fill(x, 1.0);
      const Command neg("neg");
      for (int sign = -1; !stop; sign = -sign, ++runs) {
        run(neg, {&x}, {&x}, {.backends = loaded_backends(), .stream = nullptr});
        if (x.real_at({63}) != sign) ++wrong;
      }
    });
  while (runs < 100) std::this_thread::yield();
  const auto before = loaded_backends();
  const std::vector<const mote_backend*> copy(before.begin(), before.end());
  for (const char* name : {"negates_3", "negates_4", "negates_5"}) load_backends(plugin(name));
  const int then = runs;
  while (runs < then + 100) std::this_thread::yield();
  stop = true;
  for (std::thread& runner : runners) runner.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(std::ranges::equal(before, copy));
  EXPECT_EQ(loaded_backends().size(), before.size() + 3);
}

TEST(Plugins, AKernelThatThrowsWhenAskedIsPassedOver) {
  EXPECT_EQ(first_result(backend_of("faulty"), "relu"), 0);
  EXPECT_EQ(first_result(backend_of("faulty"), "exp"),
            first_result(nullptr, "exp"));                              // its workspace_bytes
  EXPECT_TRUE(std::isnan(first_result(backend_of("faulty"), "sqrt")));  // asks for SIZE_MAX bytes
}

TEST(Plugins, WhatAKernelDoesWrongIsAStatusAndAMessage) {
  const mote_backend* faulty = backend_of("faulty");
  struct Row {
    const char* op;
    mote_status status;
    std::string message;
  };
  const Row rows[] = {
      {"neg", MOTE_FAILED, "neg: the kernel threw an exception: it broke"},
      {"abs", MOTE_FAILED, "abs: the kernel threw an exception of type int"},
      {"floor", MOTE_FAILED, "floor: the kernel returned the unknown status 7"},
      {"ceil", MOTE_FAILED, "ceil: the kernel gives no reason"},
      {"sign", MOTE_FAILED, "sign: " + std::string(100, 'x')},
  };
  for (const Row& row : rows)
    expect_error(row.status, row.message, [&] { first_result(faulty, row.op); });
}

TEST(Plugins, APairIsPromisedByTheListOrForAll) {
  const mote_op_pair pairs[] = {{0, 0}, {2, 1}};
  mote_contract contract{};
  contract.size = sizeof contract;
  contract.in_place = pairs;
  contract.in_place_count = 2;
  EXPECT_TRUE(promises_in_place(contract, 2, 1));
  EXPECT_FALSE(promises_in_place(contract, 1, 0));
  contract.in_place_count = MOTE_IN_PLACE_ALL;
  EXPECT_TRUE(promises_in_place(contract, 1, 0));
  contract.size =
      offsetof(mote_contract, in_place);  // a plug-in that was built before this member existed
  EXPECT_FALSE(promises_in_place(contract, 2, 1));
}

}  // namespace
}  // namespace mote
