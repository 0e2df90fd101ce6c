// SPDX-License-Identifier: Apache-2.0
// Fuzzes index text: an expression prints as text that parses to an equal expression, and so does
// each side of its constraints.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz.h"
#include "mote/base/error.h"
#include "mote/uops/expr.h"

namespace {

void check(const mote::Expr& e) {
  const std::string printed = e.to_string();
  const mote::ParsedExpr again = mote::parse_expr(printed);
  mote::fuzz::require(again.constraints.empty() && again.expr == e, printed,
                      again.expr.to_string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mote::ParsedExpr parsed;
  try {
    parsed = mote::parse_expr(mote::fuzz::text_of(data, size));
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return 0;
  }
  mote::fuzz::must_not_throw([&] {
    check(parsed.expr);
    for (const mote::Constraint& c : parsed.constraints) {
      check(c.left);
      check(c.right);
    }
  });
  return 0;
}
