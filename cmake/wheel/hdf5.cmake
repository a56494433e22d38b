# cmake -DPREFIX=FOLDER [-DTOOLCHAIN=FILE] -P hdf5.cmake: HDF5's C library as an archive of position
# independent code, which Debian has none of, from the sources of Debian's package. Only what traces
# need.
set(version 1.10.8+repack1)
set(archive ${PREFIX}/hdf5.tar.gz)
string(REPLACE "+" "%2b" name "hdf5_${version}.orig.tar.gz")
file(DOWNLOAD http://deb.debian.org/debian/pool/main/h/hdf5/${name} ${archive}
  EXPECTED_HASH SHA256=7b38e58ff83b13fd8959a90b13bf896bc318ba096c940ab0847abf3ad41a0b31)
file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${PREFIX}/source)
file(GLOB source ${PREFIX}/source/*)
file(MAKE_DIRECTORY ${PREFIX}/build)
set(options Z_LIB_SUPPORT=ON SZIP_SUPPORT=OFF)
set(without TOOLS EXAMPLES HL_LIB CPP_LIB FORTRAN)
list(TRANSFORM options PREPEND -DHDF5_ENABLE_)
list(TRANSFORM without PREPEND -DHDF5_BUILD_)
list(TRANSFORM without APPEND =OFF)
set(configure -S ${source} -B ${PREFIX}/build -G Ninja -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_C_COMPILER=clang-22 -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_INSTALL_PREFIX=${PREFIX}
  "-DCMAKE_C_FLAGS=-w -Wno-implicit-int" # it has a function without a type
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF
  ${options} ${without})
if(TOOLCHAIN)
  list(APPEND configure --toolchain ${TOOLCHAIN})
endif()
foreach(step IN ITEMS configure build install)
  set(build --build ${PREFIX}/build)
  set(install --install ${PREFIX}/build)
  # Its checks write files where they run.
  execute_process(COMMAND ${CMAKE_COMMAND} ${${step}} WORKING_DIRECTORY ${PREFIX}/build
    OUTPUT_FILE ${PREFIX}/log.txt ERROR_FILE ${PREFIX}/log.txt COMMAND_ERROR_IS_FATAL ANY)
endforeach()
