# The functions that leaf CMakeLists.txt files use. Every target gets the same flags from here.
#
#   blk_add_library(name SOURCES a.cpp.. [DEPENDS blockscope::core..] [MLIR] [EXCEPTIONS] [OBJECT])
#     A static, position independent library `blockscope::name`. DEPENDS is the layer rule. OBJECT:
#     no archive; who names it in DEPENDS gets all its objects, also those that nobody calls.
#   blk_add_simd_sources(name SOURCES simd/a.cpp..)
#     Adds each source to library `name` once per instruction set, see below.
#   blk_add_executable(name SOURCES a.cpp.. [DEPENDS ..] [MLIR])   -> <build>/bin/name
#   blk_add_test(name SOURCES a.cpp.. [DEPENDS ..] [MLIR])         GoogleTest, with its main
#   blk_add_tablegen(name TD a.td GENERATE "-gen-op-decls" a.h.inc "-gen-op-defs" a.cpp.inc ..)
#     Generates beside the source's place in the build folder: #include "core/ir/a.h.inc".
#     Give `name` to blk_add_library's TABLEGEN.
#   blk_add_python_module(name SOURCES a.cpp.. DEPENDS ..)
#     A pybind11 module in <build>/python/blockscope/. For each Python in BLK_OTHER_PYTHONS there is
#     one more, beside it: <name>_<version>, which nothing else needs.

add_library(blk_flags INTERFACE)
target_compile_options(blk_flags INTERFACE
  -Wall -Wextra -Wno-unused-parameter -fno-semantic-interposition -ffunction-sections
  -fdata-sections
  -ffp-contract=off # a fused multiply-add only where the source says so: same bits everywhere
  $<$<NOT:$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>>:-fsigned-char> # as it is on x86-64
  $<$<BOOL:${BLK_WERROR}>:-Werror>)
