// Looking up OpenGL's and EGL's functions.
#include "viz/gl/functions.h"

#include <dlfcn.h>

namespace blockscope::viz {
namespace {

/// A library of the machine, kept open until the process ends.
class Library {
public:
  explicit Library(const char *name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      missing_ = std::string("this machine has no ") + name;
  }

  template <typename Function> void find(Function &function, const char *name) {
    if (handle_ == nullptr)
      return;
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr && missing_.empty())
      missing_ = std::string("the machine's library has no function ") + name;
  }

  const std::string &missing() const { return missing_; }

private:
  void *handle_;
  std::string missing_;
};

} // namespace

std::string loadGl() {
  Library library("libGL.so.1");
#define BLK_FIND(name) library.find(gl::name, "gl" #name);
  BLK_GL_FUNCTIONS(BLK_FIND)
#undef BLK_FIND
  return library.missing();
}

std::string loadEgl() {
  Library library("libEGL.so.1");
#define BLK_FIND(name) library.find(egl::name, "egl" #name);
  BLK_EGL_FUNCTIONS(BLK_FIND)
#undef BLK_FIND
  return library.missing();
}

} // namespace blockscope::viz
