// SPDX-License-Identifier: Apache-2.0
// The coverage of an op. A cell is a pair of a layout and a value of one parameter (or the presence
// or absence of an optional tensor) for an op, dtype and backend. A case executes the cells of all
// its layouts with all its values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/case.h"
#include "mote/oracle/run.h"
#include "mote/oracle/screen.h"

namespace MOTE_API mote {

struct CaseFeatures {
  /// "row-major", or the features of a tensor: "permuted", "gaps", "offset", "repeats", "in place".
  std::vector<std::string> layouts;
  /// The value of each parameter, or the class that it falls into: "groups=2", "pad0>=3",
  /// "alpha<0"; "bias", "no bias"; one "-" if an op has neither.
  std::vector<std::string> values;
};
CaseFeatures features_of(const Case& c);

/// The layout of a case with an output that takes an input's memory.
inline constexpr const char* kInPlaceLayout = "in place";
/// The values that say whether an optional tensor is there: "bias", "no bias".
std::vector<std::string> optional_tensor_values(const Target& target);

/// The features that cases of the op and dtype can have. The values of a parameter are those of
/// legal cases with all other parameters at their defaults.
CaseFeatures possible_features(const Target& target, DType dtype);

struct CoverageCell {
  std::string layout;
  std::string value;
  auto operator<=>(const CoverageCell&) const = default;
};
struct CellCount {
  std::int64_t cases = 0;
  std::int64_t judged = 0;
  std::int64_t declined = 0;         ///< cases that the backend declined
  std::int64_t declined_by_run = 0;  ///< declined cases that can_run had accepted
};
using CellCounts = std::map<CoverageCell, CellCount>;

/// The cells of one op, dtype and backend.
struct Coverage {
  std::string op;
  DType dtype = DType::f32;
  std::string backend;
  CaseFeatures of;                          ///< the cells are their product
  std::vector<CoverageCell> executed = {};  ///< cells with a judged case
  std::vector<CoverageCell> declined = {};  ///< cells with only declined cases, or ruled out
  /// The declined cells that are ruled out before any call: can_run declined every case of the op
  /// and dtype, or every case with (or without) an optional tensor; or the contract lets no output
  /// take an input's memory.
  std::vector<CoverageCell> ruled_out = {};
  std::vector<CoverageCell> untested = {};  ///< the other cells
};

/// Adds a case's cells.
void count_cells(CellCounts& cells, const CaseFeatures& features, const Outcome& outcome);
/// Sorts the possible and the counted cells. `takes_memory`: the contract lets an output take an
/// input's memory.
Coverage make_coverage(const std::string& op, DType dtype, const std::string& backend,
                       const CellCounts& counted, bool takes_memory = true);

struct CoverageSum {
  std::int64_t executed = 0;
  std::int64_t declined = 0;
  std::int64_t untested = 0;
  std::int64_t ruled_out = 0;  ///< the number of these that are ruled out
  std::int64_t cells() const { return executed + declined + untested; }
  /// The share of executed cells among those that are not ruled out; 100 if there are none.
  double percent() const;
};
CoverageSum sum_of(const std::vector<Coverage>& coverage);

/// Lists cells in few words: "in place; groups=4; gaps with pad0=1, pad1=1".
std::string cells_text(const std::vector<CoverageCell>& cells, const CaseFeatures& of);
/// The sum, and the rows with the most untested cells.
std::string coverage_text(const std::vector<Coverage>& coverage, const Screen& screen = {});
/// One line of JSON a row.
std::string coverage_json(const std::vector<Coverage>& coverage);

}  // namespace mote
