// SPDX-License-Identifier: Apache-2.0
// Training steps on a dynamic graph, for peers/jax_dynamic.py: reads lines "NETWORK MODE COUNT" and
// answers each with the median seconds of a step. The networks are an MLP 2-64-3 on 300 points and
// a LeNet on 32 images, and both with sizes of 1, whose time is what a step costs beyond the work
// of its kernels. The modes are eager and deferred, and static: the same step as a symbolic graph
// that was compiled once, which is the time of the kernels. "NETWORK nodes" is answered with the
// number of nodes that it has, and "adds eager COUNT" with the seconds of a traced addition of one
// element.
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
#include "mote/symbolic/text.h"

namespace mote {
namespace {

constexpr double kRate = 0.01;

struct Network {
  std::vector<AxisList> parameters;
  AxisList images;
  std::int64_t classes;
  std::function<Variable(std::span<const Variable> w, const Variable& x, const Variable& labels)>
      loss;
  std::string nodes;  ///< the same as a text of nodes, which ends with the loss
};

Variable linear(const Variable& x, const Variable& w, const Variable& b) {
  return matmul(x, w) + b;
}

Network mlp(std::int64_t points, std::int64_t features, std::int64_t width, std::int64_t classes) {
  return {.parameters = {{features, width}, {width}, {width, classes}, {classes}},
          .images = {points, features},
          .classes = classes,
          .loss =
              [](std::span<const Variable> w, const Variable& x, const Variable& labels) {
                return cross_entropy(linear(relu(linear(x, w[0], w[1])), w[2], w[3]), labels);
              },
          .nodes = R"(  a = matmul(x, w0)
  b = add(a, w1)
  c = relu(b)
  d = matmul(c, w2)
  e = add(d, w3)
  loss = cross_entropy(e, labels)
)"};
}

/// The sizes of a LeNet on square images of one channel.
struct LeNetSizes {
  std::int64_t images, extent, padding, window, channels1, channels2, features, width1, width2,
      classes;
};

Network lenet(const LeNetSizes& s) {
  return {
      .parameters = {{s.channels1, 1, s.window, s.window},
                     {s.channels1},
                     {s.channels2, s.channels1, s.window, s.window},
                     {s.channels2},
                     {s.features, s.width1},
                     {s.width1},
                     {s.width1, s.width2},
                     {s.width2},
                     {s.width2, s.classes},
                     {s.classes}},
      .images = {s.images, 1, s.extent, s.extent},
      .classes = s.classes,
      .loss =
          [s](std::span<const Variable> w, const Variable& x, const Variable& labels) {
            const std::int64_t p = s.padding;
            Variable h =
                relu(conv2d(x, w[0], w[1], {.pads0 = p, .pads1 = p, .pads2 = p, .pads3 = p}));
            h = max_pool2d(h, 2, 2, {.stride0 = 2, .stride1 = 2});
            h = relu(conv2d(h, w[2], w[3]));
            h = max_pool2d(h, 2, 2, {.stride0 = 2, .stride1 = 2}).reshape({s.images, s.features});
            h = relu(linear(h, w[4], w[5]));
            h = relu(linear(h, w[6], w[7]));
            return cross_entropy(linear(h, w[8], w[9]), labels);
          },
      .nodes = fmt::format(R"(  a = conv2d(x, w0, w1, pads0={0}, pads1={0}, pads2={0}, pads3={0})
  b = relu(a)
  c = max_pool2d(b, kernel0=2, kernel1=2, stride0=2, stride1=2)
  d = conv2d(c, w2, w3)
  e = relu(d)
  f = max_pool2d(e, kernel0=2, kernel1=2, stride0=2, stride1=2)
  g = f.reshape({1}, {2})
  h = matmul(g, w4)
  i = add(h, w5)
  j = relu(i)
  k = matmul(j, w6)
  l = add(k, w7)
  m = relu(l)
  n = matmul(m, w8)
  o = add(n, w9)
  loss = cross_entropy(o, labels)
)",
                           s.padding, s.images, s.features)};
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
  if (name == "lenet_of_1") return lenet({1, 4, 0, 1, 1, 1, 1, 1, 1, 1});
  return lenet({32, 28, 2, 5, 6, 16, 400, 120, 84, 10});
}

/// Returns the training step as a symbolic graph, whose inputs are the parameters, images and
/// labels, and whose outputs the next parameters.
SymbolicGraph symbolic_step(const Network& network) {
  std::string text = "graph step(";
  for (std::size_t k = 0; k < network.parameters.size(); ++k)
    text += fmt::format("w{} f32{}, ", k, to_string(network.parameters[k]));
  text += fmt::format("x f32{}, labels i64[{}]) -> (loss)\n", to_string(network.images),
                      network.images[0]);
  SymbolicGraph graph = parse_graph(text + network.nodes);
  std::vector<TensorSymbol> w, next;
  for (std::size_t k = 0; k < network.parameters.size(); ++k)
    w.push_back(graph.find(fmt::format("w{}", k)));
  const std::vector<TensorSymbol> gradients = gradient(graph, graph.outputs(), w);
  const Tensor rate(DType::f32, {});
  fill(rate, kRate);
  const TensorSymbol by = graph.constant("rate", rate);
  for (std::size_t k = 0; k < w.size(); ++k)
    next.push_back(graph.add("sub", {w[k], graph.add("mul", {by, gradients[k]})}));
  graph.set_outputs(next);
  return graph;
}

/// Returns the seconds that the call takes.
template <typename Call>
double seconds_of(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
    return seconds_of([&] {
      {
        const Variable loss = network_.loss(w_, x_, labels_);
        const std::vector<Variable> gradients = g_.backward({&loss, 1}, w_);
        for (std::size_t k = 0; k < w_.size(); ++k) w_[k] -= kRate * gradients[k];
      }
      g_.finish();
    });
  }

