#include "src/app/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "src/io/model_file.h"
#include "src/learn/annotate.h"
#include "src/spaces/space.h"
#include "src/transform/mutate.h"

namespace edgesage::app {
namespace {

constexpr std::string_view kFiles = "files";

constexpr std::string_view kMutation = "mutation/";

// Far from the seeds that labels in the repository are of.
constexpr uint64_t kFirstSeed = 1'000'000;

struct MutationName {
  uint64_t seed = 0;
  std::string file;
};

std::optional<MutationName> parse_mutation(std::string_view name) {
  if (!name.starts_with(kMutation)) return std::nullopt;
  name.remove_prefix(kMutation.size());
  MutationName mutation;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), mutation.seed);
  if (error != std::errc() || end == name.data() + name.size() || *end != '/') return std::nullopt;
  mutation.file = name.substr(static_cast<size_t>(end - name.data()) + 1);
  return mutation;
}

void add_mutations(const PoolRequest& request, std::vector<std::string>& names) {
  const size_t files = names.size();
  for (size_t f = 0; f < files; ++f)
    for (int64_t m = 0; m < request.mutations; ++m)
      names.push_back(fmt::format("{}{}/{}", kMutation,
                                  request.seed * kFirstSeed + static_cast<uint64_t>(m), names[f]));
}

Result<std::vector<std::string>> names_of_files(const std::vector<std::filesystem::path>& places) {
  std::vector<std::string> names;
  for (const std::filesystem::path& place : places) {
    std::error_code error;
    if (!std::filesystem::is_directory(place, error)) {
      names.push_back(place.string());
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place, error))
      if (entry.is_regular_file() && entry.path().extension() == ".tflite")
        names.push_back(entry.path().string());
    if (error)
      return make_error(ErrorCode::kInvalidArgument, place.string(),
                        "the directory cannot be read: " + error.message());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty())
    return make_error(ErrorCode::kInvalidArgument, places.front().string(),
                      "no .tflite file in it");
  return names;
}

}  // namespace

bool has_closed_form(const Target& target) { return target.is_npu(); }

Result<std::vector<std::string>> pool_names(const PoolRequest& request) {
  if (!request.models.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<std::string> files, names_of_files(request.models));
    add_mutations(request, files);
    return files;
  }
  if (request.mutations > 0)
    return make_error(ErrorCode::kInvalidArgument, "--mutations",
                      "mutations are of files: name them with --models");
  std::vector<std::string> spaces = request.spaces;
  if (spaces.empty())
    for (const SpaceInfo& space : all_spaces()) spaces.emplace_back(space.name);
  const auto each = static_cast<uint64_t>(request.size) / spaces.size();
  return sample_names(spaces, request.seed * kFirstSeed, std::max<uint64_t>(1, each));
}

Result<NamedGraph> build_of_pool(const std::string& name) {
  if (NetworkName::parse(name)) return build_named(name);
  const std::optional<MutationName> mutation = parse_mutation(name);
  EDGESAGE_ASSIGN_OR_RETURN(Graph graph, read_model(mutation ? mutation->file : name));
  if (!mutation) return NamedGraph{std::move(graph), std::string(kFiles)};
  auto mutated = mutate(graph, mutation->seed);
  if (!mutated && mutated.error().code == ErrorCode::kUnsupported)
    return NamedGraph{std::nullopt, std::string(kFiles)};
  if (!mutated) return tl::unexpected(mutated.error());
  return NamedGraph{std::move(mutated->graph), std::string(kFiles)};
}

Result<PricedPool> load_pool(const Context& context, const PoolRequest& request,
                             std::span<const std::string> names, const Target& target,
                             std::span<const Quantity> quantities) {
  EDGESAGE_ASSIGN_OR_RETURN(
      NetworkPool pool, make_pool(names, target, quantities, build_of_pool, request.threads,
                                  [&](int64_t done, int64_t total) {
                                    context.report(done, total, "building networks to choose from");
                                  }));
  return price_pool(std::move(pool), static_cast<int32_t>(request.virtual_devices), request.seed,
                    request.threads);
}

}  // namespace edgesage::app