target_include_directories(blk_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_include_directories(blk_flags SYSTEM INTERFACE ${PROJECT_BINARY_DIR})
target_link_options(blk_flags INTERFACE LINKER:--gc-sections LINKER:--as-needed)
target_link_libraries(blk_flags INTERFACE Threads::Threads)

# Headers of others, which are parsed once and not with each source: that is most of the time to
# compile one. A source still includes what it uses: the presets of the sanitizers have no such step.
set(blk_headers_std <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory>
  <mutex> <optional> <string> <string_view> <utility> <vector>)
set(blk_headers_llvm ${blk_headers_std} <llvm/ADT/DenseMap.h> <llvm/ADT/STLExtras.h>
  <llvm/ADT/SmallVector.h> <llvm/ADT/StringRef.h> <llvm/Support/MathExtras.h>
  <llvm/Support/FormatVariadic.h>)
set(blk_headers_mlir ${blk_headers_llvm} <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/Matchers.h> <mlir/IR/PatternMatch.h>
  <mlir/IR/TypeUtilities.h> <mlir/Interfaces/LoopLikeInterface.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers/empty.cpp CONTENT "")

# blk_precompile(target KIND MLIR EXCEPTIONS): targets whose flags are alike share the work. KIND is
# library or test.
function(blk_precompile target kind mlir exceptions)
  if(NOT BLK_PRECOMPILE)
    return()
  endif()
  set(shared blk_headers_${kind})
  set(headers ${blk_headers_llvm})
  set(options "SHELL:-Xclang -fno-pch-timestamp") # for ccache
  if(mlir)
    string(APPEND shared _mlir)
    set(headers ${blk_headers_mlir})
  endif()
  if(exceptions)
    string(APPEND shared _exceptions)
  else()
    list(APPEND options -fno-exceptions)
  endif()
  if(NOT TARGET ${shared})
    add_library(${shared} OBJECT ${PROJECT_BINARY_DIR}/headers/empty.cpp)
    target_link_libraries(${shared} PRIVATE blk_flags blk_llvm)
    if(kind STREQUAL test)
      list(APPEND headers <gtest/gtest.h>)
      list(APPEND options -fPIE) # as CMake compiles the sources of a program
      set_target_properties(${shared} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_link_libraries(${shared} PRIVATE GTest::gtest)
    endif()
    target_compile_options(${shared} PRIVATE ${options})
    target_precompile_headers(${shared} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

function(blk_configure target)
  cmake_parse_arguments(ARG "MLIR;EXCEPTIONS;TEST" "" "SOURCES;DEPENDS;TABLEGEN" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${target}: unknown arguments '${ARG_UNPARSED_ARGUMENTS}'")
  endif()
  target_sources(${target} PRIVATE ${ARG_SOURCES})
  target_link_libraries(${target} PUBLIC blk_flags blk_llvm ${ARG_DEPENDS})
  if(ARG_MLIR)
    target_link_libraries(${target} PUBLIC blk_mlir)
  endif()
  if(NOT ARG_EXCEPTIONS)
    target_compile_options(${target} PRIVATE -fno-exceptions)
  endif()
  if(ARG_TABLEGEN)
    add_dependencies(${target} ${ARG_TABLEGEN})
  endif()
  get_target_property(type ${target} TYPE)
  if(type MATCHES "STATIC|OBJECT")
    blk_precompile(${target} library ${ARG_MLIR} ${ARG_EXCEPTIONS})
  elseif(ARG_TEST)
    blk_precompile(${target} test ${ARG_MLIR} ${ARG_EXCEPTIONS})
  endif()
endfunction()

function(blk_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "OBJECT" "" "")
  if(ARG_OBJECT)
    add_library(blockscope_${name} OBJECT)
  else()
    add_library(blockscope_${name} STATIC)
  endif()
  add_library(blockscope::${name} ALIAS blockscope_${name})
  blk_configure(blockscope_${name} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# Compiles each source once per instruction set, with BLK_ISA_BASELINE, BLK_ISA_AVX2 or
# BLK_ISA_AVX512 defined to 1 and BLK_ISA to `baseline`, `avx2` or `avx512`: put everything into
# `namespace blockscope::BLK_ISA`. Keep shared inline functions out of these files, or the linker
# may pick the AVX-512 copy for everyone. On other processors than x86-64 there is one set,
# `baseline`, of what all of them have: on aarch64 that is NEON with fma and fp16 conversions.
function(blk_add_simd_sources name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  set(isas baseline)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    set(isas baseline avx2 avx512)
    set(flags_baseline -msse4.2 -mpopcnt)
    set(flags_avx2 -march=x86-64-v3)
    set(flags_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  endif()
  foreach(isa IN LISTS isas)
    set(objects blockscope_${name}_${isa})
    add_library(${objects} OBJECT ${ARG_SOURCES})
    string(TOUPPER ${isa} upper)
    target_compile_definitions(${objects} PRIVATE BLK_ISA=${isa} BLK_ISA_${upper}=1)
    # No errno from sqrt and floor, or their loops stay scalar; library calls do so anyway.
    target_compile_options(${objects} PRIVATE -fno-exceptions -fno-math-errno -Wno-pass-failed
      ${flags_${isa}})
    target_link_libraries(${objects} PRIVATE blk_flags blk_llvm ${ARG_DEPENDS})
    target_sources(blockscope_${name} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endfunction()

function(blk_add_executable name)
  add_executable(${name})
  blk_configure(${name} ${ARGN})
endfunction()

function(blk_add_test name)
  add_executable(${name})
  blk_configure(${name} TEST ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
endfunction()

function(blk_add_tablegen name)
  cmake_parse_arguments(ARG "" "TD" "GENERATE" ${ARGN})
  set(outputs)
  while(ARG_GENERATE)
    list(POP_FRONT ARG_GENERATE mode file)
    separate_arguments(mode UNIX_COMMAND "${mode}")
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${file})
    add_custom_command(OUTPUT ${output}
      COMMAND ${LLVM_TOOLS_BINARY_DIR}/mlir-tblgen ${mode} -I ${PROJECT_SOURCE_DIR}
        -I ${MLIR_INCLUDE_DIRS} ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_TD} -o ${output}
        --write-if-changed -d ${output}.d
      DEPENDS ${ARG_TD} DEPFILE ${output}.d
      COMMENT "Generating ${file}" VERBATIM)
    list(APPEND outputs ${output})
  endwhile()
  add_custom_target(${name} DEPENDS ${outputs})
endfunction()

function(blk_configure_python_module target)
  blk_configure(${target} EXCEPTIONS ${ARGN})
  # One exported symbol: an LLVM linked in must not meet another one of the same process.
  target_link_options(${target} PRIVATE
    LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/python_module.map)
  # pybind11 would ask at each change of a count whether Python's lock is held: a tenth of a launch.
  # The sanitizers' builds do.
  if(NOT CMAKE_CXX_FLAGS MATCHES "sanitize")
    target_compile_definitions(${target} PRIVATE PYBIND11_NO_ASSERT_GIL_HELD_INCREF_DECREF)
  endif()
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/blockscope)
  if(BLK_PRECOMPILE)
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    foreach(header IN LISTS blk_headers_llvm ITEMS <pybind11/pybind11.h> <pybind11/stl.h>)
      string(REPLACE ">" "$<ANGLE-R>" header ${header}) # a wheel's module has a file in C, too
      target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${header}>)
    endforeach()
  endif()
endfunction()

function(blk_add_python_module name)
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
    OUTPUT_VARIABLE directory OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_package(pybind11 3.0 REQUIRED CONFIG HINTS ${directory} NO_CMAKE_FIND_ROOT_PATH)
  Python_add_library(${name} MODULE WITH_SOABI)
  blk_configure_python_module(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE pybind11::headers)
  # CMake finds one Python for a build folder: the others say themselves where their headers are.
  foreach(python IN LISTS BLK_OTHER_PYTHONS)
    execute_process(COMMAND ${python} -c "import pybind11, sys, sysconfig
print('%d.%d' % sys.version_info[:2], sysconfig.get_config_var('EXT_SUFFIX'),
      sysconfig.get_path('include'), pybind11.get_include(), sep=';', end='')"
      OUTPUT_VARIABLE facts COMMAND_ERROR_IS_FATAL ANY)
    list(POP_FRONT facts version suffix)
    add_library(${name}_${version} MODULE EXCLUDE_FROM_ALL)
    blk_configure_python_module(${name}_${version} ${ARGN})
    target_include_directories(${name}_${version} SYSTEM PRIVATE ${facts})
    set_target_properties(${name}_${version} PROPERTIES
      PREFIX "" OUTPUT_NAME ${name} SUFFIX ${suffix})
  endforeach()
endfunction()
