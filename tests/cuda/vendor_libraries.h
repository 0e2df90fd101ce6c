// SPDX-License-Identifier: Apache-2.0
// The backends over NVIDIA's libraries, loaded with fakes of these libraries, and calls of them
// with known results.
#pragma once

#include <dlfcn.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/in_child.h"
#include "mote/base/plugin.h"
#include "support/call.h"

namespace mote::test::vendor {

/// The plug-ins, and the fake that they find; they are loaded once, before any fork.
class Libraries {
 public:
  static const Libraries& all() {
    static const Libraries only;
    return only;
  }
  void fail(int call, int status) const { fake<void(int, int)>("fake_cuda_fail")(call, status); }
  int calls() const { return fake<int()>("fake_cuda_calls")(); }
  int live() const { return fake<int()>("fake_cuda_live")(); }
  template <typename F>
  F* fake(const char* name) const {
    return reinterpret_cast<F*>(dlsym(fake_, name));
  }
  const mote_backend& backend(const std::string& name) const {
    for (const Plugin& p : plugins_)
      for (const mote_backend* b : p.backends)
        if (b->name == name) return *b;
    throw std::runtime_error("no backend " + name);
  }

 private:
  Libraries() {
    for (const char* variable : {"MOTE_CUDA_DRIVER", "MOTE_CUBLAS", "MOTE_CUDNN"})
      setenv(variable, MOTE_CUDA_FAKE, 1);
    fake_ = dlopen(MOTE_CUDA_FAKE, RTLD_NOW | RTLD_LOCAL);
    for (const char* plugin : {MOTE_CUBLAS_PLUGIN, MOTE_CUDNN_PLUGIN})
      plugins_.push_back(load_plugin(plugin));
  }
  void* fake_;
  std::vector<Plugin> plugins_;
};

/// Runs the body in a process of its own with the libraries loaded.
inline std::string in_child(const std::function<std::string()>& body) {
  Libraries::all();
  return test::in_child(body);
}

/// Computes y = 2 a b + c, with a transposed and y with gaps.
class Gemm {
 public:
  Gemm() : call_("gemm", {&a_, &b_, &c_}, {&y_}) {
    a_.fill_integers(1);
    b_.fill_integers(2);
    c_.fill_integers(3);
    call_.real("alpha", 2);
  }
  static constexpr const char* kBackend = "cublas";
  test::Call& call() { return call_; }
  bool is_right() {
    for (std::int64_t m = 0; m < 3; ++m)
      for (std::int64_t n = 0; n < 5; ++n) {
        double sum = c_.get({m, n});
        for (std::int64_t k = 0; k < 7; ++k) sum += 2 * a_.get({m, k}) * b_.get({k, n});
        if (y_.get({m, n}) != sum) return false;
      }
    return y_.changed_gaps(-1) == 0;
  }

 private:
  test::Tensor a_{DType::f32, {3, 7}, {1, 4}};
  test::Tensor b_{DType::f32, {7, 5}};
  test::Tensor c_{DType::f32, {3, 5}};
  test::Tensor y_{DType::f32, {3, 5}, {6, 1}, -1};
  test::Call call_;
};

/// Computes y = x * w + b on images with gaps between them, optionally rectified.
class Convolution {
 public:
  explicit Convolution(const char* op = "conv2d")
      : is_rectified_(op == std::string("conv2d_relu")), call_(op, {&x_, &w_, &b_}, {&y_}) {
    x_.fill_integers(1);
    w_.fill_integers(2);
    b_.fill_integers(3);
    call_.integer("groups", 2).integer("stride0", 2).integer("pads1", 1).integer("pads3", 1);
  }
  static constexpr const char* kBackend = "cudnn";
  test::Call& call() { return call_; }
  bool is_right() {
    bool right = true;
    test::Tensor::for_each_index(y_.shape(), [&](const test::Shape& at) {
      double sum = b_.get({at[1]});
      test::Tensor::for_each_index({2, 3, 3}, [&](const test::Shape& tap) {
        const std::int64_t column = at[3] + tap[2] - 1;
        if (column >= 0 && column < 4)
          sum += x_.get({at[0], at[1] / 2 * 2 + tap[0], 2 * at[2] + tap[1], column}) *
                 w_.get({at[1], tap[0], tap[1], tap[2]});
      });
      right = right && y_.get(at) == (is_rectified_ ? std::max(sum, 0.0) : sum);
    });
    return right && y_.changed_gaps(-1) == 0;
  }

