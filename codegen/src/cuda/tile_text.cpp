// SPDX-License-Identifier: Apache-2.0
// Writes a kernel whose blocks take tiles. A slice of each operand goes through shared memory, read
// along whichever of its axes is contiguous; each thread keeps 32 sums in registers; then sums go
// back through shared memory, half a tile at a time, so that the code after the reduction is
// written once and stores are contiguous too. Tensor cores multiply operands of 16 bits, or rounded
// to tf32.
#include "tile_writer.h"

namespace mote::emit {
namespace {

using cuda::kSlice;

/// Returns true if the value is an element of a temporary that is contiguous along these axes.
bool lies_along(const Value& value, const LoopProgram& p, const TileAxes& axes) {
  const auto* load = std::get_if<value::Load>(&value->kind);
  if (load == nullptr || load->index.empty()) return false;
  return find_tensor(p, load->tensor)->role == TensorRole::temporary &&
         load->index.back() == Expr(axes.back().variable);
}

/// Returns the first element of an input or output that the value reads.
const value::Load* first_load(const Value& value, const LoopProgram& p) {
  const value::Load* found = nullptr;
  for_each_value(value, [&](const Value& v) {
    const auto* load = std::get_if<value::Load>(&v->kind);
    if (load == nullptr || found != nullptr) return;
    if (find_tensor(p, load->tensor)->role != TensorRole::temporary) found = load;
  });
  return found;
}

}  // namespace

TileWriter::TileWriter(const LoopProgram& p, const cuda::TileForm& form, Names& names,
                       Printer& printer)
    : KernelWriter(p, names, printer),
      form_(form),
      side_(form.side()),
      left_{0, form_.left, form_.left_where, row_},
      right_{1, form_.right, form_.right_where, column_} {
  type_ = local_type(form_.accumulator->dtype, p_.native);
  zero_ = start(ReduceOp::sum, form_.accumulator->dtype);
  if (form_.fragments) mma_ = form_.fragments == DType::f32 ? "tf32" : name(*form_.fragments);
  is_narrow_ = form_.fragments && form_.fragments != DType::f32;
}

void TileWriter::threads_loops(const Loop& /*first*/, const Facts& facts) {
  facts_ = all_ = facts;
  for (const TileAxes* axes : {&form_.batch, &form_.rows, &form_.columns, &form_.reduced})
    for (const cuda::TileAxis& a : *axes) all_.set_range(a.variable, a.begin, a.end);
  form_.is_pipelined ? run_pipelined() : run_by_slices();
}

void TileWriter::run_by_slices() {
  shared_arrays();
  row_ = group(form_.rows, "row", kCudaTile);
  column_ = group(form_.columns, "column", kCudaTile);
  const bool is_one = is_same_in_every_tile(form_.reduced);
  if (is_one) depth_ = group(form_.reduced, "depth", kSlice);
  left_.along = along(first_load(form_.left, p_), form_.reduced, form_.rows, "left_along");
  right_.along = along(first_load(form_.right, p_), form_.reduced, form_.columns, "right_along");
  if (lies_along(form_.left, p_, form_.reduced)) left_.along = "true";
  if (lies_along(form_.right, p_, form_.reduced)) right_.along = "true";
  left_.vectors = vectors(left_, "left_vectors");
  right_.vectors = vectors(right_, "right_vectors");
  down_ = down();
  part_ = names_.fresh("part");
  lane_ = names_.fresh("lane");
  location_ = names_.fresh("location");
  slot_ = names_.fresh("slot");
  if (!left_.vectors.empty() || !right_.vectors.empty()) room_ = names_.fresh("room");
  open_tile();
  if (!is_one) depth_ = group(form_.reduced, "depth", kSlice);
  slices();
  rest();
  --indent_;
  line("}}");
}

void TileWriter::open(const std::string& head) {
  Writer::line(head + " {");
  ++indent_;
}

void TileWriter::close() {
  --indent_;
  Writer::line("}");
}

/// Ends a branch, and begins the next.
void TileWriter::close_into(const std::string& head) {
  --indent_;
  open("} " + head);
}

/// Writes a pragma that unrolls the following loop by that number of iterations. Unrolled fully, or
/// by several iterations that load 16 bytes, it would make NVRTC keep the addresses in registers.
void TileWriter::unrolled(int iterations) {
  out_ += fmt::format("#pragma unroll {}\n", iterations);
}

/// Declares the arrays in shared memory for the operands, for sums on their way out, and for the
/// products that count.
void TileWriter::shared_arrays() {
  staged_ = names_.fresh("staged");
  given_ = staged_;
  if (is_narrow_) {
    line("__shared__ __align__(16) uint16_t {}[2][{}][{}];", staged_, kCudaTile, kNarrowPitch);
    given_ = names_.fresh("given");
  }
  line("__shared__ __align__(16) {} {}[2][{}][{}];", type_, given_, kSlice, pitch());
  left_.holds = holds(form_.left_where, "left_holds");
  right_.holds = holds(form_.right_where, "right_holds");
  if (!mma_.empty() && has_conditions()) special_ = names_.fresh("special");
}

/// Opens the loop over tiles, with the variables of the batch and the tables of rows and columns.
void TileWriter::open_tile() {
  const std::string rows = names_.fresh("row_tiles");
  const std::string columns = names_.fresh("column_tiles");
  line("const int64_t {} = ({} + {}) / {};", rows, row_.count, side_ - 1, side_);
  line("const int64_t {} = ({} + {}) / {};", columns, column_.count, side_ - 1, side_);
  TileGroup batch;
  batch.axes = &form_.batch;
  batch.extents = extents(form_.batch, facts_);
  const std::string tile = names_.fresh("tile");
  std::string all;
  for (const std::string& extent : batch.extents) all += extent + " * ";
  open(fmt::format("for (int64_t {0} = mote_block(); {0} < {1}{2} * {3}; {0} += mote_blocks())",
                   tile, all, rows, columns));
  line("const int64_t {} = {} % {} * {};", column_.begin, tile, columns, side_);
  line("const int64_t {} = {} / {}{} * {};", row_.begin, tile, columns,
       form_.batch.empty() ? "" : " % " + rows, side_);
  if (!form_.batch.empty())
    define_digits(batch, fmt::format("{} / ({} * {})", tile, rows, columns));
  line("{} {}{} = {{}};", type_, sums_ = names_.fresh("sums"),
       !form_.is_pipelined ? (mma_.empty() ? "[8][4]" : "[2][4][4]")
       : is_narrow_        ? "[4][8][4]"
                           : "[16][8]");
}

void TileWriter::slices() {
  const bool has_tables = !row_.tables.empty() || !column_.tables.empty() || !depth_.tables.empty();
  fill_tables(row_, row_.begin + " + ");
  fill_tables(column_, column_.begin + " + ");
  fill_tables(depth_, "");
  if (has_tables) line("__syncthreads();");
  open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", depth_.begin, depth_.count,
                   kSlice));
  if (!special_.empty()) line("bool {} = false;", special_);
  stage(left_);
  stage(right_);
  multiply();
  line("__syncthreads();");
  close();
}

