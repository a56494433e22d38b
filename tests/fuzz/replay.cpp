// Runs one fuzz target over the files and folders that are named: how a corpus is a test of every
// build.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  size_t files = 0;
  const auto replay = [&](const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::printf("%s\n", path.c_str());
    std::fflush(stdout); // the file that a crash is of is the last one named
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    ++files;
  };
  for (int index = 1; index < argc; ++index) {
    if (!std::filesystem::is_directory(argv[index])) {
      replay(argv[index]);
      continue;
    }
    for (const auto &entry : std::filesystem::recursive_directory_iterator(argv[index]))
      if (entry.is_regular_file())
        replay(entry.path());
  }
  std::printf("%zu files\n", files);
  return files > 0 ? 0 : 1;
}
