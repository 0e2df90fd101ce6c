// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's operations of a graph, one after another. They are ops of the catalogue, each
// result is rounded to its tensor's type, and sums are kept in floats.
#include "fake_cudnn_graph.h"

namespace fake::cudnn {

using namespace attribute;

namespace {

Tensor floats(const Tensor& values) { return converted(values, DType::f32); }
Tensor product(const Tensor& a, const Tensor& b) { return result("mul", {a, b}); }
Tensor difference(const Tensor& a, const Tensor& b) { return result("sub", {a, b}); }
/// A reduction whose sums are floats.
Tensor reduced_floats(const char* op, const Tensor& values, const Dims& to) {
  return converted(reduced(op, floats(values), to));
}

/// The functions of elements as ops.
const std::map<int, const char*> kFunctions = {{kAdd, "add"},
                                               {kMultiply, "mul"},
                                               {kDivide, "div"},
                                               {kSubtract, "sub"},
                                               {kExp, "exp"},
                                               {kLogarithm, "log"},
                                               {kNotLess, "greater_or_equal"},
                                               {kSelect, "where"},
                                               {kRectify, "where"}};

/// The tensors of a graph while it runs, by their ids: in the GPU's memory, numbers of the
/// caller's, or within the graph.
class Run {
 public:
  explicit Run(const std::map<std::int64_t, void*>& data) : data_(data) {}

  void operation(const BackendDesc& op) {
    static const std::map<int, void (Run::*)(const BackendDesc&)> all = {
        {descriptor::kConvolutionForward, &Run::convolution},
        {descriptor::kNormForward, &Run::norm},
        {descriptor::kNormBackward, &Run::norm_gradient},
        {descriptor::kMatmulOperation, &Run::matmul},
        {descriptor::kReductionOperation, &Run::reduction},
        {descriptor::kReshapeOperation, &Run::reshape},
        {descriptor::kPointwiseOperation, &Run::pointwise}};
    (this->*all.at(op.kind))(op);
  }

 private:
  static std::int64_t id(const BackendDesc& tensor) {
    return tensor.value<std::int64_t>(kTensorId);
  }
  void* address(const BackendDesc& tensor) const {
    const auto at = data_.find(id(tensor));
    const auto alignment = static_cast<std::uint64_t>(tensor.value<std::int64_t>(kTensorAlignment));
    require(at != data_.end() && at->second != nullptr && alignment != 0);
    require(tensor.value<bool>(kTensorIsByValue) ||
            reinterpret_cast<std::uint64_t>(at->second) % alignment == 0);
    return at->second;
  }
  Tensor get(const BackendDesc& op, int name) const {
    const BackendDesc& tensor = op.link(name);
    if (tensor.value<bool>(kTensorIsVirtual)) return held_.at(id(tensor));
    if (!tensor.value<bool>(kTensorIsByValue)) return read(tensor.tensor(), address(tensor));
    return filled(tensor.tensor().dims, static_cast<double>(*static_cast<float*>(address(tensor))));
  }
  void set(const BackendDesc& op, int name, const Tensor& values) {
    const BackendDesc& to = op.link(name);
    const TensorDesc desc = to.tensor();
    const Tensor all = values.reshape(desc.dims);
    if (!to.value<bool>(kTensorIsVirtual)) return write(view(desc, address(to)), all);
    held_[id(to)] =
        desc.type == kBool || desc.type == kInt32 ? all : rounded(all, dtype_of(desc.type));
  }

  void convolution(const BackendDesc& op) {
    const Tensor x = floats(get(op, kForwardX)), w = floats(get(op, kForwardW));
    set(op, kForwardY, convolved(convolution_op(op), x, w, convolution_params(op)));
  }

  /// Heads of a that share one of b read it in groups. Both operands are of the fewer bits.
  void matmul(const BackendDesc& op) {
    const int type_of_a = op.tensor(kMatmulA).type;
    const DType type = dtype_of(is_narrow(type_of_a) ? type_of_a : op.tensor(kMatmulB).type);
    const Tensor a = floats(rounded(get(op, kMatmulA), type)),
                 b = floats(rounded(get(op, kMatmulB), type));
    require(a.rank() == 4 && b.rank() == 4 && a.extent(1) % b.extent(1) == 0, kNotSupported);
    const std::int64_t m = a.extent(2), k = a.extent(3), n = b.extent(3);
    const std::int64_t shared = b.extent(0) * b.extent(1), groups = a.extent(1) / b.extent(1);
    set(op, kMatmulC,
        result("matmul", {a.reshape({shared, groups, m, k}), b.reshape({shared, 1, k, n})}));
  }

