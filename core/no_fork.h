// What a forked child needs whole.
#pragma once

namespace blockscope {

/// While one lives, fork() waits, so that no child finds half a change, or a lock whose holder is
/// not there. For state of the process and for libraries that have such state. Scopes may nest;
/// they are short, and never wait for Python's lock: the thread that forks holds it.
class NoFork {
public:
  NoFork();
  ~NoFork();
  NoFork(const NoFork &) = delete;
  NoFork &operator=(const NoFork &) = delete;

  /// Ends all scopes of this thread, which will never come to their ends.
  static void abandon();
};

} // namespace blockscope
