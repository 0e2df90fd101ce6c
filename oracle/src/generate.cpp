// SPDX-License-Identifier: Apache-2.0
// Drawing cases: parameters, then sizes that fit a budget of work, then layouts and the fill.
#include "mote/oracle/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>

#include "mote/base/error.h"
#include "mote/oracle/exactness.h"
#include "probe.h"
#include "random.h"

namespace mote {
namespace {

constexpr int kMostDraws = 64;
constexpr std::int64_t kLargestExtent = 1025;
constexpr std::int64_t kLongExtent = 65'536;
constexpr std::int64_t kFarBytes = std::int64_t{1} << 31U;
constexpr double kMostCaseWork = 300'000;
constexpr double kMostLongWork = 400'000;

Number draw_integer(const ParamDecl& p, Random& random) {
  if (!p.lower && !p.upper) {  // a value, not an index
    return random.pick<std::int64_t>({1, 1, 1, 2, -1, 3, 0});
  }
  if (p.lower && p.upper && *p.lower < 0)  // a zero point
    return random.chance(50) ? random.between(*p.lower, *p.upper)
                             : random.pick<std::int64_t>({0, 0, 1, -1, 3});
  const std::int64_t low = p.lower.value_or(p.upper.value_or(0) - 3);
  const std::int64_t width = p.upper ? std::min<std::int64_t>(*p.upper - low, 3) : 3;
  if (p.upper && random.chance(10)) return random.between(low, *p.upper);
  return low + std::min(random.pick<std::int64_t>({0, 0, 0, 0, 1, 1, 2, 3}), width);
}

Number draw_real(const ParamDecl& p, Random& random) {
  if (p.default_value && random.chance(40)) return *p.default_value;
  return random.pick<double>({1, 1, 2, 0.5, -1, 0});
}

/// Each at its own, or all at their defaults, as most calls have them.
Params draw_params(const Program& program, Random& random) {
  Params params;
  const bool defaults = random.chance(25);
  for (const ParamDecl& p : program.params) {
    if (defaults && p.default_value) {
      params[p.name] = p.is_integer ? Number(static_cast<std::int64_t>(*p.default_value))
                                    : Number(*p.default_value);
      continue;
    }
    params[p.name] = p.is_integer ? draw_integer(p, random) : draw_real(p, random);
  }
  return params;
}

/// Extents lean to what kernels get wrong: 0 to 3, and the neighbours of powers of two.
std::int64_t draw_extent(Random& random) {
  const std::int64_t kind = random.below(10);
  if (kind < 3) return random.between(1, 3);
  if (kind < 7) return (std::int64_t{4} << random.below(5)) + random.between(-1, 1);
  return random.between(1, 40);
}

/// Near `extent`: itself, or the neighbour of a power of two.
std::int64_t near_extent(double extent, Random& random) {
  const auto value = std::clamp<std::int64_t>(std::llround(extent), 1, kLargestExtent);
  if (value < 4 || random.chance(40)) return value;
  const auto power = std::int64_t{1} << static_cast<unsigned>(std::lround(std::log2(extent)));
  return std::min(power + random.between(-1, 1), kLargestExtent);
}

TensorMask draw_mask(const Target& target, Random& random) {
  if (target.record() != nullptr && !target.record()->masks.empty()) {
    const std::vector<TensorMask>& masks = target.record()->masks;
    return masks[static_cast<std::size_t>(random.below(std::ssize(masks)))];
  }
  TensorMask mask = 0;
  for (std::size_t k = 0; k < target.inputs().size(); ++k) {
    const bool present = !target.inputs()[k].optional || random.chance(50);
    if (present) mask |= mask_bit(k);
  }
  return mask;
}

/// Sizes whose work is near a goal.
class SizeDrawer {
 public:
  SizeDrawer(const Domain& domain, const Params& params, Random& random)
      : domain_(domain), params_(params), random_(random) {}

