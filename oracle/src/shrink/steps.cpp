// SPDX-License-Identifier: Apache-2.0
// Steps over layouts, optional inputs, the fill, sizes, broadcast axes and parameters.
#include "shrink/steps.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "case/like.h"
#include "mote/oracle/generate.h"

namespace mote {
namespace {

/// All sizes up to this one are tried, so that the least is found.
constexpr std::int64_t kScanned = 40;

/// Offers the case of a draft; a draft that is not legal is skipped.
bool offer_draft(const Draft& draft, const Case& from, const Offer& offer) {
  const std::optional<Case> c = like(draft, from);
  return c && offer(*c);
}

/// The knob values in another domain; knobs that only it has are at their least.
std::vector<std::int64_t> values_by_name(const Domain& from,
                                         const std::vector<std::int64_t>& values,
                                         const Domain& to) {
  std::vector<std::int64_t> moved;
  for (const Knob& knob : to.knobs) {
    const auto at = std::ranges::find(from.knobs, knob.name, &Knob::name);
    moved.push_back(at == from.knobs.end()
                        ? knob.least
                        : values[static_cast<std::size_t>(at - from.knobs.begin())]);
  }
  return moved;
}

bool drop_optional(const Case& c, const Offer& offer) {
  for (std::size_t k = 0; k < c.target->inputs().size(); ++k) {
    const TensorMask bit = mask_bit(k);
    if (!c.target->inputs()[k].optional || (c.instance.input_mask & bit) == 0) continue;
    Draft draft = to_draft(c);
    draft.instance.input_mask &= ~bit;
    if (!has_instance(*c.target->record(), draft.instance)) continue;
    const auto program = c.target->program(draft.instance);
    draft.at.values = values_by_name(domain_of(c.program), draft.at.values, domain_of(program));
    std::erase_if(draft.params, [&](const auto& p) { return !find_param(*program, p.first); });
    std::set<std::pair<int, int>> ones;
    const auto dropped = find_input(*c.program, c.target->inputs()[k].name);
    for (const auto& [input, axis] : draft.ones) {
      if (input != dropped) ones.emplace(input > dropped ? input - 1 : input, axis);
    }
    draft.ones = std::move(ones);
    std::map<int, int> missing;
    for (const auto& [input, axes] : draft.missing)
      if (input != dropped) missing.emplace(input > dropped ? input - 1 : input, axes);
    draft.missing = std::move(missing);
    if (offer_draft(draft, c, offer)) return true;
  }
  return false;
}

bool ask_for_all(const Case& c, const Offer& offer) {
  if (std::ranges::none_of(c.outputs, &CaseTensor::left_out)) return false;
  Case all = c;
  for (CaseTensor& t : all.outputs) t.left_out = false;
  return offer(all);
}

bool in_memory_of_its_own(const Case& c, const Offer& offer) {
  for (std::size_t k = 0; k < c.outputs.size(); ++k) {
    if (c.outputs[k].in_place.empty()) continue;
    Case next = c;
    next.outputs[k].in_place.clear();
    if (offer(next)) return true;
  }
  return false;
}

/// The greatest power of two below that number of elements, or half of them if they are one.
std::int64_t nearer(std::int64_t elements) {
  if (elements == 0) return 0;
  const auto power =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(elements)));
  return power == elements ? elements / 2 : power;
}

std::vector<CaseLayout> simpler_layouts(const CaseLayout& layout) {
  std::vector<CaseLayout> simpler;
  if (layout.contiguous()) return simpler;
  simpler.emplace_back();
  const auto without = [&](const auto& change) {
    CaseLayout l = layout;
    change(l);
    if (l != layout) simpler.push_back(std::move(l));
  };
  without([](CaseLayout& l) { l.order.clear(); });
  without([](CaseLayout& l) { l.pad = 0; });
  without([](CaseLayout& l) { l.pad = std::min<std::int64_t>(l.pad, 1); });
  without([](CaseLayout& l) { l.pad = nearer(l.pad); });
  without([](CaseLayout& l) { l.gaps.clear(); });
  without([](CaseLayout& l) {
    for (AxisGap& gap : l.gaps) gap.elements = 1;
  });
  without([](CaseLayout& l) {
    for (AxisGap& gap : l.gaps) gap.elements = std::max<std::int64_t>(nearer(gap.elements), 1);
  });
  without([](CaseLayout& l) { l.offset = 0; });
  without([](CaseLayout& l) { l.offset = std::min<std::int64_t>(l.offset, 1); });
  without([](CaseLayout& l) { l.offset = nearer(l.offset); });
  without([](CaseLayout& l) { l.repeated.clear(); });
  return simpler;
}

