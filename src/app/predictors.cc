#include "src/app/predictors.h"

#include <fmt/format.h>

#include <string>

namespace edgesage::app {

Result<std::filesystem::path> find_predictor(const Context& context, std::string_view device) {
  const std::string name = std::string(device) + std::string(kPredictorEnding);
  for (const std::filesystem::path& directory : context.predictor_directories) {
    std::error_code ignored;
    const std::filesystem::path file = directory / name;
    if (std::filesystem::is_regular_file(file, ignored)) return file;
  }
  return make_error(
      ErrorCode::kInvalidArgument, std::string(device),
      fmt::format("no predictor {} is installed; train one from a store with edgesage train, or "
                  "name a file with --predictor",
                  name));
}

}  // namespace edgesage::app
