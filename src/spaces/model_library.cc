#include "src/spaces/model_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>

#include "src/base/csv.h"
#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/graph/graph_hash.h"
#include "src/io/model_file.h"
#include "src/io/tflite_writer.h"
#include "src/transform/mutate.h"

namespace edgesage {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHashDigits = 16;
constexpr std::string_view kIndex = "index.csv";
// Of a base in the draw, by its operators.
constexpr int64_t kWholeNetwork = 4;
constexpr int64_t kWeightOfWhole = 6, kWeightOfPart = 3, kWeightOfOne = 1;
constexpr int64_t kTimesQuantised = 3;  // accelerators leave others to their host
constexpr uint64_t kProbes = 16;
constexpr int kTries = 16;
constexpr int64_t kMostSeed = 999'999;

tl::unexpected<Error> bad(std::string where, std::string message) {
  return make_error(ErrorCode::kInvalidArgument, std::move(where), std::move(message));
}

bool is_kept_for_testing(const fs::path& file) {
  return std::ranges::any_of(file, [](const fs::path& part) { return part == "tiny"; });
}

// Files of the rows that may be learnt from.
Result<std::vector<fs::path>> indexed_files(const fs::path& folder) {
  const fs::path index = folder / kIndex;
  EDGESAGE_ASSIGN_OR_RETURN(const std::string text, read_text(index, ErrorCode::kInvalidArgument));
  EDGESAGE_ASSIGN_OR_RETURN(const CsvTable table,
                            parse_csv(text, index.string(), ErrorCode::kInvalidArgument));
  const auto file = table.column("file");
  if (!file) return bad(index.string(), "has no column \"file\"");
  std::vector<fs::path> files;
  for (size_t row = 1; row < table.rows.size(); row += 2)
    if (!is_kept_for_testing(table.rows[row][*file]))
      files.push_back(folder / table.rows[row][*file]);
  return files;
}

Result<std::vector<fs::path>> tflite_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error))
    if (at->is_regular_file(error) && at->path().extension() == ".tflite")
      files.push_back(at->path());
  if (error) return bad(folder.string(), "the directory cannot be read: " + error.message());
  return files;
}

// How often a file is drawn: by its operators, whether it is quantised, and how many different
// networks a few seeds make of it; 0 for one that cannot be mutated, or not be written.
int64_t weight_of(const fs::path& file) {
  const Result<Graph> base = read_model(file);
  if (!base || base->format != "tflite") return 0;
  const Subgraph& main = base->main();
  const auto is_custom = [](const Operator& op) { return op.kind == OpKind::kCustom; };
  if (std::ranges::any_of(main.operators, is_custom)) return 0;  // runs where it came from
  std::set<std::string> different;
  for (uint64_t seed = 0; seed < kProbes; ++seed) {
    const Result<Mutation> mutation = mutate(*base, seed);
    if (!mutation) continue;
    if (different.empty() && !write_tflite(mutation->graph)) return 0;
    different.insert(graph_hash(mutation->graph));
  }
  const auto operators = static_cast<int64_t>(main.operators.size());
  const int64_t each = operators >= kWholeNetwork ? kWeightOfWhole
                       : operators > 1            ? kWeightOfPart
                                                  : kWeightOfOne;
  const bool quantised = std::ranges::any_of(
      main.tensors, [](const Tensor& tensor) { return !tensor.quantization.scale.empty(); });
  return each * static_cast<int64_t>(different.size()) * (quantised ? kTimesQuantised : 1);
}

}  // namespace

Result<MutationCode> MutationCode::parse(std::string_view text) {
  const auto refuse = [text] {
    return bad(std::string(text),
               "a mutation is named by 16 hexadecimal digits of its base file's hash, ~ and a "
               "seed, as in mutation/1/1f2e3d4c5b6a7988~17");
  };
  if (text.size() < kHashDigits + 2 || text[kHashDigits] != '~') return refuse();
  const std::string_view digits = text.substr(0, kHashDigits);
  if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) return refuse();
  MutationCode code{.base = std::string(digits)};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + kHashDigits + 1, end, code.seed);
  if (error != std::errc() || stop != end || code.to_string() != text) return refuse();
  return code;
}

std::string MutationCode::to_string() const { return fmt::format("{}~{}", base, seed); }

Status ModelLibrary::add(const fs::path& file) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto mapped, MappedFile::open(file, ErrorCode::kInvalidArgument));
  // Of two files with the same bytes either will do.
  files_.emplace(fmt::format("{:016x}", checksum64(mapped->bytes())), file);
  return {};
}

Result<ModelLibrary> ModelLibrary::open(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return bad(folder.string(), "is no directory; name one with model files");
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<fs::path> files, fs::exists(folder / kIndex, error)
                                                                   ? indexed_files(folder)
                                                                   : tflite_files(folder));
  ModelLibrary library;
  library.folder_ = folder;
  for (const fs::path& file : files) EDGESAGE_RETURN_IF_ERROR(library.add(file));
  return library;
}

const fs::path* ModelLibrary::find(const std::string& hash) const {
  const auto it = files_.find(hash);
  return it == files_.end() ? nullptr : &it->second;
}

Result<Graph> ModelLibrary::build(const MutationCode& code) const {
  const fs::path* file = find(code.base);
  if (file == nullptr)
    return bad(fmt::format("mutation {}", code.to_string()),
               fmt::format("no file under {} has the hash {} ({} files that may be learnt from); "
                           "name the folder that holds it with EDGESAGE_DATA_DIR or --models",
                           folder_.string(), code.base, size()));
  EDGESAGE_ASSIGN_OR_RETURN(const Graph base, read_model(*file));
  EDGESAGE_ASSIGN_OR_RETURN(Mutation mutation, mutate(base, code.seed));
  return std::move(mutation.graph);
}

Result<std::vector<MutationCode>> ModelLibrary::draw(uint64_t first, uint64_t count) const {
  // Each base as often as it weighs.
  std::vector<std::string> bases;
  for (const auto& [hash, file] : files_) {
    const auto weight = static_cast<size_t>(weight_of(file));
    bases.insert(bases.end(), weight, hash);
  }
  if (bases.empty())
    return bad(folder_.string(),
               fmt::format("none of its {} files that may be learnt from can be mutated", size()));
  std::vector<MutationCode> codes;
  for (uint64_t i = 0; i < count; ++i) {
    Rng rng(first + i, "mutation/1");
    MutationCode code{.base = rng.pick(bases)};
    // Of some seeds nothing comes that fits the file.
    for (int tries = 0; tries < kTries; ++tries) {
      code.seed = static_cast<uint64_t>(rng.integer(0, kMostSeed));
      if (build(code)) break;
    }
    codes.push_back(std::move(code));
  }
  return codes;
}

const Result<ModelLibrary>& default_model_library() {
  static const Result<ModelLibrary> kLibrary = []() -> Result<ModelLibrary> {
    const char* data = std::getenv("EDGESAGE_DATA_DIR");
    if (data == nullptr)
      return bad("EDGESAGE_DATA_DIR",
                 "is not set; networks named mutation/... need the folder whose subfolder models "
                 "holds the files they were made of");
    return ModelLibrary::open(fs::path(data) / "models");
  }();
  return kLibrary;
}

}  // namespace edgesage
