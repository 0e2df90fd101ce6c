// SPDX-License-Identifier: Apache-2.0
// Writes the body of one C function. In: a loop program; out: its statements as C, derived sizes
// bound at the top, temporaries of rank 1 and more allocated there and freed at the end.
#include "c/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mote/base/error.h"
#include "passes/leave_out.h"

namespace mote::emit {
namespace {

bool touches(const Stmt& s, const std::string& tensor) {
  return std::ranges::any_of(accesses(s), [&](const Access& a) { return a.tensor == tensor; });
}

int writes(const Body& body, const std::string& tensor) {
  return static_cast<int>(std::ranges::count_if(
      accesses(body), [&](const Access& a) { return a.tensor == tensor && a.write; }));
}

/// Returns the store that gives a rank-0 temporary its value in the innermost body that holds all
/// its accesses, if that store comes first there.
const Stmt* declaring_store(const Body& body, const std::string& tensor) {
  std::vector<const Stmt*> users;
  for (const Stmt& s : body)
    if (touches(s, tensor)) users.push_back(&s);
  if (users.empty()) return nullptr;
  if (const auto* store = std::get_if<Store>(&users[0]->kind)) {
    const auto all = accesses(*users[0]);
    const bool reads_itself =
        std::ranges::any_of(all, [&](const Access& a) { return a.tensor == tensor && !a.write; });
    return store->tensor == tensor && !reads_itself ? users[0] : nullptr;
  }
  if (users.size() > 1) return nullptr;
  if (const auto* loop = std::get_if<Loop>(&users[0]->kind))
    return declaring_store(loop->body, tensor);
  if (const auto* branch = std::get_if<If>(&users[0]->kind)) {
    const bool in_condition =
        std::ranges::any_of(branch->conditions, [&](const Condition& c) { return c.e.has_load(); });
    return in_condition ? nullptr : declaring_store(branch->body, tensor);
  }
  return nullptr;
}

}  // namespace

std::string size_definitions(Printer& printer, const Facts& facts) {
  std::vector<std::string> lines;
  const auto& sizes = printer.program().source->sizes;
  for (std::size_t k = sizes.size(); k-- > 0;) {
    if (!printer.uses().reads(printer.names().size(sizes[k].name))) continue;
    printer.limit_sizes(k);
    lines.push_back(
        wrap(fmt::format("  const int64_t {} = {};", printer.names().size(sizes[k].name),
                         printer.expr(sizes[k].value, facts).text)));
  }
  std::ranges::reverse(lines);
  std::string out;
  for (const std::string& text : lines) out += text + "\n";
  return out;
}

Writer::Writer(const LoopProgram& p, Names& names, Printer& printer)
    : p_(p),
      names_(names),
      printer_(printer),
      short_extrema_(p.native && printer.target() == Target::c ? short_extrema(p, p.body)
                                                               : std::set<std::string>()),
      accumulators_read_(accumulators_read(p.body)),
      names_read_(names_read(p.body)) {
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary) continue;
    if (t.memory == TensorMemory::registers) continue;
    if (!t.shape.empty()) {
      if (!t.per || !stack_size(t)) heap_.push_back(&t);
    } else if (const Stmt* s = declaring_store(p.body, t.name)) {
      declares_[s] = {.is_constant = writes(p.body, t.name) == 1};
      declared_.insert(t.name);
    }
  }
}

/// Writes a constant's definition, whose right side was printed since the mark.
void Writer::define(const std::string& constant, std::size_t uses_begin, const std::string& text) {
  const std::size_t begin = out_.size();
  line(text);
  definitions_.push_back({constant, begin, out_.size(), uses_begin, printer_.uses().mark()});
}

/// Removes the constants whose readers the printer has folded away (t != t). The last go first: a
/// constant may be read in the definition of a later one.
void Writer::leave_out_unread() {
  Uses& uses = printer_.uses();
  for (std::size_t k = definitions_.size(); k-- > 0;) {
    const Definition& d = definitions_[k];
    if (uses.reads(d.constant)) continue;
    out_.erase(d.begin, d.end - d.begin);
    uses.erase(d.uses_begin, d.uses_end);
  }
}

std::string Writer::statements(const Facts& facts) {
  body(p_.body, facts);
  leave_out_unread();
  return std::exchange(out_, "");
}

std::string Writer::function_body() {
  const Facts facts = base_facts(*p_.source);
  const std::string statements = this->statements(facts);
  const std::string unread = unread_scalars();
  // One block of memory for all takes less time than an array for each, where a call is short.
  const std::string block = p_.native && heap_.size() > 1 ? names_.fresh("temporaries") : "";
  if (block.empty())
    for (const TensorDecl* t : heap_) line(fmt::format("free({});", heap_name(*t)));
  else
    line(fmt::format("free({});", block));
  line("return 0;");
  const std::string closing = std::exchange(out_, "");
  scalars();
  if (block.empty())
    allocations(facts);
  else
    allocate_block(block, facts);
  const std::string opening = std::exchange(out_, "");
  const std::string orders = order_definitions(facts);
  const std::string sizes = size_definitions(printer_, facts);
  const std::string strides = stride_definitions();
  const std::string wanted = wanted_outputs();
  return unused_arguments() + vector_type_definitions() + strides + sizes + orders + wanted +
         opening + unread + statements + closing;
}

