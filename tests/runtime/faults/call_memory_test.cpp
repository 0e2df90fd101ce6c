// SPDX-License-Identifier: Apache-2.0
// Tests commands, contexts, streams, measured times and plug-ins when allocations fail.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/plugins.h"
#include "mote/runtime/prepared.h"
#include "mote/runtime/stream.h"
#include "mote/runtime/tune.h"
#include "mote/tuning/tuning_file.h"
#include "runtime/fake_backend.h"
#include "runtime/faults/failing_heap.h"

namespace mote {
namespace {

using test::expect_mistake;
using test::FailingHeap;
using test::FakeBackend;
using test::runs_out_of_memory;
using test::survive_each_allocation;

/// x = -1, 0, 1, 2, …, and a y of the same shape.
struct Pair {
  explicit Pair(const AxisList& shape) : x(DType::f32, shape), y(DType::f32, shape) {
    const Tensor flat = x.reshape({x.element_count()});
    for (std::int64_t k = 0; k < x.element_count(); ++k) flat.set({k}, k - 1);
    fill(y, -7.0);
  }
  Tensor x;
  Tensor y;
};

void expect_relu(const Pair& pair) {
  EXPECT_EQ(pair.y.reshape({pair.y.element_count()}).real_at({0}), 0);
  EXPECT_EQ(pair.y.reshape({pair.y.element_count()}).real_at({3}), 2);
}

TEST(FailingHeap, Commands) {
  survive_each_allocation([] {
    const Command command("conv2d", {{"stride0", 2}, {"pads1", 1}});
    EXPECT_EQ(parse_command(to_string(command)), command);
    Command copy("relu");
    copy = command;
    EXPECT_EQ(copy.hash(), command.hash());
    expect_mistake([] { (void)Command("conv2d", {{"stirde0", 2}}); });
    expect_mistake([] { (void)Command("conv2d", {{"stride0", 0}}); });
    expect_mistake([] { (void)parse_command("conv2d stride0=two"); });
  });
}

TEST(FailingHeap, RunsOfGeneratedKernels) {
  const Command relu("relu");
  const Command softmax("softmax", {}, 1);
  survive_each_allocation(
      [] {
        return Pair({3, 4, 5});
      },
      [&](Pair& p) {
        run(softmax, {&p.x}, {&p.y});
        run(relu, {&p.x}, {&p.y});
        expect_mistake([&] { run(relu, {&p.x}, {&p.x, &p.y}); });
        expect_mistake([&] { run(softmax, {nullptr}, {&p.y}); });
      },
      expect_relu);
}

TEST(FailingHeap, InferenceAndCompute) {
  const Command conv2d("conv2d", {{"stride0", 2}});
  const Tensor x(DType::f32, {1, 2, 7, 7});
  const Tensor w(DType::f32, {3, 2, 3, 3});
  fill(x, 1.0);
  fill(w, 1.0);
  survive_each_allocation([&] {
    EXPECT_EQ(to_string(infer(conv2d, {&x, &w}).front()), "f32[1,3,3,5]");
    EXPECT_EQ(compute(conv2d, {&x, &w}).front().real_at({0, 2, 2, 4}), 18);
  });
}

/// A kernel that needs workspace, and works in it.
class FailingHeapWorkspace : public testing::Test {
 protected:
  FailingHeapWorkspace() : fake_("relu", "fake") {
    fake_.wants = 1000;
    fake_.on_run = [](const mote_call* call) {
      static_cast<char*>(call->workspace)[call->workspace_bytes - 1] = 1;
      auto* y = static_cast<float*>(call->outputs[0]->data);
      const auto* x = static_cast<const float*>(call->inputs[0]->data);
      for (int k = 0; k < 4; ++k) y[k] = x[k] > 0 ? x[k] : 0;
      return MOTE_OK;
    };
  }
  FakeBackend<10> fake_;
  const Command relu_ = Command("relu");
  const RunOptions options_ = {.backends = fake_.list};
};

TEST_F(FailingHeapWorkspace, OfACall) {
  survive_each_allocation([] { return Pair({4}); },
                          [&](Pair& p) { run(relu_, {&p.x}, {&p.y}, options_); }, expect_relu);
}

TEST_F(FailingHeapWorkspace, OfAContextsPool) {
  struct Subject : Pair {
    Subject() : Pair({4}), context(std::make_unique<Context>()) {}
    std::unique_ptr<Context> context;
  };
  survive_each_allocation([] { return Subject(); },
                          [&](Subject& s) {
                            RunOptions options = options_;
                            options.context = s.context.get();
                            run(relu_, {&s.x}, {&s.y}, options);
                            run(relu_, {&s.x}, {&s.y}, options);  // the same block
                            const auto lease = s.context->workspace().lease(64);
                            s.context->workspace().trim();
                          },
                          expect_relu);
}

TEST_F(FailingHeapWorkspace, APoolGivesBackWhatIsIdleBeforeItGivesUp) {
  WorkspacePool pool;
  (void)pool.lease(1 << 10);
  ASSERT_GT(pool.held(), 0U);
  const FailingHeap heap(0, FailingHeap::Mode::from_then_on);
  EXPECT_TRUE(runs_out_of_memory("lease", [&] { (void)pool.lease(1 << 20); }));
  EXPECT_EQ(pool.held(), 0U);
}

TEST_F(FailingHeapWorkspace, PreparedCommands) {
  survive_each_allocation(
      [] {
        return std::array<Pair, 2>{Pair({4}), Pair({4})};
      },
      [&](std::array<Pair, 2>& pairs) {
        Pair& a = pairs[0];
        Pair& b = pairs[1];
        PreparedCommand prepared(relu_, {&a.x}, {&a.y}, options_);
        prepared.run();
        expect_mistake([&] { prepared.rebind({&b.x}, {&b.y, &b.x}); });
        prepared.rebind({&b.x}, {&b.y});
        prepared.run();
      },
      [](const std::array<Pair, 2>& pairs) {
        expect_relu(pairs[0]);
        expect_relu(pairs[1]);
      });
}

TEST(FailingHeap, Streams) {
  struct Subject : Pair {
    Subject() : Pair({4}), context(std::make_unique<Context>(ContextOptions{.workers = 2})) {}
    std::unique_ptr<Context> context;
  };
  const Command relu("relu");
  survive_each_allocation([] { return Subject(); },
                          [&](Subject& s) {
                            Stream first(*s.context);
                            Stream second(*s.context);
                            const Event done;
                            run(relu, {&s.x}, {&s.y}, first);
                            first.record(done);
                            second.wait(done);
                            second.enqueue([] {});
                            done.synchronize();
                            second.synchronize();
                            first.synchronize();
                          },
                          expect_relu);
}

/// A stream's pending error is not lost if there is no memory to report it.
TEST(FailingHeap, AStreamsErrorIsKeptUntilItCanBeTold) {
  Context context({.workers = 1});
  Stream stream(context);
  for (int n = 0;; ++n) {
    stream.enqueue([] { throw StatusError(MOTE_UNSUPPORTED, "some reason that is long enough"); });
    while (!stream.is_idle()) usleep(100);
    bool refused = false;
    try {
      const FailingHeap heap(n, FailingHeap::Mode::once);
      try {
        stream.synchronize();
        ADD_FAILURE() << "no error";
      } catch (const std::bad_alloc&) {
        refused = true;
      }
    } catch (const StatusError& error) {
      EXPECT_EQ(error.status(), MOTE_UNSUPPORTED);
      break;
    }
    ASSERT_TRUE(refused);
    try {
      stream.synchronize();
      ADD_FAILURE() << "the error is lost";
    } catch (const StatusError& error) {
      EXPECT_EQ(error.status(), MOTE_UNSUPPORTED);
    }
  }
}

class FailingHeapTuning : public testing::Test {
 protected:
  FailingHeapTuning() : fake_("relu", "fake") {}
  ~FailingHeapTuning() override { std::filesystem::remove(path_); }
  std::unique_ptr<Context> context() {
    return std::make_unique<Context>(ContextOptions{.backends = {&fake_.backend}});
  }
  void tune(Context& context) const {
    autotune(relu_, {&pair_.x}, {&pair_.y}, context, {.rounds = 1, .seconds = 0});
  }

