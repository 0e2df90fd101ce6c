// SPDX-License-Identifier: Apache-2.0
// Writes the copy of an operand's slice from memory to shared memory: element by element, or 16
// bytes at a time if the call's strides and addresses allow it.
#include <algorithm>
#include <set>

#include "tile_writer.h"

namespace mote::emit {

using cuda::kSlice;

/// Declares an array in shared memory that says which products count, and returns its name; empty
/// if all count.
std::string TileWriter::holds(const Conditions& where, const char* hint) {
  if (where.empty()) return "";
  const std::string name = names_.fresh(hint);
  line("__shared__ bool {}[{}][{}];", name, kSlice, kPitch);
  return name;
}

/// Returns the number of elements in 16 bytes, if the operand is a tensor that is staged as it is
/// stored and all of it counts; otherwise 0.
int TileWriter::elements_of_vector(const TileOperand& o) const {
  const auto* load = std::get_if<value::Load>(&o.value->kind);
  if (load == nullptr || !o.where.empty()) return 0;
  const TensorDecl& t = *find_tensor(p_, load->tensor);
  if (t.role == TensorRole::temporary || !is_real(t.dtype)) return 0;
  if (t.dtype == DType::f64) return 2;
  if (t.dtype == DType::f32) return 4;
  return is_narrow_ ? 8 : 0;
}

/// Returns the condition under which neighbours along the group are adjacent and start at addresses
/// divisible by 16; empty if they never do. Where there are several loops, each goes over whole
/// rows of the next one.
std::string TileWriter::is_vector_along(const value::Load& load, const TileGroup& g,
                                        int elements) const {
  if (g.axes == nullptr) return "";
  std::set<std::size_t> own;  // axes of the tensor that change with the group
  std::string side_by_side, count = "1";
  for (std::size_t axis = g.axes->size(); axis-- > 0;) {
    const cuda::TileAxis& loop = (*g.axes)[axis];
    const auto moves = [&](const Expr& e) { return e.mentions(loop.variable); };
    const auto at = std::ranges::find_if(load.index, moves);
    if (loop.begin != Expr(0) || loop.step != Expr(1) || at == load.index.end() ||
        *at != Expr(loop.variable) || std::ranges::count_if(load.index, moves) != 1)
      return "";
    const auto k = static_cast<std::size_t>(at - load.index.begin());
    own.insert(k);
    side_by_side += (side_by_side.empty() ? "" : " && ") + printer_.named_stride(load.tensor, k) +
                    " == " + count;
    count = count == "1" ? g.extents[axis] : g.extents[axis] + " * " + count;
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

/// Returns the name of a constant: true if vector accesses stage the operand; empty: never.
std::string TileWriter::vectors(const TileOperand& o, const char* hint) {
  const int elements = elements_of_vector(o);
  if (elements == 0) return "";
  const auto& load = std::get<value::Load>(o.value->kind);
  const std::string inner = is_vector_along(load, depth_, elements);
  const std::string outer = is_vector_along(load, o.across, elements);
  if (inner.empty() && outer.empty()) return "";
  const auto or_false = [](const std::string& s) { return s.empty() ? "false" : s; };
  const std::string which =
      o.along == "false" ? or_false(outer)
                         : fmt::format("({} ? {} : {})", o.along, or_false(inner), or_false(outer));
  const std::string name = names_.fresh(hint);
  line("const bool {} = mote_is_aligned({}) && {};", name,
       printer_.read(names_.tensor(load.tensor)), which);
  return name;
}

void TileWriter::stage(const TileOperand& o) {
  if (o.vectors.empty()) {
    stage_elements(o);
    return;
  }
  open(fmt::format("if ({})", o.vectors));
  stage_vectors(o);
  close_into("else");
  stage_elements(o);
  close();
}

/// Writes the position of a thread's elements in the slice and in the tensor, from `lane` on.
void TileWriter::positions(const TileOperand& o, const std::string& lane) {
  line("const int {} = {};", lane_, lane);
  line("const int {0} = {1} ? {2} / {3} : {2} % {4};", location_, o.along, lane_, kSlice,
       kCudaTile);
  line("const int {0} = {1} ? {2} % {3} : {2} / {4};", slot_, o.along, lane_, kSlice, kCudaTile);
  line("const int64_t {} = {} + {};", o.across.flat, o.across.begin, location_);
  line("const int64_t {} = {} + {};", depth_.flat, depth_.begin, slot_);
  variables(o.across, location_);
  variables(depth_, slot_);
}

std::string TileWriter::staged_at(const TileOperand& o) const {
  return fmt::format("{}[{}][{}][{}]", staged_, o.which, is_narrow_ ? location_ : slot_,
                     is_narrow_ ? slot_ : location_);
}

void TileWriter::stage_vectors(const TileOperand& o) {
  const int elements = elements_of_vector(o);
  if (elements == 0) return;
  const auto& load = std::get<value::Load>(o.value->kind);
  const int parts = kCudaTile * kSlice / elements / kCudaThreads;
  if (parts > 1) {
    unrolled(1);
    open(fmt::format("for (int {0} = 0; {0} < {1}; {0}++)", part_, parts));
    positions(o, fmt::format("(threadIdx.x + {} * {}) * {}", kCudaThreads, part_, elements));
  } else {
    positions(o, fmt::format("threadIdx.x * {}", elements));
  }
  const std::string element = printer_.element(*find_tensor(p_, load.tensor), load.index, all_);
  line("const int64_t {} = {} ? ({} < {} ? {} - {} : 0) : ({} < {} ? {} - {} : 0);", room_, o.along,
       o.across.flat, o.across.count, depth_.count, depth_.flat, depth_.flat, depth_.count,
       o.across.count, o.across.flat);
  const std::string stored = called(
      "mote_stage_vector", fmt::format("&{}, {} ? {} : {}, &{}, {}{}", staged_at(o), o.along,
                                       is_narrow_ ? 1 : pitch(), is_narrow_ ? kNarrowPitch : 1,
                                       element, room_, mma_ == "tf32" ? ", mote_to_tf32" : ""));
  if (special_.empty())
    line("{};", stored);
  else
    line("{0} = {1} || {0};", special_, called("mote_any", stored + ", " + is_special()));
  if (parts > 1) close();
}

/// Returns `element : zero`.
std::string TileWriter::staged_element(const TileOperand& o, const Facts& facts) const {
  if (!is_narrow_) {
    Text v = printer_.value(o.value, facts);
    if (type_ == "float") v = as_float(v);
    const std::string element = mma_ == "tf32" ? "mote_to_tf32(" + v.text + ")" : within(v, kOr);
    return element + " : " + zero_;
  }
  const auto& load = std::get<value::Load>(o.value->kind);
  return printer_.element(*find_tensor(p_, load.tensor), load.index, facts) + " : 0";
}

void TileWriter::stage_elements(const TileOperand& o) {
  // In addition to vector accesses, and with fragments, further unrolling would cost each
  // multiprocessor a block.
  unrolled(o.vectors.empty() || mma_.empty() ? 4 : 1);
  open(
      fmt::format("for (int {0} = 0; {0} < {1}; {0}++)", part_, kCudaTile * kSlice / kCudaThreads));
  positions(o, fmt::format("threadIdx.x + {} * {}", kCudaThreads, part_));
  Facts facts = all_;
  std::string inside =
      fmt::format("{} < {} && {} < {}", o.across.flat, o.across.count, depth_.flat, depth_.count);
  if (!o.where.empty()) {
    inside += " && " + within(printer_.conditions(o.where, facts), kAnd);
    const std::string counts = names_.fresh("counts");
    line("const bool {} = {};", counts, inside);
    line("{}[{}][{}] = {};", o.holds, slot_, location_, counts);
    inside = counts;
  }
  line("{} = {} ? {};", staged_at(o), inside, staged_element(o, facts));
  if (!special_.empty()) line("{0} = {0} || {1}({2});", special_, is_special(), staged_at(o));
  close();
}

}  // namespace mote::emit
