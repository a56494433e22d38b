# Toolchain file: compiles for aarch64 Linux on another machine, with the headers and libraries of
# build/sysroot-aarch64 (sysroot.sh); qemu-user runs what a configuration wants to know of programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
get_filename_component(CMAKE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../../build/sysroot-aarch64 ABSOLUTE)
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET aarch64-linux-gnu)
endforeach()
foreach(kind IN ITEMS EXE MODULE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT -fuse-ld=lld)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
find_program(CMAKE_AR llvm-ar-22 REQUIRED)
find_program(CMAKE_RANLIB llvm-ranlib-22 REQUIRED)
set(Python_INCLUDE_DIR ${CMAKE_SYSROOT}/usr/include/python3.11) # Debian's: the wheel is for it
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
