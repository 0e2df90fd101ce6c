// SPDX-License-Identifier: Apache-2.0
// The record of an op's gradient: the tensors that a call of it has, its instances, and its
// program, derived or written by hand.
#include "gradient_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_set>

#include "families.h"
#include "mote/base/error.h"
#include "mote/uops/gradient.h"
#include "mote/uops/invert.h"

namespace mote {
namespace {

using Names = std::vector<std::string>;

std::string input_name(const Uop& u) { return std::get<uop::Input>(u.node().kind).name; }

bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns the inputs that have a gradient.
Names real_inputs(const Program& p) {
  const std::vector<bool> read = read_inputs(p);
  Names names;
  for (std::size_t k = 0; k < p.inputs.size(); ++k)
    if (read[k] && is_real(p.inputs[k].dtype())) names.push_back(input_name(p.inputs[k]));
  return names;
}

Names real_outputs(const Program& p) {
  Names names;
  for (const Output& o : p.outputs)
    if (is_real(o.value.dtype())) names.push_back(o.name);
  return names;
}

/// Derives the programs of an op's gradient.
class Derivation {
 public:
  explicit Derivation(const OpRecord& op) : op_(op) {
    const auto kept_whole = instantiate(op, {op.dtypes.front(), full_mask(op)});
    const Program& whole = *kept_whole;
    const Names from = real_outputs(whole);
    if (from.empty() || real_inputs(whole).empty()) return;
    exists_ = true;
    if (!op.gradient) given_ = outputs_that_spare(whole, request(whole, from));
    const Gradient g = gradient(whole, request(whole, from));
    for (std::size_t k = 0; k < whole.outputs.size(); ++k)
      if (!g.gradient_names[k].empty()) names_[whole.outputs[k].name] = g.gradient_names[k];
  }

  /// Returns false if no input or no output is real.
  bool exists() const { return exists_; }
  const OpRecord& op() const { return op_; }
  const std::string& gradient_name(const std::string& output) const { return names_.at(output); }

  /// Returns the gradient of the instance's form, from these outputs.
  Program derive(const Instance& of, const Names& from, std::string_view form = kDirect) const {
    const auto kept_p = instantiate(op_, of, form);
    const Program& p = *kept_p;
    const WrittenGradient& by = written_for(form);
    return invert(by ? written(p, of, from, by) : gradient(p, request(p, from)).program);
  }

 private:
  GradientRequest request(const Program& p, const Names& from) const {
    GradientRequest request;
    request.wrt = real_inputs(p);
    request.from = from;
    request.outputs = given_;
    return request;
  }

  const WrittenGradient& written_for(std::string_view form) const {
    const auto named = std::ranges::find(op_.forms, form, &Form::name);
    return named != op_.forms.end() ? named->gradient : op_.gradient;
  }

  Program written(const Program& p, const Instance& of, const Names& from,
                  const WrittenGradient& by) const {
    std::vector<Uop> gradients;
    for (const Output& o : p.outputs)
      gradients.push_back(contains(from, o.name)
                              ? input(gradient_name(o.name), o.value.dtype(), shape_of(o.value))
                              : Uop());
    ProgramSpec spec = by(of, gradients);
    spec.name = op_.name + std::string(kGradientSuffix);
    spec.params = p.params;
    std::erase_if(spec.inputs, [](const Uop& u) { return !u; });
    return make_program(std::move(spec));
  }

  const OpRecord& op_;
  bool exists_ = false;
  std::map<std::string, std::string> names_;  ///< the name of the gradient of each real output
  Names given_;                               ///< outputs whose values are inputs
};

/// An instance of the gradient, except for the dtype: an instance of the op, and the outputs that
/// have a gradient.
struct Choice {
  TensorMask mask;
  Names from;
};

/// A tensor of the gradient's call: the gradient of an output of the op, an input, or an output.
struct Slot {
  enum class Kind : std::uint8_t { gradient, input, output };
  Kind kind;
  std::string of;    ///< the output or input
  std::string name;  ///< its name as the gradient's input
};

class RecordMaker {
 public:
  explicit RecordMaker(std::shared_ptr<const Derivation> derivation)
      : derivation_(std::move(derivation)), op_(derivation_->op()) {}

