// SPDX-License-Identifier: Apache-2.0
// The registry of passes and their driver, with passes of a user's, by public headers only.
#include "mote/symbolic/pass.h"

#include <gtest/gtest.h>

#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

constexpr NodeAttribute<int> kDepth{"depth"};
constexpr GraphAttribute<int> kLongest{"longest"};

/// The passes of these tests, registered once: each writes its name to the journal.
class PassTest : public testing::Test {
 protected:
  static std::vector<std::string>& journal() {
    static std::vector<std::string> names;
    return names;
  }

  static void SetUpTestSuite() {
    // Finds the depth of each node; a graph's longest path is the greatest.
    add("test_depth", {}, {"depth"}, {}, [](SymbolicGraph& g) {
      const IndexLists before = predecessors(g);
      std::vector<int> depth(g.node_count());
      for (const std::uint32_t node : topological_order(g, before))
        for (const std::uint32_t writer : before[node])
          depth[node] = std::max(depth[node], depth[writer] + 1);
      g.attributes().set(kDepth, std::move(depth));
      return std::string();
    });
    add("test_longest", {"depth"}, {"longest"}, {}, [](SymbolicGraph& g) {
      int longest = 0;
      const IndexColumn<int>& depth = g.attributes().at(kDepth);
      for (std::uint32_t k = 0; k < g.node_count(); ++k)
        if (const int* of = depth.find(k)) longest = std::max(longest, *of + 1);
      g.attributes().set(kLongest, longest);
      return "longest path " + std::to_string(longest);
    });
    const auto append = [](SymbolicGraph& g) {
      const TensorSymbol y = g.outputs().front();
      const TensorSymbol z = g.add("neg", {y});
      g.set_outputs({z});
      return std::string("1 node added");
    };
    add("test_append", {}, {}, {}, append);
    add("test_append_kept", {}, {}, {"depth"}, append);
    add("test_a", {"b"}, {"a"}, {}, [](SymbolicGraph&) { return std::string(); });
    add("test_b", {"a"}, {"b"}, {}, [](SymbolicGraph&) { return std::string(); });
    add("test_lazy", {}, {"never"}, {}, [](SymbolicGraph&) { return std::string(); });
    add("test_throws", {}, {}, {},
        [](SymbolicGraph& g) -> std::string { return g.text(g.find("nothing")); });
    add("test_breaks", {}, {}, {}, [](SymbolicGraph& g) {
      g.remove(g.node_at(0));
      return std::string("1 node removed");
    });
  }

  static void add(const std::string& name, std::vector<std::string> required,
                  std::vector<std::string> provided, std::vector<std::string> kept,
                  const std::function<std::string(SymbolicGraph&)>& run) {
    register_pass({.name = name,
                   .summary = "Is a test's.",
                   .required = std::move(required),
                   .provided = std::move(provided),
                   .kept = std::move(kept),
                   .run = [name, run](SymbolicGraph& g, const PassOptions&) {
                     journal().push_back(name);
                     return run(g);
                   }});
  }

  PassTest() {
    journal().clear();
    g_.set_outputs({y_});
  }

  std::vector<std::string> apply(const std::vector<std::string>& names,
                                 const PassOptions& options = {.verify = true}) {
    std::vector<std::string> texts;
    for (const PassReport& report : apply_passes(g_, names, options)) texts.push_back(report.text);
    return texts;
  }
  std::string error_of(const std::vector<std::string>& names) {
    try {
      apply(names);
    } catch (const StatusError& e) {
      return e.what();
    }
    return "";
  }

  SymbolicGraph g_{"net"};
  TensorSymbol x_ = g_.input("x", {DType::f32, {3}});
  TensorSymbol h_ = g_.add("neg", {x_});
  TensorSymbol y_ = g_.add("relu", {h_});
};

TEST_F(PassTest, ProvidersRunFirst) {
  EXPECT_EQ(apply({"test_longest", "test_depth"}),
            (std::vector<std::string>{"test_depth: nothing", "test_longest: longest path 2"}));
  EXPECT_EQ(g_.attributes().at(kLongest), 2);
  EXPECT_EQ(journal(), (std::vector<std::string>{"test_depth", "test_longest"}));
}

TEST_F(PassTest, AChangeOfTheStructureMakesAProviderRunOnceMore) {
  apply({"test_depth", "test_append", "test_longest"});
  EXPECT_EQ(journal(),
            (std::vector<std::string>{"test_depth", "test_append", "test_depth", "test_longest"}));
  EXPECT_EQ(g_.attributes().at(kLongest), 3);
}

