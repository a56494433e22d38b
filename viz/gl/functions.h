// OpenGL's and EGL's functions, looked up when a picture is to be drawn: blk-view starts on
// machines without them, prints tables there and says what is missing.
//
// Call gl::Clear(...) for glClear, after loadGl; egl::Initialize(...) after loadEgl.
#pragma once

#define GL_GLEXT_PROTOTYPES // only their types are used
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>

#include <string>

// The functions that we call; add a name here to call another one.
#define BLK_GL_FUNCTIONS(X)                                                                        \
  X(BindFramebuffer)                                                                               \
  X(BindTexture)                                                                                   \
  X(CheckFramebufferStatus)                                                                        \
  X(Clear)                                                                                         \
  X(ClearColor)                                                                                    \
  X(DeleteFramebuffers)                                                                            \
  X(DeleteTextures)                                                                                \
  X(Disable)                                                                                       \
  X(Enable)                                                                                        \
  X(Finish)                                                                                        \
  X(FramebufferTexture2D)                                                                          \
  X(GenFramebuffers)                                                                               \
  X(GenTextures)                                                                                   \
  X(GetIntegerv)                                                                                   \
  X(PixelStorei)                                                                                   \
  X(ReadBuffer)                                                                                    \
  X(ReadPixels)                                                                                    \
  X(Scissor)                                                                                       \
  X(TexImage2D)                                                                                    \
  X(TexParameteri)                                                                                 \
  X(Viewport)

#define BLK_EGL_FUNCTIONS(X)                                                                       \
  X(BindAPI)                                                                                       \
  X(ChooseConfig)                                                                                  \
  X(CreateContext)                                                                                 \
  X(DestroyContext)                                                                                \
  X(GetProcAddress)                                                                                \
  X(Initialize)                                                                                    \
  X(MakeCurrent)                                                                                   \
  X(Terminate)

namespace blockscope::viz {

// NOLINTBEGIN(readability-identifier-naming): the names are OpenGL's
namespace gl {
#define BLK_GL_POINTER(name) inline decltype(&::gl##name) name = nullptr;
BLK_GL_FUNCTIONS(BLK_GL_POINTER)
#undef BLK_GL_POINTER
} // namespace gl

namespace egl {
#define BLK_EGL_POINTER(name) inline decltype(&::egl##name) name = nullptr;
BLK_EGL_FUNCTIONS(BLK_EGL_POINTER)
#undef BLK_EGL_POINTER
} // namespace egl
// NOLINTEND(readability-identifier-naming)

/// Fills gl:: from the machine's OpenGL library. Returns what is missing, or nothing.
std::string loadGl();

/// Fills egl:: from the machine's EGL library. Returns what is missing, or nothing.
std::string loadEgl();

} // namespace blockscope::viz