  /// Returns the record, without a name if no gradient flows.
  OpRecord make() {
    choose();
    if (!flows_) return {};
    find_slots();
    std::map<TensorMask, Choice> choices;
    for (const Choice& c : choices_) choices.emplace(mask_of(c), c);
    OpRecord record{.name = op_.name + std::string(kGradientSuffix),
                    .family = op_.family,
                    .equation = equation(),
                    .inputs = {},
                    .dtypes = dtypes(),
                    .params = op_.params,
                    .in_place = {},
                    .policy = "",
                    .source = op_.gradient ? "written by hand" : "derived",
                    .define = {}};
    for (const auto& [mask, choice] : choices) record.masks.push_back(mask);
    for (std::size_t k = 0; k < slots_.size(); ++k)
      record.inputs.push_back(
          {slots_[k].name,
           std::ranges::any_of(record.masks, [&](TensorMask mask) { return !is_in(mask, k); })});
    for (const Slot& slot : slots_)
      if (slot.kind == Slot::Kind::output) record.given_outputs.push_back(slot.name);
    if (outputs_.size() > 1) record.optional_outputs = {outputs_.begin(), outputs_.end()};
    const auto define = [&](std::string form) {
      return [derivation = derivation_, slots = slots_, choices,
              form = std::move(form)](const Instance& i) {
        return spec(*derivation, slots, choices.at(i.input_mask), i.dtype, form);
      };
    };
    record.define = define(std::string(kDirect));
    for (const Form& form : op_.forms)
      if (form.differentiated)
        record.forms.push_back({.name = form.name,
                                .meaning = form.meaning,
                                .source = form.gradient ? "written by hand" : "derived",
                                .define = define(form.name)});
    return record;
  }

 private:
  /// Returns the op's dtypes if none is real, else those in which gradients are computed.
  std::vector<DType> dtypes() const {
    if (std::ranges::none_of(op_.dtypes, is_real)) return op_.dtypes;
    std::vector<DType> wanted = {DType::f32, DType::f64};
    if (op_.narrow_gradient) wanted = dtypes::kReal;
    if (gradient_order(op_) > 0) wanted = {DType::f32};
    std::erase_if(wanted,
                  [&](DType t) { return std::ranges::find(op_.dtypes, t) == op_.dtypes.end(); });
    return wanted;
  }

  /// Collects every instance of the op, and the tensors that its gradient needs.
  void choose() {
    if (dtypes().empty()) return;
    const DType dtype = dtypes().front();
    for (const Instance& i : instances(op_)) {
      if (i.dtype != dtype) continue;
      const Names all = real_outputs(*instantiate(op_, i));
      std::vector<Names> ways = {all};
      if (gradient_order(op_) == 0 && all.size() > 1) ways.push_back({all.front()});
      for (const Names& from : ways) {
        const Program p = derivation_->derive(i, from);
        const std::vector<std::string> read = real_inputs(p);
        for (const std::string& output : from)
          flows_ = flows_ || contains(read, derivation_->gradient_name(output));
        for (const Uop& u : p.inputs) needed_.insert(input_name(u));
        for (const Output& o : p.outputs) outputs_.insert(o.name);
        choices_.push_back({i.input_mask, from});
      }
    }
  }

  void find_slots() {
    const auto kept_whole = instantiate(op_, {dtypes().front(), full_mask(op_)});
    const Program& whole = *kept_whole;
    for (const std::string& output : real_outputs(whole)) {
      const std::string& name = derivation_->gradient_name(output);
      if (needed_.contains(name)) slots_.push_back({Slot::Kind::gradient, output, name});
    }
    for (const InputDecl& in : op_.inputs)
      if (in.optional || needed_.contains(in.name))
        slots_.push_back({Slot::Kind::input, in.name, in.name});
    for (const Output& o : whole.outputs)
      if (needed_.contains(o.name)) slots_.push_back({Slot::Kind::output, o.name, o.name});
  }

  TensorMask mask_of(const Choice& c) const {
    TensorMask mask = 0;
    for (std::size_t k = 0; k < slots_.size(); ++k)
      if (is_present(slots_[k], c)) mask |= mask_bit(k);
    return mask;
  }

  bool is_present(const Slot& slot, const Choice& c) const {
    if (slot.kind == Slot::Kind::output) return true;
    if (slot.kind == Slot::Kind::gradient) return contains(c.from, slot.of);
    const auto at = std::ranges::find(op_.inputs, slot.of, &InputDecl::name);
    return is_in(c.mask, static_cast<std::size_t>(at - op_.inputs.begin()));
  }

  std::string equation() const {
    const auto kept_whole = instantiate(op_, {dtypes().front(), full_mask(op_)});
    const Program& whole = *kept_whole;
    std::string names;
    for (const std::string& in : real_inputs(whole)) names += (names.empty() ? "" : ", ") + in;
    return fmt::format("the gradient with respect to {} of {}", names, op_.equation);
  }

