// The fake cuDNN's operations of a graph, one after another. Sums and functions in floats, each
// result rounded to its tensor's type.
#include "fake_cudnn_graph.h"

#include <cmath>

using namespace fake::cudnn;

namespace fake::cudnn {
namespace {

constexpr int kPointwise = 13, kMatmul = 19, kReduction = 22, kNorm = 29;
constexpr int kInt32 = 4, kBoolean = 11;
constexpr int kLayer = 0, kInstance = 1, kRms = 4;

double as_float(double value) { return static_cast<double>(static_cast<float>(value)); }

TensorDesc described(const BackendDesc& t) {
  return {t.value<int>(901), t.values<std::int64_t>(902), t.values<std::int64_t>(903)};
}

/// A value as an element of that type.
double rounded(int type, double value) {
  if (type == kInt32 || type == kBoolean) return value;
  if (type == 2) return mote::from_f16(mote::to_f16(value));
  return type == 9 ? mote::from_bf16(mote::to_bf16(value)) : as_float(value);
}

bool is_packed(const TensorDesc& t) {
  std::int64_t inner = 1;
  for (std::size_t k = t.dims.size(); k-- > 0; inner *= t.dims[k])
    if (t.dims[k] != 1 && t.strides[k] != inner) return false;
  return true;
}

void require(bool is_legal, int status = kBadParam) {
  if (!is_legal) throw Unsupported(status);
}

/// One tensor of the graph while it runs: in the GPU's memory, a number of the caller's, or within
/// the graph.
class Slot {
 public:
  Slot(const BackendDesc& tensor, void* data)
      : desc_(described(tensor)), is_virtual_(tensor.value<bool>(907)) {
    if (tensor.value<bool>(908)) {
      number_ = static_cast<double>(*static_cast<const float*>(data));
      is_number_ = true;
    } else if (!is_virtual_) {
      const auto alignment = static_cast<std::uint64_t>(tensor.value<std::int64_t>(900));
      require(data != nullptr && alignment != 0 &&
              reinterpret_cast<std::uint64_t>(data) % alignment == 0);
      elements_ = std::make_unique<View>(desc_, data);
    }
  }
  const TensorDesc& desc() const { return desc_; }
  double get(const Dims& index) const {
    const Dims at = repeated(index, desc_.dims);
    return is_number_ ? number_ : is_virtual_ ? held_.at(at) : elements_->get(at);
  }
  void set(const Dims& index, double value) {
    if (is_virtual_)
      held_[index] = rounded(desc_.type, value);
    else
      elements_->set(index, value);
  }

 private:
  TensorDesc desc_;
  bool is_virtual_, is_number_ = false;
  double number_ = 0;
  std::unique_ptr<View> elements_;
  std::map<Dims, double> held_;
};

class Run {
 public:
  explicit Run(const std::map<std::int64_t, void*>& data) : data_(data) {}

  void norm(const BackendDesc& op) {
    const bool is_rms = op.value<int>(2000) == kRms;
    Slot& x = slot(op, 2002);
    Slot& y = slot(op, 2013);
    const double eps = slot(op, 2007).get(Dims(x.desc().dims.size(), 0));
    Dims inner = x.desc().dims, outer(inner.size(), 1);
    const std::size_t kept = op.value<int>(2000) == kInstance ? 2 : 1;
    for (std::size_t k = 0; k < kept; ++k) std::swap(inner[k], outer[k]);
    each(outer, [&](const Dims& row) {
      const Moments m = moments(x, row, inner, is_rms, eps);
      if (op.has(2003)) slot(op, 2003).set(row, m.mean);
      if (op.has(2004)) slot(op, 2004).set(row, m.inverse);
      each(inner, [&](const Dims& step) {
        const Dims at = sum(row, step);
        double value = as_float(as_float(x.get(at) - m.mean) * m.inverse);
        if (op.has(2005)) value = as_float(value * slot(op, 2005).get(at));
        if (op.has(2006)) value = as_float(value + slot(op, 2006).get(at));
        y.set(at, value);
      });
    });
  }

  /// Heads of a that share one of b read it in groups.
  void matmul(const BackendDesc& op) {
    Slot& a = slot(op, 1520);
    Slot& b = slot(op, 1521);
    Slot& c = slot(op, 1522);
    const std::size_t rank = c.desc().dims.size();
    each(c.desc().dims, [&](const Dims& at) {
      Dims of_a = at, of_b = at;
      for (std::size_t k = 0; k + 2 < rank; ++k)
        of_b[k] = at[k] * b.desc().dims[k] / c.desc().dims[k];
      Sum total(false);
      for (std::int64_t k = 0; k < a.desc().dims[rank - 1]; ++k) {
        of_a[rank - 1] = of_b[rank - 2] = k;
        total.add(a.get(of_a) * b.get(of_b));
      }
      c.set(at, total.get());
    });
  }

  void reduction(const BackendDesc& op) {
    Slot& x = slot(op, 1610);
    Slot& y = slot(op, 1611);
    const bool is_sum = op.link(1612)->value<int>(1600) == 0;
    Dims along = x.desc().dims;
    for (std::size_t k = 0; k < along.size(); ++k)
      if (y.desc().dims[k] != 1) along[k] = 1;
    each(y.desc().dims, [&](const Dims& at) {
      double value = is_sum ? 0 : -std::numeric_limits<double>::infinity();
      each(along, [&](const Dims& step) {
        const double next = x.get(sum(at, step));
        value = is_sum ? as_float(value + next) : greater(value, next);
      });
      y.set(at, value);
    });
  }

