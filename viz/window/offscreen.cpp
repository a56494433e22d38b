// The off-screen renderer.
#include "viz/window/offscreen.h"

#include "viz/panels/theme.h"

#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace blockscope::viz {

struct Offscreen::Impl {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;
  ImGuiContext *imgui = nullptr;
  bool hasBackend = false;
  unsigned framebuffer = 0;
  unsigned texture = 0;
  int width = 0;
  int height = 0;

  ~Impl();
  bool createContext(std::string &error);
  bool createFramebuffer(std::string &error);
};

bool Offscreen::Impl::createContext(std::string &error) {
  // The same pixels everywhere, whatever hardware there is.
  setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1);
  setenv("EGL_LOG_LEVEL", "fatal", 0);
  const auto getDisplay = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
      eglGetProcAddress("eglGetPlatformDisplayEXT"));
  if (getDisplay != nullptr)
    display = getDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  if (display == EGL_NO_DISPLAY || eglInitialize(display, nullptr, nullptr) == EGL_FALSE) {
    error = "no off-screen renderer: Mesa's EGL is needed (Debian: libegl-mesa0, libgl1-mesa-dri)";
    return false;
  }
  constexpr std::array<EGLint, 3> kConfig = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
  constexpr std::array<EGLint, 7> kContext = {EGL_CONTEXT_MAJOR_VERSION,
                                              3,
                                              EGL_CONTEXT_MINOR_VERSION,
                                              3,
                                              EGL_CONTEXT_OPENGL_PROFILE_MASK,
                                              EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                              EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  eglBindAPI(EGL_OPENGL_API);
  eglChooseConfig(display, kConfig.data(), &config, 1, &count);
  context =
      eglCreateContext(display, count > 0 ? config : nullptr, EGL_NO_CONTEXT, kContext.data());
  if (context == EGL_NO_CONTEXT ||
      eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context) == EGL_FALSE) {
    error = "no off-screen renderer: OpenGL 3.3 cannot be started without a surface";
    return false;
  }
  return true;
}

bool Offscreen::Impl::createFramebuffer(std::string &error) {
  GLint most = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
  if (width > most || height > most) {
    error = "a picture can have at most " + std::to_string(most) + " pixels per side, asked for " +
            std::to_string(std::max(width, height));
    return false;
  }
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  if (glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE)
    return true;
  error = "no off-screen renderer: the frame buffer is not complete";
  return false;
}

Offscreen::Impl::~Impl() {
  if (imgui != nullptr) {
    if (hasBackend)
      ImGui_ImplOpenGL3_Shutdown();
    ImGui::DestroyContext(imgui);
  }
  if (framebuffer != 0)
    glDeleteFramebuffers(1, &framebuffer);
  if (texture != 0)
    glDeleteTextures(1, &texture);
  if (context != EGL_NO_CONTEXT) {
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display, context);
  }
  if (display != EGL_NO_DISPLAY)
    eglTerminate(display);
}

Offscreen::Offscreen(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Offscreen::~Offscreen() = default;

std::unique_ptr<Offscreen> Offscreen::create(int width, int height, std::string &error) {
  auto impl = std::make_unique<Impl>();
  impl->width = width;
  impl->height = height;
  if (!impl->createContext(error) || !impl->createFramebuffer(error))
    return nullptr;
  impl->imgui = ImGui::CreateContext();
  ImGuiIO &io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
  io.DeltaTime = 1.0F / 60;
  for (int key = 0; key < ImGuiKey_COUNT; ++key)
    io.KeyMap[key] = key; // tests press keys by their ImGui names
  theme::apply();
  impl->hasBackend = ImGui_ImplOpenGL3_Init("#version 330");
  if (!impl->hasBackend) {
    error = "no off-screen renderer: ImGui's OpenGL back end did not start";
    return nullptr;
  }
  return std::unique_ptr<Offscreen>(new Offscreen(std::move(impl)));
}

void Offscreen::frame(const std::function<void()> &draw) {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  draw();
  ImGui::Render();
  glBindFramebuffer(GL_FRAMEBUFFER, impl_->framebuffer);
  glViewport(0, 0, impl_->width, impl_->height);
  theme::clearFrame();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  glFinish();
}

std::vector<Rgba> Offscreen::pixels() const {
  const auto width = static_cast<size_t>(impl_->width);
  std::vector<Rgba> upsideDown(width * static_cast<size_t>(impl_->height));
  glBindFramebuffer(GL_FRAMEBUFFER, impl_->framebuffer);
  glPixelStorei(GL_PACK_ALIGNMENT, 4);
  glReadPixels(0, 0, impl_->width, impl_->height, GL_RGBA, GL_UNSIGNED_BYTE, upsideDown.data());
  std::vector<Rgba> rows;
  rows.reserve(upsideDown.size());
  for (size_t row = static_cast<size_t>(impl_->height); row-- > 0;)
    rows.insert(rows.end(), upsideDown.begin() + row * width,
                upsideDown.begin() + (row + 1) * width);
  return rows;
}

int Offscreen::width() const { return impl_->width; }
int Offscreen::height() const { return impl_->height; }

} // namespace blockscope::viz
