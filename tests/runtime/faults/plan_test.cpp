// SPDX-License-Identifier: Apache-2.0
// Tests forms, plans, bound calls and operations when allocations fail, and when they are misused.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/operation.h"
#include "mote/runtime/stream.h"
#include "runtime/faults/failing_heap.h"
#include "runtime/faults/misuse.h"

namespace mote {
namespace {

using test::expect_mistake;
using test::expect_refused;
using test::kGreatestMagnitude;
using test::survive_each_allocation;

TEST(FailingHeap, FormsAndViewsWithinAnArena) {
  const Tensor arena(DType::u8, {256});
  fill(arena, 0);
  survive_each_allocation([&] {
    const TensorForm form{DType::f32, {2, 3}};
    EXPECT_EQ(to_string(Tensor::within(arena, 64, form).form()), "f32[2,3]");
    EXPECT_EQ(infer(Command("neg"), {&form}).front(), form);
    expect_mistake([&] { (void)Tensor::within(arena, 250, form); });
  });
}

TEST(FailingHeap, PlansAndBoundCalls) {
  const Command add("add");
  const TensorForm form{DType::f32, {4}}, other{DType::f32, {5}};
  const Tensor x(DType::f32, {4});
  struct Subject {
    Tensor y = Tensor(DType::f32, {4});
  };
  survive_each_allocation(
      [&] {
        fill(x, 1.0);
        return Subject();
      },
      [&](Subject& s) {
        BoundCall call(KernelPlan::make(add, {&form, &form}, {&form}));
        call.bind_input(0, x.data());
        expect_mistake([&] { call.run(); });
        call.bind_input(1, x.data());
        call.bind_output(0, s.y.data());
        call.run();
        BoundCall second(call.shared_plan());
        call = std::move(second);
        expect_mistake([&] { second.run(); });
        expect_mistake([&] { call.bind_input(2, x.data()); });
        expect_mistake([&] { KernelPlan::make(add, {&form, &other}, {&form}); });
        expect_mistake([&] { KernelPlan::make(add, {&form, &form}, {&form}, {{7, 0}}); });
      },
      [](Subject& s) { EXPECT_EQ(s.y.real_at({3}), 2); });
}

TEST(FailingHeap, Operations) {
  const Tensor x(DType::f32, {4});
  fill(x, 1.0);
  struct Subject {
    Tensor y = Tensor(DType::f32, {4});
    Tensor z = Tensor(DType::f32, {4});
    std::unique_ptr<Context> context = std::make_unique<Context>();
  };
  survive_each_allocation(
      [] { return Subject(); },
      [&](Subject& s) {
        std::vector<PreparedOperation> all;
        all.push_back(prepare(FillOperation{s.y, 2.0}, *s.context));
        all.push_back(prepare(RunOperation{Command("add"), {x, s.y}, {s.y}}, *s.context));
        all.push_back(prepare(CopyOperation{s.y, s.z}, *s.context));
        all.push_back(prepare(CallOperation{[&s] { s.z.set({0}, 7); }}, *s.context));
        PreparedOperation* const list[] = {all.data(), &all[1], &all[2], &all[3]};
        run(list);
        Stream stream(*s.context);
        run(list, stream);
        stream.synchronize();
        EXPECT_EQ(to_string(Operation(CopyOperation{x, s.y})), "copy of f32[4] to f32[4]");
        PreparedOperation* const broken[] = {list[0], nullptr};
        expect_mistake([&] { run(broken); });
        expect_mistake([&] { run(broken, stream); });
        expect_mistake([&] { prepare(RunOperation{Command("neg"), {x}, {x, x}}, *s.context); });
      },
      [](Subject& s) {
        EXPECT_EQ(s.z.real_at({3}), 3);
        EXPECT_EQ(s.z.real_at({0}), 7);
      });
}

TEST(Misuse, Plans) {
  const Command relu("relu"), add("add");
  const TensorForm x{DType::f32, {2, 3}}, y{DType::f32, {4, 5}}, i{DType::i64, {2, 3}};
  const TensorForm far{DType::f32, {kGreatestMagnitude / 8}};
  TensorForm odd = x;  // its members were changed afterwards
  odd.strides = AxisList{1};
  TensorForm negative = x;
  negative.shape[1] = -3;
  TensorForm none = x;
  none.dtype = static_cast<DType>(77);
  const TensorForm device{DType::f32, {2, 3}, {3, 1}, {kDLCUDA, 0}};
  expect_refused({
      {"nothing", [&] { KernelPlan::make(relu, {}, {}); }},
      {"null", [&] { KernelPlan::make(relu, {nullptr}, {nullptr}); }},
      {"too many",
       [&] {
         KernelPlan::make(relu, {&x, &x, &x}, {&x});
       }},
      {"extents",
       [&] {
         KernelPlan::make(add, {&x, &y}, {&x});
       }},
      {"dtypes",
       [&] {
         KernelPlan::make(add, {&x, &i}, {&x});
       }},
      {"too far",
       [&] {
         KernelPlan::make(add, {&far, &far}, {&far});
       }},
      {"strides", [&] { KernelPlan::make(relu, {&odd}, {&odd}); }},
      {"negative", [&] { KernelPlan::make(relu, {&negative}, {&negative}); }},
      {"dtype", [&] { KernelPlan::make(relu, {&none}, {&none}); }},
      {"axis", [&] { KernelPlan::make(Command("softmax", {}, 7), {&x}, {&x}); }},
      {"pair",
       [&] {
         KernelPlan::make(relu, {&x}, {&x}, {{0, 1 << 30}});
       }},
      {"device", [&] { KernelPlan::make(relu, {&device}, {&device}); }, MOTE_UNSUPPORTED},
      {"infer strides", [&] { (void)infer(relu, {&odd}); }},
      {"infer negative", [&] { (void)infer(relu, {&negative}); }},
      {"infer dtype", [&] { (void)infer(relu, {&none}); }},
      {"no plan", [&] { BoundCall call(nullptr); }},
      {"no function", [&] { (void)prepare(CallOperation{}, *std::make_unique<Context>()); }},
  });
}

}  // namespace
}  // namespace mote
