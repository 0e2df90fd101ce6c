// SPDX-License-Identifier: Apache-2.0
// Tests every op: its generated kernel agrees with evaluate() bit for bit on any data, and with
// itself under any layout.
#include <gtest/gtest.h>

#include <set>

#include "filled_array.h"
#include "judge/reference.h"
#include "mote/base/error.h"
#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/generate.h"
#include "mote/oracle/run.h"
#include "mote/oracle/shrink.h"
#include "mote/uops/evaluate.h"
#include "run/call_frame.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using test::filled_array;

/// Returns the generated kernels as an ordinary backend.
const mote_backend& generated_backend() {
  static const std::vector<mote_kernel> kernels = [] {
    std::vector<mote_kernel> all;
    for (const mote_generated_kernel& g : generated_kernels()) all.push_back(g.kernel);
    return all;
  }();
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "generated",
                                       .version = "1",
                                       .kernel_count = static_cast<std::int32_t>(kernels.size()),
                                       .reserved = 0,
                                       .kernels = kernels.data()};
  return backend;
}

/// True for large cases, which mote check runs; layouts show on small ones.
bool is_large(const Case& c) { return input_elements(c) > 20'000; }

TEST(EveryOp, GeneratedKernelsAreRightUnderAnyLayout) {
  for (const OpRecord& record : catalogue()) {
    std::int64_t compared = 0;  // cases in which a written element can be compared
    for (const DType dtype : record.dtypes) {
      int drawn = 0;
      for (std::uint64_t position = 0; drawn < 12; ++position) {
        const Case c = generate(find_target(record.name), dtype, 31, position);
        if (is_large(c)) continue;
        ++drawn;
        const Outcome o = Prepared(c).run(generated_backend());
        EXPECT_FALSE(is_failure(o.verdict)) << to_string(c) << "\n  " << o.reason;
        EXPECT_NE(o.verdict, Verdict::declined) << to_string(c) << "\n  " << o.reason;
        EXPECT_NE(o.verdict, Verdict::skipped) << to_string(c) << "\n  " << o.reason;
        compared += o.elements > 0 ? 1 : 0;
      }
    }
    EXPECT_GE(compared, 6 * std::ssize(record.dtypes)) << record.name;
  }
}

void expect_equal_to_evaluate(const Case& c) {
  std::vector<Array> arrays;
  std::vector<Dense> inputs;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    arrays.push_back(filled_array(c, k, 3));
    inputs.emplace_back(c.inputs[k].dtype, volume(c.inputs[k].shape));
    for (std::int64_t at = 0; at < inputs.back().count(); ++at) {
      inputs.back().set(at, arrays.back().values[std::size_t(at)]);
    }
  }
  std::vector<Dense> outputs;
  for (const CaseTensor& t : c.outputs) outputs.emplace_back(t.dtype, volume(t.shape));
  const auto reference = reference_for(c);
  EXPECT_EQ(reference->kind, "generated kernel");
  reference->run(c, inputs, outputs);
  const std::vector<Array> expected = evaluate(*c.program, arrays, c.params);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    for (std::int64_t at = 0; at < outputs[k].count(); ++at) {
      ASSERT_TRUE(same(outputs[k].at(at), expected[k].values[std::size_t(at)]))
          << to_string(c) << " at " << at;
    }
  }
}

TEST(EveryOp, GeneratedKernelsAgreeWithEvaluateOnAnyData) {
  for (const OpRecord* record : generated_ops()) {
    for (const DType dtype : record->dtypes) {
      int run = 0;
      for (std::uint64_t position = 0; run < 5 && position < 200; ++position) {
        Case c = generate(find_target(record->name), dtype, 77, position);
        if (multiply_adds(*c.program, c.binding) > 1500) continue;
        c.fill.kind = position % 2 == 0 ? FillKind::uniform : FillKind::integer;
        expect_equal_to_evaluate(c);
        ++run;
      }
      EXPECT_EQ(run, 5) << record->name;
    }
  }
}

/// Returns a small case of the record.
Case small_case(const OpRecord& record, DType dtype) {
  for (std::uint64_t position = 0;; ++position) {
    Case c = generate(find_target(record.name), dtype, 77, position);
    std::int64_t elements = 0;
    for (CaseTensor& t : c.outputs) {
      t.left_out = false;
      elements += volume(t.shape);
    }
    const bool is_small = multiply_adds(*c.program, c.binding) < 1500 && elements > 0;
    c.fill.kind = FillKind::uniform;
    if (is_small || position == 200) return c;
  }
}

