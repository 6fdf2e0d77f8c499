#include "src/learn/evaluation_log.h"

#include <fmt/format.h>

#include "src/base/file.h"
#include "src/base/text.h"

namespace edgesage {

Result<EvaluationLog> EvaluationLog::open(const std::filesystem::path& path,
                                          const std::string& identity) {
  EvaluationLog log;
  log.path_ = path;
  const auto bad = [&](std::string message) {
    return make_error(ErrorCode::kBadStore, path.string(), std::move(message));
  };
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  std::string whole;  // without what was cut off
  if (exists) {
    EDGESAGE_ASSIGN_OR_RETURN(std::string text, read_text(path, ErrorCode::kBadStore));
    text.resize(text.find_last_of('\n') == std::string::npos ? 0 : text.find_last_of('\n') + 1);
    bool first = true;
    for (const std::string& line : split(text, '\n')) {
      if (line.empty()) continue;
      const auto json = parse_json(line, path.string(), ErrorCode::kBadStore);
      if (!json || !json->is_object()) return bad("a line is no JSON object; remove the file");
      if (first && json_string(*json, "identity") != identity)
        return bad("holds answers of another network, device or options; name another directory");
      if (!first) log.answers_[json_string(*json, "key")] = json->value("answer", Json());
      first = false;
    }
    whole = std::move(text);
  }
  if (whole.empty()) whole = to_text(Json{{"identity", identity}}) + "\n";
  EDGESAGE_RETURN_IF_ERROR(write_text(path, whole));
  log.file_.open(path, std::ios::app);
  if (!log.file_) return bad("cannot be written");
  return log;
}

std::optional<Json> EvaluationLog::find(const std::string& key) const {
  const auto found = answers_.find(key);
  return found == answers_.end() ? std::nullopt : std::optional<Json>(found->second);
}

Status EvaluationLog::add(const std::string& key, const Json& answer) {
  answers_[key] = answer;
  if (path_.empty()) return {};
  file_ << to_text(Json{{"key", key}, {"answer", answer}}) << '\n' << std::flush;
  if (!file_)
    return make_error(ErrorCode::kBadStore, path_.string(), "cannot be written; is the disk full?");
  return {};
}

std::string values_key(const PruningSpace& space, const Genome& genome) {
  std::string key;
  for (size_t g = 0; g < genome.size(); ++g)
    key += fmt::format("{}{}", g == 0 ? "" : "-", space.value(genome, g));
  return key;
}

}  // namespace edgesage
