// SPDX-License-Identifier: Apache-2.0
// Tests the registry of mote/mote.h from C: the program's own ops, names, groups, attributes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mote/mote.h"
#include "mote/runtime/registry.h"
#include "runtime/faults/failing_heap.h"
#include "runtime/plain_records.h"

namespace {

const char* const kAxes[] = {"N"};
const mote_op_tensor kTensor = {"x", "T", 0, 1, kAxes, 0, 0, nullptr};

/// Returns a definition that lives as long as the program, since an op stays registered.
const mote_op_definition& definition_of(const char* name) {
  static std::vector<std::unique_ptr<mote_op_definition>> all;
  all.push_back(std::make_unique<mote_op_definition>(
      mote::test::plain_definition(name, {&kTensor, 1}, {&kTensor, 1})));
  return *all.back();
}

/// Counts the number of times it is released.
struct Counted {
  int value = 7;
  int released = 0;
};
void release(void* value) { ++static_cast<Counted*>(value)->released; }

const void* value_of(const char* attribute, mote_op_id op) {
  const mote_column* column = nullptr;
  EXPECT_EQ(mote_attribute_column(attribute, &column), MOTE_OK) << mote_last_error();
  return mote_column_find(column, op);
}

TEST(CRegistry, AnOpOfTheProgramIsRunByItsBackend) {
  static const mote_kernel kernel = {sizeof(mote_kernel),
                                     "c_triple",
                                     &mote::test::kPlainContract,
                                     [](const mote_call*) { return MOTE_OK; },
                                     nullptr,
                                     [](const mote_call* call, void*) {
                                       const auto* x = static_cast<float*>(call->inputs[0]->data);
                                       auto* y = static_cast<float*>(call->outputs[0]->data);
                                       for (int k = 0; k < 4; ++k) y[k] = 3 * x[k];
                                       return MOTE_OK;
                                     },
                                     nullptr};
  const mote_backend backend = {sizeof(mote_backend), "c", "1", 1, 0, &kernel};
  const mote_backend* const backends[] = {&backend};
  mote_op_id op = 0;
  ASSERT_EQ(mote_op_register(&definition_of("c_triple"), &op), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_op_alias(op, "CTriple"), MOTE_OK);
  mote_op_id again = 0;
  ASSERT_EQ(mote_op_id_of("CTriple", &again), MOTE_OK);
  EXPECT_EQ(again, op);
  EXPECT_EQ(mote_op_register(&definition_of("c_triple"), nullptr), MOTE_INVALID);

  const mote_context_options options = {sizeof(options), backends, 1, 0, 0, 0, nullptr};
  mote_context* context = nullptr;
  mote_command* triple = nullptr;
  mote_tensor* x = nullptr;
  mote_tensor* y = nullptr;
  const std::int64_t shape[] = {4};
  ASSERT_EQ(mote_context_create(&options, &context), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_command_parse("CTriple", &triple), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_tensor_create({kDLFloat, 32, 1}, 1, shape, &x), MOTE_OK);
  ASSERT_EQ(mote_tensor_fill_real(x, 5), MOTE_OK);
  const mote_tensor* const inputs[] = {x};
  ASSERT_EQ(mote_infer(triple, inputs, 1, nullptr, &y, 1), MOTE_OK) << mote_last_error();
  EXPECT_EQ(y->dl.shape[0], 4);
  mote_tensor_free(y);
  ASSERT_EQ(mote_tensor_create({kDLFloat, 32, 1}, 1, shape, &y), MOTE_OK);
  ASSERT_EQ(mote_run(triple, inputs, 1, &y, 1, context, nullptr), MOTE_OK) << mote_last_error();
  const std::int64_t last[] = {3};
  double value = 0;
  EXPECT_EQ(mote_tensor_real_at(y, last, &value), MOTE_OK);
  EXPECT_EQ(value, 15);
  mote_tensor_free(y);
  mote_tensor_free(x);
  mote_command_free(triple);
  mote_context_free(context);
}

TEST(CRegistry, AnAttributeIsAColumnWithLevels) {
  static Counted low, high, later;
  mote_op_id relu = 0;
  mote_op_id tanh = 0;
  ASSERT_EQ(mote_op_id_of("relu", &relu), MOTE_OK);
  ASSERT_EQ(mote_op_id_of("tanh", &tanh), MOTE_OK);
  EXPECT_EQ(value_of("c_level", relu), nullptr);
  ASSERT_EQ(mote_op_set(relu, "c_level", &low, release, MOTE_DEFAULT_LEVEL), MOTE_OK);
  EXPECT_EQ(value_of("c_level", relu), &low);
  EXPECT_EQ(value_of("c_level", tanh), nullptr);
  ASSERT_EQ(mote_op_set(relu, "c_level", &high, nullptr, MOTE_DEFAULT_LEVEL + 1), MOTE_OK);
  EXPECT_EQ(value_of("c_level", relu), &high);
  // The same level is refused, and the value still belongs to the caller.
  EXPECT_EQ(mote_op_set(relu, "c_level", &later, release, MOTE_DEFAULT_LEVEL), MOTE_INVALID);
  EXPECT_EQ(value_of("c_level", relu), &high);
  EXPECT_EQ(low.released, 0);
  EXPECT_EQ(later.released, 0);
  EXPECT_EQ(mote_column_find(nullptr, relu), nullptr);
  EXPECT_EQ(value_of("c_level", UINT32_MAX), nullptr);

  std::size_t count = 0;
  ASSERT_EQ(mote_attribute_names(nullptr, 0, &count), MOTE_OK);
  std::vector<const char*> names(count);
  ASSERT_EQ(mote_attribute_names(names.data(), count, &count), MOTE_OK);
  const auto has = [&](const std::string& name) {
    return std::ranges::find(names, name, [](const char* n) { return std::string(n); }) !=
           names.end();
  };
  EXPECT_TRUE(has("c_level") && has("definition"));
}

TEST(CRegistryDeathTest, AValueIsReleasedWhenTheProgramEnds) {
  const auto end = [] {
    static Counted value;
    mote_op_id relu = 0;
    mote_op_id_of("relu", &relu);
    mote_op_set(
        relu, "c_end", &value, [](void*) { std::_Exit(42); }, 1);
    std::exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(42), "");
}

TEST(CRegistry, AGroupsAttributeIsItsMembers) {
  static Counted shared;
  const mote_op_id op = [] {
    mote_op_id id = 0;
    EXPECT_EQ(mote_op_register(&definition_of("c_member"), &id), MOTE_OK) << mote_last_error();
    return id;
  }();
  ASSERT_EQ(mote_group_set("c_group", "c_shared", &shared, release, 3), MOTE_OK);
  EXPECT_EQ(value_of("c_shared", op), nullptr);
  ASSERT_EQ(mote_op_include(op, "c_group"), MOTE_OK);
  EXPECT_EQ(value_of("c_shared", op), &shared);
  std::size_t count = 0;
  mote_op_id members[2] = {};
  ASSERT_EQ(mote_op_members("c_group", members, 2, &count), MOTE_OK);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(members[0], op);
  ASSERT_EQ(mote_op_members("elementwise", nullptr, 0, &count), MOTE_OK);
  EXPECT_GT(count, 20U);
  // C++ reads the same value.
  const auto column =
      mote::Registry::global().column(mote::OpAttribute<std::shared_ptr<const void>>{"c_shared"});
  EXPECT_EQ(column.at(op).get(), &shared);
}

TEST(CRegistry, GradientsAreFoundByName) {
  const mote_op_gradient* gradient = nullptr;
  ASSERT_EQ(mote_op_find_gradient("softmax", &gradient), MOTE_OK);
  ASSERT_NE(gradient, nullptr);
  EXPECT_STREQ(gradient->gradient, "softmax.grad");
  EXPECT_EQ(gradient->to, 1U);
  ASSERT_EQ(mote_op_find_gradient("argmax", &gradient), MOTE_OK);
  EXPECT_EQ(gradient, nullptr);
}

TEST(CRegistry, RefusesNonsense) {
  static Counted value;
  mote_op_id relu = 0;
  ASSERT_EQ(mote_op_id_of("relu", &relu), MOTE_OK);
  mote_op_id op = 77;
  std::size_t count = 77;
  const mote_column* column = nullptr;
  const mote_op_gradient* gradient = nullptr;
  const mote_op_definition nothing = {};
  const std::string many(100, 'x');
  const std::vector<std::pair<const char*, std::function<mote_status()>>> calls = {
      {"id: no name", [&] { return mote_op_id_of(nullptr, &op); }},
      {"id: unknown", [&] { return mote_op_id_of("rleu", &op); }},
      {"id: result", [&] { return mote_op_id_of("relu", nullptr); }},
      {"register: none", [&] { return mote_op_register(nullptr, &op); }},
      {"register: empty", [&] { return mote_op_register(&nothing, &op); }},
      {"register: there", [&] { return mote_op_register(&definition_of("relu"), &op); }},
      {"alias: op", [&] { return mote_op_alias(UINT32_MAX, "ReLU7"); }},
      {"alias: no name", [&] { return mote_op_alias(relu, nullptr); }},
      {"alias: empty", [&] { return mote_op_alias(relu, ""); }},
      {"alias: taken", [&] { return mote_op_alias(relu, "tanh"); }},
      {"include: op", [&] { return mote_op_include(UINT32_MAX, "c_group"); }},
      {"include: no group", [&] { return mote_op_include(relu, nullptr); }},
      {"members: no group", [&] { return mote_op_members(nullptr, nullptr, 0, &count); }},
      {"members: result", [&] { return mote_op_members("elementwise", nullptr, 0, nullptr); }},
      {"names: result", [&] { return mote_attribute_names(nullptr, 0, nullptr); }},
      {"set: op", [&] { return mote_op_set(UINT32_MAX, "c_x", &value, release, 1); }},
      {"set: no attribute", [&] { return mote_op_set(relu, nullptr, &value, release, 1); }},
      {"set: no value", [&] { return mote_op_set(relu, "c_x", nullptr, release, 1); }},
      {"set: of C++", [&] { return mote_op_set(relu, "definition", &value, release, 99); }},
      {"group: none", [&] { return mote_group_set(nullptr, "c_x", &value, release, 1); }},
      {"group: no attribute",
       [&] { return mote_group_set("c_group", nullptr, &value, release, 1); }},
      {"group: no value", [&] { return mote_group_set("c_group", "c_x", nullptr, release, 1); }},
      {"column: none", [&] { return mote_attribute_column(nullptr, &column); }},
      {"column: of C++", [&] { return mote_attribute_column("definition", &column); }},
      {"column: result", [&] { return mote_attribute_column("c_x", nullptr); }},
      {"gradient: no name", [&] { return mote_op_find_gradient(nullptr, &gradient); }},
      {"gradient: unknown", [&] { return mote_op_find_gradient(many.c_str(), &gradient); }},
      {"gradient: result", [&] { return mote_op_find_gradient("relu", nullptr); }},
  };
  for (const auto& [what, call] : calls) {
    EXPECT_EQ(call(), MOTE_INVALID) << what;
    EXPECT_NE(std::strchr(mote_last_error(), ':'), nullptr) << what << ": " << mote_last_error();
  }
  EXPECT_EQ(op, 77U);
  EXPECT_EQ(count, 77U);
  EXPECT_EQ(column, nullptr);
  EXPECT_EQ(gradient, nullptr);
  EXPECT_EQ(value.released, 0);
}

TEST(CRegistry, WhereMemoryEndsTheValueIsStillTheCallers) {
  static Counted value;
  mote_op_id relu = 0;
  ASSERT_EQ(mote_op_id_of("relu", &relu), MOTE_OK);
  int failures = 0;
  for (mote_status status = MOTE_OUT_OF_MEMORY; status == MOTE_OUT_OF_MEMORY; ++failures) {
    {
      const mote::test::FailingHeap heap(failures, mote::test::FailingHeap::Mode::once);
      status = mote_op_set(relu, "c_memory", &value, release, 1);
    }
    EXPECT_EQ(value.released, 0);
    if (status == MOTE_OUT_OF_MEMORY) {
      EXPECT_EQ(value_of("c_memory", relu), nullptr);
    }
  }
  EXPECT_GT(failures, 2);
  EXPECT_EQ(value_of("c_memory", relu), &value);
}

}  // namespace
