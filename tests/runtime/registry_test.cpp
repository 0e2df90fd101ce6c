// SPDX-License-Identifier: Apache-2.0
// Tests the registry: names, levels, groups, columns, errors, and registration while others read.
#include "mote/runtime/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "mote/runtime/status.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;
using InPlace = std::vector<std::pair<int, int>>;

constexpr OpAttribute<int> kEarlyArity{"early.arity"};
constexpr OpAttribute<InPlace> kPairs{"in_place"};
constexpr OpAttribute<std::string> kDoc{"doc"};
constexpr OpAttribute<int> kArity{"arity"};
constexpr OpAttribute<int> kCost{"cost"};
constexpr OpAttribute<double> kRealCost{"cost"};
constexpr OpAttribute<bool> kPointwise{"pointwise"};
constexpr OpAttribute<int> kValue{"value"};
constexpr OpAttribute<int> kLast{"last"};

/// Is registered before main, by this translation unit.
[[maybe_unused]] const OpId kEarly =
    register_op("early.op").alias("EarlyOp").set(kEarlyArity, 2).id();

TEST(Registry, AStaticRegistrationIsThere) {
  Registry& global = Registry::global();
  EXPECT_EQ(global.get("EarlyOp"), kEarly);
  EXPECT_EQ(*global.column(kEarlyArity).find(kEarly), 2);
}

TEST(Registry, AttributesOfAnyTypeFromAnyPlace) {
  Registry registry;
  register_op("exp", registry).set(kPairs, {{0, 0}}).set(kDoc, "e^x");
  const OpId add = register_op("add", registry).set(kPairs, {{0, 0}, {1, 0}}).id();
  register_op("add", registry).set(kArity, 2);  // elsewhere, later
  const Column<InPlace> in_place = registry.column(kPairs);
  EXPECT_EQ(in_place.at(add).size(), 2U);
  EXPECT_EQ(in_place.at(registry.get("exp")), InPlace({{0, 0}}));
  EXPECT_EQ(registry.column(kArity).at(add), 2);
  EXPECT_EQ(registry.column(kArity).find(registry.get("exp")), nullptr);
  EXPECT_EQ(registry.size(), 2U);
  EXPECT_EQ(registry.names(), std::vector<std::string>({"exp", "add"}));
  EXPECT_EQ(registry.attributes(), std::vector<std::string>({"arity", "doc", "in_place"}));
}

TEST(Registry, TheHighestLevelHolds) {
  Registry registry;
  const OpId op = registry.add("matmul");
  const Column<int> cost = registry.column(kCost);
  registry.set(op, kCost, 1, 10);
  const int* first = cost.find(op);
  registry.set(op, kCost, 3, 20);
  registry.set(op, kCost, 2, 15);  // later, but lower
  EXPECT_EQ(cost.at(op), 3);
  EXPECT_EQ(*first, 1);  // a value that was read before is still there
  expect_error(MOTE_INVALID, "attribute cost of op matmul is set twice at level 10",
               [&] { registry.set(op, kCost, 7); });
  expect_error(MOTE_INVALID, "set twice at level 15", [&] { registry.set(op, kCost, 7, 15); });
  EXPECT_EQ(cost.at(op), 3);
}

TEST(Registry, AGroupsAttributesReachItsMembersOldAndNew) {
  Registry registry;
  const OpId exp = register_op("exp", registry).include("elementwise").id();
  registry.set_group("elementwise", kPointwise, true);
  const OpId log = register_op("log", registry).include("elementwise").include("elementwise").id();
  const OpId sum = registry.add("sum");
  const Column<bool> pointwise = registry.column(kPointwise);
  EXPECT_TRUE(pointwise.at(exp));
  EXPECT_TRUE(pointwise.at(log));
  EXPECT_EQ(pointwise.find(sum), nullptr);
  EXPECT_EQ(registry.members("elementwise"), std::vector<OpId>({exp, log}));
  EXPECT_TRUE(registry.members("none").empty());
  registry.set(log, kPointwise, false, kDefaultLevel + 1);
  EXPECT_FALSE(pointwise.at(log));
}

