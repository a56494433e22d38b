# blk_llvm and blk_mlir: LLVM and MLIR 22.1 as two interface targets, shared or static.
#
# Debian exports every MLIR archive with libLLVM.so in its link interface. Together with the LLVM
# archives that registers each command line option twice and aborts at start-up, so the static
# build removes it from all of them first.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} from ${LLVM_DIR}")
if(CMAKE_CROSSCOMPILING)
  set(LLVM_TOOLS_BINARY_DIR /usr/lib/llvm-22/bin) # those beside the libraries do not run here
endif()
separate_arguments(blk_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")

add_library(blk_llvm INTERFACE)
add_library(blk_mlir INTERFACE)
target_include_directories(blk_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_include_directories(blk_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
target_compile_definitions(blk_llvm INTERFACE ${blk_llvm_definitions})
target_link_libraries(blk_mlir INTERFACE blk_llvm)

if(NOT BLK_STATIC_LLVM)
  target_link_libraries(blk_llvm INTERFACE LLVM)
  target_link_libraries(blk_mlir INTERFACE MLIR)
  return()
endif()

foreach(target IN LISTS MLIR_EXPORTED_TARGETS)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(links)
    list(REMOVE_ITEM links LLVM "\$<LINK_ONLY:LLVM>" MLIR)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endforeach()
llvm_map_components_to_libnames(blk_llvm_libraries support core asmparser frontendopenmp
  nvptxcodegen nvptxinfo nvptxdesc irreader linker passes) # the second line is the GPU compiler's
# Archives of what LLVM itself uses come first, so that --as-needed drops the shared libraries.
set(blk_compression)
foreach(name IN ITEMS z zstd)
  find_library(BLK_ARCHIVE_${name} NAMES lib${name}.a)
  if(BLK_ARCHIVE_${name})
    list(APPEND blk_compression ${BLK_ARCHIVE_${name}})
  endif()
endforeach()
target_link_libraries(blk_llvm INTERFACE ${blk_compression} ${blk_llvm_libraries})
target_link_libraries(blk_mlir INTERFACE
  MLIRParser MLIROptLib MLIRTransforms MLIRTransformUtils
  MLIRFuncDialect MLIRFuncInlinerExtension MLIRArithDialect MLIRMathDialect MLIRSCFDialect
  MLIRSCFUtils MLIRUBDialect)
target_link_options(blk_mlir INTERFACE LINKER:--icf=all)
