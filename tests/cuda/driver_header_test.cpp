// SPDX-License-Identifier: Apache-2.0
// Compares the calls of the driver as mote declares them with cuda.h of a toolkit: the same names,
// and arguments of the same kinds and sizes.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "alike.h"
#include "cuda/driver.h"

namespace mote::cuda {
namespace {

// The header's macros expand to the names that the library has.
#define NAME_OF(call) #call
#define EXPECT_LIKE(ours, theirs)                                             \
  static_assert(test::are_alike(DriverCalls().ours, decltype (&(theirs))())); \
  EXPECT_NE(dlsym(fake, NAME_OF_EXPANDED(theirs)), nullptr) << #theirs
#define NAME_OF_EXPANDED(call) NAME_OF(call)

/// The fake has all functions that the plug-in asks for, under the same names.
TEST(CudaDriver, IsDeclaredAsInTheToolkitsHeader) {
  void* const fake = dlopen(MOTE_CUDA_FAKE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(fake, nullptr) << dlerror();
  EXPECT_LIKE(init, cuInit);
  EXPECT_LIKE(version, cuDriverGetVersion);
  EXPECT_LIKE(device_count, cuDeviceGetCount);
  EXPECT_LIKE(device, cuDeviceGet);
  EXPECT_LIKE(attribute, cuDeviceGetAttribute);
  EXPECT_LIKE(retain, cuDevicePrimaryCtxRetain);
  EXPECT_LIKE(push, cuCtxPushCurrent);
  EXPECT_LIKE(pop, cuCtxPopCurrent);
  EXPECT_LIKE(allocate, cuMemAlloc);
  EXPECT_LIKE(free, cuMemFree);
  EXPECT_LIKE(copy_in, cuMemcpyHtoDAsync);
  EXPECT_LIKE(copy_out, cuMemcpyDtoHAsync);
  EXPECT_LIKE(copy, cuMemcpyDtoDAsync);
  EXPECT_LIKE(create_stream, cuStreamCreate);
  EXPECT_LIKE(destroy_stream, cuStreamDestroy);
  EXPECT_LIKE(synchronize, cuStreamSynchronize);
  EXPECT_LIKE(create_event, cuEventCreate);
  EXPECT_LIKE(destroy_event, cuEventDestroy);
  EXPECT_LIKE(record, cuEventRecord);
  EXPECT_LIKE(await, cuEventSynchronize);
  EXPECT_LIKE(query, cuEventQuery);
  EXPECT_LIKE(wait, cuStreamWaitEvent);
  EXPECT_LIKE(elapsed, cuEventElapsedTime);
  EXPECT_LIKE(load, cuModuleLoadData);
  EXPECT_LIKE(function, cuModuleGetFunction);
  EXPECT_LIKE(set_attribute, cuFuncSetAttribute);
  EXPECT_LIKE(launch, cuLaunchKernel);
  EXPECT_LIKE(error_name, cuGetErrorName);
  EXPECT_LIKE(error_text, cuGetErrorString);
  static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75);
  static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
  static_assert(CU_STREAM_NON_BLOCKING == 1);
  static_assert(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT == 9);
  static_assert(CUDA_ERROR_OUT_OF_MEMORY == 2 && CUDA_ERROR_ILLEGAL_ADDRESS == 700);
}

}  // namespace
}  // namespace mote::cuda
