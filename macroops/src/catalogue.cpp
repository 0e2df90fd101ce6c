// The catalogue: assembled from the families when first asked for, sorted by name; and from a
// record to its checked programs.
#include "mote/macroops/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>

#include "families.h"
#include "mote/base/error.h"
#include "mote/base/near_names.h"

namespace mote {
namespace {

std::vector<OpRecord> assemble() {
  std::vector<OpRecord> all;
  for (const auto& family :
       {linear_ops, convolution_ops, attention_ops, elementwise_ops, activation_ops, choice_ops,
        normalise_ops, batch_norm_ops, reduce_ops, spatial_ops, index_ops, move_ops, scatter_ops,
        random_ops, loss_ops, optimiser_ops}) {
    for (OpRecord& record : family()) all.push_back(std::move(record));
  }
  std::ranges::sort(all, {}, &OpRecord::name);
  return all;
}

void check_instance(const OpRecord& record, const Instance& instance) {
  if (std::ranges::find(record.dtypes, instance.dtype) == record.dtypes.end()) {
    std::vector<std::string_view> offered;
    for (const DType t : record.dtypes) offered.push_back(name(t));
    throw Error(fmt::format("dtype {} is not offered (known: {})", name(instance.dtype),
                            fmt::join(offered, ", ")));
  }
  if ((instance.input_mask & ~full_mask(record)) != 0) {
    throw Error(fmt::format("input mask {:#x} names more than its {} inputs", instance.input_mask,
                            record.inputs.size()));
  }
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    if (!record.inputs[k].optional && (instance.input_mask >> k & 1U) == 0) {
      throw Error(fmt::format("input {} cannot be left out", record.inputs[k].name));
    }
  }
}

/// Whether the definition uses $parameter, in an index, a shape, a size or as a value.
bool uses(const ProgramSpec& spec, std::span<const Uop> nodes, const std::string& parameter) {
  const Symbol symbol(SymbolKind::param, parameter);
  const auto mentions = [&](const Expr& e) { return e.mentions(symbol); };
  const auto node_uses = [&](const Uop& u) {
    const uop::Kind& kind = u.node().kind;
    if (const auto* p = std::get_if<uop::Param>(&kind)) return p->name == parameter;
    const auto* i = std::get_if<uop::Iota>(&kind);
    const auto* r = std::get_if<uop::Reindex>(&kind);
    return (i != nullptr && mentions(i->value)) ||
           (r != nullptr && std::ranges::any_of(r->from, mentions)) ||
           std::ranges::any_of(u.shape(), mentions);
  };
  return std::ranges::any_of(nodes, node_uses) ||
         std::ranges::any_of(spec.sizes, mentions, &NamedSize::value);
}

ProgramSpec complete(const OpRecord& record, const Instance& instance) {
  ProgramSpec spec = record.define(instance);
  spec.name = record.name;
  spec.equation = record.equation;
  std::erase_if(spec.inputs, [](const Uop& input) { return !input; });
  std::vector<Uop> roots = spec.inputs;
  for (const Output& output : spec.outputs) roots.push_back(output.value);
  const std::vector<Uop> nodes = topological(roots);
  for (ParamDecl parameter : record.params) {
    if (!is_real(instance.dtype)) parameter.is_integer = true;
    if (uses(spec, nodes, parameter.name)) spec.params.push_back(std::move(parameter));
  }
  return spec;
}

std::shared_ptr<const Program> build(const OpRecord& record, const Instance& instance) {
  try {
    check_instance(record, instance);
    return std::make_shared<const Program>(make_program(complete(record, instance)));
  } catch (const Error& e) {
    throw Error(fmt::format("op {}: {}", record.name, e.what()));
  }
}

}  // namespace

std::span<const OpRecord> catalogue() {
  static const std::vector<OpRecord> all = assemble();
  return all;
}

const OpRecord& find_op(std::string_view name) {
  const auto all = catalogue();
  const auto at = std::ranges::lower_bound(all, name, {}, &OpRecord::name);
  if (at != all.end() && at->name == name) return *at;
  std::vector<std::string> known;
  for (const OpRecord& record : all) known.push_back(record.name);
  const std::vector<std::string> near = near_names(name, known);
  const std::string hint =
      near.empty() ? "" : fmt::format("did you mean {}? ", fmt::join(near, ", "));
  throw Error(fmt::format("unknown op '{}': {}`mote ops` lists the {} that there are", name, hint,
                          all.size()));
}

std::uint32_t full_mask(const OpRecord& record) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << record.inputs.size()) - 1);
}

std::vector<Instance> instances(const OpRecord& record) {
  std::uint32_t required = 0;
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    if (!record.inputs[k].optional) required |= std::uint32_t{1} << k;
  }
  std::vector<Instance> all;
  for (const DType dtype : record.dtypes) {
    for (std::uint32_t mask = 0; mask <= full_mask(record); ++mask) {
      if ((mask & required) == required) all.push_back({dtype, mask});
    }
  }
  return all;
}

std::shared_ptr<const Program> instantiate(const OpRecord& record, const Instance& instance) {
  const auto all = catalogue();
  const bool listed = &record >= all.data() && &record < all.data() + all.size();
  if (!listed) return build(record, instance);
  static std::mutex mutex;
  static std::map<std::tuple<std::string, DType, std::uint32_t>, std::shared_ptr<const Program>>
      programs;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Program>& program =
      programs[{record.name, instance.dtype, instance.input_mask}];
  if (!program) program = build(record, instance);
  return program;
}

}  // namespace mote