bool simplify_layouts(const Case& c, const Offer& offer) {
  Case plain = c;
  bool any = false;
  for (auto* tensors : {&plain.inputs, &plain.outputs}) {
    for (CaseTensor& t : *tensors) {
      any = any || !t.layout.contiguous();
      t.layout = {};
    }
  }
  if (!any) return false;
  if (offer(plain)) return true;
  for (auto Case::*tensors : {&Case::inputs, &Case::outputs}) {
    for (std::size_t k = 0; k < (c.*tensors).size(); ++k) {
      for (const CaseLayout& layout : simpler_layouts((c.*tensors)[k].layout)) {
        Case next = c;
        (next.*tensors)[k].layout = layout;
        if (offer(next)) return true;
      }
    }
  }
  return false;
}

bool simplify_fill(const Case& c, const Offer& offer) {
  using enum FillKind;
  if (!c.set.empty()) {
    Case next = c;
    next.set.clear();
    if (offer(next)) return true;
  }
  for (const FillKind kind : {index, onehot, integer}) {
    const Fill fill{kind, 0};
    if (c.fill == fill) return false;
    Case next = c;
    next.fill = fill;
    if (c.fill.kind == zeros) next.set.clear();
    if (offer(next)) return true;
  }
  return false;
}

/// Smaller values for a size: the least ones, half, then all small ones if wanted, then slightly
/// smaller ones.
std::vector<std::int64_t> smaller(std::int64_t value, std::int64_t least, Search search) {
  std::vector<std::int64_t> all;
  const auto add = [&](std::int64_t v) {
    if (v >= least && v < value && std::ranges::find(all, v) == all.end()) all.push_back(v);
  };
  for (const std::int64_t v : {1, 0, 2}) add(v);
  add(value / 2);
  add(value / 2 + 1);
  const std::int64_t scanned = search == Search::thorough ? kScanned : 0;
  for (std::int64_t v = least; v < std::min(value, scanned); ++v) add(v);
  add(value - value / 4);
  for (std::int64_t less = 8; less >= 1; --less) add(value - less);
  return all;
}

bool shrink_size(std::size_t k, Search search, const Case& c, const Offer& offer) {
  const Domain& domain = domain_of(c.program);
  if (k >= domain.knobs.size()) return false;
  const Draft draft = to_draft(c);
  for (const std::int64_t value : smaller(draft.at.values[k], domain.knobs[k].least, search)) {
    Draft next = draft;
    next.at.values[k] = value;
    if (value == 0) continue;  // an empty case fails only if it crashes
    if (offer_draft(next, c, offer)) return true;
  }
  return false;
}

/// Writes all axes of the program's inputs, if a tensor has fewer.
bool complete_ranks(const Case& c, const Offer& offer) {
  const auto has_all = [&](std::size_t k) {
    return std::ssize(c.inputs[k].shape) == c.program->inputs[k].rank();
  };
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    if (!has_all(k)) return offer_draft(to_draft(c), c, offer);
  return false;
}

/// Reduces two equal sizes to the same smaller one, since a failure may need that they are equal.
bool shrink_equal_sizes(Search search, const Case& c, const Offer& offer) {
  const Domain& domain = domain_of(c.program);
  const Draft draft = to_draft(c);
  for (std::size_t a = 0; a < domain.knobs.size(); ++a)
    for (std::size_t b = a + 1; b < domain.knobs.size(); ++b) {
      if (draft.at.values[a] != draft.at.values[b]) continue;
      const std::int64_t least = std::max(domain.knobs[a].least, domain.knobs[b].least);
      for (const std::int64_t value : smaller(draft.at.values[a], least, search)) {
        Draft next = draft;
        next.at.values[a] = next.at.values[b] = value;
        if (value > 0 && offer_draft(next, c, offer)) return true;
      }
    }
  return false;
}

/// Halves all sizes at once.
bool halve_all(const Case& c, const Offer& offer) {
  Draft draft = to_draft(c);
  bool any = false;
  for (std::int64_t& value : draft.at.values) {
    any = any || value > 3;
    if (value > 3) value /= 2;
  }
  return any && offer_draft(draft, c, offer);
}

