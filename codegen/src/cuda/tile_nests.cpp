// SPDX-License-Identifier: Apache-2.0
// Writes nests of two loops that the threads of a block share. Adjacent threads take iterations of
// the loop along which elements lie closer together in memory, which the call's strides say; a copy
// to shared memory moves 16 bytes at a time where strides and addresses allow it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "tile_writer.h"

namespace mote::emit {
namespace {

const Loop& inner_of(const Loop& outer) { return *as_loop(outer.body.front()); }

std::int64_t extent_of(const Loop& l) { return *l.end.constant(); }

/// Returns the choice between of(true), where adjacent threads go along the inner loop, and
/// of(false); or only that which is known.
template <typename F>
std::string chosen(const std::string& along, const F& of) {
  if (along == "true" || along == "false") return of(along == "true");
  return fmt::format("{} ? {} : {}", along, of(true), of(false));
}

/// Returns true if each thread has one iteration of the nest.
bool has_one_for_each_thread(const Loop& outer) {
  return extent_of(outer) * extent_of(inner_of(outer)) == kCudaThreads;
}

struct Element {
  std::string tensor;
  std::vector<Expr> index;
};

/// Returns the element of an input or output along which threads should go: the one that the nest
/// copies to shared memory, or that it stores.
std::optional<Element> element_in_memory(const LoopProgram& p, const Body& body) {
  std::optional<Element> found;
  const auto is_in_memory = [&](const std::string& tensor) {
    return find_tensor(p, tensor)->role != TensorRole::temporary;
  };
  for_each(body, [&](const Stmt& s) {
    const auto* store = std::get_if<Store>(&s.kind);
    if (store == nullptr || found) return;
    if (is_in_memory(store->tensor)) {
      found = {store->tensor, store->index};
    } else if (find_tensor(p, store->tensor)->memory == TensorMemory::shared) {
      for_each_value(store->value, [&](const Value& v) {
        const auto* load = std::get_if<value::Load>(&v->kind);
        if (load != nullptr && !found && is_in_memory(load->tensor))
          found = {load->tensor, load->index};
      });
    }
  });
  return found;
}

bool stores_shared(const LoopProgram& p, const Body& body) {
  return std::ranges::all_of(body, [&](const Stmt& s) {
    const auto* store = std::get_if<Store>(&s.kind);
    return store != nullptr && find_tensor(p, store->tensor)->memory == TensorMemory::shared;
  });
}

/// Returns true if the nest copies an element of a temporary in memory that is contiguous along the
/// innermost variable of the loop.
bool lies_along(const LoopProgram& p, const Body& body, const Loop& l) {
  const auto* store = std::get_if<Store>(&body.back().kind);
  if (store == nullptr) return false;
  const auto* guard = std::get_if<value::Guard>(&store->value->kind);
  const auto* load =
      std::get_if<value::Load>(&(guard != nullptr ? guard->then : store->value)->kind);
  if (load == nullptr || load->index.empty()) return false;
  const TensorDecl& t = *find_tensor(p, load->tensor);
  if (t.role != TensorRole::temporary || t.memory != TensorMemory::automatic) return false;
  const Symbol v = l.digits.empty() ? l.variable : l.digits.back().variable;
  const auto linear = linear_in(load->index.back(), v);
  return linear && linear->factor == Expr(1);
}

}  // namespace

/// Returns the distance in memory of neighbouring iterations of the loop; empty if it is not known.
std::string TileWriter::distance_along(const std::string& tensor, const std::vector<Expr>& index,
                                       const Loop& l, const Facts& facts) {
  return l.digits.empty() ? distance(tensor, index, l.variable, facts)
                          : distance_of_digits(tensor, index, l, facts);
}

/// Returns the distance along the innermost digit that has several values.
std::string TileWriter::distance_of_digits(const std::string& tensor,
                                           const std::vector<Expr>& index, const Loop& l,
                                           const Facts& facts) {
  std::string all;
  for (const LoopDigit& d : l.digits) {
    const std::string one = distance(tensor, index, d.variable, facts);
    const Expr count = facts.simplify(count_of(d));
    if (one.empty() || is_moving(count)) return "";
    const std::string stepped =
        d.step == Expr(1) || one == "0"
            ? one
            : fmt::format("{} * ({})", within(printer_.expr(d.step, facts), kUnary), one);
    all = all.empty() ? stepped
                      : fmt::format("{} > 1 ? {} : {}", within(printer_.expr(count, facts), kSum),
                                    stepped, all);
  }
  return all;
}

/// Returns the name of a constant, or what is known: true if the elements that the nest accesses in
/// memory lie closer together along the inner loop than along the outer one.
std::string TileWriter::along(const Loop& outer, const Facts& facts) {
  const Loop& inner = inner_of(outer);
  if (lies_along(p_, inner.body, inner)) return "true";
  const auto element = element_in_memory(p_, inner.body);
  if (!element) return "false";
  const std::string in = distance_along(element->tensor, element->index, inner, facts);
  const std::string out = distance_along(element->tensor, element->index, outer, facts);
  if (in.empty() || out.empty()) return "false";
  const std::string name = names_.fresh(names_.tensor(element->tensor) + "_along");
  write("const bool {} = {} < {};", name, called("mote_iabs", in), called("mote_iabs", out));
  return name;
}

/// Returns the copy to shared memory that the nest consists of, if an element is copied as it is
/// stored, and is 0 beyond one end of each loop.
std::optional<TileWriter::Copy> TileWriter::copy_in(const Loop& outer) const {
  const Loop& inner = inner_of(outer);
  const auto* store =
      inner.body.size() == 1 ? std::get_if<Store>(&inner.body.front().kind) : nullptr;
  const auto* guard = store == nullptr ? nullptr : std::get_if<value::Guard>(&store->value->kind);
  const auto* load = guard == nullptr ? nullptr : std::get_if<value::Load>(&guard->then->kind);
  if (load == nullptr || guard->conditions.size() != 2 ||
      find_tensor(p_, load->tensor)->role == TensorRole::temporary ||
      find_tensor(p_, store->tensor)->memory != TensorMemory::shared)
    return std::nullopt;
  const Condition& first = guard->conditions[0];
  const Condition& second = guard->conditions[1];
  const auto ends = [](const Condition& c, const Loop& l, const Loop& other) {
    const auto linear = linear_in(c.e, l.variable);
    return c.kind == Condition::Kind::nonneg && linear && linear->factor == Expr(-1) &&
           !c.e.mentions(other.variable);
  };
  if (!ends(first, outer, inner) || !ends(second, inner, outer)) return std::nullopt;
  return Copy{store, load, first, second};
}

/// Returns the condition under which neighbours along the loop are adjacent and start at addresses
/// divisible by 16; empty if they never do. Of digits, each goes over whole rows of the next one.
std::string TileWriter::is_vector_along(const value::Load& load, const Loop& l, int elements) {
  std::set<std::size_t> own;  // axes of the tensor that change with the loop
  std::string side_by_side, count = "1";
  const auto add = [&](Symbol v, const auto& is_position, const std::string& extent) {
    const auto mentions = [&](const Expr& e) { return e.mentions(v); };
    const auto at = std::ranges::find_if(load.index, mentions);
    if (at == load.index.end() || !is_position(*at) ||
        std::ranges::count_if(load.index, mentions) != 1)
      return false;
    const auto k = static_cast<std::size_t>(at - load.index.begin());
    own.insert(k);
    side_by_side += (side_by_side.empty() ? "" : " && ") + printer_.named_stride(load.tensor, k) +
                    " == " + count;
    if (!extent.empty()) count = count == "1" ? extent : extent + " * " + count;
    return true;
  };
  if (l.digits.empty()) {
    // The loop begins at a tile or slice, whose elements are whole vectors.
    const auto is_position = [&](const Expr& e) {
      const auto begin = (e - Expr(l.variable)).as_symbol();
      return begin && std::ranges::any_of(loops_, [&](const Loop* outer) {
               const std::int64_t step = outer->step.constant().value_or(0);
               return outer->variable == *begin && outer->begin == Expr(0) &&
                      step % elements == 0 && step > 0;
             });
    };
    if (!add(l.variable, is_position, "")) return "";
  }
  const Table* table = l.digits.empty() ? nullptr : table_of(l);
  if (table != nullptr && table->extents.empty()) return "";
  for (std::size_t k = l.digits.size(); k-- > 0;) {
    const LoopDigit& d = l.digits[k];
    const auto is_digit = [&](const Expr& e) { return e == Expr(d.variable); };
    if (d.begin != Expr(0) || d.step != Expr(1) || !add(d.variable, is_digit, table->extents[k]))
      return "";
  }
  std::vector<std::string> others;
  for (std::size_t k = 0; k < load.index.size(); ++k)
    if (load.index[k] != Expr(0) && !own.contains(k))
      others.push_back(printer_.named_stride(load.tensor, k));
  if (others.empty()) return side_by_side;
  std::string bits = fmt::format("{}", fmt::join(others, " | "));
  if (others.size() > 1) bits = "(" + bits + ")";
  return fmt::format("{} && {} % {} == 0", side_by_side, bits, elements);
}

/// Returns the name of a constant: true if the nest copies 16 bytes at a time; empty: never.
std::string TileWriter::vectors(const Loop& outer, Nest& nest) {
  const auto copy = copy_in(outer);
  if (!copy) return "";
  const DType dtype = find_tensor(p_, copy->load->tensor)->dtype;
  const bool is_kept =
      !is_narrow(dtype) || find_tensor(p_, copy->store->tensor)->is_for_tensor_cores;
  if (!is_real(dtype) || !is_kept) return "";
  nest.elements = 16 / static_cast<int>(size_of(dtype));
  const std::string inner = is_vector_along(*copy->load, inner_of(outer), nest.elements);
  const std::string outward = is_vector_along(*copy->load, outer, nest.elements);
  if (inner.empty() && outward.empty()) return "";
  const std::string which = chosen(nest.along, [&](bool is_inner) {
    const std::string& condition = is_inner ? inner : outward;
    return condition.empty() ? std::string("false") : condition;
  });
  const std::string name = names_.fresh(names_.tensor(copy->load->tensor) + "_vectors");
  const bool is_choice = which.starts_with(nest.along + " ?");
  write("const bool {} = mote_is_aligned({}) && {};", name,
        printer_.read(names_.tensor(copy->load->tensor)), is_choice ? "(" + which + ")" : which);
  return name;
}

bool TileWriter::is_nest(const Loop& l) {
  const Loop* inner = l.body.size() == 1 ? as_loop(l.body.front()) : nullptr;
  return l.kind == LoopKind::block_threads && inner != nullptr &&
         inner->kind == LoopKind::block_threads;
}

void TileWriter::prepare_nest(const Loop& outer, const Facts& facts) {
  const Loop& inner = inner_of(outer);
  if (has_one_for_each_thread(outer)) {
    // Most nests have loops of the same names.
    if (of_threads_.insert(names_.symbol(outer.variable)).second)
      write("const int {} = threadIdx.x / {};", names_.symbol(outer.variable), extent_of(inner));
    if (of_threads_.insert(names_.symbol(inner.variable)).second)
      write("const int {} = threadIdx.x % {};", names_.symbol(inner.variable), extent_of(inner));
    return;
  }
  Nest nest;
  nest.along = along(outer, facts);
  nest.vectors = vectors(outer, nest);
  nests_[&outer] = nest;
}

void TileWriter::block_loop(const Loop& l, const Facts& facts) {
  if (l.kind == LoopKind::fragments)
    fragment_loops(l, facts);
  else if (l.kind == LoopKind::ahead)
    copy_ahead(l, facts);
  else if (is_nest(l))
    threads_nest(l, facts);
  else
    KernelWriter::block_loop(l, facts);
}

void TileWriter::threads_nest(const Loop& outer, const Facts& facts) {
  const Loop& inner = inner_of(outer);
  Facts inside = facts;
  for (const Loop* l : {&outer, &inner}) set_ranges(*l, inside);
  if (has_one_for_each_thread(outer)) {
    body(inner.body, inside);
    return;
  }
  const Nest& nest = nests_.at(&outer);
  if (nest.vectors.empty()) {
    elements_of_nest(outer, nest, inside);
    return;
  }
  open(fmt::format("if ({})", nest.vectors));
  vectors_of_nest(outer, nest, inside);
  --indent_;
  open("} else");
  elements_of_nest(outer, nest, inside);
  close();
}

/// Writes the variables of both loops, from the number of a thread's element on.
void TileWriter::positions(const Loop& outer, const Nest& nest, const Facts& facts) {
  const Loop& inner = inner_of(outer);
  const auto variable = [&](const Loop& l, const std::string& if_along, const std::string& if_not) {
    write("const int {} = {};", names_.symbol(l.variable),
          chosen(nest.along, [&](bool is_inner) { return is_inner ? if_along : if_not; }));
  };
  variable(outer, fmt::format("{} / {}", lane_, extent_of(inner)),
           fmt::format("{} % {}", lane_, extent_of(outer)));
  variable(inner, fmt::format("{} % {}", lane_, extent_of(inner)),
           fmt::format("{} / {}", lane_, extent_of(outer)));
  define_digits(outer, facts);
  define_digits(inner, facts);
}

/// Writes the iterations one by one. In addition to vector accesses, and for tensor cores, further
/// unrolling would cost each multiprocessor a block.
void TileWriter::elements_of_nest(const Loop& outer, const Nest& nest, const Facts& facts) {
  const Loop& inner = inner_of(outer);
  const std::int64_t all = extent_of(outer) * extent_of(inner);
  if (!stores_shared(p_, inner.body)) {
    out_ += "#pragma unroll 1\n";
    open(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2})", lane_, all,
                     kCudaThreads));
    positions(outer, nest, facts);
  } else {
    const auto& store = std::get<Store>(inner.body.back().kind);
    const bool is_short =
        nest.vectors.empty() || !find_tensor(p_, store.tensor)->is_for_tensor_cores;
    const int unrolled = is_short ? 4 : 1;
    const bool has_mask = inner.body.size() > 1;
    out_ += fmt::format("#pragma unroll {}\n", has_mask ? std::min(unrolled, 2) : unrolled);
    open(fmt::format("for (int {0} = 0; {0} < {1}; {0}++)", part_, all / kCudaThreads));
    write("const int {} = threadIdx.x + {} * {};", lane_, kCudaThreads, part_);
    positions(outer, nest, facts);
  }
  body(inner.body, facts);
  close();
}

