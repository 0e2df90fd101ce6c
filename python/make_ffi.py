# SPDX-License-Identifier: Apache-2.0
"""Writes mote_kernels/_ffi.py: the C declarations of mote's headers, as cffi reads them (ABI mode).

    python make_ffi.py SOURCES FOLDER

SOURCES is the root of mote's sources, FOLDER gets _ffi.py. The result is Python, so that one wheel
serves every version of Python; nothing is compiled against Python.
"""

import pathlib
import re
import sys

import cffi

HEADERS = (
    "uops/base/include/mote/base/kernel.h",
    "uops/base/include/mote/base/ops.h",
    "uops/base/include/mote/base/registry.h",
    "runtime/core/include/mote/runtime/tensor_struct.h",
    "runtime/core/include/mote/mote.h",
    "runtime/core/include/mote/mote_concrete.h",
    "runtime/core/include/mote/mote_graphs.h",
    "runtime/core/include/mote/mote_rewriting.h",
    "runtime/core/include/mote/mote_dynamic.h",
    "python/src/mote_python.h",
)

# DLPack's ABI; Debian's header has C++ and macros in it.
DLPACK = """
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 } DLDeviceType;
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data; DLDevice device; int32_t ndim; DLDataType dtype;
  int64_t* shape; int64_t* strides; uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor; void* manager_ctx; void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;
"""


def declarations(text: str) -> str:
    """The declarations of a header, without comments, macros, C++ and what it includes."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus\n(.*?)(#else\n(.*?))?#endif\n",
                  lambda m: m.group(3) or "", text, flags=re.DOTALL)
    text = text.replace("\\\n", " ")
    numbers = re.findall(r"^#define (MOTE_\w+) \(?(-?\w+?)U?\)?$", text, flags=re.MULTILINE)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"__attribute__\(\(.*?\)\)+", "", text)
    text = re.sub(r"\b(MOTE_API|MOTE_PLUGIN_EXPORT)\b", "", text)
    text = text.replace("mote_status mote_plugin_init(mote_plugin* plugin);", "")
    text = re.sub(r"\(uint32_t\)-1", "-1", text)
    constants = "".join(f"#define {n} {v}\n" for n, v in numbers if re.fullmatch(r"-?\d+", v))
    return constants + text


def main() -> None:
    sources, folder = map(pathlib.Path, sys.argv[1:])
    ffi = cffi.FFI()
    ffi.cdef(DLPACK)
    ffi.cdef("#define MOTE_MAX_AXES 12\n")
    for header in HEADERS:
        text = declarations((sources / header).read_text())
        ffi.cdef(text.replace("#define MOTE_MAX_AXES 12\n", ""))
    ffi.set_source("_ffi", None)
    folder.mkdir(parents=True, exist_ok=True)
    ffi.emit_python_code(str(folder / "_ffi.py"))


main()
