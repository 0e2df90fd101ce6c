// SPDX-License-Identifier: Apache-2.0
// A tape, and the names of its functions: "tape get 3 v 0 2" reads values 0 and 2 of entries of
// tape 3 under the path v.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

inline constexpr std::string_view kTapePush = "tape push";
inline constexpr std::string_view kTapeCount = "tape count";
inline constexpr std::string_view kTapeGet = "tape get";
inline constexpr std::string_view kTapeAdd = "tape add";
inline constexpr std::string_view kTapeKeep = "tape keep";
inline constexpr std::string_view kTapeTake = "tape take";
inline constexpr std::string_view kTapeReach = "tape reach";
inline constexpr std::string_view kTapeMark = "tape mark";
inline constexpr std::string_view kTapeSquareRoot = "sqrt";
inline constexpr std::string_view kTapeIf = "if";

class Tape {
 public:
  /// A number of no other tape, or the given one, which later tapes do not get.
  explicit Tape(std::optional<std::uint64_t> number = std::nullopt);
  std::uint64_t number() const { return number_; }

  /// Counts a function that reads what is under the path, unless it is only tried.
  void count_reader(const std::string& path);
  int readers(const std::string& path);

 private:
  std::uint64_t number_;
  std::mutex mutex_;
  std::map<std::string, int> readers_;
};

/// A function reads or adds the values of these numbers under the path.
struct TapePart {
  std::shared_ptr<Tape> tape;
  std::string path;
  std::vector<std::uint32_t> values;
};

/// Returns the functions of the part, which count no reader.
NamedFunction get_function(const TapePart& part);
NamedFunction add_function(const TapePart& part);
/// Makes later gradients have other numbers than this one.
void keep_gradient_number(std::uint64_t number);

}  // namespace mote
