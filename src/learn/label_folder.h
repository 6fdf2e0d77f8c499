// A data set in files, committed shard by shard: a folder with one folder a device, and in it a
// label file (label_file.h) a space and block of seeds, and the failures.
//
//   labels/edgedlperf/ethos-u55-256/keyword-sound-00000.csv.zst     seeds 0 to 9999
//   labels/edgedlperf/ethos-u55-256/keyword-sound-10000.csv.zst
//   labels/edgedlperf/ethos-u55-256/failures.csv.zst
//   labels/edgedlperf/host-litert@1f9a03c2/keyword-sound-00000.csv.zst
//
// Labels that depend on the machine stand in a folder with the first eight digits of its
// fingerprint. A block that is complete gives the same bytes from then on, so that a growing
// campaign adds files and rewrites at most the last of each space.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/learn/label_file.h"

namespace edgesage {

inline constexpr uint64_t kLabelBlock = 10'000;  // seeds a file

// A network that a device could not be measured on.
struct FailureRow {
  std::string name, device, runtime, runtime_version, host_fingerprint, error;
  bool operator==(const FailureRow&) const = default;
};

struct WrittenLabels {
  std::filesystem::path file;
  int64_t networks = 0;
  int64_t bytes = 0;
};

// "ethos-u55-256", "host-litert@1f9a03c2".
[[nodiscard]] std::string label_folder_name(const std::string& device,
                                            const std::string& host_fingerprint);

// Failed measurements of sampled networks that the selection names, sorted by name and repeat.
[[nodiscard]] Result<std::vector<FailureRow>> failures_of(const Store& store,
                                                          const LabelSelection& selection);

// Writes rows and failures (of one device and host) below `folder`, which is made; files of blocks
// that the rows do not have stay. Each file is replaced atomically. Returns the label files.
[[nodiscard]] Result<std::vector<WrittenLabels>> write_label_folder(
    std::span<const LabelRow> rows, std::span<const FailureRow> failures,
    const std::filesystem::path& folder, uint64_t block = kLabelBlock);

// The label files of a folder and its folders, sorted; `failures` those of the failures. The path
// of a file is that file. kBadStore where there is none. Of a folder with folders of devices, those
// of `device` alone unless it is empty.
[[nodiscard]] Result<std::vector<std::filesystem::path>> label_files(
    const std::filesystem::path& path, const std::string& device = {});
[[nodiscard]] Result<std::vector<std::filesystem::path>> failure_files(
    const std::filesystem::path& path, const std::string& device = {});

// Several files as one set of labels; kBadStore as read_labels, and where a network comes twice on
// a device and host.
[[nodiscard]] Result<std::vector<LabelRow>> read_label_files(
    std::span<const std::filesystem::path> files);
[[nodiscard]] Result<std::vector<FailureRow>> read_failures(
    std::span<const std::filesystem::path> files);

}  // namespace edgesage
