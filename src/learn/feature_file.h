// The feature file: labelled networks as numbers, mapped when trained on, so that memory does not
// grow with their number.
//
// Layout, little endian (docs/feature_file.md): a header of 128 bytes; one record a network, of
// fixed-width arrays; the index, one fixed-width entry a network; a JSON text that says what the
// file was made from. A checksum covers each part. It is a cache: a file that is damaged, of
// another version of the format or of the features, or made from other labels is made anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"
#include "src/base/hash.h"
#include "src/learn/dataset.h"

namespace edgesage {

inline constexpr uint32_t kFeatureFileVersion = 1;

// One network as the file holds it; spans into the mapping.
struct ExampleView {
  std::string_view name, graph_hash;
  std::string_view signatures;  // operator signatures, each ended by a newline
  int32_t nodes = 0, operators = 0, cpu_operators = 0;
  std::span<const double> labels;           // quantities; NaN: none
  std::span<const double> operator_labels;  // quantities x operators; NaN: none
  uint32_t with_operators = 0;              // bit q: the device gives figures for quantity q
  std::span<const float> x, globals, log_prior;
  std::span<const int32_t> kind, op;
  std::span<const int32_t> producer_offset, producers, consumer_offset, consumers;
};

// Which labels a file was made from, and how.
struct FeatureOrigin {
  LabelSource source;
  std::string labels_hash;  // of the labels' content
  std::string target;
  std::vector<Quantity> quantities;

  bool operator==(const FeatureOrigin&) const = default;
};

// Immutable; const members may be called from several threads.
class FeatureFile {
 public:
  // kBadStore, saying why, for a file that is not whole or of another version.
  [[nodiscard]] static Result<FeatureFile> open(const std::filesystem::path& path);
  // The same in memory, for data sets that are there already.
  [[nodiscard]] static FeatureFile of(const Dataset& dataset);

  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] ExampleView view(size_t i) const;
  [[nodiscard]] Example example(size_t i) const;  // a copy
  [[nodiscard]] int32_t nodes_of(size_t i) const;
  // "mobile-classifier" of "mobile-classifier/1/4711"; lives as long as the file.
  [[nodiscard]] std::string_view space_of(size_t i) const;

  [[nodiscard]] const FeatureOrigin& origin() const { return origin_; }
  [[nodiscard]] const std::vector<Quantity>& quantities() const { return origin_.quantities; }
  [[nodiscard]] int64_t left_out() const { return left_out_; }
  [[nodiscard]] int32_t features() const { return features_; }
  [[nodiscard]] int32_t globals() const { return globals_; }
  // Of everything behind the header; equal files hold equal data.
  [[nodiscard]] uint64_t checksum() const { return checksum_; }

 private:
  FeatureFile() = default;
  static Result<FeatureFile> parse(std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> owner, const std::string& where);

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  FeatureOrigin origin_;
  uint64_t index_offset_ = 0, checksum_ = 0;
  size_t count_ = 0;
  int32_t features_ = 0, globals_ = 0;
  int64_t left_out_ = 0;
};

// Writes networks as they come; memory holds one of them and 96 bytes of each. Beside the target
// until it is finished, then renamed; without finish() nothing is left behind.
class FeatureWriter {
 public:
  [[nodiscard]] static Result<FeatureWriter> create(const std::filesystem::path& path,
                                                    const FeatureOrigin& origin);
  ~FeatureWriter();
  FeatureWriter(FeatureWriter&&) = default;
  FeatureWriter& operator=(FeatureWriter&&) = delete;

  [[nodiscard]] Status add(const Example& example);
  // Labels that are not in the file.
  void leave_out() { ++left_out_; }
  [[nodiscard]] Status finish();

 private:
  friend class FeatureFile;
  FeatureWriter() = default;
  Status write(std::span<const std::byte> bytes);

  std::filesystem::path path_, temporary_;
  std::unique_ptr<std::ostream> out_;
  FeatureOrigin origin_;
  std::unique_ptr<Hasher> hasher_;
  std::vector<std::byte> index_;
  uint64_t offset_ = 0, count_ = 0;
  int32_t features_ = 0, globals_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace edgesage
