# SPDX-License-Identifier: Apache-2.0
# Rules for `cmake --install`: headers, the components' libraries, the tool with its cases and
# plug-ins, a package for find_package(mote) and files for pkg-config.
#
# A component is one shared library and one archive of the same objects: runtime (libmote), npz
# (libmote_npz), compiler (libmote_compiler) and oracle (libmote_oracle).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(CheckLinkerFlag)

# While the version is 0.x, each minor version has an ABI of its own.
set(soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  string(APPEND soversion .${PROJECT_VERSION_MINOR})
endif()

# `cmake --install` works after any build, even of a single target: missing files are built first.
# mote_installed is the target of all of them.
set(installed mote mote_generator mote_tool mote_cuda mote_cuda_host mote_cuda_launcher mote_cuda_subject
    mote_cublas mote_cudnn)
foreach(name IN ITEMS runtime npz compiler oracle)
  list(APPEND installed mote_${name}_shared mote_${name}_static)
endforeach()
get_target_property(plugins mote_plugins MANUALLY_ADDED_DEPENDENCIES)
list(APPEND installed ${plugins})
add_custom_target(mote_installed)
add_dependencies(mote_installed ${installed})
list(TRANSFORM installed REPLACE "(.+)" "\"$<TARGET_FILE:\\1>\"" OUTPUT_VARIABLE files)
list(JOIN files " " files)
install(CODE "
  set(lacking FALSE)
  foreach(file IN ITEMS ${files})
    if(NOT EXISTS \"\${file}\")
      set(lacking TRUE)
    endif()
  endforeach()
  if(lacking)
    message(STATUS \"mote: building what is to be installed and is not built yet (target mote_installed)\")
    execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --target mote_installed
                    RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR \"mote: what is to be installed could not be built: '${CMAKE_COMMAND} --build \"
        \"${CMAKE_BINARY_DIR} --target mote_installed' says why\")
    endif()
  endif()")

# mote_component(name OUTPUT file OF targets... NEEDS components... PRIVATE libraries... FOLDERS
# folders...) makes a component of the objects of the targets and the headers of the folders.
function(mote_component name)
  cmake_parse_arguments(arg "" "OUTPUT" "OF;NEEDS;PRIVATE;FOLDERS" ${ARGN})
  foreach(kind IN ITEMS SHARED STATIC)
    string(TOLOWER ${kind} suffix)
    set(library mote_${name}_${suffix})
    add_library(${library} ${kind})
    foreach(target IN LISTS arg_OF)
      target_sources(${library} PRIVATE $<TARGET_OBJECTS:${target}>)
    endforeach()
    foreach(needed IN LISTS arg_NEEDS)
      target_link_libraries(${library} PUBLIC mote_${needed}_${suffix})
    endforeach()
    target_link_libraries(${library} PUBLIC dlpack::dlpack PRIVATE ${arg_PRIVATE})
    target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${library} INTERFACE cxx_std_20)
    set_target_properties(${library} PROPERTIES
      OUTPUT_NAME ${arg_OUTPUT} EXPORT_NAME ${name} LINKER_LANGUAGE CXX
      VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
      ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
    # The libraries find each other in their own folder, so the prefix can be moved.
    set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS ${library} EXPORT mote-${suffix}-targets)
  endforeach()
  # The tables of kernels hold 58,000 addresses; this way, each takes a bit or two, not 24 bytes.
  check_linker_flag(CXX -Wl,-z,pack-relative-relocs MOTE_HAS_PACKED_RELOCATIONS)
  if(MOTE_HAS_PACKED_RELOCATIONS)
    target_link_options(mote_${name}_shared PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
  set(exports ${PROJECT_SOURCE_DIR}/cmake/install/exports.map)
  # A library calls its own functions directly, and has no section that nothing refers to.
  target_link_options(mote_${name}_shared PRIVATE
    -Wl,--version-script=${exports} -Wl,-Bsymbolic-functions -Wl,--gc-sections)
  if(MOTE_SANITIZE)  # the program provides the sanitizer's runtime
    target_link_options(mote_${name}_shared PRIVATE -fsanitize=${MOTE_SANITIZE})
  else()
    target_link_options(mote_${name}_shared PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(mote_${name}_shared PROPERTIES LINK_DEPENDS ${exports})
  foreach(folder IN LISTS arg_FOLDERS)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            FILES_MATCHING PATTERN "*.h")
  endforeach()
endfunction()

set(generated mote_generated)
foreach(level IN LISTS MOTE_GEN_LEVELS)
  list(APPEND generated mote_gen_${level})
endforeach()
set(openmp "")
if(MOTE_OPENMP)
  set(openmp OpenMP::OpenMP_C)
endif()
mote_component(runtime OUTPUT mote OF mote_base ${generated} mote_runtime mote_graph mote_symbolic mote_dynamic mote_tuning mote_memory
  PRIVATE m Threads::Threads ${CMAKE_DL_LIBS} ${openmp} FOLDERS uops/base generated runtime/core runtime/graph runtime/files/tuning
          runtime/memory runtime/symbolic runtime/dynamic)
mote_component(npz OUTPUT mote_npz OF mote_npz NEEDS runtime PRIVATE ZLIB::ZLIB FOLDERS runtime/files/npz)
mote_component(compiler OUTPUT mote_compiler OF mote_uops mote_macroops mote_codegen NEEDS runtime
  PRIVATE fmt::fmt FOLDERS uops macroops codegen)
mote_component(oracle OUTPUT mote_oracle OF mote_bounds mote_oracle NEEDS compiler
  PRIVATE fmt::fmt Threads::Threads ${CMAKE_DL_LIBS} FOLDERS generated/bounds oracle)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/mote)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/install/mote-config.cmake.in ${CMAKE_BINARY_DIR}/install/mote-config.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
# While the version is 0.x, a minor version may break compatibility.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/mote-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/install/mote-config.cmake
              ${CMAKE_BINARY_DIR}/install/mote-config-version.cmake DESTINATION ${package})
foreach(kind IN ITEMS shared static)
  install(EXPORT mote-${kind}-targets NAMESPACE mote:: DESTINATION ${package})
endforeach()

# The files for pkg-config derive the prefix from their own folder, so an installation can be moved.
file(RELATIVE_PATH prefix_from_here /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# mote_pkg_config(component file description REQUIRES files... PACKAGES packages... LIBS libraries...)
# writes file.pc for the shared library, which programs find by its folder, and file-static.pc for the
# archive. A program that links the archive must link PACKAGES and LIBS too.
function(mote_pkg_config component name description)
  cmake_parse_arguments(arg "" "" "REQUIRES;PACKAGES;LIBS" ${ARGN})
  get_target_property(library mote_${component}_shared OUTPUT_NAME)
  foreach(suffix IN ITEMS "" -static)
    set(file ${name}${suffix})
    list(TRANSFORM arg_REQUIRES APPEND "${suffix} = ${PROJECT_VERSION}" OUTPUT_VARIABLE requires)
    if(suffix)
      list(APPEND requires ${arg_PACKAGES})
      set(requires_private "")
      set(libs \${libdir}/lib${library}.a ${arg_LIBS})
      set(libs_private "")
    else()
      set(requires_private ${arg_PACKAGES})
      set(libs -L\${libdir} -Wl,-rpath,\${libdir} -l${library})
      set(libs_private ${arg_LIBS})
    endif()
    list(JOIN requires ", " requires)
    list(JOIN requires_private ", " requires_private)
    list(JOIN libs " " libs)
    list(JOIN libs_private " " libs_private)
    configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/install/mote.pc.in
                   ${CMAKE_BINARY_DIR}/install/${file}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/install/${file}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endforeach()
endfunction()

set(openmp "")
if(MOTE_OPENMP)
  set(openmp -lgomp)
endif()
mote_pkg_config(runtime mote "Tensors and generated machine-learning kernels"
  LIBS -lstdc++ -lm -lpthread -ldl ${openmp})
mote_pkg_config(npz mote-npz "Reading and writing .npz files as tensors" REQUIRES mote PACKAGES zlib)
mote_pkg_config(compiler mote-compiler "Kernels from micro-ops, as C" REQUIRES mote PACKAGES fmt)
mote_pkg_config(oracle mote-oracle "Kernels checked against their generated reference"
  REQUIRES mote-compiler PACKAGES fmt)

# mote_add_kernels() makes generators and tools from these libraries.
install(TARGETS mote_generator mote_tool)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/generated/tool/include/ ${PROJECT_SOURCE_DIR}/oracle/tool/include/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_CURRENT_LIST_DIR}/MoteKernels.cmake ${CMAKE_CURRENT_LIST_DIR}/MoteCheck.cmake
        DESTINATION ${package})
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/install/kernels/ DESTINATION ${package}/kernels)

# A user's .cu file includes these headers, both under nvcc and on the shim.
install(FILES ${PROJECT_SOURCE_DIR}/codegen/src/cuda/mote_cuda.h
              ${PROJECT_SOURCE_DIR}/runtime/backends/cuda_host/source/mote_launch.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mote/cuda)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/LICENSE-EXCEPTION ${PROJECT_SOURCE_DIR}/NOTICE
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/mote)

install(TARGETS mote)
set(shell_folder ${CMAKE_BINARY_DIR}/share/mote/shell)
install(FILES ${shell_folder}/mote DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${shell_folder}/_mote DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${shell_folder}/mote.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${shell_folder}/mote.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/oracle/cases/ DESTINATION ${CMAKE_INSTALL_DATADIR}/mote/cases
        FILES_MATCHING PATTERN "*.cases")
install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/mote/ DESTINATION ${CMAKE_INSTALL_LIBDIR}/mote
        FILES_MATCHING PATTERN "*.so")
