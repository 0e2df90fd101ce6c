// SPDX-License-Identifier: Apache-2.0
// Training steps on a dynamic graph, for peers/jax_dynamic.py: reads lines "NETWORK MODE COUNT" and
// answers each with the median seconds of a step. The networks are an MLP 2-64-3 on 300 points, the
// same with sizes of 1, whose time is what a step costs beyond the work of its kernels, and a LeNet
// on 32 images; the modes are eager and deferred.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "mote/dynamic/ops.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

constexpr double kRate = 0.01;

struct Network {
  std::vector<AxisList> parameters;
  AxisList images;
  std::int64_t classes;
  std::function<Variable(std::span<const Variable> w, const Variable& x, const Variable& labels)>
      loss;
};

Variable linear(const Variable& x, const Variable& w, const Variable& b) {
  return matmul(x, w) + b;
}

Network mlp(std::int64_t points, std::int64_t features, std::int64_t width, std::int64_t classes) {
  return {.parameters = {{features, width}, {width}, {width, classes}, {classes}},
          .images = {points, features},
          .classes = classes,
          .loss = [](std::span<const Variable> w, const Variable& x, const Variable& labels) {
            return cross_entropy(linear(relu(linear(x, w[0], w[1])), w[2], w[3]), labels);
          }};
}

Network lenet() {
  return {.parameters = {{6, 1, 5, 5},
                         {6},
                         {16, 6, 5, 5},
                         {16},
                         {400, 120},
                         {120},
                         {120, 84},
                         {84},
                         {84, 10},
                         {10}},
          .images = {32, 1, 28, 28},
          .classes = 10,
          .loss = [](std::span<const Variable> w, const Variable& x, const Variable& labels) {
            Variable h =
                relu(conv2d(x, w[0], w[1], {.pads0 = 2, .pads1 = 2, .pads2 = 2, .pads3 = 2}));
            h = max_pool2d(h, 2, 2, {.stride0 = 2, .stride1 = 2});
            h = relu(conv2d(h, w[2], w[3]));
            h = max_pool2d(h, 2, 2, {.stride0 = 2, .stride1 = 2}).reshape({32, 400});
            h = relu(linear(h, w[4], w[5]));
            h = relu(linear(h, w[6], w[7]));
            return cross_entropy(linear(h, w[8], w[9]), labels);
          }};
}

/// Returns small values of both signs.
Tensor values(const AxisList& shape, std::int64_t first) {
  const Tensor tensor(DType::f32, shape);
  const Tensor flat = tensor.reshape({tensor.element_count()});
  for (std::int64_t k = 0; k < flat.extent(0); ++k)
    flat.set({k}, static_cast<double>((k * 37 + first * 11) % 101 - 50) / 500);
  return tensor;
}

Tensor labels_of(const Network& network) {
  const Tensor labels(DType::i64, {network.images[0]});
  for (std::int64_t k = 0; k < labels.extent(0); ++k) labels.set({k}, k % network.classes);
  return labels;
}

Network find(const std::string& name) {
  if (name == "mlp") return mlp(300, 2, 64, 3);
  if (name == "mlp_of_1") return mlp(1, 1, 1, 1);
  return lenet();
}

class Training {
 public:
  Training(const Network& network, const std::string& mode)
      : network_(network), g_(context_, {.deferred = mode != "eager"}) {
    for (std::size_t k = 0; k < network.parameters.size(); ++k)
      w_.push_back(g_.variable(values(network.parameters[k], static_cast<std::int64_t>(k))));
    x_ = g_.constant(values(network.images, 99));
    labels_ = g_.constant(labels_of(network));
  }

  double step() {
    const auto start = std::chrono::steady_clock::now();
    {
      const Variable loss = network_.loss(w_, x_, labels_);
      const std::vector<Variable> gradients = g_.backward({&loss, 1}, w_);
      for (std::size_t k = 0; k < w_.size(); ++k) w_[k] -= kRate * gradients[k];
    }
    g_.finish();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  Network network_;
  Context context_;
  DynamicGraph g_;
  std::vector<Variable> w_;
  Variable x_, labels_;
};

}  // namespace
}  // namespace mote

int main() {
  std::map<std::string, std::unique_ptr<mote::Training>> trainings;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string network, mode;
    int count = 1;
    words >> network >> mode >> count;
    std::unique_ptr<mote::Training>& training = trainings[network + " " + mode];
    if (training == nullptr) {
      training = std::make_unique<mote::Training>(mote::find(network), mode);
      for (int k = 0; k < 20; ++k) training->step();
    }
    std::vector<double> times;
    for (int k = 0; k < count; ++k) times.push_back(training->step());
    std::ranges::sort(times);
    std::cout << fmt::format("{:.9f}\n", times[times.size() / 2]) << std::flush;
  }
}
