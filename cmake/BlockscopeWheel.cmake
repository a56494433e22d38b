# What a wheel has beside the Python package (preset wheel): the module, the viewer with the library
# and the fonts that it needs, the pages of findings, the example of the viewer's tour, and what
# offers 'import triton'.
# pyproject.toml says which targets are built; cmake/wheel_check.py holds the result to its promises.

# GLFW of Debian needs a newer C library than wheels may: the package glfw of PyPI has one that does
# not. Which of X and Wayland there is is known when the viewer runs; X is nearly everywhere.
# BLK_GLFW_PACKAGE names that of another architecture.
set(glfw_package ${BLK_GLFW_PACKAGE})
if(NOT glfw_package)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import importlib.util as util, os
print(os.path.dirname(util.find_spec('glfw').origin), end='')"
    OUTPUT_VARIABLE glfw_package COMMAND_ERROR_IS_FATAL ANY)
endif()
set(fonts /usr/share/fonts/truetype/dejavu)

install(TARGETS _core LIBRARY DESTINATION blockscope COMPONENT wheel)
install(TARGETS blk-view RUNTIME DESTINATION blockscope/bin COMPONENT wheel)
install(FILES ${glfw_package}/x11/libglfw.so RENAME libglfw.so.3 DESTINATION blockscope/bin
  COMPONENT wheel)
install(FILES ${fonts}/DejaVuSans.ttf ${fonts}/DejaVuSans-Bold.ttf ${fonts}/DejaVuSansMono.ttf
  DESTINATION blockscope/bin/fonts COMPONENT wheel)
install(DIRECTORY docs/findings docs/notes DESTINATION blockscope/docs COMPONENT wheel)
install(FILES examples/demo/softmax_wrong.py DESTINATION blockscope/examples COMPONENT wheel)
install(FILES python/blockscope_drop_in.py cmake/wheel/blockscope.pth DESTINATION .
  COMPONENT wheel)
set_target_properties(blk-view PROPERTIES INSTALL_RPATH "$ORIGIN")

# Before glibc 2.34 threads and dlopen are in libraries of their own, which must be loaded then.
foreach(target IN ITEMS _core blk-view)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/wheel/old_glibc.c)
  target_link_libraries(${target} PRIVATE
    -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state)
endforeach()
