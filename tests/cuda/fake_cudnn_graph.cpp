// SPDX-License-Identifier: Apache-2.0
// The fake cuDNN's operations of a graph, one after another. Sums and functions in floats, each
// result rounded to its tensor's type.
#include <cmath>

#include "fake_cudnn_run.h"

using namespace fake::cudnn;

namespace fake::cudnn {
namespace {

constexpr int kConvolution = 10, kPointwise = 13, kMatmul = 19, kReduction = 22, kNorm = 29,
              kNormGradient = 30, kReshape = 31;

bool is_of_16_bits(const TensorDesc& t) { return t.type == 2 || t.type == 9; }

class Run {
 public:
  explicit Run(Slots& slots) : slots_(slots) {}

  /// Heads of a that share one of b read it in groups. Both operands are of the fewer bits.
  void matmul(const BackendDesc& op) {
    Slot& a = slots_.of(op, 1520);
    Slot& b = slots_.of(op, 1521);
    Slot& c = slots_.of(op, 1522);
    const std::size_t rank = c.desc().dims.size();
    const int type = is_of_16_bits(a.desc()) ? a.desc().type : b.desc().type;
    each(c.desc().dims, [&](const Dims& at) {
      Dims of_a = at, of_b = at;
      for (std::size_t k = 0; k + 2 < rank; ++k)
        of_b[k] = at[k] * b.desc().dims[k] / c.desc().dims[k];
      Sum total(false);
      for (std::int64_t k = 0; k < a.desc().dims[rank - 1]; ++k) {
        of_a[rank - 1] = of_b[rank - 2] = k;
        total.add(rounded(type, a.get(of_a)) * rounded(type, b.get(of_b)));
      }
      c.set(at, total.get());
    });
  }

  /// Along an axis of which y has fewer, each of y's is of as many neighbours.
  void reduction(const BackendDesc& op) {
    Slot& x = slots_.of(op, 1610);
    Slot& y = slots_.of(op, 1611);
    const bool is_sum = op.link(1612)->value<int>(1600) == 0;
    Dims along = x.desc().dims;
    for (std::size_t k = 0; k < along.size(); ++k) along[k] /= y.desc().dims[k];
    each(y.desc().dims, [&](const Dims& at) {
      double value = is_sum ? 0 : -std::numeric_limits<double>::infinity();
      Dims first = at;
      for (std::size_t k = 0; k < first.size(); ++k) first[k] *= along[k];
      each(along, [&](const Dims& step) {
        const double next = x.get(sum(first, step));
        value = is_sum ? as_float(value + next) : greater(value, next);
      });
      y.set(at, value);
    });
  }

  /// The elements at the same places in memory.
  void reshape(const BackendDesc& op) {
    Slot& x = slots_.of(op, 2200);
    Slot& y = slots_.of(op, 2201);
    const auto place = [](const TensorDesc& t, const Dims& at) {
      std::int64_t offset = 0;
      for (std::size_t k = 0; k < at.size(); ++k) offset += at[k] * t.strides[k];
      return offset;
    };
    std::map<std::int64_t, double> elements;
    each(x.desc().dims, [&](const Dims& at) { elements[place(x.desc(), at)] = x.get(at); });
    each(y.desc().dims, [&](const Dims& at) {
      const auto from = elements.find(place(y.desc(), at));
      require(from != elements.end());
      y.set(at, from->second);
    });
  }

  void pointwise(const BackendDesc& op) {
    const BackendDesc& function = *op.link(750);
    Slot& x = slots_.of(op, 751);
    Slot* const b = op.has(752) ? &slots_.of(op, 752) : nullptr;
    Slot* const t = op.has(758) ? &slots_.of(op, 758) : nullptr;
    Slot& y = slots_.of(op, 753);
    each(y.desc().dims, [&](const Dims& at) {
      const double left = x.get(at), right = b == nullptr ? 0 : b->get(at);
      switch (function.value<int>(0)) {
        case 0:
          return y.set(at, left + right);
        case 1:
          return y.set(at, left * right);
        case 6:
          return y.set(at, left / right);
        case 9:
          return y.set(at, left - right);
        case 13:
          return y.set(at, std::exp(left));
        case 15:
          return y.set(at, std::log(left));
        case 100:
          return y.set(at, left > 0 ? left : 0);  // NaN is not kept unless that is asked for
        case 303:
          return y.set(at, left >= right ? 1 : 0);
        case 501:
          return y.set(at, static_cast<double>(
                               at.at(static_cast<std::size_t>(function.value<std::int64_t>(9)))));
        case 601:
          return y.set(at, t->get(at) != 0 ? left : right);
        default:
          throw Unsupported(kNotSupported);
      }
    });
  }

