// SPDX-License-Identifier: Apache-2.0
// The body of one C function. In: a loop program; out: its statements as C, derived sizes bound at
// the top, temporaries of rank 1 and more allocated there and freed at the end.
#include "c/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "mote/base/characters.h"
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

int mentions(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) ++found;
  }
  return found;
}

/// The locations of words in a text.
using Places = std::unordered_map<std::string_view, std::vector<std::size_t>>;

/// Calls f(word, its position) for every word of text[from, to).
template <typename F>
void for_each_word(std::string_view text, std::size_t from, std::size_t to, const F& f) {
  for (std::size_t at = from; at < to;) {
    std::size_t end = at;
    while (end < to && is_word(text[end])) ++end;
    if (end > at) f(text.substr(at, end - at), at);
    at = std::max(end, at + 1);
  }
}

/// Without the constants whose readers the printer has folded away (t != t): those that only their
/// own definition mentions, then those that only definitions which went mentioned besides.
std::string without_unread(const std::string& text, const std::vector<std::string>& constants) {
  Places places;
  for (const std::string& constant : constants) places[constant];
  for_each_word(text, 0, text.size(), [&](std::string_view word, std::size_t at) {
    if (const auto found = places.find(word); found != places.end()) found->second.push_back(at);
  });
  std::map<std::size_t, std::size_t> gone;  // from, to
  const auto is_gone = [&](std::size_t at) {
    const auto next = gone.upper_bound(at);
    return next != gone.begin() && std::prev(next)->second > at;
  };
  std::vector<std::string_view> once;
  for (const auto& [word, of_word] : places)
    if (of_word.size() == 1) once.push_back(word);
  while (!once.empty()) {
    const std::string_view word = once.back();
    once.pop_back();
    if (places[word].empty()) continue;
    const std::size_t at = places[word].front();
    const bool is_definition =
        at > 0 && text[at - 1] == ' ' && text.compare(at + word.size(), 2, " =") == 0;
    if (!is_definition) continue;
    const std::size_t start = text.rfind('\n', at) + 1;
    const std::size_t end = text.find(";\n", at) + 2;
    gone[start] = end;
    std::set<std::string_view> fewer;
    for_each_word(text, start, end, [&](std::string_view read, std::size_t) {
      if (places.contains(read)) fewer.insert(read);
    });
    for (const std::string_view read : fewer) {
      if (std::erase_if(places[read], is_gone) > 0 && places[read].size() == 1)
        once.push_back(read);
    }
  }
  std::string kept;
  std::size_t from = 0;
  for (const auto& [start, end] : gone) {
    kept.append(text, from, start - from);
    from = end;
  }
  return kept.append(text, from);
}

/// The store that gives a rank-0 temporary its value in the innermost body that holds all its
/// accesses, if that store comes first there.
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
    if (!printer.used_sizes().contains(sizes[k].name)) continue;
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

bool mentions_word(const std::string& text, const std::string& word) {
  return mentions(text, word) > 0;
}

Writer::Writer(const LoopProgram& p, Names& names, Printer& printer, Target target)
    : p_(p),
      names_(names),
      printer_(printer),
      target_(target),
      accumulators_read_(accumulators_read(p.body)),
      names_read_(names_read(p.body)) {
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary) continue;
    if (!t.shape.empty()) {
      if (t.scope.empty() || !stack_size(t) || target == Target::cuda) heap_.push_back(&t);
    } else if (const Stmt* s = declaring_store(p.body, t.name)) {
      declares_[s] = {.is_constant = writes(p.body, t.name) == 1};
      declared_.insert(t.name);
    }
  }
}

/// The program's body, without constants that nothing reads.
std::string Writer::statements(const Facts& facts) {
  body(p_.body, facts);
  std::vector<std::string> constants;
  for (const std::string& t : declared_)
    if (writes(p_.body, t) == 1) constants.push_back(names_.tensor(t));
  for_each(p_.body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.kind)) constants.push_back(names_.local(let->name));
  });
  return without_unread(std::exchange(out_, ""), constants);
}

std::string Writer::function_body() {
  const Facts facts = base_facts(*p_.source);
  const std::string statements = this->statements(facts);
  for (const TensorDecl* t : heap_) line(fmt::format("free({});", heap_name(*t)));
  line("return 0;");
  const std::string closing = std::exchange(out_, "");
  scalars();
  allocations(facts);
  const std::string opening = std::exchange(out_, "");
  const std::string sizes = size_definitions(printer_, facts);
  const std::string text = stride_definitions() + sizes + wanted_outputs(statements) + opening +
                           unread_scalars(statements) + statements;
  return unused_arguments(text) + text + closing;
}

/// A scalar that is stored, but whose readers the printer has folded away (t > t).
std::string Writer::unread_scalars(const std::string& statements) const {
  std::string out;
  for (const TensorDecl& t : p_.tensors) {
    if (!Printer::is_local(t) || declared_.contains(t.name) || !t.scope.empty()) continue;
    const std::string& name = names_.tensor(t.name);
    if (mentions(statements, name) == writes(p_.body, t.name))
      out += fmt::format("  (void){};\n", name);
  }
  return out;
}

/// Which of the outputs that may be left out the call has, as far as the statements ask.
std::string Writer::wanted_outputs(const std::string& statements) const {
  std::string out;
  for (const Output& o : p_.source->outputs) {
    if (p_.source->outputs.size() == 1) break;
    const std::string& name = names_.param(wanted(o.name).name());
    if (mentions(statements, name) > 0)
      out += fmt::format("  const int64_t {} = {} != NULL;\n", name, names_.tensor(o.name));
  }
  return out;
}

void Writer::line(const std::string& text) {
  out_ += wrap(std::string(static_cast<std::size_t>(2 * indent_), ' ') + text) + "\n";
}

void Writer::scalars() {
  for (const TensorDecl& t : p_.tensors)
    if (Printer::is_local(t) && !declared_.contains(t.name) && t.scope.empty()) line(scalar(t));
}

void Writer::allocations(const Facts& facts) {
  std::string missing;
  for (const TensorDecl* t : heap_) {
    std::string extents = t->scope.empty() ? "" : "mote_threads()";
    for (const Expr& e : t->shape)
      extents += (extents.empty() ? "" : ", ") + printer_.expr(e, facts).text;
    const std::string& name = heap_name(*t);
    line(fmt::format("{0} *{1} = mote_alloc(sizeof *{1}, {2}, (const int64_t[]){{{3}}});",
                     local_type(t->dtype, p_.native), name,
                     t->shape.size() + (t->scope.empty() ? 0 : 1), extents));
    missing += fmt::format("{}{} == NULL", missing.empty() ? "" : " || ", name);
  }
  if (heap_.empty()) return;
  line(fmt::format("if ({}) {{", missing));
  if (heap_.size() > 1)
    for (const TensorDecl* t : heap_) line(fmt::format("  free({});", heap_name(*t)));
  line("  return -1;");
  line("}");
}

std::string Writer::unused_arguments(const std::string& text) const {
  std::string out;
  const auto check = [&](const std::string& name) {
    if (mentions(text, name) == 0) out += fmt::format("  (void){};\n", name);
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