 private:
  bool is_rectified_;
  test::Tensor x_{DType::f32, {2, 4, 5, 4}, {100, 20, 4, 1}};
  test::Tensor w_{DType::f32, {4, 2, 3, 3}};
  test::Tensor b_{DType::f32, {4}};
  test::Tensor y_{DType::f32, {2, 4, 2, 4}, {40, 9, 4, 1}, -1};
  test::Call call_;
};
struct RectifiedConvolution : Convolution {
  RectifiedConvolution() : Convolution("conv2d_relu") {}
};

/// Computes y = x / sqrt(mean x^2 + eps) * gamma, where each row has one magnitude: if eps is 0, y
/// is gamma with x's signs.
class RmsNorm {
 public:
  explicit RmsNorm(double eps = 0) : call_("rms_norm", {&x_, &gamma_}, {&y_}) {
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t n = 0; n < 8; ++n) x_.set({r, n}, (n % 3 == r ? -1.0 : 1.0) * (1 << r));
    gamma_.fill_integers(1);
    call_.real("eps", eps);
  }
  static constexpr const char* kBackend = "cudnn";
  test::Call& call() { return call_; }
  bool is_right() {
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t n = 0; n < 8; ++n)
        if (y_.get({r, n}) != (n % 3 == r ? -1 : 1) * gamma_.get({n})) return false;
    return true;
  }

 private:
  test::Tensor x_{DType::f32, {3, 8}};
  test::Tensor gamma_{DType::f32, {8}};
  test::Tensor y_{DType::f32, {3, 8}};
  test::Call call_;
};

/// A step of gru_cell with gates fully open or shut and saturated functions: where z is 1, h' is h;
/// elsewhere it is 1 or -1.
class Gru {
 public:
  Gru() : call_("gru_cell", {&x_, &h_, &w_, &r_, &b_}, {&next_}) {
    x_.fill_integers(1);
    h_.fill_integers(2);
    for (std::int64_t k = 0; k < 4; ++k) {
      b_.set({0, k}, k == 0 ? kFar : -kFar);
      b_.set({1, k}, k % 2 == 0 ? kFar : -kFar);
      b_.set({2, k}, k == 1 ? kFar : 0);
      b_.set({3, k}, k == 2 ? -kFar : kFar);
    }
    for (std::int64_t k = 0; k < 4; ++k) w_.set({2, k, 0}, k == 3 ? -kFar : 0);
    for (std::int64_t n = 0; n < 3; ++n) x_.set({n, 0}, n == 1 ? -1 : 1);
  }
  static constexpr const char* kBackend = "cudnn";
  test::Call& call() { return call_; }
  bool is_right() {
    for (std::int64_t n = 0; n < 3; ++n) {
      const double by_x = n == 1 ? 1 : -1;
      if (next_.get({n, 0}) != h_.get({n, 0}) || next_.get({n, 1}) != 1 ||
          next_.get({n, 2}) != -1 || next_.get({n, 3}) != by_x)
        return false;
    }
    return true;
  }

 private:
  static constexpr double kFar = 200;  ///< far enough that f32's sigmoid is 0 or 1, and tanh 1
  test::Tensor x_{DType::f32, {3, 2}};
  test::Tensor h_{DType::f32, {3, 4}};
  test::Tensor w_{DType::f32, {3, 4, 2}, {8, 1, 4}};
  test::Tensor r_{DType::f32, {3, 4, 4}};
  test::Tensor b_{DType::f32, {4, 4}, {5, 1}};
  test::Tensor next_{DType::f32, {3, 4}};
  test::Call call_;
};

/// The gradient of a step of lstm_cell that keeps its state, c = 0, and adds a new value, which is
/// 0, only in state 1: the gradients pass through, or are 0.
class LstmGradient {
 public:
  LstmGradient()
      : call_("lstm_cell.grad", {&gh_next_, &gc_next_, &x_, &h_, &c_, &w_, &r_, &b_},
              {&gx_, &gh_, &gc_, &gw_, &gr_, &gb_}) {
    gh_next_.fill_integers(1);
    gc_next_.fill_integers(2);
    for (std::int64_t k = 0; k < 4; ++k) {
      b_.set({0, k}, k == 1 ? kFar : -kFar);
      b_.set({1, k}, kFar);
      b_.set({3, k}, kFar);
    }
    for (std::int64_t i = 0; i < 2; ++i) {
      w_.set({2, 1, i}, 1);
      for (std::int64_t n = 0; n < 3; ++n)
        x_.set({n, i}, static_cast<double>((n + 1) * (i == 0 ? 1 : -1)));
    }
  }
  static constexpr const char* kBackend = "cudnn";
  test::Call& call() { return call_; }
  bool is_right() {
    double of_bias = 0, of_weight = 0;
    for (std::int64_t n = 0; n < 3; ++n) {
      for (std::int64_t k = 0; k < 4; ++k) {
        const double expected = gh_next_.get({n, k}) + gc_next_.get({n, k});
        if (gc_.get({n, k}) != expected || gh_.get({n, k}) != 0) return false;
      }
      const double through = gc_.get({n, 1});
      if (gx_.get({n, 0}) != through || gx_.get({n, 1}) != through) return false;
      of_bias += through;
      of_weight += through * x_.get({n, 0});
    }
    for (std::int64_t g = 0; g < 4; ++g)
      for (std::int64_t k = 0; k < 4; ++k) {
        const bool is_open = g == 2 && k == 1;
        if (gb_.get({g, k}) != (is_open ? of_bias : 0) || gr_.get({g, k, 0}) != 0 ||
            gw_.get({g, k, 0}) != (is_open ? of_weight : 0) ||
            gw_.get({g, k, 1}) != (is_open ? -of_weight : 0))
          return false;
      }
    return true;
  }

