// SPDX-License-Identifier: Apache-2.0
// Tests that the oracle judges every op of the backends over NVIDIA's libraries, on fakes of these.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "support/shell.h"

namespace mote {
namespace {

/// Returns the tool's output with the fakes in place of the libraries.
std::string said(const std::string& arguments) {
  return test::run_in_shell(
             fmt::format("MOTE_CUDA_DRIVER='{0}' MOTE_CUBLAS='{0}' MOTE_CUDNN='{0}' '{1}' {2}",
                         MOTE_CUDA_FAKE, MOTE_TOOL, arguments))
      .out;
}

/// Matches the op's name in the first line of its row, which a narrow column breaks after a '_'.
std::string in_table(const std::string& op) {
  std::string names = op;
  for (std::size_t at = op.find('_'); at != std::string::npos; at = op.find('_', at + 1))
    names += "|" + op.substr(0, at + 1);
  return fmt::format("({})", names);
}

/// Expects that the oracle passes `count` cases of each op, and judges some of each dtype; without
/// MOTE_EXHAUSTIVE, which the preset nightly sets, it is half that number.
void expect_passes(const std::string& plugin, const std::string& backend,
                   const std::vector<std::string>& ops, const std::vector<std::string>& dtypes,
                   int count) {
  if (std::getenv("MOTE_EXHAUSTIVE") == nullptr) count /= 2;
  const std::string out =
      said(fmt::format("check {} --in-process --plugin '{}' --backend {} --count {} --seed 1",
                       fmt::join(ops, " "), plugin, backend, count));
  EXPECT_NE(out.find("\npassed: "), std::string::npos) << out;
  for (const std::string& op : ops)
    for (const std::string& dtype : dtypes)
      EXPECT_TRUE(std::regex_search(
          out, std::regex(fmt::format("\n{} +{} +{} +[1-9]", in_table(op), dtype, backend))))
          << op << ' ' << dtype << ": no case was judged\n"
          << out;
}

const std::vector<std::string> kReals = {"f32", "f64", "f16", "bf16"};
const std::vector<std::string> kWide = {"f32", "f64"};

TEST(CudaVendor, CublasPassesTheOracle) {
  expect_passes(MOTE_CUBLAS_PLUGIN, "cublas", {"gemm", "matmul"}, kReals, 200);
  expect_passes(MOTE_CUBLAS_PLUGIN, "cublas_tf32", {"gemm", "matmul"}, {"f32"}, 100);
}

/// Replays cases from a file, since few drawn cases have extents and layouts that the library
/// takes.
void expect_cases_pass(const std::string& file, const std::string& plugin,
                       const std::string& backend, int count) {
  const std::string out = said(fmt::format("replay '{}/{}' --in-process --plugin '{}' --backend {}",
                                           MOTE_VENDOR_CASES, file, plugin, backend));
  const std::regex passed("(^|\n)passed: ");
  EXPECT_EQ(std::distance(std::sregex_iterator(out.begin(), out.end(), passed), {}), count) << out;
}

TEST(CudaVendor, IntegersOfCublasPassTheOracle) {
  expect_passes(MOTE_CUBLAS_PLUGIN, "cublas", {"matmul_integer"}, {"i8"}, 2000);
  expect_cases_pass("vendor_integers.cases", MOTE_CUBLAS_PLUGIN, "cublas", 8);
}

TEST(CudaVendor, ConvolutionsOfCudnnPassTheOracle) {
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"conv1d", "conv2d", "conv2d_relu", "conv3d", "conv_transpose2d"}, kReals, 250);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", {"conv1d.grad", "conv2d.grad", "conv3d.grad"}, kWide,
                50);
  expect_cases_pass("vendor_convolutions.cases", MOTE_CUDNN_PLUGIN, "cudnn", 17);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn_tf32", {"conv2d", "conv2d_relu", "conv2d.grad"}, {"f32"},
                100);
}

TEST(CudaVendor, PoolingAndNormsOfCudnnPassTheOracle) {
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"max_pool2d", "max_pool3d", "avg_pool2d", "avg_pool3d"}, kReals, 250);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"softmax", "log_softmax", "lrn", "global_avg_pool", "global_max_pool"}, kReals,
                50);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"avg_pool2d.grad", "avg_pool3d.grad", "softmax.grad", "batch_norm"}, kWide, 50);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", {"batch_norm_training"}, kWide, 1000);
}

TEST(CudaVendor, CellsOfCudnnPassTheOracle) {
  const std::vector<std::string> cells = {"lstm_cell", "gru_cell", "rnn_cell"};
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", cells, kWide, 150);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn_tf32", cells, {"f32"}, 150);
  const std::vector<std::string> gradients = {"lstm_cell.grad", "gru_cell.grad"};
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", gradients, kWide, 100);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn_tf32", gradients, {"f32"}, 100);
}

TEST(CudaVendor, GraphsOfCudnnPassTheOracle) {
  const std::vector<std::string> dtypes = {"f32", "f16", "bf16"};
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"layer_norm", "layer_norm_with_statistics", "rms_norm", "group_norm"}, dtypes,
                100);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", {"instance_norm"}, dtypes, 200);
  expect_passes(
      MOTE_CUDNN_PLUGIN, "cudnn",
      {"layer_norm.grad", "layer_norm_with_statistics.grad", "rms_norm.grad", "instance_norm.grad"},
      {"f32"}, 200);
  expect_cases_pass("vendor_attention.cases", MOTE_CUDNN_PLUGIN, "cudnn", 19);
}

TEST(CudaVendor, ElementsAndReductionsOfCudnnPassTheOracle) {
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn",
                {"relu", "elu", "sigmoid", "silu", "tanh", "add", "sub", "mul", "min", "max",
                 "sqrt", "sum", "mean", "prod", "reduce_min", "reduce_max", "norm1", "norm2"},
                kReals, 50);
  expect_passes(MOTE_CUDNN_PLUGIN, "cudnn", {"sigmoid.grad", "tanh.grad"}, kWide, 50);
}

}  // namespace
}  // namespace mote