  static ProgramSpec spec(const Derivation& derivation, const std::vector<Slot>& slots,
                          const Choice& choice, DType dtype, std::string_view form) {
    const Instance of{dtype, choice.mask};
    const auto kept_op = instantiate(derivation.op(), of);
    const Program& op = *kept_op;
    const Program p = derivation.derive(of, choice.from, form);
    ProgramSpec spec;
    spec.outputs = p.outputs;
    spec.sizes = p.sizes;
    spec.constraints = p.constraints;
    for (const Slot& slot : slots) spec.inputs.push_back(tensor(slot, choice, op, p));
    return spec;
  }

  /// Returns an empty handle if the tensor is absent. A tensor that the gradient does not read
  /// still has its shape.
  static Uop tensor(const Slot& slot, const Choice& choice, const Program& op, const Program& p) {
    if (const auto k = find_input(p, slot.name)) return p.inputs[static_cast<std::size_t>(*k)];
    if (slot.kind == Slot::Kind::input) {
      const auto k = find_input(op, slot.of);
      return k ? op.inputs[static_cast<std::size_t>(*k)] : Uop();
    }
    if (slot.kind == Slot::Kind::gradient && !contains(choice.from, slot.of)) return {};
    const Uop& value = std::ranges::find(op.outputs, slot.of, &Output::name)->value;
    return input(slot.name, value.dtype(), shape_of(value));
  }

  std::shared_ptr<const Derivation> derivation_;
  const OpRecord& op_;
  bool flows_ = false;
  std::vector<Choice> choices_;
  std::set<std::string> needed_;
  std::set<std::string> outputs_;
  std::vector<Slot> slots_;
};

std::unique_ptr<const OpRecord> make_gradient(const OpRecord& record) {
  const auto derivation = std::make_shared<const Derivation>(record);
  if (!derivation->exists()) return nullptr;
  auto made = std::make_unique<OpRecord>(RecordMaker(derivation).make());
  if (made->name.empty()) return nullptr;
  return made;
}

/// The gradients made so far, by the record that they differentiate.
struct Made {
  std::mutex mutex;
  std::map<const OpRecord*, std::unique_ptr<const OpRecord>> of;
  std::unordered_set<const OpRecord*> all;
};
Made& made() {
  static Made all;
  return all;
}

bool is_smooth(const OpRecord& record) {
  static const std::set<std::string> families = {"elementwise", "normalise", "reduce"};
  static const std::set<std::string> others = {"matmul", "gemm", "conv2d"};
  return families.contains(record.family) || others.contains(record.name) ||
         record.name.starts_with("attention");
}

}  // namespace

bool is_known_gradient(const OpRecord& record) {
  Made& known = made();
  const std::lock_guard lock(known.mutex);
  return known.all.contains(&record);
}

const OpRecord* gradient_of(const OpRecord& record) {
  Made& known = made();
  {
    const std::lock_guard lock(known.mutex);
    const auto found = known.of.find(&record);
    if (found != known.of.end()) return found->second.get();
  }
  // The gradient is made without the lock: this requests programs of the record, which may itself
  // be a gradient.
  std::unique_ptr<const OpRecord> gradient = make_gradient(record);
  const std::lock_guard lock(known.mutex);
  const OpRecord* kept = known.of.emplace(&record, std::move(gradient)).first->second.get();
  if (kept != nullptr) known.all.insert(kept);
  return kept;
}

int gradient_orders(const OpRecord& record) {
  const OpRecord* first = gradient_of(record);
  if (first == nullptr) return 0;
  return is_smooth(record) && gradient_of(*first) != nullptr ? 2 : 1;
}

int gradient_order(const OpRecord& record) {
  int order = 0;
  std::string_view name = record.name;
  for (; name.ends_with(kGradientSuffix); ++order) name.remove_suffix(kGradientSuffix.size());
  return order;
}

std::span<const OpRecord* const> generated_ops() {
  static const std::vector<const OpRecord*> all = [] {
    std::vector<const OpRecord*> records;
    for (const OpRecord& op : catalogue()) {
      const OpRecord* record = &op;
      records.push_back(record);
      for (int k = gradient_orders(op); k > 0; --k)
        records.push_back(record = gradient_of(*record));
    }
    std::ranges::sort(records, {}, &OpRecord::name);
    return records;
  }();
  return all;
}

std::vector<const OpRecord*> added_ops() {
  std::vector<const OpRecord*> records;
  for (const OpRecord* record : generated_ops())
    if (is_added(*record)) records.push_back(record);
  return records;
}

}  // namespace mote