/// Runs the kernel for the outputs of the mask; inputs that these do not read have no data.
void run_for(const Case& c, const mote_kernel& kernel, std::uint64_t mask,
             std::vector<Dense>& inputs, std::vector<Dense>& outputs) {
  std::vector<DLTensor> views;
  std::vector<std::vector<std::int64_t>> shapes;
  for (const CaseTensor& t : c.inputs) shapes.push_back(t.shape);
  for (const CaseTensor& t : c.outputs) shapes.push_back(t.shape);
  const TensorMask read = read_mask(*c.target->record(), c.instance, mask);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    views.push_back(dense_tensor(inputs[k], shapes[k]));
    if ((read >> c.target->input_position(c.inputs[k].name) & 1U) == 0) views[k].data = nullptr;
  }
  for (std::size_t k = 0; k < outputs.size(); ++k)
    views.push_back(dense_tensor(outputs[k], shapes[inputs.size() + k]));
  std::vector<DLTensor*> in, out;
  for (std::size_t k = 0; k < inputs.size(); ++k) in.push_back(&views[k]);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    out.push_back((mask >> k & 1U) != 0 ? &views[inputs.size() + k] : nullptr);
  const CallFrame frame(c, in, out);
  ASSERT_EQ(kernel.run(&frame.call(), nullptr), MOTE_OK) << frame.message() << to_string(c);
}

void expect_subsets(const Case& c, const mote_kernel& kernel) {
  std::vector<Dense> inputs;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    const Array a = filled_array(c, k, 3);
    inputs.emplace_back(c.inputs[k].dtype, volume(c.inputs[k].shape));
    for (std::int64_t at = 0; at < inputs.back().count(); ++at)
      inputs.back().set(at, a.values[std::size_t(at)]);
  }
  const auto outputs_for = [&](std::uint64_t mask) {
    std::vector<Dense> outputs;
    for (const CaseTensor& t : c.outputs) outputs.emplace_back(t.dtype, volume(t.shape));
    run_for(c, kernel, mask, inputs, outputs);
    return outputs;
  };
  std::uint64_t required = 0;
  const std::uint64_t all = (std::uint64_t{1} << c.outputs.size()) - 1;
  for (std::size_t k = 0; k < c.outputs.size(); ++k)
    if (!is_optional_output(*c.target->record(), c.outputs[k].name))
      required |= std::uint64_t{1} << k;
  const std::vector<Dense> whole = outputs_for(all);
  for (std::uint64_t mask = 1; mask <= all; ++mask) {
    if ((mask & required) != required) continue;
    const std::vector<Dense> some = outputs_for(mask);
    for (std::size_t k = 0; k < some.size(); ++k)
      for (std::int64_t at = 0; (mask >> k & 1U) != 0 && at < some[k].count(); ++at)
        ASSERT_TRUE(some[k].same(at, whole[k]))
            << to_string(c) << " outputs " << mask << ": " << c.outputs[k].name << " at " << at;
  }
}

TEST(EveryOp, AnySubsetOfOptionalOutputsIsAsAllOfThem) {
  int ops = 0;
  for (const OpRecord* record : generated_ops()) {
    if (record->optional_outputs.empty()) continue;
    ++ops;
    for (const DType dtype : record->dtypes) {
      const Case c = small_case(*record, dtype);
      const mote_generated_kernel* kernel =
          find_generated(record->name, kReference, dtype, c.instance.input_mask);
      ASSERT_NE(kernel, nullptr);
      expect_subsets(c, kernel->kernel);
    }
  }
  EXPECT_GE(ops, 40);
}

TEST(EveryOp, ACallForNoOutputIsRefused) {
  Case c = parse_case("matmul.grad gy=f32[1,1,2,2] a=f32[1,1,2,3] b=f32[1,1,3,2]");
  const mote_generated_kernel* kernel =
      find_generated("matmul.grad", kGen, DType::f32, c.instance.input_mask);
  ASSERT_NE(kernel, nullptr);
  std::vector<Dense> inputs;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<DLTensor> views;
  for (const CaseTensor& t : c.inputs) inputs.emplace_back(t.dtype, volume(t.shape));
  for (const CaseTensor& t : c.inputs) shapes.push_back(t.shape);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    views.push_back(dense_tensor(inputs[k], shapes[k]));
  std::vector<DLTensor*> in;
  for (DLTensor& view : views) in.push_back(&view);
  const CallFrame frame(c, in, {nullptr, nullptr});
  EXPECT_EQ(kernel->kernel.can_run(&frame.call()), MOTE_INVALID);
  EXPECT_NE(frame.message().find("no output is asked for"), std::string::npos) << frame.message();
}

TEST(EveryOp, FastGradientsOfExactOpsAreJudgedAndPass) {
  // Some of the cases ask for only some of the outputs.
  for (const char* op : {"matmul.grad", "conv2d.grad", "conv_transpose2d.grad", "sum.grad",
                         "relu.grad", "mul.grad.grad", "matmul.grad.grad", "conv2d.grad.grad"}) {
    int judged = 0;
    for (std::uint64_t position = 0; position < 40; ++position) {
      Prepared prepared(generate(find_target(op), DType::f32, 5, position));
      if (!prepared.judgement().judged || prepared.multiply_adds() > 20000) continue;
      const Outcome o = prepared.run(gen_backend());
      EXPECT_FALSE(is_failure(o.verdict)) << o.reason << " " << to_string(prepared.subject_case());
      judged += o.judged() ? 1 : 0;
    }
    EXPECT_GE(judged, 5) << op;
  }
}