TEST(Registry, NamesAndAliasesAreOneSet) {
  Registry registry;
  const OpId softmax = register_op("softmax", registry).alias("Softmax").alias("Softmax").id();
  EXPECT_EQ(registry.get("Softmax"), softmax);
  EXPECT_EQ(registry.add("softmax"), softmax);
  EXPECT_EQ(registry.aliases(softmax), std::vector<std::string>({"Softmax"}));
  const OpId relu = registry.add("relu");
  expect_error(MOTE_INVALID, "'Softmax' cannot be an alias of op relu: it names op softmax",
               [&] { registry.alias(relu, "Softmax"); });
  expect_error(MOTE_INVALID, "'Softmax' is an alias of op softmax",
               [&] { registry.add("Softmax"); });
  expect_error(MOTE_INVALID, "an op needs a name", [&] { registry.add(""); });
  expect_error(MOTE_INVALID, "is empty", [&] { registry.alias(relu, ""); });
}

TEST(Registry, LookupErrorsNameWhatIsNear) {
  Registry registry;
  register_op("softmax", registry).alias("SoftMax");
  expect_error(MOTE_INVALID, "unknown op 'sotfmax': did you mean softmax",
               [&] { (void)registry.get("sotfmax"); });
  expect_error(MOTE_INVALID, "unknown op 'conv2d': 1 are registered",
               [&] { (void)registry.get("conv2d"); });
  EXPECT_FALSE(registry.find("conv2d"));
  expect_error(MOTE_INVALID, "op softmax has no attribute cost",
               [&] { (void)registry.column(kCost).at(0); });
  expect_error(MOTE_INVALID, "op id 5, there are 1 ops", [&] { (void)registry.name(5); });
  expect_error(MOTE_INVALID, "op id 5, there are 1 ops", [&] { registry.set(5, kCost, 1); });
  EXPECT_EQ(registry.column(kCost).find(UINT32_MAX), nullptr);
}

TEST(Registry, AnAttributeHasOneType) {
  Registry registry;
  const OpId op = register_op("exp", registry).set(kCost, 1).id();
  expect_error(MOTE_INVALID, "attribute cost is of type int, asked for as double",
               [&] { (void)registry.column(kRealCost); });
  expect_error(MOTE_INVALID, "attribute cost is of type int, asked for as double",
               [&] { registry.set(op, kRealCost, 1.0, 99); });
  expect_error(MOTE_INVALID, "an attribute needs a name",
               [&] { registry.set(op, OpAttribute<int>{""}, 1); });
}

TEST(Registry, ManyOpsMayComeLateWhileOthersRead) {
  Registry registry;
  constexpr int kOps = 2000;
  const Column<int> value = registry.column(kValue);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r)
    readers.emplace_back([&] {
      while (!done.load())
        for (OpId op = 0; op < kOps; ++op) {
          const int* found = value.find(op);
          if (found != nullptr && *found / 2 != static_cast<int>(op)) ++wrong;
        }
    });
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w)
    writers.emplace_back([&, w] {
      for (int k = w; k < kOps; k += 2) {
        const OpId op = registry.add("op" + std::to_string(k));
        registry.set(op, kValue, 2 * static_cast<int>(op));
        registry.set(op, kValue, 2 * static_cast<int>(op) + 1, kDefaultLevel + 1);
      }
    });
  for (std::thread& t : writers) t.join();
  done = true;
  for (std::thread& t : readers) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(registry.size(), static_cast<std::size_t>(kOps));
  for (OpId op = 0; op < kOps; ++op) EXPECT_EQ(value.at(op), 2 * static_cast<int>(op) + 1);
}

TEST(Registry, OpsEndAt65536) {
  Registry registry;
  for (std::size_t k = 0; k < kMaxOps; ++k) registry.add("op" + std::to_string(k));
  registry.set(static_cast<OpId>(kMaxOps - 1), kLast, 1);
  EXPECT_EQ(registry.column(kLast).at(static_cast<OpId>(kMaxOps - 1)), 1);
  expect_error(MOTE_INVALID, "there are 65536 ops already", [&] { registry.add("one more"); });
}

}  // namespace
}  // namespace mote