  void pointwise(const BackendDesc& op) {
    const BackendDesc& function = *op.link(750);
    Slot& x = slot(op, 751);
    Slot* const b = op.has(752) ? &slot(op, 752) : nullptr;
    Slot* const t = op.has(758) ? &slot(op, 758) : nullptr;
    Slot& y = slot(op, 753);
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
  struct Moments {
    double mean, inverse;
  };
  /// The variance from the sum of squares, as it is found in one pass.
  static Moments moments(const Slot& x, const Dims& row, const Dims& inner, bool is_rms,
                         double eps) {
    Sum total(false), squares(false);
    double count = 0;
    each(inner, [&](const Dims& step) {
      const double value = x.get(sum(row, step));
      total.add(value);
      squares.add(value * value);
      ++count;
    });
    const double mean = is_rms ? 0 : as_float(total.get() / count);
    const double square = as_float(squares.get() / count);
    const double variance = as_float(square - as_float(mean * mean));
    const double positive = variance < 0 ? 0 : variance;
    return {mean, as_float(1 / as_float(std::sqrt(as_float(positive + eps))))};
  }
  static Dims sum(const Dims& a, const Dims& b) {
    Dims at = a;
    for (std::size_t k = 0; k < at.size(); ++k) at[k] += b[k];
    return at;
  }
  Slot& slot(const BackendDesc& op, int name) {
    const BackendDesc& tensor = *op.link(name);
    const auto id = tensor.value<std::int64_t>(906);
    const auto at = data_.find(id);
    require(at != data_.end() || tensor.value<bool>(907));
    return slots_.try_emplace(id, tensor, at == data_.end() ? nullptr : at->second).first->second;
  }

  const std::map<std::int64_t, void*>& data_;
  std::map<std::int64_t, Slot> slots_;
};

/// cuDNN 9: over packed tensors of floats or 16 bits, with parameters of the same type or floats;
/// an instance norm wants both parameters.
void check_norm(const BackendDesc& op) {
  const TensorDesc x = described(*op.link(2002)), y = described(*op.link(2013));
  const int mode = op.value<int>(2000);
  require(mode == kLayer || mode == kInstance || mode == kRms, kNotSupported);
  require(are_alike(x, y) && is_packed(x) && is_packed(y) && x.type != 1);
  Dims vector(x.dims.size(), 1), row(x.dims.size(), 1);
  vector[1] = x.dims[1];
  row[0] = x.dims[0];
  if (mode == kInstance) row[1] = x.dims[1];
  for (const int name : {2005, 2006}) {
    if (!op.has(name)) {
      require(mode != kInstance, kNotSupported);
      continue;
    }
    const TensorDesc v = described(*op.link(name));
    require(v.dims == vector && is_packed(v) && (v.type == x.type || v.type == 0));
  }
  const bool is_training = op.value<int>(2001) == 1;
  require(op.has(2003) == (is_training && mode != kRms) && op.has(2004) == is_training);
  for (const int name : {2003, 2004})
    if (op.has(name)) {
      const TensorDesc statistic = described(*op.link(name));
      require(statistic.dims == row && statistic.type == 0);
    }
}

}  // namespace

void check_operation(const BackendDesc& op) {
  if (op.kind == kNorm) check_norm(op);
}

bool is_known(const BackendDesc& graph) {
  const auto& operations = graph.links.at(801);
  if (operations.size() == 1) return operations[0]->kind == kNorm;
  // Products, their factor, a mask, causal (two indices, a comparison, a choice), then softmax.
  std::vector<int> functions;
  for (const auto& op : operations)
    functions.push_back(op->kind == kPointwise ? op->link(750)->value<int>(0) : -op->kind);
  std::vector<int> expected = {-kMatmul, 1};
  if (functions.size() > 2 && functions[2] == 0) expected.push_back(0);
  if (std::ranges::count(functions, 501) > 0) expected.insert(expected.end(), {501, 501, 303, 601});
  expected.insert(expected.end(), {-kReduction, 9, 13, -kReduction, 15, 0, 6, -kMatmul});
  if (functions != expected) return false;
  const BackendDesc& first = *operations.front();
  const BackendDesc& last = *operations.back();
  const BackendDesc& sums = *operations[operations.size() - 3]->link(753);
  const auto is_whole = [](const BackendDesc& t) {
    const TensorDesc of = described(t);
    return (of.type == 2 || of.type == 9) && of.dims.back() % 8 == 0 && of.strides.back() == 1;
  };
  return is_whole(*first.link(1520)) && is_whole(*last.link(1521)) && is_whole(*last.link(1522)) &&
         last.link(1520)->value<int>(901) == last.link(1522)->value<int>(901) &&
         !sums.value<bool>(907) && sums.value<int>(901) == 0;
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
  Run run(data);
  for (const auto& op : graph.links.at(801)) {
    switch (op->kind) {
      case kNorm:
        run.norm(*op);
        break;
      case kMatmul:
        run.matmul(*op);
        break;
      case kReduction:
        run.reduction(*op);
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