  KnobValues draw() {
    KnobValues at;
    for (std::size_t k = 0; k < domain_.knobs.size(); ++k)
      at.values.push_back(draw_extent(random_));
    for (const Symbol pivot : domain_.pivots) at.slack[pivot] = random_.below(4);
    if (at.values.empty()) return at;
    if (random_.chance(2)) return draw_long();
    const bool small = random_.chance(25);
    const double most = std::min(200'000.0, std::pow(1000.0, std::ssize(at.values)));
    const double goal = small ? 600 : random_.log_between(std::min(2'500.0, most / 50), most);
    for (int round = 0; round < 24; ++round) {
      const double work = work_at(at);
      if (work > 1.5 * goal) {
        reduce(at, goal / work);
      } else if (!small && work < goal / 2) {
        grow(at, goal / std::max(work, 1.0));
      } else {
        break;
      }
    }
    coincide(at);
    if (random_.chance(3)) at.values[pick(at)] = 0;
    return at;
  }

 private:
  /// One extent beyond 16 bits, and what work is left for the others.
  KnobValues draw_long() {
    KnobValues at;
    for (std::size_t k = 0; k < domain_.knobs.size(); ++k)
      at.values.push_back(random_.pick<std::int64_t>({1, 1, 1, 2}));
    const std::size_t k = pick(at);
    at.values[k] = kLongExtent + random_.between(-1, 3);
    if (work_at(at) <= kMostLongWork) return at;
    at.values.assign(at.values.size(), 1);
    at.values[k] = kLongExtent + random_.between(-1, 3);
    if (work_at(at) > kMostLongWork) at.values[k] = random_.between(1, 40);
    return at;
  }

  /// Extents that agree, so that an axis which stands for another shows: two, or now and then all.
  void coincide(KnobValues& at) {
    if (at.values.size() < 2 || !random_.chance(25)) return;
    const std::size_t from = pick(at);
    const bool all = random_.chance(25);
    KnobValues next = at;
    if (all) {
      next.values.assign(at.values.size(),
                         random_.chance(60) ? draw_extent(random_) : at.values[from]);
    } else {
      const std::size_t other = pick(at);
      next.values[other == from ? (from + 1) % at.values.size() : other] = at.values[from];
    }
    if (work_at(next) <= kMostCaseWork) at = next;
  }

  std::size_t pick(const KnobValues& at) {
    return static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(at.values.size())));
  }

  double work_at(const KnobValues& at) const {
    const std::optional<Sizes> sizes = solve(domain_, at, params_);
    if (!sizes) return 1e30;
    Binding binding;
    binding.values = *sizes;
    double elements = 0;
    for (const Uop& input : domain_.program->inputs) {
      double volume = 1;
      for (const Expr& e : input.shape()) volume *= static_cast<double>(evaluate(e, *sizes));
      elements += volume;
    }
    return std::max(multiply_adds(*domain_.program, binding), elements);
  }

  void reduce(KnobValues& at, double factor) {
    std::size_t k = pick(at);
    if (random_.chance(60)) {
      k = static_cast<std::size_t>(std::ranges::max_element(at.values) - at.values.begin());
    }
    const auto value = static_cast<double>(at.values[k]);
    at.values[k] = std::min(near_extent(value * std::max(factor, 0.1), random_),
                            std::max<std::int64_t>(at.values[k] - 1, 1));
  }

  void grow(KnobValues& at, double factor) {
    const std::size_t k = pick(at);
    const double by = std::pow(factor, 0.4 + 0.6 * random_.unit());
    at.values[k] =
        std::max(at.values[k], near_extent(static_cast<double>(at.values[k]) * by, random_));
  }

  const Domain& domain_;
  const Params& params_;
  Random& random_;
};

std::set<std::pair<int, int>> draw_ones(const Program& program, Random& random) {
  std::set<std::pair<int, int>> ones;
  for (std::size_t k = 0; k < program.inputs.size(); ++k) {
    const auto& flags = std::get<uop::Input>(program.inputs[k].node().kind).broadcast;
    for (std::size_t axis = 0; axis < flags.size(); ++axis) {
      if (flags[axis] && random.chance(25)) {
        ones.emplace(static_cast<int>(k), static_cast<int>(axis));
      }
    }
  }
  return ones;
}

CaseLayout draw_layout(int rank, bool is_input, Random& random) {
  CaseLayout layout;
  const std::int64_t order = random.below(8);
  if (order < 3 && rank >= 2) layout.order = swapped_order(rank);
  if (order == 3 && rank >= 3) layout.order = nhwc_order(rank);
  if (order == 4 && rank >= 2) {
    layout.order.clear();
    for (int axis = 0; axis < rank; ++axis) {
      layout.order.insert(layout.order.begin() + random.below(axis + 1), axis);
    }
    if (std::ranges::is_sorted(layout.order)) layout.order.clear();
  }
  if (random.chance(40)) layout.pad = random.between(1, 4);
  if (random.chance(20)) layout.offset = random.between(1, 4);
  if (is_input && rank >= 1 && random.chance(16)) {
    layout.repeated = {static_cast<int>(random.below(rank))};
  }
  return layout;
}

void draw_layouts(Case& c, Random& random) {
  if (random.chance(50)) return;
  for (CaseTensor& t : c.inputs) {
    if (random.chance(75)) t.layout = draw_layout(static_cast<int>(t.shape.size()), true, random);
  }
  for (CaseTensor& t : c.outputs) {
    if (random.chance(75)) t.layout = draw_layout(static_cast<int>(t.shape.size()), false, random);
  }
}

/// Some calls store outputs where inputs are.
void draw_in_place(Case& c, Random& random) {
  const OpRecord* record = c.target->record();
  if (record == nullptr || record->in_place.empty() || !random.chance(20)) return;
  for (std::size_t k = 0; k < c.outputs.size(); ++k) {
    std::vector<std::size_t> inputs;
    for (std::size_t j = 0; j < c.inputs.size(); ++j) {
      const auto takes_it = [&](const CaseTensor& y) { return y.in_place == c.inputs[j].name; };
      if (may_share(c, j, k) && std::ranges::none_of(c.outputs, takes_it)) inputs.push_back(j);
    }
    if (inputs.empty() || c.outputs[k].left_out) continue;
    const auto drawn = static_cast<std::size_t>(random.below(std::ssize(inputs)));
    c.outputs[k].in_place = c.inputs[inputs[drawn]].name;
    c.outputs[k].layout = {};
  }
}

Fill draw_fill(Random& random) {
  using enum FillKind;
  const FillKind kind = random.pick({integer, integer, integer, integer, integer, integer, index,
                                     index,   index,   onehot,  onehot,  onehot,  uniform, uniform,
                                     mean,    tiny,    extreme, special, special, negative});
  return {kind, static_cast<std::uint64_t>(random.below(0x10000))};
}

/// Some calls ask for some of the outputs.
void draw_left_out(Case& c, Random& random) {
  const OpRecord* record = c.target->record();
  if (record == nullptr || record->optional_outputs.empty() || !random.chance(40)) return;
  for (CaseTensor& t : c.outputs)
    t.left_out = is_optional_output(*record, t.name) && random.chance(50);
  if (std::ranges::all_of(c.outputs, &CaseTensor::left_out))
    c.outputs[static_cast<std::size_t>(random.below(std::ssize(c.outputs)))].left_out = false;
}

std::uint64_t stream_seed(const Target& target, DType dtype, std::uint64_t seed,
                          std::uint64_t position) {
  std::uint64_t h = mix(seed);
  for (const char c : target.op()) h = mix(h ^ static_cast<unsigned char>(c));
  return mix(mix(h ^ static_cast<std::uint64_t>(dtype)) ^ position);
}

std::optional<Case> draw_case(const std::shared_ptr<const Target>& target, DType dtype,
                              Random& random) {
  Draft draft;
  draft.target = target;
  draft.instance = {dtype, draw_mask(*target, random)};
  const auto program = target->program(draft.instance);
  const Domain& domain = domain_of(program);
  draft.params = draw_params(*program, random);
  draft.at = SizeDrawer(domain, draft.params, random).draw();
  draft.ones = draw_ones(*program, random);
  std::optional<Case> c = to_case(draft);
  if (!c) return c;
  draw_layouts(*c, random);
  c->fill = draw_fill(random);
  draw_left_out(*c, random);
  draw_in_place(*c, random);
  return c;
}

std::pair<Case, int> draw_until_legal(const std::shared_ptr<const Target>& target, DType dtype,
                                      std::uint64_t seed, std::uint64_t position) {
  Random random(stream_seed(*target, dtype, seed, position));
  std::string why = "a derived size cannot be reached";
  for (int draw = 1; draw <= kMostDraws; ++draw) {
    try {
      if (auto c = draw_case(target, dtype, random)) {
        draw_probe(*c, mix(stream_seed(*target, dtype, seed, position)));
        return {*std::move(c), draw};
      }
    } catch (const Error& e) {
      why = e.what();
    }
  }
  throw Error(fmt::format("{}: no legal case in {} draws: {}", target->op(), kMostDraws, why));
}

}  // namespace

const Domain& domain_of(const std::shared_ptr<const Program>& program) {
  static std::mutex mutex;
  static std::unordered_map<const Program*, std::unique_ptr<const Domain>> known;
  const std::lock_guard lock(mutex);
  auto& domain = known[program.get()];
  if (!domain) domain = std::make_unique<const Domain>(make_domain(program));
  return *domain;
}

std::optional<Case> to_case(const Draft& draft) {
  Case c;
  c.target = draft.target;
  c.instance = draft.instance;
  c.program = c.target->program(c.instance);
  c.params = draft.params;
  c.indices = draft.indices;
  const std::optional<Sizes> sizes = solve(domain_of(c.program), draft.at, draft.params);
  if (!sizes) return std::nullopt;
  std::vector<std::vector<std::int64_t>> shapes = input_shapes(*c.program, *sizes);
  for (const auto& [input, axis] : draft.ones) {
    shapes[static_cast<std::size_t>(input)][static_cast<std::size_t>(axis)] = 1;
  }
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Uop& input = c.program->inputs[k];
    c.inputs.push_back({.name = std::get<uop::Input>(input.node().kind).name,
                        .dtype = input.dtype(),
                        .shape = std::move(shapes[k]),
                        .layout = {}});
  }
  complete(c);
  return c;
}

Draft to_draft(const Case& c) {
  Draft draft;
  draft.target = c.target;
  draft.instance = c.instance;
  draft.params = c.params;
  draft.indices = c.indices;
  draft.at = knob_values(domain_of(c.program), c.binding.values);
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    const std::vector<std::int64_t>& full = c.binding.inputs[k];
    const std::size_t missing = full.size() - c.inputs[k].shape.size();
    for (std::size_t axis = 0; axis < full.size(); ++axis) {
      const std::int64_t extent = axis < missing ? 1 : c.inputs[k].shape[axis - missing];
      if (extent != full[axis]) draft.ones.emplace(static_cast<int>(k), static_cast<int>(axis));
    }
  }
  return draft;
}

