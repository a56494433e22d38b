// GLFW window and its loop: it sleeps until something happens, so an idle viewer costs nothing.
#include "viz/window/window.h"

#include "viz/model/commands.h"
#include "viz/panels/theme.h"

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>

namespace blockscope::viz {
namespace {

/// F1 is not among ImGui 1.86's named keys.
void handleF1(GLFWwindow *window, Session &session, bool &wasDown) {
  const bool isDown = glfwGetKey(window, GLFW_KEY_F1) == GLFW_PRESS;
  if (isDown && !wasDown)
    apply(Command::Help, session.model(), session.selection());
  wasDown = isDown;
}

SessionHost hostOf(GLFWwindow *window) {
  SessionHost host;
  host.pixels = [window](int &width, int &height) {
    glfwGetFramebufferSize(window, &width, &height);
    std::vector<Rgba> rows(static_cast<size_t>(width) * height);
    glReadBuffer(GL_BACK);
    for (int row = 0; row < height; ++row)
      glReadPixels(0, height - 1 - row, width, 1, GL_RGBA, GL_UNSIGNED_BYTE,
                   rows.data() + static_cast<size_t>(row) * width);
    return rows;
  };
  host.copy = [](const std::string &text) { ImGui::SetClipboardText(text.c_str()); };
  return host;
}

void loop(GLFWwindow *window, Session &session) {
  const SessionHost host = hostOf(window);
  bool f1WasDown = false;
  int awake = 3; // frames that still follow an event: ImGui settles in two
  while (glfwWindowShouldClose(window) == GLFW_FALSE) {
    if (awake > 0)
      glfwPollEvents();
    else
      glfwWaitEvents();
    const ImGuiIO &io = ImGui::GetIO();
    const bool isBusy = io.MouseDelta.x != 0 || io.MouseDelta.y != 0 || io.MouseWheel != 0 ||
                        ImGui::IsAnyItemActive();
    awake = awake == 0 || isBusy ? 3 : awake - 1;
    handleF1(window, session, f1WasDown);
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
    session.draw();
    ImGui::Render();
    int width = 0;
    int height = 0;
    glfwGetFramebufferSize(window, &width, &height);
    glViewport(0, 0, width, height);
    theme::clearFrame();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    if (session.selection().wish != Wish::None) {
      awake = 3;
      if (!session.fulfil(host))
        return;
    }
    glfwSwapBuffers(window);
  }
}

} // namespace

bool runWindow(Session &session, int width, int height, std::string &error) {
  static std::string reason;
  glfwSetErrorCallback([](int, const char *text) { reason = text; });
  if (glfwInit() == GLFW_FALSE) {
    error = "no window can be opened (" + reason + "); on a machine with no display use --png";
    return false;
  }
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  const std::string title = session.model().launch().kernel + " - Blockscope";
  GLFWwindow *window = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
  if (window == nullptr) {
    error = "no window can be opened (" + reason + "); on a machine with no display use --png";
    glfwTerminate();
    return false;
  }
  glfwSetWindowSizeLimits(window, 900, 600, GLFW_DONT_CARE, GLFW_DONT_CARE);
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;
  theme::apply();
  const bool started =
      ImGui_ImplGlfw_InitForOpenGL(window, true) && ImGui_ImplOpenGL3_Init("#version 330");
  if (started)
    loop(window, session);
  else
    error = "ImGui's OpenGL back end did not start";
  session.selection().pictures.reset();
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImGui::DestroyContext();
  glfwDestroyWindow(window);
  glfwTerminate();
  return started;
}

} // namespace blockscope::viz