  FakeBackend<11> fake_;
  const Command relu_ = Command("relu");
  mutable Pair pair_ = Pair({4});
  const std::string path_ = testing::TempDir() + "mote_faults_tuning_" + std::to_string(getpid());
};

TEST_F(FailingHeapTuning, Autotune) {
  survive_each_allocation([&] { return context(); },
                          [&](const std::unique_ptr<Context>& context) { tune(*context); },
                          [](const std::unique_ptr<Context>& context) {
                            EXPECT_EQ(context->tuning().size(), 1U);
                            EXPECT_EQ(context->tuning().entries().size(), 1U);
                          });
}

TEST_F(FailingHeapTuning, ATableGrows) {
  const auto measured = context();
  tune(*measured);
  const TuningEntry& entry = *measured->tuning().entries().front();
  survive_each_allocation([] { return std::make_unique<TuningTable>(); },
                          [&](const std::unique_ptr<TuningTable>& table) {
                            for (std::uint64_t k = 0; k < 40; ++k) {
                              TuningEntry other = entry;
                              other.signature.push_back(k);
                              table->put(std::move(other));
                            }
                          },
                          [](const std::unique_ptr<TuningTable>& table) {
                            EXPECT_EQ(table->size(), 40U);
                            EXPECT_EQ(table->entries().size(), 40U);
                          });
}

TEST_F(FailingHeapTuning, Files) {
  const auto measured = context();
  tune(*measured);
  save_tuning(*measured, path_);
  const auto files = [&] {
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      count += entry.path().string().starts_with(path_) ? 1 : 0;
    return count;
  };
  survive_each_allocation([&] { return context(); },
                          [&](const std::unique_ptr<Context>& context) {
                            EXPECT_FALSE(load_tuning(*context, path_, nullptr));
                            save_tuning(*context, path_);
                            EXPECT_TRUE(read_tuning(*context, R"({"format": [{"a": [[1, {}]]}]})"));
                            EXPECT_TRUE(read_tuning(*context, R"([{"a": [[1, {}]]}, )"));
                          },
                          [&](const std::unique_ptr<Context>& context) {
                            EXPECT_EQ(context->tuning().size(), 1U);
                            EXPECT_EQ(files(), 1);  // no partly written file is left
                          });
}

std::string plugin(const char* name) { return std::string(MOTE_TEST_PLUGINS) + "/" + name + ".so"; }

/// Loaded plug-ins stay, so that each attempt continues from the last one.
TEST(FailingHeap, PlugIns) {
  const struct {
    const char* name;
    Probe probe;
  } plugins[] = {{"negates_0", Probe::none}, {"negates_1", Probe::child}};
  for (const auto& [name, probe] : plugins)
    for (int n = 0;
         loaded_backends().empty() || loaded_backends().back()->name != std::string(name); ++n) {
      const std::size_t before = loaded_backends().size();
      bool failed = false;
      {
        const FailingHeap heap(n, FailingHeap::Mode::once);
        failed = runs_out_of_memory(
            name, [&, name = name, probe = probe] { (void)load_backends(plugin(name), probe); });
      }
      ASSERT_EQ(loaded_backends().size(), before + (failed ? 0 : 1)) << "allocation " << n;
    }
  survive_each_allocation([] {
    EXPECT_STREQ(load_backends(plugin("negates_0")).front()->name, "negates_0");
    try {
      (void)load_backends(plugin("other_abi"), Probe::none);
      ADD_FAILURE() << "no error";
    } catch (const StatusError& error) {
      if (error.status() != MOTE_FAILED) throw;
    }
  });
  const std::string folder = MOTE_TEST_PLUGINS;
  setenv("MOTE_PLUGIN_PATH", plugin("negates_1").c_str(), 1);
  survive_each_allocation([] { (void)load_found_backends(Probe::none); });
  unsetenv("MOTE_PLUGIN_PATH");
}

}  // namespace
}  // namespace mote
