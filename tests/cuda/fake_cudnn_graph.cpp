// The fake cuDNN's operations of a graph, one after another. Sums and functions in floats, each
// result rounded to its tensor's type.
#include <cmath>

#include "fake_cudnn_run.h"

using namespace fake::cudnn;

namespace fake::cudnn {
namespace {

constexpr int kPointwise = 13, kMatmul = 19, kReduction = 22, kNorm = 29, kNormGradient = 30;
class Run {
 public:
  explicit Run(Slots& slots) : slots_(slots) {}

  /// Heads of a that share one of b read it in groups.
  void matmul(const BackendDesc& op) {
    Slot& a = slots_.of(op, 1520);
    Slot& b = slots_.of(op, 1521);
    Slot& c = slots_.of(op, 1522);
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
    Slot& x = slots_.of(op, 1610);
    Slot& y = slots_.of(op, 1611);
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
  if (op.kind == kNorm) check_norm(op);
  if (op.kind == kNormGradient) check_norm_gradient(op);
}

bool is_known(const BackendDesc& graph) {
  const auto& operations = graph.links.at(801);
  if (operations.size() == 1)
    return operations[0]->kind == kNorm || operations[0]->kind == kNormGradient;
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
  Slots slots(data);
  Run run(slots);
  for (const auto& op : graph.links.at(801)) {
    switch (op->kind) {
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
      case kPointwise:
        run.pointwise(*op);
        break;
      default:
        throw Unsupported(kNotSupported);
    }
  }
}

}  // namespace fake::cudnn