 private:
  static constexpr double kFar = 200;
  test::Tensor gh_next_{DType::f32, {3, 4}};
  test::Tensor gc_next_{DType::f32, {3, 4}};
  test::Tensor x_{DType::f32, {3, 2}};
  test::Tensor h_{DType::f32, {3, 4}};
  test::Tensor c_{DType::f32, {3, 4}};
  test::Tensor w_{DType::f32, {4, 4, 2}};
  test::Tensor r_{DType::f32, {4, 4, 4}};
  test::Tensor b_{DType::f32, {4, 4}};
  test::Tensor gx_{DType::f32, {3, 2}};
  test::Tensor gh_{DType::f32, {3, 4}};
  test::Tensor gc_{DType::f32, {3, 4}};
  test::Tensor gw_{DType::f32, {4, 4, 2}, {8, 1, 4}};
  test::Tensor gr_{DType::f32, {4, 4, 4}};
  test::Tensor gb_{DType::f32, {4, 4}, {5, 1}};
  test::Call call_;
};

/// The numbers of steps of three rows, of which one has none.
inline test::Tensor three_lengths() {
  test::Tensor lengths(DType::i64, {3});
  for (std::int64_t n = 0; n < 3; ++n)
    lengths.set({n}, std::bit_cast<double>(n == 0 ? std::int64_t{2} : n - 1));
  return lengths;
}

/// A sequence of two steps of lstm_cell that keeps c, 200 or -200, so that each h is 1 or -1.
class LstmSequence {
 public:
  LstmSequence()
      : call_("lstm_sequence", {&x_, &h_, &c_, &w_, &r_, &b_, &lengths_},
              {&y_, &h_next_, &c_next_}) {
    x_.fill_integers(1);
    h_.fill_integers(2);
    for (std::int64_t k = 0; k < 4; ++k) {
      for (std::int64_t n = 0; n < 3; ++n) c_.set({n, k}, (n + k) % 2 == 0 ? kFar : -kFar);
      b_.set({0, k}, -kFar);
      b_.set({1, k}, kFar);
      b_.set({3, k}, kFar);
    }
  }
  static constexpr const char* kBackend = "cudnn";
  test::Call& call() { return call_; }
  bool is_right() {
    for (std::int64_t n = 0; n < 3; ++n)
      for (std::int64_t k = 0; k < 4; ++k) {
        const std::int64_t length = n == 0 ? 2 : n - 1;
        const double sign = (n + k) % 2 == 0 ? 1 : -1;
        for (std::int64_t t = 0; t < 2; ++t)
          if (y_.get({t, n, k}) != (t < length ? sign : 0)) return false;
        if (c_next_.get({n, k}) != kFar * sign ||
            h_next_.get({n, k}) != (length > 0 ? sign : h_.get({n, k})))
          return false;
      }
    return true;
  }

 private:
  static constexpr double kFar = 200;
  test::Tensor x_{DType::f32, {2, 3, 2}};
  test::Tensor h_{DType::f32, {3, 4}};
  test::Tensor c_{DType::f32, {3, 4}};
  test::Tensor w_{DType::f32, {4, 4, 2}, {8, 1, 4}};
  test::Tensor r_{DType::f32, {4, 4, 4}};
  test::Tensor b_{DType::f32, {4, 4}, {5, 1}};
  test::Tensor lengths_ = three_lengths();
  test::Tensor y_{DType::f32, {2, 3, 4}, {12, 4, 1}, -1};
  test::Tensor h_next_{DType::f32, {3, 4}};
  test::Tensor c_next_{DType::f32, {3, 4}};
  test::Call call_;
};