void TileWriter::vectors_of_nest(const Loop& outer, const Nest& nest, const Facts& facts) {
  const Loop& inner = inner_of(outer);
  const Copy copy = *copy_in(outer);
  const TensorDecl& to = *find_tensor(p_, copy.store->tensor);
  const std::int64_t parts = extent_of(outer) * extent_of(inner) / nest.elements / kCudaThreads;
  if (parts > 1) {
    out_ += "#pragma unroll 1\n";
    open(fmt::format("for (int {0} = 0; {0} < {1}; {0}++)", part_, parts));
    write("const int {} = (threadIdx.x + {} * {}) * {};", lane_, kCudaThreads, part_,
          nest.elements);
  } else {
    write("const int {} = threadIdx.x * {};", lane_, nest.elements);
  }
  positions(outer, nest, facts);
  write("const int64_t {} = {};", room_, chosen(nest.along, [&](bool is_inner) {
          Facts under = facts;
          const Condition& across = is_inner ? copy.outer : copy.inner;
          const Condition& along = is_inner ? copy.inner : copy.outer;
          return fmt::format("({} ? {} : 0)", printer_.conditions({across}, under).text,
                             text(along.e + 1, facts));
        }));
  const auto apart = [&](bool is_inner) {
    const Symbol v = (is_inner ? inner : outer).variable;
    const bool is_adjacent = copy.store->index.back().mentions(v);
    return std::to_string(is_adjacent ? 1 : *to.shape.back().constant());
  };
  const bool rounds = to.is_for_tensor_cores && to.dtype == DType::f32;
  write("{};",
        called("mote_stage_vector",
               fmt::format(
                   "&{}, {}, &{}, {}{}", printer_.element(to, copy.store->index, facts),
                   chosen(nest.along, apart),
                   printer_.element(*find_tensor(p_, copy.load->tensor), copy.load->index, facts),
                   room_, rounds ? ", mote_to_tf32" : "")));
  if (parts > 1) close();
}

/// Elements of 16 bits for tensor cores are copied as they are.
std::optional<std::string> TileWriter::stored_bits(const Store& s, const Facts& facts) const {
  const TensorDecl& to = *find_tensor(p_, s.tensor);
  if (!to.is_for_tensor_cores || !is_narrow(to.dtype)) return KernelWriter::stored_bits(s, facts);
  const auto& guard = std::get<value::Guard>(s.value->kind);
  const auto& load = std::get<value::Load>(guard.then->kind);
  Facts inside = facts;
  const std::string counts = printer_.conditions(guard.conditions, inside).text;
  return fmt::format("{} ? {} : 0", counts,
                     printer_.element(*find_tensor(p_, load.tensor), load.index, inside));
}

}  // namespace mote::emit
