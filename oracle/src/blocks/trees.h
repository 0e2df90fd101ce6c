// SPDX-License-Identifier: Apache-2.0
// The list of the trees of error bounds, and their loops.
#pragma once

#include "tree_ends.h"

namespace mote::blocks {
namespace {

template <typename... X>
using Add = Node<MapOp::add, X...>;
template <typename... X>
using Sub = Node<MapOp::sub, X...>;
template <typename... X>
using Mul = Node<MapOp::mul, X...>;
template <typename... X>
using Neg = Node<MapOp::neg, X...>;
template <typename... X>
using Abs = Node<MapOp::abs, X...>;
template <typename... X>
using Max = Node<MapOp::max, X...>;
template <typename... X>
using IsNan = Node<MapOp::isnan, X...>;
template <typename... X>
using IsInf = Node<MapOp::isinf, X...>;
template <typename... X>
using Eq = Node<MapOp::eq, X...>;
template <typename... X>
using Ne = Node<MapOp::ne, X...>;
template <typename... X>
using And = Node<MapOp::logical_and, X...>;
template <typename... X>
using Or = Node<MapOp::logical_or, X...>;
template <typename... X>
using Not = Node<MapOp::logical_not, X...>;
template <typename... X>
using Where = Node<MapOp::where, X...>;

using A = Block<0>;
using B = Block<1>;
using C = Block<2>;
using D = Block<3>;
using E = Block<4>;
using F = Block<5>;

template <MapOp op, MapOp end, typename Lo, typename Hi, typename OtherLo, typename OtherHi>
using Hull = Node<end, Node<end, Node<op, Lo, OtherLo>, Node<op, Lo, OtherHi>>,
                  Node<end, Node<op, Hi, OtherLo>, Node<op, Hi, OtherHi>>>;
template <MapOp op, MapOp end>
using Corners = Hull<op, end, A, B, C, D>;
template <MapOp op, MapOp end>
using TwoCorners = Node<end, Node<op, A, B>, Node<op, C, D>>;

/// The ends of [A, B] squared; numbers 2, 3 and 4 are -inf, inf and 0.
using Unknown = And<Eq<A, Constant<2>>, Eq<B, Constant<3>>>;
using Straddles = And<Node<MapOp::le, A, Constant<4>>, Node<MapOp::ge, B, Constant<4>>>;
template <MapOp end>
using Squares = Node<end, Mul<A, A>, Mul<B, B>>;
using SquareLower = Where<Unknown, Constant<2>, Where<Straddles, Constant<4>, Squares<MapOp::min>>>;
using SquareUpper = Where<Unknown, Constant<3>, Squares<MapOp::max>>;

template <typename X>
using Lowest = Node<MapOp::lowest_bit, X>;
/// True if both ends, on a grid, are one number that a double holds.
template <typename Lo, typename Hi, typename Grid, std::size_t k>
using OnGrid = And<Eq<Lo, Hi>, Node<MapOp::lt, Abs<Lo>, Mul<Grid, Constant<k>>>>;
template <typename X, typename Y>
using ProductGrid = Mul<Lowest<X>, Lowest<Y>>;

template <typename X, typename Y>
using GreaterEqual = Node<MapOp::ge, X, Y>;
/// True for a position from `Least` up to operand `end`.
template <std::size_t at, typename Least, std::size_t end>
using InRange = And<GreaterEqual<Whole<at>, Least>, Node<MapOp::lt, Whole<at>, Whole<end>>>;

/// True if exactly one end is NaN.
using Differ = Ne<IsNan<A>, IsNan<B>>;
template <typename X>
using UnlessDiffer = Where<Differ, Constant<2>, X>;
/// A NaN that does not come from points: of the product of a certain value and an interval, in
/// either order, or of two intervals.
using NanOfOne = And<And<IsNan<A>, Not<IsNan<B>>>, Not<IsNan<C>>>;
using MaybeNanOfOne = And<NanOfOne, Ne<B, D>>;
using MaybeNanOfOther = And<NanOfOne, Ne<C, D>>;
using Apart = Or<Ne<B, D>, Ne<C, E>>;
using MaybeNan = And<NanOfOne, Apart>;
using MaybeNanOfEnds = And<And<And<Or<IsNan<A>, IsNan<F>>, Not<IsNan<B>>>, Not<IsNan<C>>>, Apart>;
template <typename X>
using FiniteSize = Where<And<IsInf<A>, Eq<A, B>>, Constant<2>, X>;
using Size = Max<Abs<A>, Abs<B>>;

/// X, rounded outward and combined with its rounding to f32; X has operands below k.
template <MapOp end, typename X, std::size_t k>
using Rounded = Joined<end, Outward<end, X, k>>;
/// The same for values that are not below 0.
template <MapOp end, typename X, std::size_t k>
using RoundedUp = Joined<end, Up<X, k>>;

/// X, rounded outward first unless the condition holds, and combined with its rounding.
template <MapOp end, typename Exact, typename X, std::size_t k>
using RoundedUnless = Joined<end, Unless<Exact, X, Outward<end, X, k>>>;
template <MapOp end, typename Exact, typename X, std::size_t k>
using RoundedUpUnless = Joined<end, Unless<Exact, X, Up<X, k>>>;

/// True if the sum of X and Y is exact.
template <typename X, typename Y>
using ExactSum = And<Eq<Sub<Add<X, Y>, X>, Y>, Eq<Sub<Add<X, Y>, Y>, X>>;
/// The rounded sum of certain values.
template <MapOp end, typename X, typename Y, std::size_t k>
using RoundedSum = RoundedUnless<end, ExactSum<X, Y>, Add<X, Y>, k>;
/// The upper end of A + [B, C], and of [A, C] + [B, D]; the lower end adds A + B.
template <MapOp end, typename X>
using SumOfOther = RoundedUnless<end, And<ExactSum<A, B>, Eq<B, C>>, X, 3>;
template <MapOp end, typename X>
using SumOfBoth = RoundedUnless<end, And<And<ExactSum<A, B>, Eq<A, C>>, Eq<B, D>>, X, 4>;

/// An end of the product of A and [B, C] in either order.
template <MapOp end>
using OneByEnds = Node<end, Mul<A, B>, Mul<A, C>>;
template <MapOp end>
using EndsByOne = Node<end, Mul<B, A>, Mul<C, A>>;
/// An end of the product of [A, C] and the interval around B, in either order.
template <MapOp end, typename Side>
using EndsByAround = Node<end, Mul<A, Side>, Mul<C, Side>>;
template <MapOp end, typename Side>
using AroundByEnds = Node<end, Mul<Side, A>, Mul<Side, C>>;
using BothArePoints = And<Eq<A, B>, Eq<C, D>>;

/// A quotient: rounded outward, then by 1.5 units and a subnormal number more; [0, 0] stays.
using IsZero = And<Eq<A, Constant<2>>, Eq<B, Constant<2>>>;
using QuotientLower =
    Where<IsZero, A, Sub<Outward<MapOp::min, Rounded<MapOp::min, A, 3>, 5>, Constant<7>>>;
using QuotientUpper =
    Where<IsZero, B, Add<Outward<MapOp::max, Rounded<MapOp::max, B, 3>, 5>, Constant<7>>>;
/// The same for values that are not below 0.
using QuotientLowerUp =
    Where<IsZero, A, Sub<Mul<RoundedUp<MapOp::min, A, 3>, Constant<4>>, Constant<5>>>;
using QuotientUpperUp =
    Where<IsZero, B, Add<Mul<RoundedUp<MapOp::max, B, 3>, Constant<4>>, Constant<5>>>;
using MayBeZero =
    And<And<Node<MapOp::le, A, Constant<3>>, GreaterEqual<B, Constant<3>>>, Not<IsNan<C>>>;

/// A function's value and its maximum error.
using Slack = Add<Mul<Abs<A>, B>, C>;
template <MapOp op>
using WithSlack = Where<IsInf<A>, A, Node<op, A, Slack>>;

/// The slack of a sum, from the count A and the magnitude B; and its ends, of magnitude A.
using SumSlack = Where<Node<MapOp::le, A, Constant<2>>, Constant<3>, Mul<A, Mul<B, Constant<4>>>>;
template <typename X>
using UnlessGreat = Where<Node<MapOp::gt, A, Constant<3>>, Constant<4>, X>;

/// Choices by known flags.
using Either = Where<Flags<0>, Constant<1>, C>;
using Masked = Where<Flags<0>, Where<Flags<1>, Constant<2>, D>, Constant<4>>;
using OneOf = Where<Flags<0>, Constant<1>, Where<Flags<2>, Constant<1>, D>>;

template <typename... X>
struct List {
  static constexpr std::size_t kSize = sizeof...(X);
};

/// The max or min of [A, B] and a number, operand 4.
template <MapOp end>
using BoundedLower = Where<Unknown, Constant<2>, Node<end, A, Constant<4>>>;
template <MapOp end>
using BoundedUpper = Where<Unknown, Constant<3>, Node<end, B, Constant<4>>>;

/// Ends of one of two intervals, X and Y, chosen by a condition that may be decided (0) and then
/// holds (1) or not; the other branch's ends may be unknown (2).
template <MapOp end, typename X, typename Y>
using EitherBranch =
    Where<Flags<0>, Where<Flags<1>, X, Y>, Where<Flags<2>, Constant<3>, Node<end, X, Y>>>;
/// True if [A, C] or [B, D] is unknown, or exactly one of A and B is NaN; BranchUnknown is the form
/// for a branch that is a number.
using Both = And<Eq<A, Constant<4>>, Eq<C, Constant<5>>>;
using BranchesUnknown = Or<Or<Differ, Both>, And<Eq<B, Constant<4>>, Eq<D, Constant<5>>>>;
using BranchUnknown = Or<IsNan<A>, Unknown>;
/// True if one is certainly not above another, unless it is unknown; if it is certainly between two
/// numbers; if it certainly equals one. IsDecided: whatever may hold certainly holds.
template <typename X, typename Y>
using LessEqual = Node<MapOp::le, X, Y>;
template <typename X, typename Y, std::size_t unknown>
using SurelyLess = And<LessEqual<X, Y>, Not<Flags<unknown>>>;
using SurelyInside = And<SurelyLess<A, Constant<1>, 2>, SurelyLess<Constant<3>, E, 5>>;
using SurelyEqual = And<And<Eq<A, B>, Eq<A, Constant<2>>>, Not<Flags<3>>>;
using IsDecided = Eq<Flags<0>, And<LessEqual<B, Constant<2>>, LessEqual<Constant<3>, E>>>;

/// The first tree that matches is taken, so larger ones come first.
using Large =
    List<EitherBranch<MapOp::min, E, F>, EitherBranch<MapOp::max, E, F>,
         EitherBranch<MapOp::min, E, Constant<5>>, EitherBranch<MapOp::max, E, Constant<5>>,
         EitherBranch<MapOp::min, Constant<4>, F>, EitherBranch<MapOp::max, Constant<4>, F>,
         BoundedLower<MapOp::min>, BoundedLower<MapOp::max>, BoundedUpper<MapOp::min>,
         BoundedUpper<MapOp::max>, RoundedUpUnless<MapOp::min, Eq<A, B>, SquareLower, 5>,
         RoundedUpUnless<MapOp::max, Eq<A, B>, SquareUpper, 4>,
         RoundedUp<MapOp::min, SquareLower, 5>, RoundedUp<MapOp::max, SquareUpper, 4>,
         SumOfOther<MapOp::min, Add<A, B>>, SumOfOther<MapOp::max, Add<A, C>>,
         SumOfBoth<MapOp::min, Add<A, B>>, SumOfBoth<MapOp::max, Add<C, D>>, QuotientLower,
         QuotientUpper, QuotientLowerUp, QuotientUpperUp, Sub<UnlessDiffer<A>, Constant<3>>,
         Add<UnlessDiffer<B>, Constant<3>>>;
template <MapOp end>
using Ends =
    List<RoundedSum<end, A, Neg<B>, 2>, RoundedSum<end, A, B, 2>,
         RoundedSum<end, Constant<0>, B, 2>, RoundedUnless<end, Eq<B, C>, OneByEnds<end>, 3>,
         RoundedUnless<end, Eq<B, C>, EndsByOne<end>, 3>,
         RoundedUnless<end, BothArePoints, Corners<MapOp::mul, end>, 4>,
         RoundedUnless<end, Flags<0>, Hull<MapOp::mul, end, B, C, D, E>, 5>,
         RoundedUnless<end, Flags<0>, Node<end, Mul<B, C>, Mul<D, E>>, 5>,
         RoundedUnless<end, Flags<0>, B, 2>, Where<Flags<0>, Joined<end, Mul<B, C>>, Constant<3>>,
         Rounded<end, EndsByAround<end, Outward<end, B, 3>>, 5>,
         Rounded<end, AroundByEnds<end, Outward<end, B, 3>>, 5>,
         Rounded<end, Corners<MapOp::mul, end>, 4>, Rounded<end, TwoCorners<MapOp::mul, end>, 4>,
         Rounded<end, Add<A, Neg<B>>, 2>, Rounded<end, Add<A, B>, 2>, Rounded<end, Mul<A, B>, 2>,
         Rounded<end, A, 1>, RoundedUp<end, A, 1>, Corners<MapOp::mul, end>,
         Corners<MapOp::div, end>, TwoCorners<MapOp::mul, end>, TwoCorners<MapOp::div, end>,
         Joined<end, Mul<A, B>>, Joined<end, A>, Outward<end, A, 1>>;
using Conditions =
    List<BranchesUnknown, BranchUnknown, SurelyInside, SurelyEqual, IsDecided, MaybeNanOfEnds,
         MaybeNan, MaybeNanOfOne, MaybeNanOfOther, MayBeZero, Differ, Ne<Size, Constant<2>>,
         OnGrid<A, B, ProductGrid<C, D>, 4>, OnGrid<A, B, Mul<Lowest<C>, Constant<3>>, 4>,
         OnGrid<A, B, Mul<Lowest<C>, D>, 4>, OnGrid<A, B, Mul<C, Lowest<D>>, 4>,
         And<And<ExactSum<A, B>, Eq<A, C>>, Eq<B, D>>, And<ExactSum<A, B>, Eq<B, C>>,
         ExactSum<A, B>, BothArePoints, And<And<Flags<0>, Eq<B, C>>, Eq<D, E>>,
         And<And<Flags<0>, Eq<B, C>>, Flags<3>>, NanOfOne, And<IsNan<A>, Not<IsNan<B>>>,
         And<Flags<0>, Ne<B, C>>, And<Flags<0>, Not<IsNan<B>>>, And<Flags<0>, Eq<B, C>>,
         Or<IsNan<A>, IsNan<B>>, Unknown,
         And<Node<MapOp::le, A, Constant<2>>, GreaterEqual<B, Constant<2>>>,
         InRange<0, WholeConstant<1>, 2>, InRange<0, Whole<1>, 2>,
         And<Flags<0>, InRange<1, WholeConstant<2>, 3>>,
         And<Flags<0>, GreaterEqual<Whole<1>, Whole<2>>>>;
using Others =
    List<WithSlack<MapOp::add>, WithSlack<MapOp::sub>, SumSlack, UnlessGreat<Add<B, C>>,
         UnlessGreat<Sub<B, C>>, OneOf, Masked, UnlessDiffer<A>, UnlessDiffer<B>, FiniteSize<Size>,
         FiniteSize<B>, Size, Where<IsInf<Abs<A>>, Constant<1>, Abs<A>>,
         Where<Eq<A, B>, Lowest<A>, Constant<2>>, Neg<Either>, Sub<Either, Constant<3>>,
         Add<Either, Constant<3>>>;
using LowerEnds = Ends<MapOp::min>;
using UpperEnds = Ends<MapOp::max>;
inline constexpr std::size_t kTrees =
    Large::kSize + LowerEnds::kSize + UpperEnds::kSize + Conditions::kSize + Others::kSize;

template <std::size_t kLanes, typename... X>
constexpr FusedLoop** set_loops(FusedLoop** to, List<X...>) {
  ((*to++ = run<X, kLanes>), ...);
  return to;
}

/// The loops of all trees, in the order of the lists.
template <std::size_t kLanes>
constexpr std::array<FusedLoop*, kTrees> loops() {
  std::array<FusedLoop*, kTrees> all{};
  FusedLoop** next = set_loops<kLanes>(all.data(), Large());
  next = set_loops<kLanes>(next, LowerEnds());
  next = set_loops<kLanes>(next, UpperEnds());
  next = set_loops<kLanes>(next, Conditions());
  set_loops<kLanes>(next, Others());
  return all;
}

}  // namespace

extern FusedLoop* const* const kLoops;
extern FusedLoop* const* const kLoopsV3;
extern FusedLoop* const* const kLoopsV4;

}  // namespace mote::blocks
