#include "src/app/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "src/base/file.h"
#include "src/io/file_kind.h"
#include "src/io/model_file.h"
#include "src/io/ncnn_param.h"
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

// "onnx", "tflite", ... by the file's first bytes; empty where it is neither or cannot be opened,
// which reading it will say.
std::string format_of(const std::filesystem::path& file) {
  const auto mapped = MappedFile::open(file, ErrorCode::kBadModel);
  if (!mapped) return {};
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  if (looks_like_tflite(bytes)) return "tflite";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (looks_like_ncnn(text)) return "ncnn";
  return looks_like_onnx(bytes) ? "onnx" : "";
}

// Of a directory: the models that the device runs.
Status add_directory(const std::filesystem::path& place, const DeviceDescription* device,
                     std::vector<std::string>& names) {
  std::error_code error;
  std::optional<Error> refusal;
  const size_t before = names.size();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place, error)) {
    const std::string name = entry.path().string(), ending = entry.path().extension().string();
    if (!entry.is_regular_file() || (ending != ".tflite" && ending != ".onnx")) continue;
    if (const Status runs =
            device != nullptr ? check_format(*device, ending.substr(1), name) : Status{};
        runs)
      names.push_back(name);
    else
      refusal = runs.error();
  }
  if (error)
    return make_error(ErrorCode::kInvalidArgument, place.string(),
                      "the directory cannot be read: " + error.message());
  if (names.size() == before && refusal) return tl::unexpected(*refusal);
  return {};
}

Result<std::vector<std::string>> names_of_files(const PoolRequest& request,
                                                const DeviceDescription* device) {
  std::vector<std::string> names;
  for (const std::filesystem::path& place : request.models) {
    std::error_code ignored;
    if (std::filesystem::is_directory(place, ignored)) {
      EDGESAGE_RETURN_IF_ERROR(add_directory(place, device, names));
      continue;
    }
    if (device != nullptr)
      EDGESAGE_RETURN_IF_ERROR(check_format(*device, format_of(place), place.string()));
    names.push_back(place.string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty())
    return make_error(ErrorCode::kInvalidArgument, request.models.front().string(),
                      "no .tflite or .onnx file in it");
  return names;
}

}  // namespace

bool has_closed_form(const Target& target) { return target.is_npu(); }

Result<std::vector<std::string>> pool_names(const PoolRequest& request,
                                            const DeviceDescription* device) {
  // What is built here is written as .tflite.
  if (device != nullptr && (request.models.empty() || request.mutations > 0))
    EDGESAGE_RETURN_IF_ERROR(
        check_format(*device, "tflite",
                     request.models.empty() ? "networks of search spaces (name files with --models)"
                                            : "--mutations"));
  if (!request.models.empty()) {
    EDGESAGE_ASSIGN_OR_RETURN(std::vector<std::string> files, names_of_files(request, device));
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

std::filesystem::path file_of_pool(const std::string& name) {
  if (NetworkName::parse(name) || parse_mutation(name)) return {};
  return format_of(name) == "onnx" ? std::filesystem::path(name) : std::filesystem::path();
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