bool drop_slack(const Case& c, const Offer& offer) {
  Draft draft = to_draft(c);
  bool any = false;
  for (auto& [pivot, slack] : draft.at.slack) {
    any = any || slack != 0;
    slack = 0;
  }
  return any && offer_draft(draft, c, offer);
}

bool drop_ones(const Case& c, const Offer& offer) {
  Draft draft = to_draft(c);
  if (draft.ones.empty()) return false;
  draft.ones.clear();
  return offer_draft(draft, c, offer);
}

bool write_all_axes(const Case& c, const Offer& offer) {
  Draft draft = to_draft(c);
  if (draft.missing.empty()) return false;
  draft.missing.clear();
  return offer_draft(draft, c, offer);
}

bool is_simpler(const Number& a, const Number& b) {
  const auto rank = [](const Number& n) {
    const double v = n.is_real() ? n.real() : static_cast<double>(n.integer());
    return v == 1 ? -1 : v < 0 ? 2 * -v + 1 : 2 * v;
  };
  return rank(a) < rank(b);
}

std::vector<Number> simpler_values(const ParamDecl& p, const Number& value) {
  std::vector<Number> all;
  if (!p.is_integer) {
    if (p.default_value) all.emplace_back(*p.default_value);
    for (const double v : {1.0, 0.0}) all.emplace_back(v);
  } else {
    const std::int64_t least = p.lower.value_or(0);
    if (p.default_value) all.emplace_back(static_cast<std::int64_t>(*p.default_value));
    const std::int64_t v = value.integer();
    for (const std::int64_t n : {least, std::int64_t{1}, v / 2, v - 1}) {
      if (n >= least && (!p.upper || n <= *p.upper)) all.emplace_back(n);
    }
  }
  const bool at_default =
      p.default_value &&
      same(value, p.is_integer ? Number(static_cast<std::int64_t>(*p.default_value))
                               : Number(*p.default_value));
  if (at_default) all.clear();
  std::erase_if(all, [&](const Number& n) {
    const bool is_default =
        p.default_value &&
        (n.is_real() ? n.real() : static_cast<double>(n.integer())) == *p.default_value;
    return !is_default && !is_simpler(n, value);
  });
  return all;
}

/// Simplifies a parameter with the same derived sizes, and then with the same free ones.
bool simplify_param(const std::string& name, const Case& c, const Offer& offer) {
  const auto position = find_param(*c.program, name);
  if (!position) return false;
  const ParamDecl& p = c.program->params[static_cast<std::size_t>(*position)];
  const Draft draft = to_draft(c);
  for (const Number& value : simpler_values(p, c.params.at(name))) {
    Draft next = draft;
    next.params[name] = value;
    if (offer_draft(next, c, offer)) return true;
    Sizes sizes = c.binding.values;
    if (p.is_integer) sizes[Symbol(SymbolKind::param, name)] = value.integer();
    next.at = knob_values(domain_of(c.program), sizes);
    if (offer_draft(next, c, offer)) return true;
  }
  return false;
}

}  // namespace

std::vector<ShrinkStep> shrink_steps(const Case& c, Search search) {
  std::vector<ShrinkStep> steps = {{"optional inputs", drop_optional},
                                   {"outputs", ask_for_all},
                                   {"in place", in_memory_of_its_own},
                                   {"layouts", simplify_layouts},
                                   {"fill", simplify_fill},
                                   {"axes", complete_ranks},
                                   {"all sizes", halve_all},
                                   {"slack", drop_slack}};
  const Domain& domain = domain_of(c.program);
  for (std::size_t k = 0; k < domain.knobs.size(); ++k) {
    steps.push_back({domain.knobs[k].name, [k, search](const Case& of, const Offer& offer) {
                       return shrink_size(k, search, of, offer);
                     }});
  }
  steps.push_back({"equal sizes", [search](const Case& of, const Offer& offer) {
                     return shrink_equal_sizes(search, of, offer);
                   }});
  for (const ParamDecl& p : c.program->params) {
    steps.push_back({p.name, [name = p.name](const Case& of, const Offer& offer) {
                       return simplify_param(name, of, offer);
                     }});
  }
  steps.push_back({"broadcast axes", drop_ones});
  if (c.indices == 0) add_element_steps(steps);  // set elements need not be valid indices
  steps.push_back({"leading axes", write_all_axes});
  return steps;
}

}  // namespace mote
