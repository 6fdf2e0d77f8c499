#include "src/learn/feature_build.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "src/base/parallel.h"
#include "src/features/extract.h"
#include "src/learn/network_pool.h"
#include "src/lower/rows.h"
#include "src/spaces/space.h"

namespace edgesage {
namespace {

constexpr size_t kAtATime = 32;
constexpr size_t kProbes = 8;

Result<std::vector<LabelRow>> read_some(const LabelReader& next) {
  std::vector<LabelRow> rows;
  while (rows.size() < kAtATime) {
    LabelRow row;
    EDGESAGE_ASSIGN_OR_RETURN(const bool more, next(row));
    if (!more) break;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::optional<Result<Example>>> build_some(std::span<const LabelRow> rows,
                                                       const FeatureBuild& build) {
  std::vector<std::optional<Result<Example>>> built(rows.size());
  parallel_for(static_cast<int64_t>(rows.size()), build.threads, [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    built[index] = build_example(rows[index], build.target, build.origin.quantities);
  });
  return built;
}

bool equal_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

// Whether this build makes the same numbers of the network.
Result<bool> is_current(const Example& example, const FeatureFile& file, const Target& target) {
  EDGESAGE_ASSIGN_OR_RETURN(const NamedGraph named, build_named_for(target, example.name));
  const Graph& graph = *named.graph;
  const GraphTensors now = extract_features(graph, lower(graph, target), file.quantities());
  const GraphTensors& then = example.tensors;
  return equal_bits(now.x, then.x) && equal_bits(now.globals, then.globals) &&
         equal_bits(now.log_prior, then.log_prior) && now.kind == then.kind && now.op == then.op &&
         now.producers.index == then.producers.index &&
         now.consumers.index == then.consumers.index &&
         operator_signatures(graph) == example.operator_signatures;
}

Status check_sample(const FeatureFile& file, const Target& target, const std::string& where) {
  const size_t probes = std::min(kProbes, file.size());
  for (size_t p = 0; p < probes; ++p) {
    const auto current = is_current(file.example(p * file.size() / probes), file, target);
    if (!current || !*current)
      return make_error(ErrorCode::kBadStore, where, "was made by another version of the program");
  }
  return {};
}

}  // namespace

LabelReader read_from(std::span<const LabelRow> rows) {
  return [rows, at = size_t{0}](LabelRow& row) mutable -> Result<bool> {
    if (at == rows.size()) return false;
    row = rows[at++];
    return true;
  };
}

Status build_features(const LabelReader& next, const FeatureBuild& build,
                      const std::filesystem::path& path) {
  EDGESAGE_ASSIGN_OR_RETURN(FeatureWriter writer, FeatureWriter::create(path, build.origin));
  int64_t done = 0;
  for (;;) {
    EDGESAGE_ASSIGN_OR_RETURN(const std::vector<LabelRow> rows, read_some(next));
    if (rows.empty()) break;
    for (const auto& example : build_some(rows, build)) {
      if (!*example) return tl::unexpected(example->error());
      if (is_usable(**example)) {
        EDGESAGE_RETURN_IF_ERROR(writer.add(**example));
      } else {
        writer.leave_out();
      }
    }
    done += static_cast<int64_t>(rows.size());
    if (build.progress) build.progress(done, std::max(done, build.total));
    if (build.stop != nullptr && build.stop->load())
      return make_error(ErrorCode::kInvalidArgument, path.string(),
                        "interrupted while features were extracted");
  }
  return writer.finish();
}

Result<FeatureFile> open_features(const std::filesystem::path& path, std::string_view labels_hash,
                                  const Target& target) {
  EDGESAGE_ASSIGN_OR_RETURN(FeatureFile file, FeatureFile::open(path));
  if (file.origin().labels_hash != labels_hash || file.origin().target != target.name)
    return make_error(ErrorCode::kBadStore, path.string(), "was made from other labels");
  EDGESAGE_RETURN_IF_ERROR(check_sample(file, target, path.string()));
  return file;
}

}  // namespace edgesage