 private:
  Network network_;
  Context context_;
  DynamicGraph g_;
  std::vector<Variable> w_;
  Variable x_, labels_;
};

/// The kernels of the same steps.
class StaticTraining {
 public:
  explicit StaticTraining(const Network& network)
      : graph_(symbolic_step(network)), step_(compile(graph_, {}, context_)) {
    for (std::size_t k = 0; k < network.parameters.size(); ++k)
      step_.bind(graph_.find(fmt::format("w{}", k)),
                 values(network.parameters[k], static_cast<std::int64_t>(k)));
    step_.bind(graph_.find("x"), values(network.images, 99));
    step_.bind(graph_.find("labels"), labels_of(network));
  }
  std::size_t nodes() const { return step_.report().nodes.size(); }
  double step() {
    return seconds_of([&] { step_.run(); });
  }

 private:
  Context context_;
  SymbolicGraph graph_;
  Executable step_;
};

/// A traced addition of one element, in a chain of them.
class Additions {
 public:
  double step() {
    return seconds_of([&] {
             Variable x = first_;
             for (int k = 0; k < kCount; ++k) x = x + by_;
           }) /
           kCount;
  }

 private:
  static constexpr int kCount = 1000;
  Context context_;
  DynamicGraph g_{context_};
  const Variable first_ = g_.variable(values({1}, 1)), by_ = g_.constant(values({1}, 2));
};

/// Returns what makes a step of the mode, and returns its seconds.
std::function<double()> stepper(const std::string& network, const std::string& mode) {
  if (network == "adds")
    return [additions = std::make_shared<Additions>()] { return additions->step(); };
  if (mode == "static")
    return
        [training = std::make_shared<StaticTraining>(find(network))] { return training->step(); };
  return [training = std::make_shared<Training>(find(network), mode)] { return training->step(); };
}

void answer(const std::string& network, const std::string& mode, int count) {
  static std::map<std::string, std::function<double()>> steppers;
  std::function<double()>& step = steppers[network + " " + mode];
  if (!step) {
    step = stepper(network, mode);
    for (int k = 0; k < 20; ++k) step();
  }
  std::vector<double> times;
  for (int k = 0; k < count; ++k) times.push_back(step());
  std::ranges::sort(times);
  std::cout << fmt::format("{:.9f}\n", times[times.size() / 2]) << std::flush;
}

}  // namespace
}  // namespace mote

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string network, mode;
    int count = 1;
    words >> network >> mode >> count;
    if (mode == "nodes")
      std::cout << mote::StaticTraining(mote::find(network)).nodes() << std::endl;
    else
      mote::answer(network, mode, count);
  }
}
