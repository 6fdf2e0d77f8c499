// `write_odd_files DIR`: every file of odd_files.h as DIR/<name>.tflite.
#include <cstdio>
#include <filesystem>

#include "src/base/file.h"
#include "tests/io/odd_files.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  for (const auto& file : edgesage::test::odd_files()) {
    const auto status = edgesage::write_file(folder / (file.name + ".tflite"), file.bytes);
    if (!status) {
      std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
      return 1;
    }
  }
  return 0;
}
