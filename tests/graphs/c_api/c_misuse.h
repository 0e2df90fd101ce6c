// SPDX-License-Identifier: Apache-2.0
// Objects to misuse the functions of mote/mote_graphs.h with, and what a refusal is.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graphs/c_api/c_graphs.h"

namespace mote::test {

using Calls = std::vector<std::pair<const char*, std::function<mote_status()>>>;

/// Expects MOTE_INVALID from each, with one line that names the function.
inline void expect_invalid(const Calls& calls) {
  for (const auto& [what, call] : calls) {
    EXPECT_EQ(call(), MOTE_INVALID) << what;
    const std::string text = mote_last_error();
    EXPECT_EQ(text.rfind("mote_", 0), 0U) << what << ": " << text;
    EXPECT_NE(text.find(": "), std::string::npos) << what << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << what << ": " << text;
  }
}

class MisuseOfGraphsC : public testing::Test {
 protected:
  MisuseOfGraphsC() {
    neg.set([](mote_command** c) { return mote_command_parse("neg", c); });
    concrete.set([](mote_graph** g) { return mote_graph_create(nullptr, 1, g); });
  }

  SymbolicHandle graph = parsed(), other = parsed();
  mote_symbolic* const g = graph;
  ContextHandle context = made_context();
  ExecutableHandle run = compiled(graph, context);
  GraphHandle concrete;
  CommandHandle neg;
  TensorHandle tensor = made_tensor({4, 3}, 1);
  const std::int64_t shape[2] = {4, 3};
  const std::int32_t order[2] = {1, 0};
  const mote_symbol x = named(graph, "x"), z = named(graph, "z"), sums = named(graph, "sums");
  mote_symbol out = {7, 7};
  mote_symbolic* no_graph = nullptr;
};

}  // namespace mote::test
