// GLFW window and its loop: it sleeps until something happens, so an idle viewer costs nothing.
#include "viz/window/window.h"

#include "viz/gl/functions.h"
#include "viz/model/commands.h"
#include "viz/panels/theme.h"

#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace blockscope::viz {
namespace {

/// F1 is not among ImGui 1.86's named keys.
void handleF1(GLFWwindow *window, Session &session, bool &wasDown) {
  const bool isDown = glfwGetKey(window, GLFW_KEY_F1) == GLFW_PRESS;
  if (isDown && !wasDown)
    session.act(Command::Help);
  wasDown = isDown;
}

/// Keys with Ctrl come with their character, whatever the layout of the keyboard: ImGui is not told
/// of it. What was typed waits here for the frame.
void handleControlKeys(GLFWwindow *window, std::vector<unsigned> &typed) {
  glfwSetWindowUserPointer(window, &typed);
  glfwSetCharModsCallback(window, [](GLFWwindow *its, unsigned character, int modifiers) {
    if ((modifiers & GLFW_MOD_CONTROL) != 0)
      static_cast<std::vector<unsigned> *>(glfwGetWindowUserPointer(its))->push_back(character);
  });
}

/// Whether the place that was kept is still on a screen: one may have been taken away.
bool isOnAScreen(const WindowState &state) {
  if (state.x < 0 && state.y < 0)
    return false;
  int count = 0;
  GLFWmonitor **monitors = glfwGetMonitors(&count);
  for (int index = 0; index < count; ++index) {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
    glfwGetMonitorWorkarea(monitors[index], &x, &y, &width, &height);
    constexpr int kInSight = 100;
    if (state.x >= x - kInSight && state.y >= y && state.x + kInSight <= x + width &&
        state.y + kInSight <= y + height)
      return true;
  }
  return false;
}

SessionHost hostOf(GLFWwindow *window) {
  SessionHost host;
  host.pixels = [window](int &width, int &height) {
    glfwGetFramebufferSize(window, &width, &height);
    std::vector<Rgba> rows(static_cast<size_t>(width) * height);
    gl::ReadBuffer(GL_BACK);
    for (int row = 0; row < height; ++row)
      gl::ReadPixels(0, height - 1 - row, width, 1, GL_RGBA, GL_UNSIGNED_BYTE,
                     rows.data() + static_cast<size_t>(row) * width);
    return rows;
  };
  host.copy = [](const std::string &text) { ImGui::SetClipboardText(text.c_str()); };
  return host;
}

void loop(GLFWwindow *window, Session &session) {
  const SessionHost host = hostOf(window);
  std::vector<unsigned> typed;
  handleControlKeys(window, typed);
  bool f1WasDown = false;
  int textPercent = session.selection().look.textPercent;
  int awake = 3; // frames that still follow an event: ImGui settles in two
  while (glfwWindowShouldClose(window) == GLFW_FALSE) {
    if (awake > 0)
      glfwPollEvents();
    else
      glfwWaitEvents();
    const ImGuiIO &io = ImGui::GetIO();
    const bool isBusy = io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0 ||
                        ImGui::IsAnyItemActive() || session.isMoving();
    awake = awake == 0 || isBusy || session.readOn() ? 3 : awake - 1;
    handleF1(window, session, f1WasDown);
    for (const unsigned character : std::exchange(typed, {}))
      if (const std::optional<Command> command = commandOf(character, /*control=*/true))
        session.act(*command);
    if (const int wanted = session.selection().look.textPercent; wanted != textPercent) {
      textPercent = wanted;
      theme::loadFonts(textPercent);
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
      awake = 3;
    }
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    theme::scaleFrame(textPercent);
    ImGui::NewFrame();
    session.draw();
    ImGui::Render();
    int width = 0;
    int height = 0;
    glfwGetFramebufferSize(window, &width, &height);
    gl::Viewport(0, 0, width, height);
    theme::clearFrame();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    if (session.selection().wish != Wish::None) {
      awake = 3;
      if (!session.fulfil(host))
        return;
      glfwSetWindowTitle(window, session.title().c_str());
    }
    glfwSwapBuffers(window);
  }
}

} // namespace

bool runWindow(Session &session, WindowState &state, std::string &error) {
  if (const std::string missing = loadGl(); !missing.empty()) {
    error = "no window can be opened: " + missing + " (Debian: libgl1)";
    return false;
  }
  static std::string reason;
  glfwSetErrorCallback([](int, const char *text) { reason = text; });
  if (glfwInit() == GLFW_FALSE) {
    error = "no window can be opened (" + reason + "); on a machine with no display use --png";
    return false;
  }
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  const std::string title = session.title();
  GLFWwindow *window = glfwCreateWindow(state.width, state.height, title.c_str(), nullptr, nullptr);
  if (window == nullptr) {
    error = "no window can be opened (" + reason + "); on a machine with no display use --png";
    glfwTerminate();
    return false;
  }
  if (isOnAScreen(state))
    glfwSetWindowPos(window, state.x, state.y);
  glfwSetWindowSizeLimits(window, 900, 600, GLFW_DONT_CARE, GLFW_DONT_CARE);
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  theme::apply(session.selection().look.textPercent);
  const bool started =
      ImGui_ImplGlfw_InitForOpenGL(window, true) && ImGui_ImplOpenGL3_Init("#version 330");
  if (started)
    loop(window, session);
  else
    error = "ImGui's OpenGL back end did not start";
  session.dropPictures();
  state.look = session.selection().look;
  glfwGetWindowPos(window, &state.x, &state.y);
  glfwGetWindowSize(window, &state.width, &state.height);
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImGui::DestroyContext();
  glfwDestroyWindow(window);
  glfwTerminate();
  return started;
}

} // namespace blockscope::viz