  /// If y has fewer elements along an axis, each is reduced from that number of neighbours.
  void reduction(const BackendDesc& op) {
    const bool is_sum = op.link(kReductionDesc).value<int>(kReductionOperator) == kReduceAdd;
    set(op, kReductionY,
        reduced_floats(is_sum ? "sum" : "reduce_max", get(op, kReductionX),
                       op.tensor(kReductionY).dims));
  }

  /// y has the elements at the same locations in memory.
  void reshape(const BackendDesc& op) {
    const TensorDesc x = op.tensor(kReshapeX), y = op.tensor(kReshapeY);
    const auto bytes = mote::checked_span(DType::f64, x.dims, x.strides);
    require(bytes == mote::checked_span(DType::f64, y.dims, y.strides));
    std::vector<char> memory(static_cast<std::size_t>(bytes));
    mote::copy(get(op, kReshapeX), Tensor::over(memory.data(), DType::f64, x.dims, x.strides));
    set(op, kReshapeY, converted(Tensor::over(memory.data(), DType::f64, y.dims, y.strides)));
  }

  void pointwise(const BackendDesc& op) {
    const BackendDesc& function = op.link(kPointwiseDesc);
    const int mode = function.value<int>(kPointwiseMode);
    if (mode == kIndexAlong) {
      const auto axis = static_cast<int>(function.value<std::int64_t>(kPointwiseAxis));
      const Tensor ones = filled(op.tensor(kPointwiseY).dims, 1);
      return set(op, kPointwiseY, result("cumsum", {ones}, {{"exclusive", 1}}, axis));
    }
    std::vector<Tensor> inputs = {get(op, kPointwiseX)};
    if (op.has(kPointwiseB)) inputs.push_back(get(op, kPointwiseB));
    if (op.has(kPointwiseT)) inputs.insert(inputs.begin(), get(op, kPointwiseT));
    if (mode == kRectify) {  // NaN is not kept unless that is asked for
      const Tensor zero = filled({1}, 0);
      inputs = {result("greater", {inputs[0], zero}), inputs[0], zero};
    }
    set(op, kPointwiseY, result(kFunctions.at(mode), inputs));
  }

  /// The variance is found in one pass, which is what contracts promise.
  void norm(const BackendDesc& op) {
    const Tensor x = get(op, kNormX);
    const bool is_rms = op.value<int>(kNormMode) == kRmsNorm;
    const Dims rows = rows_of(op.value<int>(kNormMode), op.tensor(kNormX).dims);
    const Tensor none = filled({1}, 0), mean = is_rms ? none : reduced_floats("mean", x, rows);
    const Tensor squares = reduced_floats("mean", product(x, x), rows);
    const Tensor variance = result("max", {difference(squares, product(mean, mean)), none});
    const Tensor inverse = result("rsqrt", {result("add", {variance, get(op, kNormEpsilon)})});
    if (op.has(kNormMean)) set(op, kNormMean, mean);
    if (op.has(kNormInverse)) set(op, kNormInverse, inverse);
    Tensor y = product(difference(x, mean), inverse);
    if (op.has(kNormScale)) y = product(y, get(op, kNormScale));
    if (op.has(kNormBias)) y = result("add", {y, get(op, kNormBias)});
    set(op, kNormY, y);
  }

  /// The gradient with the statistics that are given.
  void norm_gradient(const BackendDesc& op) {
    const Tensor gy = get(op, kNormGradientGy), inverse = get(op, kNormGradientInverse);
    const bool is_rms = op.value<int>(kNormGradientMode) == kRmsNorm;
    const Dims dims = op.tensor(kNormGradientX).dims,
               rows = rows_of(op.value<int>(kNormGradientMode), dims);
    const Tensor mean = is_rms ? filled({1}, 0) : get(op, kNormGradientMean);
    const Tensor standard = product(difference(get(op, kNormGradientX), mean), inverse);
    const Tensor scaled = product(gy, get(op, kNormGradientScale));
    const Tensor slope = reduced_floats("mean", product(scaled, standard), rows);
    const Tensor shift = is_rms ? filled({1}, 0) : reduced_floats("mean", scaled, rows);
    set(op, kNormGradientGx,
        product(difference(difference(scaled, shift), product(standard, slope)), inverse));
    set(op, kNormGradientGscale,
        reduced_floats("sum", product(gy, standard), along_channels(dims)));
    if (op.has(kNormGradientGbias))
      set(op, kNormGradientGbias, reduced_floats("sum", gy, along_channels(dims)));
  }

  const std::map<std::int64_t, void*>& data_;
  std::map<std::int64_t, Tensor> held_;
};

}  // namespace

void run_graph(const BackendDesc& graph, const std::map<std::int64_t, void*>& data) {
  Run run(data);
  for (const auto& op : graph.links.at(kGraphOperations)) run.operation(*op);
}

}  // namespace fake::cudnn
