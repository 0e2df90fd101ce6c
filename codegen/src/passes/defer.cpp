// SPDX-License-Identifier: Apache-2.0
// Makes a body that stores several outputs compute them all before it stores the first that another
// still needs: an output may share memory with an input (in_place.h), and x' = f(x, m); m' = g(x,
// m) must not read the new x. If a later statement of the body reads an input that could be the
// output's partner, the stored value gets a name and the store moves after that statement.
#include <algorithm>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

class Deferrer {
 public:
  explicit Deferrer(const LoopProgram& p) : p_(p) {}

  void run(Body& body) {
    for (std::size_t k = body.size(); k-- > 0;) {
      if (Body* nested = nested_body(body[k])) run(*nested);
      if (const auto* store = std::get_if<Store>(&body[k].kind)) {
        const std::size_t last = last_reader(body, k, *store);
        if (last > k) defer(body, k, last);
      }
    }
  }

 private:
  /// Returns true if the input may be the output's partner in an in-place call.
  static bool may_share(const TensorDecl& output, const TensorDecl& input) {
    return output.role == TensorRole::output && input.role == TensorRole::input &&
           output.dtype == input.dtype && output.shape == input.shape;
  }

  /// Returns the last plain statement after k that reads an input which may share the output's
  /// memory; k if there is none.
  std::size_t last_reader(const Body& body, std::size_t k, const Store& store) const {
    const TensorDecl& output = *find_tensor(p_, store.tensor);
    if (output.role != TensorRole::output) return k;
    std::size_t last = k;
    for (std::size_t j = k + 1; j < body.size() && !nested_body(body[j]); ++j) {
      const std::vector<Access> all = accesses(body[j]);
      if (std::any_of(all.begin(), all.end(),
                      [&](const Access& a) { return a.tensor == store.tensor; }))
        return k;
      if (std::any_of(all.begin(), all.end(), [&](const Access& a) {
            const TensorDecl* t = a.write ? nullptr : find_tensor(p_, a.tensor);
            return t && may_share(output, *t);
          }))
        last = j;
    }
    return last;
  }

  void defer(Body& body, std::size_t k, std::size_t last) {
    Store store = std::get<Store>(body[k].kind);
    std::string name = fresh_name(p_, store.tensor + "_value");
    while (!names_.insert(name).second) name += "_";
    const DType dtype = store.value->dtype;
    Stmt let{Let{name, std::exchange(store.value, named_value(name, dtype))}};
    const auto at = body.begin() + static_cast<std::ptrdiff_t>(k);
    std::rotate(at, at + 1, body.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    body[last] = {std::move(store)};
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(k), std::move(let));
  }

  const LoopProgram& p_;
  std::set<std::string> names_;  ///< names given by this pass
};

}  // namespace

LoopProgram defer(LoopProgram p) {
  Body body = p.body;
  Deferrer(p).run(body);
  p.body = std::move(body);
  return p;
}

}  // namespace mote
