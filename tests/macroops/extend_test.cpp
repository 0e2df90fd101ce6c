// SPDX-License-Identifier: Apache-2.0
// Tests the refusal of ops added to the catalogue, and that nothing is added then. Ops that work
// are tested from outside (tests/install/kernels), in a process whose catalogue is not yet in use.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

OpRecord named(const std::string& name) {
  OpRecord record;
  record.name = name;
  return record;
}

void expect_refused(std::vector<OpRecord> records, const std::string& why) {
  try {
    extend_catalogue(std::move(records));
    ADD_FAILURE() << "not refused: " << why;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
  }
  EXPECT_TRUE(added_ops().empty());
}

TEST(ExtendCatalogue, RefusesWhatItCannotAdd) {
  ASSERT_FALSE(catalogue().empty());  // the catalogue is in use from here on
  expect_refused({named("relu")}, "op relu: the catalogue already has an op of this name");
  expect_refused({named("9lives")}, "'9lives' is no name of an op");
  expect_refused({named("conv2d.grad")}, "'conv2d.grad' is no name of an op");
  expect_refused({named("")}, "'' is no name of an op");
  expect_refused({named("mine")}, "op mine: the catalogue is already in use");
  EXPECT_THROW(find_op("mine"), Error);
  EXPECT_FALSE(is_added(find_op("relu")));
}

}  // namespace
}  // namespace mote