/// Returns the name of the function that tells infinities and NaNs among what tensor cores
/// multiply.
std::string TileWriter::is_special() const {
  printer_.uses().call("mote_is_special");  // the helper has all of them
  return "mote_is_special_" + mma_;
}

/// Multiplies the staged slices, once all threads have arrived. Tensor cores multiply by 0 where a
/// product does not count, which is right as long as nothing is infinite or NaN.
void TileWriter::multiply() {
  const std::string slices = fmt::format("{0}, {1}[0], {1}[1]", sums_, staged_);
  const auto mask = [](const TileOperand& o) { return o.holds.empty() ? "NULL" : o.holds; };
  const std::string masks =
      has_conditions() ? fmt::format(", {}, {}", mask(left_), mask(right_)) : "";
  const std::string product = mma_.empty() ? called("mote_tile_multiply", slices + masks)
                                           : called("mote_tile_multiply_" + mma_, slices);
  if (!special_.empty()) {
    open(fmt::format("if (__syncthreads_or({}))", special_));
    line("{};", called("mote_tile_multiply_counting_" + mma_, slices + masks));
    close_into("else");
    line("{};", product);
    close();
  } else {
    line("__syncthreads();");
  }
  fill_tables(depth_, fmt::format("{} + {} + ", depth_.begin, kSlice));
  if (special_.empty()) line("{};", product);
}

/// Returns the element of shared memory that holds a sum.
std::string TileWriter::given_at(const std::string& location, const std::string& across) const {
  if (form_.is_pipelined)
    return fmt::format("{}[{} % {}][{}]", given_, location, side_ / 2, across);
  return fmt::format("{0}[{1} / {2} % 2][{1} % {2}][{3}]", given_, location, kSlice, across);
}

/// Writes the computation that each element does with its sum.
void TileWriter::rest() {
  const std::string half = names_.fresh("half");
  const std::string location = names_.fresh("r");
  const std::string across = names_.fresh("c");
  const int rows = side_ / 2;
  open(fmt::format("for (int {0} = 0; {0} < 2; {0}++)", half));
  line("{};", called(form_.is_pipelined ? "mote_pipelined_give"
                     : mma_.empty()     ? "mote_tile_give"
                                        : "mote_tile_give_fragments",
                     fmt::format("{}, {}, {}", sums_, given_, half)));
  line("__syncthreads();");
  open(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2})", lane_, rows * side_,
                   kCudaThreads));
  line("const int {0} = {1} * {2} + ({3} ? {4} % {2} : {4} / {5});", location, half, rows, down_,
       lane_, side_);
  line("const int {0} = {1} ? {2} / {4} : {2} % {3};", across, down_, lane_, side_, rows);
  line("const int64_t {} = {} + {};", row_.flat, row_.begin, location);
  line("const int64_t {} = {} + {};", column_.flat, column_.begin, across);
  open(fmt::format("if ({} < {} && {} < {})", row_.flat, row_.count, column_.flat, column_.count));
  variables(row_, location);
  variables(column_, across);
  line("const {} {} = {};", type_, names_.local(form_.accumulator->name),
       given_at(location, across));
  Facts inside = facts_;
  for (const TileAxes* axes : {&form_.batch, &form_.rows, &form_.columns})
    for (const cuda::TileAxis& a : *axes) inside.set_range(a.variable, a.begin, a.end);
  for (const Stmt& s : form_.innermost->body)
    if (&s != form_.sum) statement(s, inside);
  close();
  close();
  line("__syncthreads();");
  close();
}

}  // namespace mote::emit
