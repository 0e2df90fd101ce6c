// SPDX-License-Identifier: Apache-2.0
// Tests the loader of plug-ins: what it accepts, and the one line that it reports for each defect.
#include "mote/base/plugin.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>

#include "mote/base/dlpack.h"
#include "mote/base/error.h"
#include "mote/base/kernel_call.h"

namespace mote {
namespace {

std::string path_of(const std::string& name) {
  return std::string(MOTE_TEST_PLUGINS) + "/" + name + ".so";
}

/// Returns the error of load_plugin for the file, without the prefix "plug-in PATH: ".
std::string refusal(const std::string& path) {
  try {
    load_plugin(path);
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::string prefix = "plug-in " + path + ": ";
    EXPECT_TRUE(text.starts_with(prefix)) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text.substr(std::min(prefix.size(), text.size()));
  }
  return "accepted";
}

std::string refusal_of_contract(const std::function<void(mote_contract&)>& change) {
  mote_contract contract{};
  contract.size = sizeof contract;
  contract.form = "direct";
  change(contract);
  mote_kernel kernel{};
  kernel.size = sizeof kernel;
  kernel.op = "neg";
  kernel.contract = &contract;
  kernel.can_run = [](const mote_call*) { return MOTE_OK; };
  kernel.run = [](const mote_call*, void*) { return MOTE_OK; };
  mote_backend backend{};
  backend.size = sizeof backend;
  backend.name = "b";
  backend.version = "1";
  backend.kernel_count = 1;
  backend.kernels = &kernel;
  try {
    check_backend("plug-in p", backend);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Plugin, RefusesNumbersOfAContractThatMeanNothing) {
  const std::string has = "plug-in p: backend b: the kernel of neg has a contract ";
  EXPECT_EQ(refusal_of_contract([](mote_contract&) {}), "accepted");
  EXPECT_EQ(refusal_of_contract([](mote_contract& c) { c.accumulator = 7; }),
            has + "with accumulator 7, expected 0 (native), 1 (f32) or 2 (f64)");
  EXPECT_EQ(refusal_of_contract([](mote_contract& c) { c.multiply_rounding = 60; }),
            has + "with multiply_rounding 60, expected bits from 0 to 53");
  EXPECT_EQ(refusal_of_contract([](mote_contract& c) { c.deterministic = 2; }),
            has + "with deterministic 2, expected 0 or 1");
  EXPECT_EQ(refusal_of_contract([](mote_contract& c) { c.flushes_denormals = -1; }),
            has + "with flushes_denormals -1, expected 0 or 1");
  EXPECT_EQ(refusal_of_contract([](mote_contract& c) { c.ignores_nan = 3; }),
            has + "with ignores_nan 3, expected 0 or 1");
  EXPECT_EQ(refusal_of_contract([](mote_contract& c) { c.indices = 4; }),
            has + "with indices 4, expected 1 (valid), 2 (not negative), both or 0");
  static constexpr mote_accuracy kNegative = {"exp", -1, 0, 0};
  EXPECT_EQ(
      refusal_of_contract([](mote_contract& c) {
        c.function_count = 1;
        c.functions = &kNegative;
      }),
      has + "in which exp is off by -1.000000, expected a finite number that is not negative");
  static constexpr mote_op_pair kPair = {-1, 0};
  EXPECT_EQ(refusal_of_contract([](mote_contract& c) {
              c.in_place_count = 1;
              c.in_place = &kPair;
            }),
            has + "in which input -1 and output 0 share memory: expected positions from 0 on");
}

/// Members beyond the size that an older plug-in states are not read.
TEST(Plugin, WhatLiesBeyondAContractsSizeIsNotLookedAt) {
  EXPECT_EQ(refusal_of_contract([](mote_contract& c) {
              c.ignores_nan = 3;
              c.indices = 4;
              c.size = offsetof(mote_contract, ignores_nan);
            }),
            "accepted");
}

TEST(Plugin, LoadsAndRunsAGoodOne) {
  const Plugin plugin = load_plugin(path_of("good_plugin"));
  ASSERT_EQ(plugin.backends.size(), 1U);
  EXPECT_STREQ(plugin.backends[0]->name, "good");
  float x = 21;
  float y = 0;
  std::int64_t extent = 1;
  DLTensor input{.data = &x,
                 .device = {kDLCPU, 0},
                 .ndim = 1,
                 .dtype = to_dlpack(DType::f32),
                 .shape = &extent,
                 .strides = nullptr,
                 .byte_offset = 0};
  DLTensor output = input;
  output.data = &y;
  const DLTensor* inputs[] = {&input};
  DLTensor* outputs[] = {&output};
  mote_call call{};
  call.size = sizeof(mote_call);
  call.op = "double";
  call.input_count = call.output_count = 1;
  call.inputs = inputs;
  call.outputs = outputs;
  const KernelChoice choice = choose_kernel(*plugin.backends[0], call);
  ASSERT_NE(choice.kernel, nullptr) << choice.reason;
  EXPECT_EQ(choice.kernel->run(&call, nullptr), MOTE_OK);
  EXPECT_EQ(y, 42);
}

TEST(Plugin, AKernelThatEndsBeforeRunCheckedIsRunByRun) {
  const Plugin plugin = load_plugin(path_of("old_plugin"));
  ASSERT_EQ(plugin.backends.size(), 1U);
  for (std::int32_t k = 0; k < 2; ++k) {
    const mote_kernel& kernel = kernel_at(*plugin.backends[0], k);
    EXPECT_EQ(kernel.size, MOTE_KERNEL_LEAST_SIZE);
    EXPECT_STREQ(kernel.op, k == 0 ? "abs" : "neg");
    EXPECT_EQ(checked_run_of(kernel), kernel.run);
  }
}

TEST(Plugin, AKernelMayHaveRunChecked) {
  mote_kernel kernel{};
  kernel.size = sizeof kernel;
  kernel.run = [](const mote_call*, void*) { return MOTE_FAILED; };
  EXPECT_EQ(checked_run_of(kernel), kernel.run);
  kernel.run_checked = [](const mote_call*, void*) { return MOTE_OK; };
  EXPECT_EQ(checked_run_of(kernel), kernel.run_checked);
  EXPECT_EQ(run_kernel(checked_run_of(kernel), mote_call{}, nullptr), MOTE_OK);
  kernel.size = MOTE_KERNEL_LEAST_SIZE;
  EXPECT_EQ(checked_run_of(kernel), kernel.run);
}

/// Returns the choice of the good plug-in's backend for an op and an input of that rank.
KernelChoice choice_for(const Plugin& plugin, const char* op, int rank) {
  std::int64_t shape[] = {1, 1, 1};
  const DLTensor input{.data = nullptr,
                       .device = {kDLCPU, 0},
                       .ndim = rank,
                       .dtype = to_dlpack(DType::f32),
                       .shape = shape,
                       .strides = nullptr,
                       .byte_offset = 0};
  const DLTensor* inputs[] = {&input};
  mote_call call{};
  call.size = sizeof(mote_call);
  call.op = op;
  call.input_count = 1;
  call.inputs = inputs;
  return choose_kernel(*plugin.backends[0], call);
}

TEST(Plugin, ChoosesTheFirstKernelThatAccepts) {
  const Plugin plugin = load_plugin(path_of("good_plugin"));
  const KernelChoice first = choice_for(plugin, "double", 1);
  const KernelChoice second = choice_for(plugin, "double", 2);
  ASSERT_NE(first.kernel, nullptr) << first.reason;
  ASSERT_NE(second.kernel, nullptr) << second.reason;
  EXPECT_NE(first.kernel, second.kernel);
}

TEST(Plugin, SaysWhyEachKernelDeclined) {
  const Plugin plugin = load_plugin(path_of("good_plugin"));
  const KernelChoice choice = choice_for(plugin, "double", 3);
  EXPECT_EQ(choice.kernel, nullptr);
  EXPECT_EQ(choice.reason, "not a legal call: no reason given; rank 3, expected 2");
  EXPECT_EQ(choice_for(plugin, "triple", 1).reason, "no kernel for triple");
}

mote_status declined(const mote_call* call, const std::string& why) {
  std::snprintf(call->message, call->message_bytes, "%s", why.c_str());
  return MOTE_UNSUPPORTED;
}
mote_kernel declining(mote_status (*can_run)(const mote_call*)) {
  return {.size = sizeof(mote_kernel),
          .op = "neg",
          .contract = nullptr,
          .can_run = can_run,
          .workspace_bytes = nullptr,
          .run = nullptr,
          .run_checked = nullptr};
}
/// Returns the reason why a backend with these kernels takes no call.
std::string why_none(const std::vector<mote_kernel>& kernels) {
  const mote_backend backend{.size = sizeof(mote_backend),
                             .name = "some",
                             .version = "1",
                             .kernel_count = static_cast<std::int32_t>(kernels.size()),
                             .reserved = 0,
                             .kernels = kernels.data()};
  mote_call call{};
  call.size = sizeof(mote_call);
  call.op = "neg";
  return choose_kernel(backend, call).reason;
}

TEST(Plugin, SaysOnceWhatSeveralKernelsSayAndNotThatOthersAreOfOtherDtypes) {
  const mote_kernel of_f64 = declining([](const mote_call* call) {
    return declined(call, std::string("x f32[3]: ") + kIsOfOtherDtypes);
  });
  const mote_kernel of_i8 =
      declining([](const mote_call* call) { return declined(call, kIsOfOtherDtypes); });
  const mote_kernel no_driver =
      declining([](const mote_call* call) { return declined(call, "no driver"); });
  const mote_kernel too_wide =
      declining([](const mote_call* call) { return declined(call, "too wide"); });
  EXPECT_EQ(why_none({of_f64, no_driver, of_i8, too_wide, no_driver}), "no driver; too wide");
  EXPECT_EQ(why_none({of_i8, of_f64, of_i8}), kIsOfOtherDtypes);
}

TEST(Plugin, MissingFile) {
  EXPECT_EQ(refusal("/nowhere/at/all.so"),
            "cannot open shared object file: No such file or directory");
  EXPECT_NE(refusal("not_in_this_folder.so").find("No such file"), std::string::npos);
}

TEST(Plugin, FileThatIsNoLibrary) {
  const std::string path = path_of("text");
  std::ofstream(path)
      << "This is a text, long enough to be read as the header of a library file.\n";
  const std::string reason = refusal(path);
  std::remove(path.c_str());
  EXPECT_EQ(reason, "invalid ELF header");
}

TEST(Plugin, LibraryWithoutTheSymbol) {
  EXPECT_EQ(refusal(path_of("no_symbol")), "not a mote plug-in: it exports no mote_plugin_init");
}

struct Defect {
  const char* name;
  const char* reason;
};
constexpr Defect kDefects[] = {
    {"abi_version", "has ABI version 2, expected 1"},
    {"init_fails", "mote_plugin_init failed with status 4"},
    {"no_backends", "its backend table is empty"},
    {"small_table", "the plug-in's table has size 8, expected at least 24"},
    {"small_backend", "an element of its backend table has size 16, expected at least 40"},
    {"no_backend_name", "a backend has no name"},
    {"no_version", "backend broken has no version"},
    {"no_kernels", "the kernel table of backend broken is empty"},
    {"small_kernel",
     "an element of the kernel table of backend broken has size 8, expected at least 48"},
    {"no_op", "backend broken: a kernel has no op"},
    {"no_contract", "backend broken: the kernel of double has no contract"},
    {"small_contract",
     "backend broken: the kernel of double has a contract that has size 8, expected at least 32"},
    {"no_form", "backend broken: the kernel of double has a contract without a form"},
    {"no_functions",
     "backend broken: the kernel of double has a contract with 1 functions, but no list of them"},
    {"nameless_function",
     "backend broken: the kernel of double has a contract with a function without a name"},
    {"no_pairs",
     "backend broken: the kernel of double has a contract with 2 in-place pairs, but no list of "
     "them"},
    {"no_pairs_of_short",
     "backend broken: the kernel of double has a contract with 2 in-place pairs, but no list of "
     "them"},
    {"negative_pairs",
     "backend broken: the kernel of double has a contract with -2 in-place pairs, but no list of "
     "them"},
    {"no_can_run", "backend broken: the kernel of double has no can_run"},
    {"no_run", "backend broken: the kernel of double has no run"},
};

TEST(Plugin, RefusesEachDefectByName) {
  for (const Defect& defect : kDefects)
    EXPECT_EQ(refusal(path_of(std::string("broken_") + defect.name)), defect.reason);
}

}  // namespace
}  // namespace mote
