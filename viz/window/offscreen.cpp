// The off-screen renderer.
#include "viz/window/offscreen.h"

#include "viz/gl/functions.h"
#include "viz/panels/theme.h"

#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace blockscope::viz {
namespace {

/// All that pictures need: who installs what is missing first wants to do it once.
constexpr const char *kPackages = " (Debian: libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri)";

} // namespace

struct Offscreen::Impl {
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;
  ImGuiContext *imgui = nullptr;
  bool hasBackend = false;
  unsigned framebuffer = 0;
  unsigned texture = 0;
  int width = 0;
  int height = 0;
  int textPercent = 100;

  ~Impl();
  bool createContext(std::string &error);
  bool createFramebuffer(std::string &error);
};

bool Offscreen::Impl::createContext(std::string &error) {
  // The same pixels everywhere, whatever hardware there is.
  setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1);
  setenv("EGL_LOG_LEVEL", "fatal", 0);
  for (const std::string &missing : {loadEgl(), loadGl()}) {
    if (!missing.empty()) {
      error = "no off-screen renderer: " + missing + kPackages;
      return false;
    }
  }
  const auto getDisplay = reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(
      egl::GetProcAddress("eglGetPlatformDisplayEXT"));
  if (getDisplay != nullptr)
    display = getDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  if (display == EGL_NO_DISPLAY || egl::Initialize(display, nullptr, nullptr) == EGL_FALSE) {
    error = std::string("no off-screen renderer: Mesa's EGL is needed") + kPackages;
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
  egl::BindAPI(EGL_OPENGL_API);
  egl::ChooseConfig(display, kConfig.data(), &config, 1, &count);
  context =
      egl::CreateContext(display, count > 0 ? config : nullptr, EGL_NO_CONTEXT, kContext.data());
  if (context == EGL_NO_CONTEXT ||
      egl::MakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context) == EGL_FALSE) {
    error = "no off-screen renderer: OpenGL 3.3 cannot be started without a surface";
    return false;
  }
  return true;
}

bool Offscreen::Impl::createFramebuffer(std::string &error) {
  GLint most = 0;
  gl::GetIntegerv(GL_MAX_TEXTURE_SIZE, &most);
  if (width > most || height > most) {
    error = "a picture can have at most " + std::to_string(most) + " pixels per side, asked for " +
            std::to_string(std::max(width, height));
    return false;
  }
  gl::GenTextures(1, &texture);
  gl::BindTexture(GL_TEXTURE_2D, texture);
  gl::TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  gl::TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  gl::GenFramebuffers(1, &framebuffer);
  gl::BindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  gl::FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  if (gl::CheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE)
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
    gl::DeleteFramebuffers(1, &framebuffer);
  if (texture != 0)
    gl::DeleteTextures(1, &texture);
  if (context != EGL_NO_CONTEXT) {
    egl::MakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    egl::DestroyContext(display, context);
  }
  if (display != EGL_NO_DISPLAY)
    egl::Terminate(display);
}

Offscreen::Offscreen(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Offscreen::~Offscreen() = default;

std::unique_ptr<Offscreen> Offscreen::create(int width, int height, std::string &error,
                                             int textPercent) {
  auto impl = std::make_unique<Impl>();
  impl->width = width;
  impl->height = height;
  impl->textPercent = textPercent;
  if (!impl->createContext(error) || !impl->createFramebuffer(error))
    return nullptr;
  impl->imgui = ImGui::CreateContext();
  ImGuiIO &io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DeltaTime = 1.0F / 60;
  for (int key = 0; key < ImGuiKey_COUNT; ++key)
    io.KeyMap[key] = key; // tests press keys by their ImGui names
  theme::apply(textPercent);
  impl->hasBackend = ImGui_ImplOpenGL3_Init("#version 330");
  if (!impl->hasBackend) {
    error = "no off-screen renderer: ImGui's OpenGL back end did not start";
    return nullptr;
  }
  return std::unique_ptr<Offscreen>(new Offscreen(std::move(impl)));
}

void Offscreen::frame(const std::function<void()> &draw) {
  ImGui_ImplOpenGL3_NewFrame();
  ImGuiIO &io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(impl_->width), static_cast<float>(impl_->height)};
  io.DisplayFramebufferScale = {1, 1};
  const ImVec2 mouse = io.MousePos; // tests set it once, in pixels
  theme::scaleFrame(impl_->textPercent);
  ImGui::NewFrame();
  draw();
  ImGui::Render();
  io.MousePos = mouse;
  gl::BindFramebuffer(GL_FRAMEBUFFER, impl_->framebuffer);
  gl::Viewport(0, 0, impl_->width, impl_->height);
  theme::clearFrame();
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  gl::Finish();
}

void Offscreen::setTextSize(int textPercent) {
  if (textPercent == impl_->textPercent)
    return;
  impl_->textPercent = textPercent;
  theme::loadFonts(textPercent);
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
}

std::vector<Rgba> Offscreen::pixels() const {
  const auto width = static_cast<size_t>(impl_->width);
  std::vector<Rgba> upsideDown(width * static_cast<size_t>(impl_->height));
  gl::BindFramebuffer(GL_FRAMEBUFFER, impl_->framebuffer);
  gl::PixelStorei(GL_PACK_ALIGNMENT, 4);
  gl::ReadPixels(0, 0, impl_->width, impl_->height, GL_RGBA, GL_UNSIGNED_BYTE, upsideDown.data());
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
