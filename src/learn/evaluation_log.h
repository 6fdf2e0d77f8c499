// What was measured or asked of pruned networks, line by line in a file, so that nothing is asked
// twice: not in one search, and not when it is resumed.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "edgesage/result.h"
#include "src/base/json.h"
#include "src/transform/pruning_space.h"

namespace edgesage {

// Not synchronised. Each answer is on disk when `add` returns; a last line that was cut off by a
// crash is passed over.
class EvaluationLog {
 public:
  // In memory alone.
  EvaluationLog() = default;
  // `identity` says what the answers are of (network, device, options). kBadStore for a file of
  // another, or one that is none.
  [[nodiscard]] static Result<EvaluationLog> open(const std::filesystem::path& path,
                                                  const std::string& identity);

  // Nullopt where it was not asked yet.
  [[nodiscard]] std::optional<Json> find(const std::string& key) const;
  [[nodiscard]] Status add(const std::string& key, const Json& answer);
  [[nodiscard]] size_t size() const { return answers_.size(); }

 private:
  std::filesystem::path path_;
  std::map<std::string, Json> answers_;
  std::ofstream file_;
};

// The values of a genome's genes, "64-32-1": the same network whatever values a gene could have.
[[nodiscard]] std::string values_key(const PruningSpace& space, const Genome& genome);

}  // namespace edgesage