/// Returns a mention of each scalar that is stored, but whose readers the printer has folded away.
std::string Writer::unread_scalars() const {
  std::string out;
  for (const TensorDecl& t : p_.tensors) {
    if (!Printer::is_local(t) || declared_.contains(t.name) || t.per) continue;
    const std::string& name = names_.tensor(t.name);
    if (!printer_.uses().reads(name)) out += fmt::format("  (void){};\n", name);
  }
  return out;
}

/// Returns constants that say which of the outputs that may be left out the call has, as far as the
/// statements ask.
std::string Writer::wanted_outputs() const {
  std::string out;
  for (const Output& o : p_.source->outputs) {
    if (p_.source->outputs.size() == 1) break;
    const std::string& name = names_.param(wanted(o.name).name());
    if (printer_.uses().reads(name))
      out += fmt::format("  const int64_t {} = {} != NULL;\n", name,
                         printer_.read(names_.tensor(o.name)));
  }
  return out;
}

void Writer::line(const std::string& text) {
  out_ += wrap(std::string(static_cast<std::size_t>(2 * indent_), ' ') + text) + "\n";
}

void Writer::scalars() {
  for (const TensorDecl& t : p_.tensors)
    if (Printer::is_local(t) && !declared_.contains(t.name) && !t.per) line(scalar(t));
}

/// Returns the rank and the extents of a temporary on the heap, as arguments.
std::string Writer::heap_shape(const TensorDecl& t, const Facts& facts) {
  std::string extents = !t.per ? "" : "mote_threads()";
  if (t.per) printer_.uses().call("mote_threads");
  for (const Expr& e : t.shape)
    extents += (extents.empty() ? "" : ", ") + printer_.expr(e, facts).text;
  return fmt::format("{}, (const int64_t[]){{{}}}", t.shape.size() + (!t.per ? 0 : 1), extents);
}

/// Writes the allocation of one block for all temporaries on the heap.
void Writer::allocate_block(const std::string& block, const Facts& facts) {
  const std::string size = names_.fresh(block + "_size");
  for (const char* helper : {"mote_place", "mote_alloc_block", "mote_array"})
    printer_.uses().call(helper);
  line(fmt::format("size_t {} = 0;", size));
  std::vector<std::string> begins;
  for (const TensorDecl* t : heap_) {
    begins.push_back(names_.fresh(heap_name(*t) + "_begin"));
    line(fmt::format("const size_t {} = mote_place(&{}, sizeof({}), {});", begins.back(), size,
                     local_type(*t, p_.native), heap_shape(*t, facts)));
  }
  line(fmt::format("void *{} = mote_alloc_block({});", block, size));
  line(fmt::format("if ({} == NULL) return -1;", block));
  for (std::size_t k = 0; k < heap_.size(); ++k)
    line(fmt::format("{} *{} = mote_array({}, {});", local_type(*heap_[k], p_.native),
                     heap_name(*heap_[k]), block, begins[k]));
}

void Writer::allocations(const Facts& facts) {
  std::string missing;
  for (const TensorDecl* t : heap_) {
    printer_.uses().call("mote_alloc");
    const std::string& name = heap_name(*t);
    line(fmt::format("{0} *{1} = mote_alloc(sizeof *{1}, {2});", local_type(*t, p_.native), name,
                     heap_shape(*t, facts)));
    missing += fmt::format("{}{} == NULL", missing.empty() ? "" : " || ", name);
  }
  if (heap_.empty()) return;
  line(fmt::format("if ({}) {{", missing));
  if (heap_.size() > 1)
    for (const TensorDecl* t : heap_) line(fmt::format("  free({});", heap_name(*t)));
  line("  return -1;");
  line("}");
}

std::string Writer::unused_arguments() const {
  std::string out;
  const auto check = [&](const std::string& name) {
    if (!printer_.uses().reads(name)) out += fmt::format("  (void){};\n", name);
  };
  for (const Argument& a : arguments(p_)) {
    if (a.kind == Argument::Kind::tensor) {
      check(names_.tensor(a.name));
      if (!find_tensor(p_, a.name)->shape.empty()) check(names_.strides(a.name));
    } else {
      check(a.kind == Argument::Kind::size ? names_.size(a.name) : names_.param(a.name));
    }
  }
  return out;
}

}  // namespace mote::emit
