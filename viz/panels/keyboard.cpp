// Reading of ImGui's keys. Characters come as text input, so any keyboard layout works.
#include "viz/panels/keyboard.h"

#include <imgui.h>

namespace blockscope::viz {
namespace {

ImGuiKey_ imguiKey(SpecialKey key) {
  switch (key) {
  case SpecialKey::Left:
    return ImGuiKey_LeftArrow;
  case SpecialKey::Right:
    return ImGuiKey_RightArrow;
  case SpecialKey::Up:
    return ImGuiKey_UpArrow;
  case SpecialKey::Down:
    return ImGuiKey_DownArrow;
  case SpecialKey::PageUp:
    return ImGuiKey_PageUp;
  case SpecialKey::PageDown:
    return ImGuiKey_PageDown;
  case SpecialKey::Home:
    return ImGuiKey_Home;
  case SpecialKey::End:
    return ImGuiKey_End;
  case SpecialKey::Tab:
    return ImGuiKey_Tab;
  case SpecialKey::Enter:
    return ImGuiKey_Enter;
  case SpecialKey::Escape:
    return ImGuiKey_Escape;
  case SpecialKey::F1: // comes from the window, ImGui 1.86 has no name for it
  case SpecialKey::None:
    break;
  }
  return ImGuiKey_COUNT;
}

} // namespace

void handleKeys(const std::function<void(Command)> &act) {
  const ImGuiIO &io = ImGui::GetIO();
  if (io.WantTextInput)
    return;
  for (const ImWchar character : io.InputQueueCharacters)
    if (const std::optional<Command> command = commandOf(character, /*control=*/false))
      act(*command);
  for (const KeyBinding &binding : keyBindings()) {
    const ImGuiKey_ key = imguiKey(binding.special);
    if (key == ImGuiKey_COUNT || binding.shift != io.KeyShift)
      continue;
    const bool repeats = binding.command != Command::Clear && binding.command != Command::Choose;
    const int native = ImGui::GetKeyIndex(key);
    if (native >= 0 && ImGui::IsKeyPressed(native, repeats))
      act(binding.command);
  }
}

void handleKeys(const TraceModel &model, Selection &selection) {
  handleKeys([&](Command command) { apply(command, model, selection); });
}

} // namespace blockscope::viz