/// The data of x are not passed, so that a kernel that reads them crashes.
TEST(EveryOp, AnInputOfWhichOnlyTheShapeIsNeededHasNoData) {
  Prepared prepared(parse_case("sum.grad gy=f32[2,4] x=f32[2,3,4] fill=integer:5"));
  const Outcome o = prepared.run(gen_backend());
  EXPECT_EQ(o.verdict, Verdict::passed) << o.reason;
  const mote_generated_kernel* kernel = find_generated("sum.grad", kGen, DType::f32, 3);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->read_mask, 1U);
}

TEST(EveryOp, SomeCasesOfEveryExactOpAreExact) {
  // These ops have divisions or functions, so that their results need not be exact.
  const std::set<std::string> inexact = {"acos",
                                         "adam",
                                         "adaptive_avg_pool2d",
                                         "asin",
                                         "atan",
                                         "attention",
                                         "attention_softcap",
                                         "attention_softcap_with_lse",
                                         "attention_with_lse",
                                         "avg_pool2d",
                                         "avg_pool3d",
                                         "batch_norm",
                                         "batch_norm_training",
                                         "bce_with_logits",
                                         "bce_with_logits_none",
                                         "celu",
                                         "cos",
                                         "cosh",
                                         "cross_entropy",
                                         "cross_entropy_none",
                                         "div",
                                         "elu",
                                         "erf",
                                         "exp",
                                         "expm1",
                                         "geglu",
                                         "gelu",
                                         "gelu_tanh",
                                         "glu",
                                         "group_norm",
                                         "gru_cell",
                                         "hardswish",
                                         "instance_norm",
                                         "l2_normalise",
                                         "layer_norm",
                                         "layer_norm_with_statistics",
                                         "log",
                                         "log1p",
                                         "log_softmax",
                                         "logsum",
                                         "logsumexp",
                                         "lrn",
                                         "lstm_cell",
                                         "mish",
                                         "nll",
                                         "norm2",
                                         "normal",
                                         "pow",
                                         "quantize",
                                         "recip",
                                         "rms_norm",
                                         "rnn_cell",
                                         "rope",
                                         "rsqrt",
                                         "selu",
                                         "sigmoid",
                                         "silu",
                                         "sin",
                                         "sinh",
                                         "softmax",
                                         "softplus",
                                         "softsign",
                                         "sqrt",
                                         "std",
                                         "swiglu",
                                         "tan",
                                         "tanh"};
  // These are exact if the divisor, or a default that is no f32, happens to allow it.
  const std::set<std::string> sometimes = {
      "global_avg_pool", "hardsigmoid", "mean", "mse", "sgd", "var"};
  for (const OpRecord& record : catalogue()) {
    std::int64_t judged = 0;
    for (std::uint64_t position = 0; position < 180; ++position) {  // some fills are never exact
      const Case c = generate(find_target(record.name), record.dtypes.front(), 3, position);
      judged += judge(*c.program, c.binding, c.fill.kind).judged ? 1 : 0;
    }
    if (inexact.contains(record.name)) {
      EXPECT_EQ(judged, 0) << record.name;
    } else {
      EXPECT_GT(judged, sometimes.contains(record.name) ? 5 : 35) << record.name;
    }
  }
}

TEST(ProgramFile, IsJudgedByCompiledC) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write(
      "doubled.mote", "op neg \"y = -x\"\ninput x f32[A, B, C, D]\noutput y = 0 - x\n");
  const Case c = parse_case(path + " x=f32[2,3,1,4]:t fill=integer:5");
  Prepared prepared(c);
  EXPECT_EQ(prepared.reference(), "C compiled by cc");
  const Outcome o = prepared.run(generated_backend());
  EXPECT_EQ(o.verdict, Verdict::passed) << o.reason;
  const Case random = generate(find_target(path), DType::f32, 1, 1);
  EXPECT_EQ(to_string(parse_case(to_string(random))), to_string(random));
}

TEST(ProgramFile, IsJudgedByTheInterpreterWhereThereIsNoCompiler) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write(
      "interpreted.mote", "op neg \"y = -x\"\ninput x f32[A, B, C, D]\noutput y = -x\n");
  const char* const path_before = std::getenv("PATH");
  ASSERT_NE(path_before, nullptr);
  const std::string search_path = path_before;
  setenv("PATH", "/nonexistent", 1);
  unsetenv("CC");  // CC may be an absolute path
  const Case c = parse_case(path + " x=f32[2,3,1,4]:t fill=uniform:5");
  Prepared prepared(c);
  setenv("PATH", search_path.c_str(), 1);
  EXPECT_EQ(prepared.reference(), "interpreter");
  // It computes 24 elements of y in doubles, which count too.
  EXPECT_THROW(Prepared(c, {.memory_limit = bytes_needed(c) + 191}), Error);
  EXPECT_NO_THROW(Prepared(c, {.memory_limit = bytes_needed(c) + 192}));
  const Outcome o = prepared.run(generated_backend());
  EXPECT_EQ(o.verdict, Verdict::passed) << o.reason;
}

}  // namespace
}  // namespace mote