TEST_F(PassTest, WhatAPassDoesNotKeepIsOutOfDate) {
  apply({"test_depth", "test_append"});
  EXPECT_FALSE(g_.attributes().has("depth"));
  EXPECT_EQ(error_of({"test_longest"}),
            "symbolic graph: the pass test_longest requires the attribute depth of net, which the "
            "pass test_depth provides: apply it too");
  try {
    g_.attributes().at(kDepth);
    ADD_FAILURE() << "it can be read";
  } catch (const StatusError& e) {
    EXPECT_NE(std::string(e.what()).find("the pass test_depth provides it"), std::string::npos)
        << e.what();
  }
}

TEST_F(PassTest, WhatAPassKeepsCanBeRead) {
  apply({"test_depth", "test_append_kept"});
  EXPECT_TRUE(g_.attributes().has("depth"));
  EXPECT_EQ(*g_.attributes().at(kDepth).find(1), 1);
  apply({"test_longest"});
  EXPECT_EQ(g_.attributes().at(kLongest), 2);
}

TEST_F(PassTest, WhatWasOutOfDateIsNotKept) {
  apply({"test_depth", "test_append", "test_append_kept"});
  EXPECT_FALSE(g_.attributes().has("depth"));
}

TEST_F(PassTest, MissingAttributesAreErrorsBeforeAnyPassRuns) {
  EXPECT_EQ(error_of({"test_append", "test_longest"}),
            "symbolic graph: the pass test_longest requires the attribute depth of net, which the "
            "pass test_depth provides: apply it too");
  EXPECT_TRUE(journal().empty());
  EXPECT_EQ(g_.node_count(), 2U);
}

TEST_F(PassTest, ACircleOfRequirementsIsAnError) {
  EXPECT_EQ(error_of({"test_a", "test_b"}),
            "symbolic graph: passes require each other: test_a -> test_b -> test_a");
  EXPECT_TRUE(journal().empty());
}

TEST_F(PassTest, APassThatDoesNotProvideWhatItPromisesIsAnError) {
  EXPECT_EQ(error_of({"test_lazy"}),
            "symbolic graph: the pass test_lazy provides the attribute never, but has not set it "
            "for the structure that it left");
}

TEST_F(PassTest, ErrorsNameThePassTheNodeAndTheRule) {
  EXPECT_EQ(error_of({"test_throws"}),
            "the pass test_throws: symbolic graph: net has no symbol 'nothing'");
  const std::string broken_rule = error_of({"test_breaks"});
  EXPECT_TRUE(broken_rule.starts_with(
      "after the pass test_breaks: symbolic graph: net: node 1 't2' (relu) reads t1, "))
      << broken_rule;
  SymbolicGraph broken;
  broken.set_outputs({broken.tensor({DType::f32, {2}}, "y")});
  EXPECT_THROW(apply_passes(broken, std::vector<std::string>{"prune"}, {.verify = true}),
               StatusError);
  apply_passes(broken, std::vector<std::string>{"prune"}, {.verify = false});
}

TEST_F(PassTest, NamesAreKnownAndUnique) {
  EXPECT_EQ(error_of({"prun"}), "symbolic graph: there is no pass 'prun', did you mean prune?");
  EXPECT_THROW(register_pass({.name = "prune", .summary = "", .run = find_pass("merge").run}),
               StatusError);
  EXPECT_THROW(register_pass({.name = "test_none", .summary = "", .run = {}}), StatusError);
  EXPECT_THROW(register_pass({.name = "", .summary = "", .run = find_pass("merge").run}),
               StatusError);
  const std::vector<std::string> names = pass_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const std::string& name : default_passes()) {
    EXPECT_TRUE(std::ranges::binary_search(names, name)) << name;
    EXPECT_TRUE(find_pass(name).summary.ends_with(".")) << name;
  }
}

TEST_F(PassTest, ReportsSayWhetherTheStructureChanged) {
  const std::vector<PassReport> reports =
      apply_passes(g_, std::vector<std::string>{"test_append", "test_depth", "prune"});
  EXPECT_EQ(reports[0].text, "test_append: 1 node added");
  EXPECT_TRUE(reports[0].changed);
  EXPECT_FALSE(reports[1].changed);
  EXPECT_EQ(reports[2].pass, "prune");
  EXPECT_EQ(reports[2].text, "prune: nothing");
  EXPECT_FALSE(reports[2].changed);
}

}  // namespace
}  // namespace mote