Case generate(const std::shared_ptr<const Target>& target, DType dtype, std::uint64_t seed,
              std::uint64_t position) {
  return draw_until_legal(target, dtype, seed, position).first;
}

std::vector<Case> far_cases(const std::shared_ptr<const Target>& target, DType dtype) {
  Draft draft;
  draft.target = target;
  draft.instance = {dtype, target->full_mask()};
  if (target->record() != nullptr && !target->record()->masks.empty())
    draft.instance.input_mask = target->record()->masks.back();
  const auto program = target->program(draft.instance);
  Random random(stream_seed(*target, dtype, 0, 0));
  draft.params = draw_params(*program, random);
  draft.at.values.assign(domain_of(program).knobs.size(), 2);
  const std::optional<Case> near = to_case(draft);
  std::vector<Case> cases;
  if (!near) return cases;
  const std::int64_t pad = kFarBytes / static_cast<std::int64_t>(size_of(dtype));
  for (auto Case::*tensors : {&Case::inputs, &Case::outputs})
    for (std::size_t k = 0; k < ((*near).*tensors).size(); ++k) {
      const std::vector<std::int64_t>& shape = ((*near).*tensors)[k].shape;
      if (shape.size() < 2 || volume(shape) == 0 || volume(shape) > 64) continue;
      Case far = *near;
      (far.*tensors)[k].layout.pad = pad;
      cases.push_back(std::move(far));
    }
  return cases;
}

int draws_taken(const std::shared_ptr<const Target>& target, DType dtype, std::uint64_t seed,
                std::uint64_t position) {
  return draw_until_legal(target, dtype, seed, position).second;
}

}  // namespace mote