/// A sequence of rnn_cell backwards, each step of which is the sign of x alone.
class RnnSequenceBackwards {
 public:
  RnnSequenceBackwards() : call_("rnn_sequence", {&x_, &h_, &w_, &r_, &b_}, {&y_, &h_next_}) {
    call_.integer("backwards", 1);
    for (std::int64_t t = 0; t < 3; ++t)
      for (std::int64_t n = 0; n < 2; ++n) x_.set({t, n, 0}, sign(t, n));
    for (std::int64_t k = 0; k < 4; ++k) w_.set({k, 0}, 200);
  }
  static constexpr const char* kBackend = "cudnn";
  test::Call& call() { return call_; }
  bool is_right() {
    for (std::int64_t n = 0; n < 2; ++n)
      for (std::int64_t k = 0; k < 4; ++k) {
        for (std::int64_t t = 0; t < 3; ++t)
          if (y_.get({t, n, k}) != sign(t, n)) return false;
        if (h_next_.get({n, k}) != sign(0, n)) return false;
      }
    return true;
  }

 private:
  static double sign(std::int64_t t, std::int64_t n) { return (t + n) % 3 == 0 ? 1 : -1; }
  test::Tensor x_{DType::f32, {3, 2, 1}};
  test::Tensor h_{DType::f32, {2, 4}};
  test::Tensor w_{DType::f32, {4, 1}};
  test::Tensor r_{DType::f32, {4, 4}};
  test::Tensor b_{DType::f32, {4}};
  test::Tensor y_{DType::f32, {3, 2, 4}};
  test::Tensor h_next_{DType::f32, {2, 4}};
  test::Call call_;
};

/// The gradient of two steps of rnn_cell at 0, where tanh' is 1, with r = I: gradients of states
/// are sums over the steps behind them.
class RnnSequenceGradient {
 public:
  RnnSequenceGradient()
      : call_("rnn_sequence.grad", {&gy_, &gh_next_, &x_, &h_, &w_, &r_, &b_, &lengths_},
              {&gx_, &gh_, &gw_, &gr_, &gb_}) {
    gy_.fill_integers(1);
    gh_next_.fill_integers(2);
    w_.fill_integers(3);
    for (std::int64_t k = 0; k < 4; ++k) r_.set({k, k}, 1);
  }
  static constexpr const char* kBackend = "cudnn";
  test::Call& call() { return call_; }
  bool is_right() {
    std::array<double, 4> of_bias{};
    for (std::int64_t n = 0; n < 3; ++n) {
      std::array<double, 4> g{};
      for (std::size_t k = 0; k < 4; ++k) g[k] = gh_next_.get({n, static_cast<std::int64_t>(k)});
      for (std::int64_t t = 1; t >= 0; --t) {
        const bool is_there = t < (n == 0 ? 2 : n - 1);
        std::array<double, 2> of_x{};
        for (std::size_t k = 0; k < 4 && is_there; ++k) {
          const auto row = static_cast<std::int64_t>(k);
          g[k] += gy_.get({t, n, row});
          of_bias[k] += g[k];
          for (std::size_t i = 0; i < 2; ++i)
            of_x[i] += g[k] * w_.get({row, static_cast<std::int64_t>(i)});
        }
        if (gx_.get({t, n, 0}) != of_x[0] || gx_.get({t, n, 1}) != of_x[1]) return false;
      }
      for (std::size_t k = 0; k < 4; ++k)
        if (gh_.get({n, static_cast<std::int64_t>(k)}) != g[k]) return false;
    }
    for (std::int64_t k = 0; k < 4; ++k)
      if (gb_.get({k}) != of_bias[static_cast<std::size_t>(k)] || gw_.get({k, 0}) != 0 ||
          gr_.get({k, 0}) != 0)
        return false;
    return true;
  }

 private:
  test::Tensor gy_{DType::f32, {2, 3, 4}};
  test::Tensor gh_next_{DType::f32, {3, 4}};
  test::Tensor x_{DType::f32, {2, 3, 2}};
  test::Tensor h_{DType::f32, {3, 4}};
  test::Tensor w_{DType::f32, {4, 2}, {1, 4}};
  test::Tensor r_{DType::f32, {4, 4}};
  test::Tensor b_{DType::f32, {4}};
  test::Tensor lengths_ = three_lengths();
  test::Tensor gx_{DType::f32, {2, 3, 2}, {6, 2, 1}, -1};
  test::Tensor gh_{DType::f32, {3, 4}};
  test::Tensor gw_{DType::f32, {4, 2}, {2, 1}, -1};
  test::Tensor gr_{DType::f32, {4, 4}, {4, 1}, -1};
  test::Tensor gb_{DType::f32, {4}};
  test::Call call_;
};

template <typename Subject>
const mote_kernel& kernel_of(Subject& subject) {
  return *test::kernel_of(Libraries::all().backend(Subject::kBackend), subject.call().get().op);
}

}  // namespace mote::test::vendor
