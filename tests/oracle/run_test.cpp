// SPDX-License-Identifier: Apache-2.0
// Tests verdicts: there is one invented kernel for each kind of error.
#include "mote/oracle/run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <new>

#include "fake_backend.h"
#include "mote/base/error.h"
#include "mote/oracle/backends.h"
#include "mutant.h"

namespace mote {
namespace {

using test::FakeBackend;
using test::floats;
using test::mutant;

Outcome run(const std::string& text, const FakeBackend::Run& kernel, bool deterministic = true) {
  const FakeBackend fake("neg", kernel, deterministic);
  return Prepared(parse_case(text)).run(fake.get());
}

/// Computes y = -x for row-major f32[1,1,1,n], or the strides of the last axis.
mote_status negate(const mote_call* call) {
  const DLTensor* x = call->inputs[0];
  DLTensor* y = call->outputs[0];
  for (std::int64_t k = 0; k < x->shape[3]; ++k) {
    floats(y)[k * y->strides[3]] = -floats(x)[k * x->strides[3]];
  }
  return MOTE_OK;
}

constexpr const char* kNegation = "neg x=f32[1,1,1,5] fill=integer:1";

TEST(Run, ARightKernelPasses) {
  EXPECT_EQ(run(kNegation, negate).verdict, Verdict::passed);
  EXPECT_EQ(run("neg x=f32[1,1,1,5]:pad3:off2 y=f32[1,1,1,5]:pad1:off1", negate).verdict,
            Verdict::passed);
  EXPECT_EQ(run("neg x=f32[1,1,1,5]:bcast3", negate).verdict, Verdict::passed);
}

/// The second run of a case calls run_checked.
TEST(Run, AKernelsRunCheckedIsJudgedToo) {
  FakeBackend fake("neg", negate);
  const Case c = parse_case(kNegation);
  static int checked = 0;
  fake.kernel().run_checked = [](const mote_call* call, void*) {
    ++checked;
    return negate(call);
  };
  EXPECT_EQ(Prepared(c).run(fake.get()).verdict, Verdict::passed);
  EXPECT_EQ(checked, 1);
  fake.kernel().run_checked = [](const mote_call* call, void*) {
    negate(call);
    floats(call->outputs[0])[3] += 1;
    return MOTE_OK;
  };
  EXPECT_EQ(Prepared(c).run(fake.get()).verdict, Verdict::nondeterministic);
  fake.kernel().run_checked = [](const mote_call*, void*) { return MOTE_OK; };
  EXPECT_NE(Prepared(c).run(fake.get()).verdict, Verdict::passed);
  fake.kernel().size = MOTE_KERNEL_LEAST_SIZE;
  EXPECT_EQ(Prepared(c).run(fake.get()).verdict, Verdict::passed);
}

TEST(Run, AWrongValueFailsAndSaysWhere) {
  const Outcome o = run(kNegation, [](const mote_call* call) {
    negate(call);
    floats(call->outputs[0])[3] += 1;
    return MOTE_OK;
  });
  EXPECT_EQ(o.verdict, Verdict::failed);
  ASSERT_EQ(o.differences.size(), 1U);
  EXPECT_EQ(o.differences[0].tensor, "y");
  EXPECT_EQ(o.differences[0].index, (std::vector<std::int64_t>{0, 0, 0, 3}));
  EXPECT_EQ(o.differences[0].got.real(), o.differences[0].expected.real() + 1);
  EXPECT_EQ(o.differing, 1);
  EXPECT_EQ(o.elements, 5);
}

TEST(Run, AnElementNeverWrittenIsProven) {
  const Outcome o = run(kNegation, [](const mote_call* call) {
    const float keep = floats(call->outputs[0])[2];
    negate(call);
    floats(call->outputs[0])[2] = keep;
    return MOTE_OK;
  });
  EXPECT_EQ(o.verdict, Verdict::unwritten);
  ASSERT_EQ(o.differences.size(), 1U);
  EXPECT_EQ(o.differences[0].index.back(), 2);
}

TEST(Run, WritesBesideTheElementsAreSeen) {
  for (const std::int64_t at : {-1, 5, 6, -60, 60}) {
    const Outcome o =
        run("neg x=f32[1,1,1,5] y=f32[1,1,1,5]:pad3:off2", [&](const mote_call* call) {
          negate(call);
          floats(call->outputs[0])[at] = 0;
          return MOTE_OK;
        });
    EXPECT_EQ(o.verdict, Verdict::out_of_bounds) << at;
    EXPECT_NE(o.reason.find("writes outside of y"), std::string::npos) << o.reason;
  }
}

TEST(Run, WritesIntoAGapAreSeen) {
  const Outcome o = run("neg x=f32[1,1,2,5] y=f32[1,1,2,5]:pad3", [](const mote_call* call) {
    const DLTensor* y = call->outputs[0];
    for (std::int64_t k = 0; k < 10; ++k)
      floats(y)[k / 5 * 8 + k % 5] = -floats(call->inputs[0])[k];
    floats(y)[6] = 0;
    return MOTE_OK;
  });
  EXPECT_EQ(o.verdict, Verdict::wrote_gap);
  EXPECT_EQ(o.reason, "writes into a gap of y: 6 elements after the first");
}

TEST(Run, WritesToAnInputAreSeen) {
  const Outcome o = run(kNegation, [](const mote_call* call) {
    negate(call);
    floats(call->inputs[0])[1] = 77;
    return MOTE_OK;
  });
  EXPECT_EQ(o.verdict, Verdict::changed_input);
  EXPECT_EQ(o.reason, "writes to its input x");
}

TEST(Run, WritesBesideTheWorkspaceAreSeen) {
  const Outcome o = run(kNegation, [](const mote_call* call) {
    static_cast<char*>(call->workspace)[call->workspace_bytes] = 1;
    return negate(call);
  });
  EXPECT_EQ(o.verdict, Verdict::out_of_bounds);
  EXPECT_NE(o.reason.find("workspace"), std::string::npos);
}

TEST(Run, ReadingWhatWasNeverWrittenIsNondeterministic) {
  const auto accumulates = [](const mote_call* call) {
    const float old = floats(call->outputs[0])[0];
    negate(call);
    floats(call->outputs[0])[0] += 0 * old;
    return MOTE_OK;
  };
  EXPECT_EQ(run(kNegation, accumulates).verdict, Verdict::nondeterministic);
  EXPECT_EQ(run(kNegation, accumulates, false).verdict, Verdict::failed);
  const auto reads_workspace = [](const mote_call* call) {
    negate(call);
    floats(call->outputs[0])[0] +=
        static_cast<float>(static_cast<const unsigned char*>(call->workspace)[3]);
    return MOTE_OK;
  };
  EXPECT_EQ(run(kNegation, reads_workspace).verdict, Verdict::nondeterministic);
  const auto reads_a_gap = [](const mote_call* call) {
    negate(call);
    floats(call->outputs[0])[0] = floats(call->inputs[0])[5];
    return MOTE_OK;
  };
  EXPECT_EQ(run(kNegation, reads_a_gap).verdict, Verdict::nondeterministic);
}

TEST(Run, FunctionsAreJudgedByTheBound) {
  const auto exp_case = [](const FakeBackend::Run& kernel) {
    const FakeBackend fake("exp", kernel);
    return Prepared(parse_case("exp x=f32[1,1,1,5] fill=uniform:1")).run(fake.get());
  };
  const auto off_by = [](double factor) {
    return [factor](const mote_call* call) {
      const DLTensor* x = call->inputs[0];
      for (std::int64_t k = 0; k < 5; ++k) {
        floats(call->outputs[0])[k] =
            static_cast<float>(std::exp(double{floats(x)[k * x->strides[3]]}) * factor);
      }
      return MOTE_OK;
    };
  };
  EXPECT_EQ(exp_case(off_by(1)).verdict, Verdict::passed);
  const Outcome near = exp_case(off_by(1 + 0x1p-22));
  EXPECT_EQ(near.verdict, Verdict::passed);
  EXPECT_GT(near.error, 0.1);
  EXPECT_LT(near.error, 1);
  const Outcome far = exp_case(off_by(1 + 0x1p-19));
  EXPECT_EQ(far.verdict, Verdict::failed);
  ASSERT_FALSE(far.differences.empty());
  ASSERT_TRUE(far.differences[0].allowed);
  EXPECT_LT(far.differences[0].allowed->first.real(), far.differences[0].expected.real());
  EXPECT_LT(far.differences[0].allowed->second.real(), far.differences[0].got.real());
}

TEST(Run, AnOpThatOnlyMovesMayFlushWhereTheContractSaysSo) {
  const std::string text = "ceil x=f32[1,1,1,64] fill=special:1";
  FakeBackend fake("ceil", [](const mote_call* call) {
    for (std::int64_t k = 0; k < 64; ++k) {
      const float x = floats(call->inputs[0])[k];
      floats(call->outputs[0])[k] =
          std::ceil(std::fabs(x) < std::numeric_limits<float>::min() ? 0.0F : x);
    }
    return MOTE_OK;
  });
  EXPECT_EQ(Prepared(parse_case(text)).run(fake.get()).verdict, Verdict::failed);
  fake.contract().flushes_denormals = 1;
  EXPECT_EQ(Prepared(parse_case(text)).run(fake.get()).verdict, Verdict::passed);
}

TEST(Run, DamageIsSeenWhateverTheValues) {
  const auto exp_case = [](const FakeBackend::Run& kernel) {
    const FakeBackend fake("exp", kernel);
    return Prepared(parse_case("exp x=f32[1,1,1,5]")).run(fake.get());
  };
  EXPECT_EQ(exp_case(negate).verdict, Verdict::failed);
  EXPECT_EQ(exp_case([](const mote_call*) { return MOTE_OK; }).verdict, Verdict::unwritten);
  EXPECT_EQ(exp_case([](const mote_call* call) {
              negate(call);
              floats(call->outputs[0])[5] = 1;
              return MOTE_OK;
            }).verdict,
            Verdict::out_of_bounds);
}

TEST(Run, InPlaceIsForKernelsThatPromiseIt) {
  const Backends twins = find_backends({mutant("mul_correct"), mutant("mul_tail_twice")});
  const auto verdict = [&](const char* name, const char* text) {
    const Selection selection = select_backends(twins, {name});
    return Prepared(parse_case(text)).run(*selection.chosen.at(0).backend).verdict;
  };
  const char* apart = "mul a=f32[1,1,2,11]:pad2 b=f32[1,1,2,11] fill=integer:5";
  const char* in_place = "mul a=f32[1,1,2,11]:pad2 b=f32[1,1,2,11] y=@a fill=integer:5";
  EXPECT_EQ(verdict("mul_correct", apart), Verdict::passed);
  EXPECT_EQ(verdict("mul_correct", in_place), Verdict::passed);
  EXPECT_EQ(verdict("mul_tail_twice", apart), Verdict::passed);
  EXPECT_EQ(verdict("mul_tail_twice", in_place), Verdict::failed);
  EXPECT_EQ(run("neg x=f32[1,1,1,5] y=@x", negate).verdict, Verdict::declined);
}

TEST(Run, AllNansAreAlikeAndSoAreTheZeros) {
  const FakeBackend fake("neg", [](const mote_call* call) {
    negate(call);
    floats(call->outputs[0])[0] = 0.0F;  // the reference gives -0
    return MOTE_OK;
  });
  const Case zeros = parse_case("neg x=f32[1,1,1,5] fill=onehot:3");
  EXPECT_NE(Prepared(zeros).run(fake.get()).verdict, Verdict::nondeterministic);
  const FakeBackend mod("mod", [](const mote_call* call) {
    floats(call->outputs[0])[0] = -std::numeric_limits<float>::quiet_NaN();
    return MOTE_OK;
  });
  Outcome o = Prepared(parse_case("mod a=f32[1] b=f32[1] fill=onehot:0")).run(mod.get());
  EXPECT_NE(o.verdict, Verdict::unwritten);
}

/// Writes y = 0.
mote_status write_zeros(const mote_call* call) {
  const DLTensor* y = call->outputs[0];
  for (std::int64_t k = 0; k < y->shape[0] * y->shape[1]; ++k) floats(y)[k] = 0;
  return MOTE_OK;
}

TEST(Run, ACaseThatCannotTellAWrongKernelIsVacuous) {
  const FakeBackend gemm("gemm", write_zeros);
  const auto outcome = [&](const char* text, bool is_given) {
    return Prepared(parse_case(text), {.is_given = is_given}).run(gemm.get());
  };
  for (const auto& [text, why] :
       {std::pair{"gemm a=f32[0,3] b=f32[3,2]", "proves nothing: no output has an element"},
        std::pair{"gemm a=f32[2,3] b=f32[3,2] fill=zeros:0",
                  "proves nothing: all that is read is 0, and all that is expected"}}) {
    const Outcome drawn = outcome(text, false);
    EXPECT_EQ(drawn.verdict, Verdict::vacuous) << text;
    EXPECT_EQ(drawn.reason, why);
    EXPECT_FALSE(drawn.judged());
    const Outcome given = outcome(text, true);
    EXPECT_EQ(given.verdict, Verdict::passed) << text;
    EXPECT_EQ(given.reason, why);
  }
  EXPECT_EQ(outcome("gemm a=f32[2,3] b=f32[3,2] fill=index:0", true).verdict, Verdict::failed);
}

/// A case without any read may show a kernel that writes nothing; a case with an input that must
/// not show may show it.
TEST(Run, ACaseThatCanTellIsJudgedHoweverTheResultLooks) {
  const FakeBackend right("gemm", write_zeros);
  const auto verdict = [&](const FakeBackend& fake, const char* text) {
    return Prepared(parse_case(text)).run(fake.get()).verdict;
  };
  for (const char* text :
       {"gemm a=f32[2,3] b=f32[3,2] alpha=0 fill=index:0", "gemm a=f32[2,0] b=f32[0,2]",
        "gemm a=f32[1,1] b=f32[1,1] c=f32[1,1] beta=0 fill=zeros:0 set=c[0,0]=nan"})
    EXPECT_EQ(verdict(right, text), Verdict::passed) << text;
  const FakeBackend idle("gemm", [](const mote_call*) { return MOTE_OK; });
  EXPECT_EQ(verdict(idle, "gemm a=f32[2,0] b=f32[0,2]"), Verdict::unwritten);
  const FakeBackend multiplies("gemm", [](const mote_call* call) {
    floats(call->outputs[0])[0] = 0 * floats(call->inputs[2])[0];
    return MOTE_OK;
  });
  EXPECT_EQ(verdict(multiplies,
                    "gemm a=f32[1,1] b=f32[1,1] c=f32[1,1] beta=0 fill=zeros:0 set=c[0,0]=nan"),
            Verdict::failed);
  const FakeBackend copies("abs", [](const mote_call* call) {
    floats(call->outputs[0])[0] = floats(call->inputs[0])[0];
    return MOTE_OK;
  });
  EXPECT_EQ(verdict(copies, "abs x=f32[1,1,1,1] fill=index:0"), Verdict::passed);
}

TEST(Run, WhatRunDeclinesIsToldApart) {
  const FakeBackend late("neg", [](const mote_call* call) {
    if (floats(call->inputs[0])[0] < 1000) return MOTE_UNSUPPORTED;
    return negate(call);
  });
  const Outcome o = Prepared(parse_case(kNegation)).run(late.get());
  EXPECT_EQ(o.verdict, Verdict::declined);
  EXPECT_TRUE(o.declined_by_run);
  EXPECT_EQ(o.reason.rfind("run declines what can_run accepted", 0), 0U) << o.reason;
}

TEST(Run, MemoryOfAWorkspaceIsCounted) {
  FakeBackend fake("neg", negate);
  fake.kernel().workspace_bytes = [](const mote_call*) { return std::size_t{5000}; };
  const Case c = parse_case(kNegation);
  const std::int64_t needed = bytes_needed(c);
  EXPECT_EQ(Prepared(c, {.memory_limit = needed + 5000}).run(fake.get()).verdict, Verdict::passed);
  const Outcome o = Prepared(c, {.memory_limit = needed + 4999}).run(fake.get());
  EXPECT_EQ(o.verdict, Verdict::skipped);
  EXPECT_EQ(o.reason, "workspace needs 4.9 KiB, 4.9 KiB are available");
  fake.kernel().workspace_bytes = [](const mote_call*) { return ~std::size_t{0}; };
  const Outcome absurd = Prepared(c).run(fake.get());
  EXPECT_EQ(absurd.verdict, Verdict::failed);
  EXPECT_EQ(absurd.reason, "workspace_bytes: a kernel asks for more workspace than there can be");
}

TEST(Run, AnExceptionThroughTheCallIsAFailure) {
  const Outcome o = run(kNegation, [](const mote_call*) -> mote_status { throw 3; });
  EXPECT_EQ(o.verdict, Verdict::failed);
  EXPECT_NE(o.reason.find("threw an exception"), std::string::npos) << o.reason;
}

TEST(Run, OutOfMemoryIsTheVerdictOfOneCase) {
  const Outcome o = run(kNegation, [](const mote_call*) -> mote_status { throw std::bad_alloc(); });
  EXPECT_EQ(o.verdict, Verdict::skipped);
  EXPECT_EQ(o.reason, "out of memory");
}

TEST(Run, ABackendMayDecline) {
  FakeBackend fake("neg", [](const mote_call*) { return MOTE_UNSUPPORTED; });
  EXPECT_EQ(Prepared(parse_case(kNegation)).run(fake.get()).verdict, Verdict::declined);
  fake.kernel().can_run = [](const mote_call* call) {
    std::strncpy(call->message, "not today", call->message_bytes);
    return MOTE_UNSUPPORTED;
  };
  const Outcome o = Prepared(parse_case(kNegation)).run(fake.get());
  EXPECT_EQ(o.verdict, Verdict::declined);
  EXPECT_NE(o.reason.find("not today"), std::string::npos) << o.reason;
  const Outcome other = Prepared(parse_case("abs x=f32[1,1,1,5]")).run(fake.get());
  EXPECT_EQ(other.verdict, Verdict::declined);
}

TEST(Run, AnErrorOfTheKernelIsAFailure) {
  EXPECT_EQ(run(kNegation, [](const mote_call*) { return MOTE_FAILED; }).verdict, Verdict::failed);
}

TEST(Run, CasesBeyondTheMemoryAreRefused) {
  EXPECT_THROW(Prepared(parse_case("neg x=f32[1,1,1,100000]"), {.memory_limit = 1000}), Error);
}

TEST(Run, ReplayCommandsNameTheCase) {
  EXPECT_EQ(replay_command(parse_case("neg x=f32[1,1,1,5]")),
            "mote replay 'neg x=f32[1,1,1,5] fill=integer:0'");
}

}  // namespace
}  // namespace mote
