// SPDX-License-Identifier: Apache-2.0
// Writes a kernel whose blocks take pipelined tiles: of three slices in shared memory, one is
// multiplied while copies bring the next ones; the sums then take their location.
#include "pipelined_tiles.h"
#include "tile_writer.h"

namespace mote::emit {
void TileWriter::run_pipelined() {
  shared_ = names_.fresh("shared");
  given_ = shared_ + ".given";
  const char* type = is_narrow_ ? "mote_pipelined_tile<uint16_t>" : "mote_pipelined_tile<float>";
  printer_.uses().call(type);
  line("__shared__ __align__(16) {} {};", type, shared_);
  row_ = group(form_.rows, "row", side_);
  column_ = group(form_.columns, "column", side_);
  depth_ = group(form_.reduced, "depth", pipelined_slice());
  down_ = down();
  lane_ = names_.fresh("lane");
  open_tile();
  pipelined_slices();
  rest();
  --indent_;
  line("}}");
}

/// Writes the start of the operand in the tensor, and the distance of its elements.
void TileWriter::pipelined_operand(const TileOperand& o, const std::string& name) {
  const auto found =
      *cuda::pipelined_operand(o.value, o.across.axes->front(), form_.reduced.front());
  std::vector<Expr> index = found.load->index;
  for (const int axis : {found.across, found.along}) index[static_cast<std::size_t>(axis)] = 0;
  const auto stride = [&](int axis) {
    return printer_.named_stride(found.load->tensor, static_cast<std::size_t>(axis));
  };
  line("const mote_pipelined_operand<{}> {} = {{&{} + {} * {}, {}, {}, {} - {}}};",
       is_narrow_ ? "uint16_t" : "float", name,
       printer_.element(*find_tensor(p_, found.load->tensor), index, all_), o.across.begin,
       stride(found.across), stride(found.across), stride(found.along), o.across.count,
       o.across.begin);
}

void TileWriter::pipelined_slices() {
  const std::string left = names_.fresh("left"), right = names_.fresh("right");
  const std::string slice = names_.fresh("slice");
  pipelined_operand(left_, left);
  pipelined_operand(right_, right);
  const auto stage = [&](const std::string& to, const std::string& from) {
    line("mote_pipelined_stage({}.staged[{}], {}, {}, {}, {});", shared_, to, left, right, from,
         depth_.count);
  };
  stage("0", "0");
  stage("1", std::to_string(pipelined_slice()));
  line("int {} = 0;", slice);
  open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", depth_.begin, depth_.count,
                   pipelined_slice()));
  line("mote_wait_for_copies<1>();");
  line("__syncthreads();");
  stage(fmt::format("({} + 2) % 3", slice),
        fmt::format("{} + {}", depth_.begin, 2 * pipelined_slice()));
  if (is_narrow_)
    line("{};",
         called("mote_pipelined_multiply_" + mma_,
                fmt::format("{}, {}.staged[{}], {}, {}", sums_, shared_, slice, left, right)));
  else
    line("mote_pipelined_multiply_f32({}, {}.staged[{}]);", sums_, shared_, slice);
  line("{0} = ({0} + 1) % 3;", slice);
  close();
  line("mote_wait_for_copies<0>();");
  line("__syncthreads();");
}

}  // namespace mote::emit
