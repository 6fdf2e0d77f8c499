// Feature files from labels: made network by network, or found whole and of the same labels.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "edgesage/result.h"
#include "src/learn/feature_file.h"
#include "src/lower/target.h"

namespace edgesage {

// Gives one label after the other; false: there are no more.
using LabelReader = std::function<Result<bool>(LabelRow&)>;
[[nodiscard]] LabelReader read_from(std::span<const LabelRow> rows);

struct FeatureBuild {
  FeatureOrigin origin;
  Target target;
  int64_t total = 0;  // labels to come, for the progress; 0: not known
  int threads = 0;
  DatasetProgress progress;
  const std::atomic<bool>* stop = nullptr;
};

// Builds each labelled network (build_example), on `threads` threads, and writes it. Memory holds a
// few networks at a time; the file does not depend on the number of threads. Errors are those of
// build_example and of `next`, kInvalidArgument where the file cannot be written or on `stop`.
[[nodiscard]] Status build_features(const LabelReader& next, const FeatureBuild& build,
                                    const std::filesystem::path& path);

// Opens a file that was made from these labels: kBadStore, saying why, when it is damaged, was made
// from others, or when some of its networks, rebuilt, do not give what it holds (the program has
// changed). Cost: reads the file once, builds eight networks.
[[nodiscard]] Result<FeatureFile> open_features(const std::filesystem::path& path,
                                                std::string_view labels_hash, const Target& target);

}  // namespace edgesage