 private:
  Slots& slots_;
};

}  // namespace

void check_operation(const BackendDesc& op) {
  if (op.kind == kConvolution) check_convolution(op);
  if (op.kind == kNorm) check_norm(op);
  if (op.kind == kNormGradient) check_norm_gradient(op);
}

namespace {

using Operations = std::vector<std::shared_ptr<const BackendDesc>>;

/// Functions of elements by their number, other operations by that of their kind, below 0.
std::vector<int> kinds_of(const Operations& operations) {
  std::vector<int> kinds;
  for (const auto& op : operations)
    kinds.push_back(op->kind == kPointwise ? op->link(750)->value<int>(0) : -op->kind);
  return kinds;
}

/// Of 16 bits, with rows of eights.
bool is_whole(const BackendDesc* t) {
  const TensorDesc of = described(*t);
  return is_of_16_bits(of) && of.dims.back() % 8 == 0 && of.strides.back() == 1;
}

bool is_stored_float(const BackendDesc* t) {
  return !t->value<bool>(907) && t->value<int>(901) == 0;
}

const std::vector<int> kCausal = {501, 501, 303, 601};

void append(std::vector<int>& to, const std::vector<int>& more, bool where = true) {
  if (where) to.insert(to.end(), more.begin(), more.end());
}

/// Products, their factor, a mask, causal (two indices, a comparison, a choice), then softmax.
bool is_attention(const Operations& operations) {
  const std::vector<int> kinds = kinds_of(operations);
  std::vector<int> expected = {-kMatmul, 1};
  append(expected, {0}, kinds.size() > 2 && kinds[2] == 0);
  append(expected, kCausal, std::ranges::count(kinds, 501) > 0);
  append(expected, {-kReduction, 9, 13, -kReduction, 15, 0, 6, -kMatmul});
  if (kinds != expected) return false;
  const BackendDesc& first = *operations.front();
  const BackendDesc& last = *operations.back();
  return is_whole(first.link(1520)) && is_whole(last.link(1521)) && is_whole(last.link(1522)) &&
         last.link(1520)->value<int>(901) == last.link(1522)->value<int>(901) &&
         is_stored_float(operations[operations.size() - 3]->link(753));
}

/// The sum of gy y; the scores again; gv, whose heads are summed where they are shared; the
/// gradient of the scores; gk; gq.
bool is_attention_gradient(const Operations& operations) {
  const std::vector<int> kinds = kinds_of(operations);
  if (kinds.size() < 17) return false;
  std::vector<int> expected = {1, -kReduction, 1, -kMatmul, 1};
  append(expected, {0}, kinds[5] == 0);
  append(expected, {9});
  append(expected, kCausal, std::ranges::count(kinds, 501) > 0);
  const bool are_shared = std::ranges::count(kinds, -kReduction) == 3;
  append(expected, {13, -kReshape, -kMatmul});
  append(expected, {-kReduction}, are_shared);
  append(expected, {-kMatmul, 9, 1, 1, -kReshape, -kMatmul});
  append(expected, {-kReduction}, are_shared);
  append(expected, {-kReshape, -kMatmul});
  if (kinds != expected) return false;
  const BackendDesc& scores = *operations[3];
  const int type = scores.link(1520)->value<int>(901);
  for (const auto& op : operations)
    if (op->kind == kReshape && op->link(2201)->value<int>(901) != type) return false;
  const BackendDesc& minus_sums = *operations[kinds[5] == 0 ? 6 : 5];
  return is_whole(operations[0]->link(751)) && is_whole(operations[0]->link(752)) &&
         is_whole(scores.link(1520)) && is_whole(operations.back()->link(1522)) &&
         is_stored_float(operations[2]->link(753)) && is_stored_float(minus_sums.link(752));
}

/// A convolution, a bias along its channels, and then perhaps what is positive of it: of 16 bits,
/// or floats.
bool is_fused_convolution(const Operations& operations) {
  const std::vector<int> kinds = kinds_of(operations);
  if (kinds != std::vector{-kConvolution, 0} && kinds != std::vector{-kConvolution, 0, 100})
    return false;
  const BackendDesc& convolution = *operations[0];
  const TensorDesc x = described(*convolution.link(704)),
                   y = described(*operations.back()->link(753)),
                   bias = described(*operations[1]->link(752));
  // Each reads what the one before it wrote, which is stored nowhere.
  const BackendDesc* result = convolution.link(705);
  for (std::size_t k = 1; k < operations.size(); ++k) {
    if (!result->value<bool>(907) ||
        operations[k]->link(751)->value<std::int64_t>(906) != result->value<std::int64_t>(906))
      return false;
    result = operations[k]->link(753);
  }
  Dims along_channels(y.dims.size(), 1);
  along_channels[1] = y.dims[1];
  return (is_of_16_bits(x) || x.type == 0) && described(*convolution.link(703)).type == x.type &&
         y.type == x.type && bias.type == x.type && bias.dims == along_channels;
}

}  // namespace

bool is_known(const BackendDesc& graph) {
  const Operations& operations = graph.links.at(801);
  if (operations.size() == 1)
    return operations[0]->kind == kNorm || operations[0]->kind == kNormGradient;
  return is_fused_convolution(operations) || is_attention(operations) ||
         is_attention_gradient(operations);
}

bool is_narrow(const BackendDesc& graph) {
  for (const auto& op : graph.links.at(801))
    for (const auto& [name, links] : op->links) {
      const int type = links[0]->value<int>(901, -1);
      if (type == 2 || type == 9) return true;
    }
  return false;
}

void run_graph(const BackendDesc& graph, const std::map<std::int64_t, void*>& data) {
  Slots slots(data);
  Run run(slots);
  for (const auto& op : graph.links.at(801)) {
    switch (op->kind) {
      case kConvolution:
        run_convolution(*op, slots);
        break;
      case kNorm:
        run_norm(*op, slots);
        break;
      case kNormGradient:
        run_norm_gradient(*op, slots);
        break;
      case kMatmul:
        run.matmul(*op);
        break;
      case kReduction:
        run.reduction(*op);
        break;
      case kReshape:
        run.reshape(*op);
        break;
      case kPointwise:
        run.pointwise(*op);
        break;
      default:
        throw Unsupported(kNotSupported);
    }
  }
}

}  // namespace fake::cudnn
