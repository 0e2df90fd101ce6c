// SPDX-License-Identifier: Apache-2.0
// Tests tuning files: saved entries are found again; damaged or foreign files are ignored with a
// warning and replaced by the next save.
#include "mote/tuning/tuning_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "mote/runtime/status.h"
#include "mote/runtime/tune.h"
#include "runtime/expect_error.h"
#include "runtime/fake_backend.h"

namespace mote {
namespace {

using test::expect_error;
using test::FakeBackend;

std::vector<std::string> warnings;
void keep(const std::string& line) { warnings.push_back(line); }

class TuningFile : public testing::Test {
 protected:
  TuningFile() : fake_("relu", "fake") { warnings.clear(); }
  ~TuningFile() override { std::filesystem::remove(path_); }

  ContextOptions options() { return {.backends = {&fake_.backend}}; }
  const TuningEntry& tune(Context& context, std::int64_t n) {
    const Tensor x(DType::f32, {n});
    Tensor y(DType::f32, {n});
    fill(x, 1.0);
    return autotune(Command("relu"), {&x}, {&y},
                    context);  // fake does nothing, so that it is faster
  }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::string read() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }

  FakeBackend<5> fake_;
  const std::string path_ = testing::TempDir() + "mote_tuning_" + std::to_string(getpid());
};

TEST_F(TuningFile, WhatWasSavedIsFoundAgain) {
  Context first(options());
  tune(first, 100);
  tune(first, 1000);
  const Tensor x(DType::f64, {3, 4, 5});
  Tensor y(DType::f64, {3, 4, 5});
  fill(x, 1.0);
  autotune(Command("softmax", {}, 1), {&x}, {&y}, first);
  save_tuning(first, path_);

  Context second(options());
  EXPECT_FALSE(load_tuning(second, path_, keep));
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(second.tuning().size(), 3U);
  EXPECT_EQ(tuning_text(second), read());
  fake_.runs = 0;
  const TuningEntry& entry = tune(second, 100);
  EXPECT_EQ(fake_.runs, 0);  // the choice is known
  EXPECT_EQ(entry.kernel, "fake");
  EXPECT_EQ(entry.fastest, &fake_.kernel);
  EXPECT_EQ(entry.example, "(x f32[100], y f32[100])");
}

TEST_F(TuningFile, NoFileIsNoWarning) {
  Context context;
  EXPECT_FALSE(load_tuning(context, path_ + "_none", keep));
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(context.tuning().size(), 0U);
}

TEST_F(TuningFile, WhatIsDamagedOrForeignIsIgnoredWithAWarningAndRewritten) {
  Context first(options());
  tune(first, 100);
  const std::string good = tuning_text(first);
  const struct {
    std::string text;
    const char* reason;
  } files[] = {
      {"", "no JSON"},
      {good.substr(0, good.size() / 2), "no JSON"},
      {std::string("\0\xFF\xFE", 3), "no JSON"},
      {"[1, 2]", "no tuning file"},
      {"{}", "no tuning file"},
      {std::string(100000, '['), "no JSON"},
      {replaced(good, "\"mote tuning\"", "7"), "no tuning file"},
      {replaced(good, "\"version\": 2", "\"version\": 1"), "not of version 2"},
      {replaced(good, "\"version\": 2", "\"version\": \"2\""), "not of version 2"},
      {replaced(good, "\"machine\": \"", "\"machine\": \"another "), "another machine"},
      {replaced(good, "\"fake\": \"1\"", "\"fake\": \"2\""), "other libraries"},
      {replaced(good, "\"entries\"", "\"others\""), "no entries"},
      {replaced(good, "\"signature\": \"", "\"signature\": \"x"), "entry 0 is damaged"},
      {replaced(good, "\"signature\": \"", "\"signature\": \"ffffffffffffffffffff "), "entry 0"},
      {replaced(good, "\"signature\": \"", "\"signature\": \"ff "), "entry 0 is damaged"},
      {replaced(good, "\"kernel\": \"fake\"", "\"kernel\": [1]"), "entry 0 is damaged"},
      {replaced(good, "\"nanoseconds\": {", "\"nanoseconds\": {\"a\": -1, "), "entry 0"},
  };
  for (const auto& file : files) {
    write(file.text);
    Context context(options());
    warnings.clear();
    const std::optional<Reason> reason = load_tuning(context, path_, keep);
    ASSERT_TRUE(reason) << file.reason;
    EXPECT_NE(reason->text.find(file.reason), std::string::npos) << reason->text;
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("is ignored: " + reason->text), std::string::npos) << warnings[0];
    EXPECT_EQ(context.tuning().size(), 0U);
    tune(context, 50);
    save_tuning(context, path_);
    EXPECT_FALSE(load_tuning(context, path_, keep));
  }
}

TEST_F(TuningFile, EntriesOfOpsAndKernelsThatAreNotThereAreLeftOut) {
  Context first(options());
  tune(first, 100);
  const std::string good = tuning_text(first);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"command\": \"relu\"", "\"command\": \"an_op_of_someone\""},
           {"\"command\": \"relu\"", "\"command\": \"relu alpha=\""},
           {"\"kernel\": \"fake\"", "\"kernel\": \"gone\""}}) {
    Context context(options());
    EXPECT_FALSE(read_tuning(context, replaced(good, from, to)));
    EXPECT_EQ(context.tuning().size(), 0U);
  }
}

// A concurrent reader finds the old file or the new one.
TEST_F(TuningFile, ManyThreadsSaveOneContextAtOnce) {
  Context context(options());
  tune(context, 100);
  save_tuning(context, path_);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        try {
          save_tuning(context, path_);
          Context other(options());
          if (load_tuning(other, path_, nullptr) || other.tuning().size() != 1) ++failures;
        } catch (const StatusError&) {
          ++failures;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(read(), tuning_text(context));
}

TEST_F(TuningFile, WhatCannotBeWrittenOrReadSaysSo) {
  Context context(options());
  expect_error(MOTE_FAILED, "cannot write", [&] { save_tuning(context, "/nowhere/tuning.json"); });
  const std::string folder = testing::TempDir();
  const std::optional<Reason> reason = load_tuning(context, folder, keep);
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->text.find("cannot read"), std::string::npos) << reason->text;
  expect_error(MOTE_FAILED, "cannot write", [&] { save_tuning(context, folder); });
}

}  // namespace
}  // namespace mote
