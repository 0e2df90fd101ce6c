// SPDX-License-Identifier: Apache-2.0
// The gradient of an op as the text of a program |gy|x| -> |gx|, which reads no output of the op:
// autograd computes it from the inputs.
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "../../runtime/core/src/c/guard.h"
#include "mote/oracle/resolve.h"
#include "mote/uops/gradient.h"
#include "mote/uops/invert.h"
#include "mote_python.h"

extern "C" mote_status mote_py_gradient(const char* op, const char* without, char** text) {
  return mote::c::guarded("mote_py_gradient", [&] {
    std::vector<std::string> left_out;
    std::istringstream names(&mote::c::given(without, "without"));
    for (std::string name; std::getline(names, name, ',');) left_out.push_back(name);
    const mote::Resolved of =
        mote::resolve_without(&mote::c::given(op, "op"), std::nullopt, left_out);
    const std::string all = mote::to_string(mote::invert(mote::gradient(*of.program).program));
    *text = static_cast<char*>(std::malloc(all.size() + 1));
    if (*text == nullptr) throw std::bad_alloc();
    std::memcpy(*text, all.c_str(), all.size() + 1);
  });
}
