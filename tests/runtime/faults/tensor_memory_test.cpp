// SPDX-License-Identifier: Apache-2.0
// Tests tensors, files and the registry when allocations fail.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "mote/npz/npz.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/npy.h"
#include "mote/runtime/registry.h"
#include "mote/runtime/tensor.h"
#include "runtime/faults/failing_heap.h"

namespace mote {
namespace {

using test::expect_mistake;
using test::survive_each_allocation;

Tensor counting(const AxisList& shape) {
  const Tensor x(DType::f32, shape);
  const Tensor flat = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k) flat.set({k}, k);
  return x;
}

TEST(FailingHeap, TensorsAndViews) {
  survive_each_allocation([] {
    const Tensor x = counting({2, 3});
    const Tensor nhwc(DType::f16, {2, 3, 4, 5}, Layout::nhwc);
    const Tensor view = x.permute({1, 0}).slice(0, 2, 3, -1).select(1, 1).broadcast_to({4, 3});
    EXPECT_EQ(view.real_at({3, 0}), 5);
    EXPECT_EQ(clone(view).real_at({3, 2}), 3);
    copy(x.slice(1, 0, 2),
         x.slice(1, 1, 2));  // these overlap, so that the elements are copied twice
    fill(nhwc, 2.0);
    EXPECT_EQ(describe(x), "f32[2,3]");
  });
}

TEST(FailingHeap, MistakesWithTensors) {
  const Tensor x = counting({2, 3});
  survive_each_allocation([&] {
    expect_mistake([] { (void)Tensor(DType::f32, {2, -3}); });
    expect_mistake([] { (void)Tensor(DType::f32, {INT64_MAX, 3}); });
    expect_mistake([&] { (void)x.slice(1, 2, 3); });
    expect_mistake([&] { (void)x.reshape({5}); });
    expect_mistake([&] { (void)x.extent(2); });
    expect_mistake([&] { fill(x.broadcast_to({2, 2, 3}), 1.0); });
    expect_mistake([] { (void)import_dlpack(nullptr); });
  });
}

TEST(FailingHeap, ADlpackThatIsRefusedStaysWithItsOwner) {
  survive_each_allocation(
      [] {
        return std::array<Tensor, 2>{counting({2, 3}), Tensor()};
      },
      [](std::array<Tensor, 2>& tensors) {
        DLManagedTensor* managed = export_dlpack(tensors[0]);
        try {
          tensors[1] = import_dlpack(managed);
        } catch (...) {
          managed->deleter(managed);
          throw;
        }
      },
      [](const std::array<Tensor, 2>& tensors) {
        EXPECT_EQ(tensors[1].real_at({1, 2}), 5);
        EXPECT_EQ(tensors[0].owners(), 2);
      });
}

class FailingHeapFile : public testing::Test {
 protected:
  ~FailingHeapFile() override { std::filesystem::remove(path_); }
  const std::string path_ = testing::TempDir() + "mote_faults_" + std::to_string(getpid());
};

TEST_F(FailingHeapFile, Npy) {
  const Tensor x = counting({3, 4});
  survive_each_allocation([&] {
    write_npy(path_, x.permute({1, 0}));
    EXPECT_EQ(read_npy(path_).real_at({3, 2}), 11);
    expect_mistake([&] { (void)parse_npy({}); });
  });
}

TEST_F(FailingHeapFile, Npz) {
  const NamedTensors tensors = {{"x", counting({3, 4})}, {"folder/y", counting({2})}};
  for (const Compression compression : {Compression::stored, Compression::deflated})
    survive_each_allocation([&] {
      write_npz(path_, tensors, compression);
      const NamedTensors read = read_npz(path_);
      EXPECT_EQ(read.at("x").real_at({2, 3}), 11);
      EXPECT_EQ(read.size(), 2U);
      expect_mistake([] { (void)parse_npz({}); });
    });
}

TEST(FailingHeap, Registration) {
  survive_each_allocation(
      [] { return std::make_unique<Registry>(); },
      [](const std::unique_ptr<Registry>& registry) {
        const OpId op = registry->add("an_op_with_a_name_that_is_long");
        registry->alias(op, "another_name_that_is_long_too");
        registry->include(op, "a_group_with_a_long_name_of_its_own");
      },
      [](const std::unique_ptr<Registry>& registry) {
        EXPECT_EQ(registry->names(), std::vector<std::string>{"an_op_with_a_name_that_is_long"});
        EXPECT_EQ(registry->get("another_name_that_is_long_too"), 0U);
        EXPECT_EQ(registry->members("a_group_with_a_long_name_of_its_own").size(), 1U);
      });
}

TEST(FailingHeap, Attributes) {
  using Text = std::string;
  survive_each_allocation(
      [] {
        auto registry = std::make_unique<Registry>();
        registry->include(registry->add("first"), "group");
        registry->include(registry->add("second"), "group");
        return registry;
      },
      [](const std::unique_ptr<Registry>& registry) {
        // Each is set once: a retry does not set a value again that an earlier attempt set.
        if (registry->column(OpAttribute<Text>{"note"}).find(0) == nullptr)
          registry->set(0, OpAttribute<Text>{"note"}, "text of an attribute that is long", 20);
        if (registry->column(OpAttribute<int>{"cost"}).find(1) == nullptr)
          registry->set_group("group", OpAttribute<int>{"cost"}, 7);
      },
      [](const std::unique_ptr<Registry>& registry) {
        EXPECT_EQ(registry->column(OpAttribute<int>{"cost"}).at(0), 7);
        EXPECT_EQ(registry->column(OpAttribute<int>{"cost"}).at(1), 7);
        EXPECT_EQ(registry->column(OpAttribute<Text>{"note"}).at(0).size(), 33U);
        const OpId late = registry->add("third");
        registry->include(late, "group");
        EXPECT_EQ(registry->column(OpAttribute<int>{"cost"}).at(late), 7);
      });
}

TEST(FailingHeap, AnOpJoinsAGroupWithAllItsAttributesOrNot) {
  survive_each_allocation(
      [] {
        auto registry = std::make_unique<Registry>();
        registry->add("op");
        registry->set_group("group", OpAttribute<int>{"first"}, 1);
        registry->set_group("group", OpAttribute<int>{"second"}, 2);
        return registry;
      },
      [](const std::unique_ptr<Registry>& registry) {
        try {
          registry->include(0, "group");
        } catch (...) {
          EXPECT_EQ(registry->column(OpAttribute<int>{"first"}).find(0), nullptr);
          throw;
        }
      },
      [](const std::unique_ptr<Registry>& registry) {
        EXPECT_EQ(registry->column(OpAttribute<int>{"first"}).at(0), 1);
        EXPECT_EQ(registry->column(OpAttribute<int>{"second"}).at(0), 2);
      });
}

TEST(FailingHeap, LookupOfNamesNearOthers) {
  Registry registry;
  registry.add("softmax");
  registry.add("log_softmax");
  survive_each_allocation([&] {
    EXPECT_EQ(registry.get("softmax"), 0U);
    expect_mistake([&] { (void)registry.get("sotfmax"); });
    expect_mistake([&] { (void)registry.column(OpAttribute<int>{"cost"}).at(1); });
    expect_mistake([&] { (void)registry.name(7); });
  });
}

TEST(FailingHeap, ALibraryIsRegisteredAgainWhereItStopped) {
  const mote_kernel_library library = {.name = "some",
                                       .kernels = mote_generated_kernels,
                                       .kernel_count = mote_generated_kernel_count,
                                       .op_count = 3,
                                       .ops = mote_ops,
                                       .gradients = nullptr,
                                       .gradient_count = 0};
  survive_each_allocation(
      [] { return std::make_unique<Registry>(); },
      [&](const std::unique_ptr<Registry>& registry) { register_library(library, *registry); },
      [&](const std::unique_ptr<Registry>& registry) {
        EXPECT_EQ(registry->size(), 3U);
        EXPECT_EQ(registry->column(kDefinition).at(2), &mote_ops[2]);
        EXPECT_FALSE(registry->column(kGenerated).at(2).empty());
        expect_mistake([&] { register_library(library, *registry); });  // it is registered already
      });
}

}  // namespace
}  // namespace mote
