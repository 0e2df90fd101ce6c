// SPDX-License-Identifier: Apache-2.0
// Tests that contracts have an effect: each member changes the results that a kernel may give, in
// every dtype to which it applies; members without effect are reported.
#include "mote/oracle/contract.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "fake_backend.h"
#include "judge/bounds.h"
#include "mote/base/error.h"
#include "mote/base/kernel_call.h"
#include "mote/base/plugin.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/case.h"
#include "mote/oracle/run.h"
#include "run/prepared_state.h"

namespace mote {
namespace {

using test::FakeBackend;

constexpr std::array kReals = {DType::f32, DType::f64, DType::f16, DType::bf16};

mote_contract plain() {
  mote_contract c{};
  c.size = sizeof c;
  c.deterministic = 1;
  c.form = "direct";
  return c;
}

/// Returns the line with the dtype in place of "T".
Case case_of(std::string line, DType dtype) {
  for (std::size_t at = line.find("=T["); at != std::string::npos; at = line.find("=T["))
    line.replace(at + 1, 1, name(dtype));
  return parse_case(line);
}

/// Returns the sum of the intervals' widths, before they are rounded to the dtype.
double room(const Case& c, const mote_contract& contract) {
  std::vector<Dense> inputs = filled_inputs(c, 1);
  double total = 0;
  for (const Interval& x : BoundOf::make(c, &contract)->compute(c, inputs)) {
    if (x.certain()) continue;
    for (std::int64_t k = 0; k < x.ends[0].count(); ++k)
      total += x.ends[1].at(k).real() - x.ends[0].at(k).real();
  }
  return total;
}

/// Returns the same with another accumulator.
double room_with(const Case& c, mote_accumulator accumulator) {
  mote_contract contract = plain();
  contract.accumulator = accumulator;
  return room(c, contract);
}

void expect_accumulators_heard(const std::string& line) {
  for (const DType dtype : kReals) {
    const Case c = case_of(line, dtype);
    const double native = room_with(c, MOTE_ACC_NATIVE), f32 = room_with(c, MOTE_ACC_F32),
                 f64 = room_with(c, MOTE_ACC_F64);
    ASSERT_TRUE(std::isfinite(native) && std::isfinite(f32) && std::isfinite(f64)) << to_string(c);
    if (dtype == DType::f64) {
      EXPECT_EQ(f64, native) << to_string(c);
      EXPECT_GT(f32, 1000 * native) << to_string(c);
    } else {
      // Many sums of 16-bit numbers are exact in f32.
      EXPECT_TRUE(dtype == DType::f32 ? f64 < f32 : f64 <= f32) << to_string(c);
      EXPECT_TRUE(dtype == DType::f32 ? f32 == native : f32 < native / 4) << to_string(c);
    }
  }
}

TEST(Contract, TheAccumulatorOfSumsProductsAndScattersIsHeard) {
  for (const char* line :
       {"sum x=T[1,60,1] fill=uniform:1", "mean x=T[1,60,1] fill=uniform:1",
        "matmul a=T[1,1,2,40] b=T[1,1,40,3] fill=uniform:1",
        "gemm a=T[2,40] b=T[40,3] c=T[2,3] fill=uniform:1", "prod x=T[1,9,1] fill=uniform:3",
        "var x=T[1,60,1] fill=uniform:1", "cumsum x=T[1,40,1] fill=uniform:1",
        "conv1d x=T[1,8,9] w=T[2,8,3] fill=uniform:1", "softmax x=T[1,60,1] fill=uniform:1",
        "rms_norm x=T[2,60] gamma=T[60] fill=uniform:1",
        "scatter_elements_add x=T[1,101,1] index=i64[1,500,1] updates=T[1,500,1] fill=uniform:1",
        "scatter_elements_mul x=T[1,101,1] index=i64[1,500,1] updates=T[1,500,1] fill=uniform:1"})
    expect_accumulators_heard(line);
}

TEST(Contract, TheAccumulatorOfDoublesIsHeardIn16BitsToo) {
  for (const char* line :
       {"sum x=T[1,60,1] fill=extreme:1", "mean x=T[1,60,1] fill=extreme:1",
        "matmul a=T[1,1,2,40] b=T[1,1,40,3] fill=extreme:1",
        "gemm a=T[2,40] b=T[40,3] c=T[2,3] fill=extreme:1", "cumsum x=T[1,40,1] fill=extreme:1",
        "conv1d x=T[1,8,9] w=T[2,8,3] fill=extreme:1"})
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const Case c = case_of(line, dtype);
      EXPECT_LT(room_with(c, MOTE_ACC_F64), room_with(c, MOTE_ACC_F32) / 4) << to_string(c);
    }
}

/// A mean is kept in float under a contract that declares double: in a sum whose terms cancel, the
/// result consists of the digits that float loses.
TEST(Contract, AMeanInFloatIsNotOneInDouble) {
  const Case c = parse_case("mean x=f32[1,4097,1] fill=uniform:5");
  FakeBackend fake("mean", [](const mote_call* call) {
    float sum = 0;
    const float* x = test::floats(call->inputs[0]);
    for (int k = 0; k < 4097; ++k) sum += x[k];
    test::floats(call->outputs[0])[0] = sum / 4097;
    return MOTE_OK;
  });
  EXPECT_EQ(Prepared(c).run(fake.get()).verdict, Verdict::passed);
  fake.contract().accumulator = MOTE_ACC_F64;
  EXPECT_EQ(Prepared(c).run(fake.get()).verdict, Verdict::failed);
}

/// Runs the generated kernel under a contract of the test.
mote_status run_generated(const mote_call* call) {
  const KernelChoice choice = choose_kernel(gen_backend(), *call);
  return choice.kernel == nullptr ? MOTE_UNSUPPORTED : choice.kernel->run(call, nullptr);
}

Verdict verdict(const std::string& line, DType dtype, const mote_contract& contract) {
  const Case c = case_of(line, dtype);
  FakeBackend fake(c.target->op().c_str(), run_generated);
  fake.contract() = contract;
  return Prepared(c).run(fake.get()).verdict;
}

/// Expects that the changed contract changes the verdict on a line.
void expect_turns(const std::string& line, const std::function<void(mote_contract&)>& change,
                  Verdict before, Verdict after) {
  for (const DType dtype : kReals) {
    mote_contract contract = plain();
    EXPECT_EQ(verdict(line, dtype, contract), before) << line << " " << name(dtype);
    change(contract);
    EXPECT_EQ(verdict(line, dtype, contract), after) << line << " " << name(dtype);
  }
}

/// Expects that the changed contract allows more on a line.
void expect_widens(const std::string& line, const std::function<void(mote_contract&)>& change) {
  for (const DType dtype : kReals) {
    const Case c = case_of(line, dtype);
    mote_contract contract = plain();
    const double before = room(c, contract);
    change(contract);
    EXPECT_GT(room(c, contract), before) << to_string(c);
  }
}

void expect_functions_heard() {
  static constexpr mote_accuracy kFunctions[] = {
      {"exp", 100, 0, 0}, {"exp", 4, 100, 0}, {"exp", 4, 0, 0.5}, {"dot", 8, 0, 0}};
  for (const mote_accuracy& f : kFunctions)
    expect_widens(std::string(f.function) == "exp"
                      ? "exp x=T[1,1,1,7] fill=uniform:1"
                      : "matmul a=T[1,1,2,9] b=T[1,1,9,3] fill=uniform:1",
                  [&](mote_contract& c) {
                    c.function_count = 1;
                    c.functions = &f;
                  });
  // An operand's own format matters if operands have fewer bits.
  static constexpr mote_accuracy kOperand = {"operand", 0, 0, 0.25};
  mote_contract narrow = plain();
  narrow.multiply_rounding = 5;
  const Case c = case_of("matmul a=T[1,1,2,9] b=T[1,1,9,3] fill=uniform:1", DType::f32);
  const double before = room(c, narrow);
  narrow.function_count = 1;
  narrow.functions = &kOperand;
  EXPECT_GT(room(c, narrow), before);
}

void expect_denormals_heard() {
  const std::map<DType, const char*> denormals = {
      {DType::f32, "1e-40"}, {DType::f64, "1e-310"}, {DType::f16, "1e-6"}, {DType::bf16, "1e-40"}};
  for (const DType dtype : kReals) {
    const Case c = case_of(
        fmt::format("neg x=T[1,1,1,2] fill=integer:1 set=x[0,0,0,0]={}", denormals.at(dtype)),
        dtype);
    mote_contract contract = plain();
    EXPECT_EQ(room(c, contract), 0) << to_string(c);
    contract.flushes_denormals = 1;
    EXPECT_GT(room(c, contract), 0) << to_string(c);
  }
}

void expect_determinism_heard() {
  for (const bool promised : {false, true}) {
    static int calls;
    calls = 0;
    FakeBackend fake("sum", [](const mote_call* call) {
      const float* x = test::floats(call->inputs[0]);
      float sum = 0;
      const bool forward = ++calls % 2 == 0;
      for (int k = 0; k < 999; ++k) sum += x[forward ? k : 998 - k];
      test::floats(call->outputs[0])[0] = sum;
      return MOTE_OK;
    });
    fake.contract().deterministic = promised ? 1 : 0;
    EXPECT_EQ(Prepared(parse_case("sum x=f32[1,999,1] fill=uniform:1")).run(fake.get()).verdict,
              promised ? Verdict::nondeterministic : Verdict::passed);
  }
}

void expect_pairs_heard() {
  static constexpr mote_op_pair kPair = {0, 0};
  const char* line = "relu x=T[1,1,1,7] y=@x fill=uniform:1";
  expect_turns(
      line,
      [](mote_contract& c) {
        c.in_place_count = 1;
        c.in_place = &kPair;
      },
      Verdict::declined, Verdict::passed);
  expect_turns(
      line, [](mote_contract& c) { c.in_place_count = MOTE_IN_PLACE_ALL; }, Verdict::declined,
      Verdict::passed);
}

void expect_size_heard() {
  expect_turns(
      "relu x=T[1,1,1,64] fill=special:3", [](mote_contract& c) { c.ignores_nan = 1; },
      Verdict::passed, Verdict::declined);
  expect_turns(
      "relu x=T[1,1,1,64] fill=special:3",
      [](mote_contract& c) {
        c.ignores_nan = 1;
        c.size = offsetof(mote_contract, ignores_nan);
      },
      Verdict::passed, Verdict::passed);
}

/// Returns the members of the struct: a new member does not compile here until it is listed, and
/// then has no proof below.
std::set<std::string> members() {
  const auto& [size, accumulator, multiply_rounding, flushes_denormals, deterministic, form,
               function_count, in_place_count, functions, in_place, ignores_nan, reserved, indices,
               reserved_end] = mote_contract{};
  const std::map<std::string, const void*> all = {{"size", &size},
                                                  {"accumulator", &accumulator},
                                                  {"multiply_rounding", &multiply_rounding},
                                                  {"flushes_denormals", &flushes_denormals},
                                                  {"deterministic", &deterministic},
                                                  {"form", &form},
                                                  {"function_count", &function_count},
                                                  {"in_place_count", &in_place_count},
                                                  {"functions", &functions},
                                                  {"in_place", &in_place},
                                                  {"ignores_nan", &ignores_nan},
                                                  {"indices", &indices}};
  static_cast<void>(reserved);
  static_cast<void>(reserved_end);
  std::set<std::string> names;
  for (const auto& [name, address] : all) names.insert(name);
  return names;
}

TEST(Contract, EveryMemberIsHeardInEveryDtype) {
  const auto rounds_operands = [](mote_contract& c) { c.multiply_rounding = 5; };
  const auto in_one_pass = [](mote_contract& c) { c.form = "one_pass"; };
  const auto valid = [](mote_contract& c) { c.indices = MOTE_INDICES_VALID; };
  const auto positive = [](mote_contract& c) { c.indices = MOTE_INDICES_NOT_NEGATIVE; };
  const std::map<std::string, std::function<void()>> proofs = {
      {"size", expect_size_heard},
      {"accumulator", [] { expect_accumulators_heard("sum x=T[1,60,1] fill=uniform:1"); }},
      {"multiply_rounding",
       [&] { expect_widens("matmul a=T[1,1,2,9] b=T[1,1,9,3] fill=uniform:1", rounds_operands); }},
      {"flushes_denormals", expect_denormals_heard},
      {"deterministic", expect_determinism_heard},
      {"form", [&] { expect_widens("var x=T[1,9,1] fill=mean:1", in_one_pass); }},
      {"function_count", expect_functions_heard},
      {"functions", expect_functions_heard},
      {"in_place_count", expect_pairs_heard},
      {"in_place", expect_pairs_heard},
      {"ignores_nan", expect_size_heard},
      {"indices", [&] {
         expect_turns("gather x=T[1,3,2] index=i64[2] fill=uniform:1,valid set=index[1]=3", valid,
                      Verdict::passed, Verdict::declined);
         expect_turns("gather x=T[1,3,2] index=i64[2] fill=uniform:1,valid set=index[1]=-1",
                      positive, Verdict::passed, Verdict::declined);
       }}};
  std::set<std::string> proven;
  for (const auto& [name, proof] : proofs) {
    proof();
    proven.insert(name);
  }
  EXPECT_EQ(proven, members());
}

TEST(Contract, IntegersAreSummedUpExactlyWhateverItSays) {
  for (const mote_accumulator a : {MOTE_ACC_NATIVE, MOTE_ACC_F32, MOTE_ACC_F64}) {
    mote_contract contract = plain();
    contract.accumulator = a;
    const Case c = parse_case("sum x=i32[1,9,1] fill=uniform:1");
    EXPECT_TRUE(BoundOf::make(c, &contract)->certain(0));
    const std::string text = contract_text(&contract, DType::i32, *c.program);
    EXPECT_NE(text.find("exact for integers"), std::string::npos) << text;
  }
}

TEST(Contract, IsSaidInOneLine) {
  EXPECT_EQ(contract_line(plain()), "accumulator native, deterministic");
  static constexpr mote_accuracy kFunctions[] = {{"exp", 2, 1, 0}};
  static constexpr mote_op_pair kPairs[] = {{0, 0}};
  mote_contract all = plain();
  all.accumulator = MOTE_ACC_F64;
  all.multiply_rounding = 11;
  all.flushes_denormals = 1;
  all.deterministic = 0;
  all.form = "one_pass";
  all.function_count = 1;
  all.functions = kFunctions;
  all.in_place_count = 1;
  all.in_place = kPairs;
  all.ignores_nan = 1;
  all.indices = MOTE_INDICES_VALID | MOTE_INDICES_NOT_NEGATIVE;
  EXPECT_EQ(contract_line(all),
            "accumulator f64, multiply_rounding 11, flushes_denormals, exp 2 ulp, 1 units of its "
            "argument, form one_pass, output 0 over input 0, ignores_nan, indices valid, indices "
            "not negative");
}

std::string refusal(const char* op, const std::function<void(mote_contract&)>& change) {
  FakeBackend fake(op, run_generated);
  change(fake.contract());
  try {
    check_contracts("plug-in p.so", fake.get());
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Contract, AnUnknownFunctionIsSaid) {
  static constexpr mote_accuracy kUnknown = {"expp", 1, 0, 0};
  const std::string text = refusal("softmax", [](mote_contract& c) {
    c.function_count = 1;
    c.functions = &kUnknown;
  });
  EXPECT_EQ(text.substr(0, text.find(" (")),
            "plug-in p.so: backend fake: the kernel of softmax has a contract with the unknown "
            "function 'expp'");
  EXPECT_NE(text.find("did you mean: exp"), std::string::npos) << text;
}

TEST(Contract, APairOfTensorsThatTheOpDoesNotHaveIsSaid) {
  static constexpr mote_op_pair kBeyond = {7, 0};
  EXPECT_EQ(refusal("softmax",
                    [](mote_contract& c) {
                      c.in_place_count = 1;
                      c.in_place = &kBeyond;
                    }),
            "plug-in p.so: backend fake: the kernel of softmax has a contract with output 0 over "
            "input 7 in place: the op has 1 inputs and 1 outputs");
}

TEST(Contract, APairThatTheOpDoesNotAllowIsSaid) {
  static constexpr mote_op_pair kPairs[] = {{0, 0}, {1, 0}};
  FakeBackend fake("gemm", run_generated);
  fake.contract().in_place_count = 2;
  fake.contract().in_place = kPairs;
  const std::vector<std::string> lines = contract_lines(fake.get(), {"gemm"});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0],
            "contract of fake (gemm): accumulator native, output 0 over input 0, output 0 over "
            "input 1, deterministic");
  EXPECT_EQ(lines[1],
            "contract of fake (gemm): output 0 over input 0 is promised, but never tried: the "
            "definition has no such pair");
  EXPECT_TRUE(contract_lines(fake.get(), {"matmul"}).empty());
}

}  // namespace
}  // namespace mote
