// SPDX-License-Identifier: Apache-2.0
// Tests what gradients have at a kink where the request asks for the least or the greatest of those
// that are right.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>

#include "caught.h"
#include "gradient_programs.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

/// The least and the greatest gradients of a program of one output, from gy and all inputs, of
/// which the two may read different ones.
std::pair<Arrays, Arrays> ends(const std::string& text, const Arrays& gy_and_inputs) {
  const Program program = with_body(text);
  const auto name_of = [](const Uop& u) { return std::get<uop::Input>(u.node().kind).name; };
  std::map<std::string, Array> known = {{"gy", gy_and_inputs.at(0)}};
  for (std::size_t k = 0; k < program.inputs.size(); ++k)
    known.emplace(name_of(program.inputs[k]), gy_and_inputs.at(k + 1));
  const auto at = [&](AtKinks kinks) {
    GradientRequest request;
    request.at_kinks = kinks;
    const Program back = gradient(program, request).program;
    Arrays read;
    for (const Uop& u : back.inputs) read.push_back(known.at(name_of(u)));
    return evaluate(back, read, {});
  };
  return {at(AtKinks::least), at(AtKinks::greatest)};
}

TEST(GradientAtKinks, EqualArgumentsOfMaxAndMinGetNoneOrAll) {
  const Array gy = f64({4}, {8, 8, -8, 8}), x = f64({4}, {1, 2, 2, 3}), w = f64({4}, {2, 2, 2, 2});
  for (const char* tied : {"max(x, w)", "min(x, w)"}) {
    const bool is_max = tied[1] == 'a';
    const Array low = f64({4}, {is_max ? 0.0 : 8, 0, -8, is_max ? 8.0 : 0});
    const Array high = f64({4}, {is_max ? 0.0 : 8, 8, 0, is_max ? 8.0 : 0});
    const auto [least, greatest] = ends(std::string(kXW) + tied, {gy, x, w});
    EXPECT_EQ(least.at(0), low) << tied;
    EXPECT_EQ(greatest.at(0), high) << tied;
  }
  const auto [least, greatest] = ends(std::string(kX) + "max(x, x)", {gy, x});
  EXPECT_EQ(least.at(0), gy);
  EXPECT_EQ(greatest.at(0), gy);
}

TEST(GradientAtKinks, TheSignIsThatOfTheGradientWhichArrives) {
  const Array gy = f64({2}, {8, -8}), x = f64({2}, {0, 0});
  const auto [least, greatest] = ends(std::string(kX) + "-max(x, 0)", {gy, x});
  EXPECT_EQ(least.at(0), f64({2}, {-8, 0}));
  EXPECT_EQ(greatest.at(0), f64({2}, {0, 8}));
}

TEST(GradientAtKinks, OfReductionsAndScatters) {
  const std::string head = "input x f64[N, M]\noutput y = ";
  const Array x = f64({2, 3}, {1, 5, 5, 7, 6, 5});
  const auto [least, greatest] = ends(head + "max[1](x)", {f64({2}, {12, -12}), x});
  EXPECT_EQ(least.at(0), f64({2, 3}, {0, 0, 0, -12, 0, 0}));
  EXPECT_EQ(greatest.at(0), f64({2, 3}, {0, 12, 12, -12, 0, 0}));
  const std::string scatter =
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[max](b, x to i0/2 + 1)";
  const auto [low, high] =
      ends(scatter, {f64({2}, {1, 12}), f64({2}, {7, 3}), f64({3}, {3, 3, 0})});
  EXPECT_EQ(low, (Arrays{f64({2}, {1, 0}), f64({3}, {0, 0, 0})}));
  EXPECT_EQ(high, (Arrays{f64({2}, {1, 12}), f64({3}, {12, 12, 0})}));
}

TEST(GradientAtKinks, WindowsThatOverlapEachGiveTheirOwn) {
  // The windows (x0, x1) and (x1, x2) are tied; their gradients have both signs.
  const auto [least, greatest] = ends("input x f64[N]\noutput y = max[1](x[i0 + i1 over N - 1, 2])",
                                      {f64({2}, {8, -4}), f64({3}, {1, 1, 1})});
  EXPECT_EQ(least.at(0), f64({3}, {0, -4, -4}));
  EXPECT_EQ(greatest.at(0), f64({3}, {8, 8, 0}));
}

TEST(GradientAtKinks, OfAbs) {
  const auto [least, greatest] =
      ends(std::string(kX) + "abs(x)", {f64({3}, {8, -8, 8}), f64({3}, {0, 0, -1})});
  EXPECT_EQ(least.at(0), f64({3}, {-8, -8, -8}));
  EXPECT_EQ(greatest.at(0), f64({3}, {8, 8, -8}));
}

TEST(GradientAtKinks, AComparisonDecidesTheOtherWayBetweenEqualValues) {
  const Array gy = f64({3}, {8, 8, 8}), x = f64({3}, {-1, 0, 1});
  for (const char* relu :
       {"where(x > 0, x, 0)", "where(logical_and(logical_not(x <= 0), x < 5), x, 0)"}) {
    const auto [as_written, otherwise] = ends(std::string(kX) + relu, {gy, x});
    EXPECT_EQ(as_written.at(0), f64({3}, {0, 0, 8})) << relu;
    EXPECT_EQ(otherwise.at(0), f64({3}, {0, 8, 8})) << relu;
  }
}

TEST(GradientAtKinks, AComparisonThatDecidesBetweenOtherValuesStands) {
  const Array gy = f64({2}, {8, 8}), x = f64({2}, {0, 1}), w = f64({2}, {3, 4});
  const auto [least, greatest] = ends(std::string(kXW) + "where(x > 0, w, 2)", {gy, x, w});
  EXPECT_EQ(least, greatest);
  EXPECT_EQ(least.at(1), f64({2}, {0, 8}));
}

TEST(GradientAtKinks, NothingChangesWhereNothingIsEqual) {
  const std::string text = std::string(kXW) + "max(abs(x), where(w < 3, w, -w))";
  const Arrays in = {f64({2}, {8, -4}), f64({2}, {-3, 5}), f64({2}, {2, 7})};
  const auto [least, greatest] = ends(text, in);
  EXPECT_EQ(least, gradients(text, in));
  EXPECT_EQ(greatest, gradients(text, in));
}

}  // namespace
}  // namespace mote
