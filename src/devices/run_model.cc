#include "src/devices/run_model.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <numeric>

#include "src/base/file.h"

namespace edgesage {
namespace {

// Removed with the object.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view kind) {
    static std::atomic<uint64_t> count{0};
    std::error_code none;
    path_ = std::filesystem::temp_directory_path(none) /
            fmt::format("edgesage-{}-{}-{}", getpid(), kind, count++);
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

Result<RunOutputs> run_model(WorkerClient& worker, const std::filesystem::path& model,
                             std::span<const std::byte> inputs, const Json& options,
                             std::chrono::milliseconds deadline) {
  const ScratchFile in("inputs"), out("outputs");
  EDGESAGE_RETURN_IF_ERROR(write_file(in.path(), inputs));
  std::error_code none;
  Json body;
  body["model"] = std::filesystem::absolute(model, none).string();
  body["options"] = options;
  body["inputs"] = in.path().string();
  body["outputs"] = out.path().string();
  body["deadline_ms"] = deadline.count();
  EDGESAGE_ASSIGN_OR_RETURN(const Json answer, worker.request("run", std::move(body), deadline));
  RunOutputs outputs;
  outputs.runs = static_cast<size_t>(json_int(answer, "runs", 0));
  const auto sizes = answer.find("output_bytes");
  if (sizes != answer.end() && sizes->is_array())
    for (const Json& size : *sizes)
      outputs.output_bytes.push_back(size.is_number_unsigned() ? size.get<size_t>() : 0);
  EDGESAGE_ASSIGN_OR_RETURN(const auto file,
                            MappedFile::open(out.path(), ErrorCode::kDeviceFailed));
  outputs.bytes.assign(file->bytes().begin(), file->bytes().end());
  const size_t one =
      std::accumulate(outputs.output_bytes.begin(), outputs.output_bytes.end(), size_t{0});
  if (outputs.runs == 0 || outputs.bytes.size() != outputs.runs * one)
    return make_error(ErrorCode::kDeviceFailed, model.string(),
                      fmt::format("{} bytes of outputs, where {} runs of {} were said",
                                  outputs.bytes.size(), outputs.runs, one));
  return outputs;
}

}  // namespace edgesage
