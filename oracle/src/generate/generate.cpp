// SPDX-License-Identifier: Apache-2.0
// Draws cases: parameters, then sizes that fit a budget of work, then layouts and the fill.
#include "mote/oracle/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "generate/draw_layout.h"
#include "generate/draw_sizes.h"
#include "generate/random.h"
#include "judge/probe.h"
#include "mote/base/error.h"

namespace mote {
namespace {

constexpr int kMaxDraws = 64;

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

/// Draws each parameter, or takes all defaults, as most calls do.
Params draw_params(const Program& program, bool only_defaults, Random& random) {
  Params params;
  const bool defaults = random.chance(25) || only_defaults;
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

/// Draws axes that repeat, and leading ones of them that are not written.
void draw_ones(Draft& draft, const Program& program, Random& random) {
  auto& ones = draft.ones;
  for (std::size_t k = 0; k < program.inputs.size(); ++k) {
    const auto& flags = std::get<uop::Input>(program.inputs[k].node().kind).broadcast;
    for (std::size_t axis = 0; axis < flags.size(); ++axis) {
      if (flags[axis] && random.chance(25)) {
        ones.emplace(static_cast<int>(k), static_cast<int>(axis));
      }
    }
    const auto leading =
        std::ranges::find(flags, false) - flags.begin();  // those that may be left out
    if (leading == 0 || !random.chance(25)) continue;
    const int missing = static_cast<int>(random.between(1, leading));
    for (int axis = 0; axis < missing; ++axis) ones.emplace(static_cast<int>(k), axis);
    draft.missing[static_cast<int>(k)] = missing;
  }
}

/// Lets outputs take the memory of inputs, in some calls.
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
  const FillKind kind =
      random.pick({integer, integer,  integer, integer, integer, integer, index, index,   index,
                   onehot,  onehot,   onehot,  uniform, uniform, mean,    tiny,  extreme, special,
                   special, negative, ties,    ties,    runs,    runs,    range, range});
  return {kind, static_cast<std::uint64_t>(random.below(0x10000))};
}

/// Leaves outputs out, in some calls.
void draw_left_out(Case& c, Random& random) {
  const OpRecord* record = c.target->record();
  if (record == nullptr || record->optional_outputs.empty() || !random.chance(40)) return;
  for (CaseTensor& t : c.outputs)
    t.left_out = is_optional_output(*record, t.name) && random.chance(50);
  if (std::ranges::all_of(c.outputs, &CaseTensor::left_out))
    c.outputs[static_cast<std::size_t>(random.below(std::ssize(c.outputs)))].left_out = false;
}

std::uint64_t stream_seed(const Target& target, DType dtype, const DrawnAs& as) {
  std::uint64_t h = mix(as.seed);
  for (const char c : target.op()) h = mix(h ^ static_cast<unsigned char>(c));
  h = mix(mix(h ^ static_cast<std::uint64_t>(dtype)) ^ as.position);
  return as.attempt == 0 ? h : mix(h ^ mix(as.attempt));
}

void draw_locations(Case& c, SizeGoal goal, const DrawStyle& style, Random& random) {
  switch (style.layouts) {
    case DrawStyle::Layouts::any:
      draw_layouts(c, random);
      break;
    case DrawStyle::Layouts::row_major:
      break;
    case DrawStyle::Layouts::channels_last:
      lay_out_alike(c, CommonOrder::channels_last);
      break;
    case DrawStyle::Layouts::by_columns:
      lay_out_alike(c, CommonOrder::by_columns);
      break;
  }
  c.fill = draw_fill(random);
  draw_left_out(c, random);
  if (style.layouts == DrawStyle::Layouts::any) draw_in_place(c, random);
  if (goal == SizeGoal::far) draw_far_layout(c, random);
}

std::optional<Case> draw_case(const std::shared_ptr<const Target>& target, DType dtype,
                              const DrawStyle& style, Random& random) {
  Draft draft;
  draft.target = target;
  draft.instance = {dtype, draw_mask(*target, random)};
  if (style.inputs) draft.instance.input_mask = *style.inputs;
  const auto program = target->program(draft.instance);
  const Domain& domain = domain_of(program);
  draft.params = draw_params(*program, style.default_params, random);
  const SizeGoal goal = draw_size_goal(domain, random);
  draft.at = draw_sizes(domain, draft.params, goal, random);
  for (std::size_t k = 0; k < domain.knobs.size(); ++k)
    if (const auto fixed = style.extents.find(domain.knobs[k].name); fixed != style.extents.end())
      draft.at.values[k] = fixed->second;
  draw_ones(draft, *program, random);
  if (style.full_rank) draft.missing.clear();
  std::optional<Case> c = to_case(draft);
  if (c) draw_locations(*c, goal, style, random);
  return c;
}

std::pair<Case, int> draw_until_legal(const std::shared_ptr<const Target>& target, DType dtype,
                                      const DrawnAs& as, const DrawStyle& style) {
  Random random(stream_seed(*target, dtype, as));
  std::string why = "a derived size cannot be reached";
  for (int draw = 1; draw <= kMaxDraws; ++draw) {
    try {
      if (auto c = draw_case(target, dtype, style, random)) {
        draw_probe(*c, mix(stream_seed(*target, dtype, as)));
        return {*std::move(c), draw};
      }
    } catch (const Error& e) {
      why = e.what();
    }
  }
  throw Error(fmt::format("{}: no legal case in {} draws: {}", target->op(), kMaxDraws, why));
}

/// Leaves out at most `count` leading axes, up to the first whose extent is not 1.
void leave_out_leading(std::vector<std::int64_t>& shape, int count) {
  const auto first = std::find_if(shape.begin(), shape.begin() + count,
                                  [](std::int64_t extent) { return extent != 1; });
  shape.erase(shape.begin(), first);
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
  for (const auto& [input, missing] : draft.missing)
    leave_out_leading(shapes[static_cast<std::size_t>(input)], missing);
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
    if (missing > 0) draft.missing[static_cast<int>(k)] = static_cast<int>(missing);
    for (std::size_t axis = 0; axis < full.size(); ++axis) {
      const std::int64_t extent = axis < missing ? 1 : c.inputs[k].shape[axis - missing];
      if (extent != full[axis]) draft.ones.emplace(static_cast<int>(k), static_cast<int>(axis));
    }
  }
  return draft;
}

Case generate(const std::shared_ptr<const Target>& target, DType dtype, const DrawnAs& as,
              const DrawStyle& style) {
  return draw_until_legal(target, dtype, as, style).first;
}

Case generate(const std::shared_ptr<const Target>& target, DType dtype, std::uint64_t seed,
              std::uint64_t position) {
  return generate(target, dtype, {seed, position, 0});
}

int draws_taken(const std::shared_ptr<const Target>& target, DType dtype, std::uint64_t seed,
                std::uint64_t position) {
  return draw_until_legal(target, dtype, {seed, position, 0}, {}).second;
}

}  // namespace mote
