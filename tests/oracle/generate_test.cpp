// SPDX-License-Identifier: Apache-2.0
// Tests the generator: every op gets legal cases by construction, of a useful size, reproducibly.
#include "mote/oracle/generate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "mote/base/error.h"
#include "mote/oracle/exactness.h"

namespace mote {
namespace {

template <typename F>
void for_each_instance(F&& f) {
  for (const OpRecord& record : catalogue()) {
    for (const DType dtype : record.dtypes) f(find_target(record.name), dtype);
  }
}

TEST(Generate, EveryOpGetsLegalCasesByConstruction) {
  int drawn = 0;
  for_each_instance([&](const auto& target, DType dtype) {
    for (std::uint64_t position = 0; position < 60; ++position, ++drawn) {
      EXPECT_EQ(draws_taken(target, dtype, 5, position), 1) << target->op() << " " << position;
    }
  });
  EXPECT_GT(drawn, 5000);
}

TEST(Generate, WindowsAndGroupsStayLegalOverThousandsOfDraws) {
  for (const char* op : {"conv2d", "max_pool2d", "argmax"}) {
    for (std::uint64_t position = 0; position < 1500; ++position) {
      EXPECT_EQ(draws_taken(find_target(op), DType::f32, 6, position), 1) << op << " " << position;
    }
  }
}

TEST(Generate, IsAPureFunctionOfSeedAndPosition) {
  const auto target = find_target("conv2d");
  const auto text = [&](std::uint64_t seed, std::uint64_t position) {
    return to_string(generate(target, DType::f32, seed, position));
  };
  EXPECT_EQ(text(1, 7), text(1, 7));
  EXPECT_NE(text(1, 7), text(1, 8));
  EXPECT_NE(text(1, 7), text(2, 7));
}

TEST(Generate, ExtentsThatAreGivenAreNotDrawn) {
  const auto target = find_target("softmax");
  for (std::uint64_t position = 0; position < 200; ++position) {
    const DrawStyle style{.full_rank = true, .extents = {{"C", 3}, {"nowhere", 7}}};
    const Case c = generate(target, DType::f32, {8, position}, style);
    EXPECT_EQ(c.inputs[0].shape.at(2), 3) << to_string(c);
  }
}

TEST(Generate, HalfTheCasesAreLargeAndFewAreHuge) {
  for (const char* op : {"gemm", "conv2d", "matmul", "sum", "max_pool2d", "add"}) {
    int large = 0;
    int huge = 0;
    constexpr int kCases = 300;
    for (std::uint64_t position = 0; position < kCases; ++position) {
      const Case c = generate(find_target(op), DType::f32, 3, position);
      const double work = multiply_adds(*c.program, c.binding);
      large += work >= 1000;
      huge += work > 300'000;
    }
    EXPECT_GE(large, kCases / 2) << op;
    EXPECT_LE(huge, kCases / 20) << op;
  }
}

TEST(Generate, ReachesEdgesLayoutsOptionalInputsAndParameters) {
  std::map<std::string, int> seen;
  for (std::uint64_t position = 0; position < 1500; ++position) {
    const Case c = generate(find_target("conv2d"), DType::f32, 9, position);
    seen["b"] += c.inputs.size() == 3;
    seen["no b"] += c.inputs.size() == 2;
    for (const char* name : {"stride0", "dilation1", "groups"}) {
      seen[name] += c.params.at(name).integer() > 1;
    }
    seen["asymmetric"] += c.params.at("pads0").integer() != c.params.at("pads2").integer();
    for (const std::int64_t extent : c.outputs[0].shape) {
      seen["empty"] += extent == 0;
      seen["one"] += extent == 1;
      seen["63 to 65"] += extent >= 63 && extent <= 65;
    }
    const CaseLayout& layout = c.inputs[0].layout;
    seen["nhwc"] += layout.order == nhwc_order(4);
    seen["pad"] += layout.pad > 0;
    seen["offset"] += layout.offset > 0;
    seen["repeated"] += !layout.repeated.empty();
    seen["laid out output"] += !c.outputs[0].layout.contiguous();
    seen[std::string(name(c.fill.kind))] += 1;
    seen["slack"] += (c.binding.values.at(Symbol(SymbolKind::size, "H")) +
                      c.params.at("pads0").integer() + c.params.at("pads2").integer() -
                      c.params.at("dilation0").integer() * (c.inputs[1].shape[2] - 1) - 1) %
                         c.params.at("stride0").integer() !=
                     0;
  }
  for (const auto& [what, count] : seen) EXPECT_GE(count, 5) << what;
}

TEST(Generate, ReachesSizesThatAgreeLongOnesDefaultsAndSharedMemory) {
  std::map<std::string, int> seen;
  for (std::uint64_t position = 0; position < 1500; ++position) {
    const Case c = generate(find_target("gemm"), DType::f32, 9, position);
    const auto size = [&](const char* name) {
      return c.binding.values.at(Symbol(SymbolKind::size, name));
    };
    seen["M = N"] += size("M") == size("N") && size("M") > 2;
    seen["N = K"] += size("N") == size("K") && size("N") > 2;
    seen["all"] += size("M") == size("N") && size("N") == size("K") && size("M") > 2;
    seen["long"] += std::max({size("M"), size("N"), size("K")}) > 65'536;
    const bool has_c = c.params.contains("beta");
    seen["defaults"] +=
        has_c && c.params.at("alpha").real() == 1 && c.params.at("beta").real() == 1;
    seen["in place"] += !c.outputs[0].in_place.empty();
    seen["K = 0"] += size("K") == 0;
  }
  for (const auto& [what, count] : seen) EXPECT_GE(count, 5) << what;
}

TEST(Generate, ProbesOutweighTheOtherElements) {
  const auto target = find_target("argmax");
  int probes = 0;
  int last = 0;
  for (std::uint64_t k = 0; k < 400; ++k) {
    const Case c = generate(target, DType::f32, 4, k);
    if (c.set.empty()) continue;
    ++probes;
    const SetElement& e = c.set.at(0);
    const CaseTensor& x = c.inputs.at(0);
    bool at_end = true;
    for (std::size_t axis = 0; axis < x.shape.size(); ++axis)
      at_end = at_end && e.index[axis] == x.shape[axis] - 1;
    last += at_end ? 1 : 0;
    EXPECT_EQ(to_string(parse_case(to_string(c))), to_string(c));
  }
  EXPECT_GT(probes, 30);
  EXPECT_GT(2 * last, probes);
  EXPECT_LT(last, probes);
}

TEST(Generate, BroadcastAxesAreOneOnEitherSide) {
  int a_repeats = 0;
  int b_repeats = 0;
  for (std::uint64_t position = 0; position < 200; ++position) {
    const Case c = generate(find_target("matmul"), DType::f32, 9, position);
    a_repeats += c.inputs[0].shape[0] == 1 && c.outputs[0].shape[0] > 1;
    b_repeats += c.inputs[1].shape[0] == 1 && c.outputs[0].shape[0] > 1;
  }
  EXPECT_GT(a_repeats, 5);
  EXPECT_GT(b_repeats, 5);
}

TEST(Generate, DraftsGiveTheirCasesBack) {
  for_each_instance([](const auto& target, DType dtype) {
    for (std::uint64_t position = 0; position < 15; ++position) {
      const Case c = generate(target, dtype, 21, position);
      const std::optional<Case> again = to_case(to_draft(c));
      ASSERT_TRUE(again);
      EXPECT_EQ(again->binding.outputs, c.binding.outputs) << to_string(c);
      for (std::size_t k = 0; k < c.inputs.size(); ++k) {
        EXPECT_EQ(again->inputs[k].shape, c.inputs[k].shape) << to_string(c);
      }
    }
  });
}

TEST(Domain, OutputSizesOfWindowsAreChosenFirst) {
  const auto target = find_target("conv2d");
  const Domain& domain = domain_of(target->program({DType::f32, 3}));
  std::map<std::string, std::string> pivots;
  for (const Knob& knob : domain.knobs) pivots[knob.name] = knob.pivot ? knob.pivot->name() : "";
  EXPECT_EQ(pivots.at("OH"), "H");
  EXPECT_EQ(pivots.at("OW"), "W");
  EXPECT_EQ(pivots.at("KH"), "");
  EXPECT_FALSE(pivots.contains("H"));
}

TEST(Domain, SolvesForTheLeastSizeAndAddsSlackBelowTheStride) {
  const auto program = find_target("max_pool2d")->program({DType::f32, 1});
  const Domain& domain = domain_of(program);
  Params params;
  for (const ParamDecl& p : program->params) params[p.name] = p.name.starts_with("pads") ? 0 : 1;
  params["ceil_mode"] = 0;
  params["kernel0"] = 3;
  params["stride0"] = 4;
  const Symbol h(SymbolKind::size, "H");
  KnobValues at;
  for (const Knob& knob : domain.knobs) at.values.push_back(knob.name == "OH" ? 5 : 1);
  EXPECT_EQ(solve(domain, at, params)->at(h), 4 * 4 + 3);
  at.slack[h] = 2;
  EXPECT_EQ(solve(domain, at, params)->at(h), 4 * 4 + 3 + 2);
  at.slack[h] = 100;
  EXPECT_EQ(solve(domain, at, params)->at(h), 4 * 4 + 3 + 3);
}

std::shared_ptr<const Target> written(const std::string& name, const char* text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "_" + name;
  std::FILE* file = std::fopen(path.c_str(), "w");
  EXPECT_NE(file, nullptr);
  std::fputs(text, file);
  std::fclose(file);
  return find_target(path);
}

TEST(Generate, SizesWithoutANameInProgramFilesAreChosenFirstToo) {
  const std::vector<std::pair<const char*, const char*>> programs = {
      {"crop.mote", "op crop\ninput x f32[N, M]\noutput y = x[i0 + 2, i1 over N - 4, M - 2]\n"},
      {"two.mote",
       "op two\ninput x f32[N]\ninput y f32[M]\noutput z = x[i0 over N - M]\n"
       "output w = y[i0 over M - 3]\n"},
      {"windows.mote",
       "op windows\nparam k int in 1..\ninput x f32[N]\n"
       "output z = argmax[1](x[i0 + i1 over N - $k + 1, $k])\n"},
      {"flat.mote",
       "op flat\ninput x f32[A*B]\ninput y f32[A]\n"
       "output z = x[i0*B + i1 over A, B] + y[i0 over A, B]\n"},
      {"odd.mote",
       "op odd\ninput x f32[N]\ninput y f32[M]\nrequire N = 2*M + 1\n"
       "output z = x[2*i0 over M] + y\n"}};
  for (const auto& [name, text] : programs) {
    const auto target = written(name, text);
    for (std::uint64_t position = 0; position < 300; ++position) {
      EXPECT_EQ(draws_taken(target, DType::f32, 1, position), 1) << name << " " << position;
    }
  }
}

TEST(Generate, ConstraintsThatLeaveNothingAreAnError) {
  ProgramSpec spec;
  spec.name = "squares";
  const Uop x = input("x", DType::f32, {"N*N - N - M*M"});
  spec.inputs = {x, input("n", DType::f32, {"N"}), input("m", DType::f32, {"M"})};
  spec.outputs = {{"y", x}};
  spec.constraints = {{Expr::size("N") * Expr::size("N") + 1, Expr::size("M") * Expr::size("M")}};
  const auto target = written("squares.mote", to_string(make_program(spec)).c_str());
  bool thrown = false;
  for (std::uint64_t position = 0; position < 5 && !thrown; ++position) {
    try {
      generate(target, DType::f32, 1, position);
    } catch (const Error& e) {
      thrown = std::string(e.what()).find("no legal case") != std::string::npos;
    }
  }
  EXPECT_TRUE(thrown);
}

}  // namespace
}  // namespace mote
