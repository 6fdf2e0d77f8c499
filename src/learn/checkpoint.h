// A training run on disk, so that it can go on after it was killed.
//
// Layout, little endian: the text "EDGECKPT", the version, the size of the file and the checksum of
// what follows; then the fields of Checkpoint, lists with their length before them. Replaced
// atomically: what is there is always whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"
#include "src/nn/train_state.h"

namespace edgesage {

struct Checkpoint {
  std::string options;                      // JSON: all that the result depends on beside the data
  uint64_t data_hash = 0;                   // of the features and labels
  std::vector<std::vector<float>> members;  // parameters of the finished ones
  nn::TrainState state;                     // of the next one

  bool operator==(const Checkpoint&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode_checkpoint(const Checkpoint& checkpoint);
// kBadStore for what is not one, damaged, or of another version.
[[nodiscard]] Result<Checkpoint> decode_checkpoint(std::span<const std::byte> bytes,
                                                   const std::string& where);

[[nodiscard]] Status save_checkpoint(const Checkpoint& checkpoint,
                                     const std::filesystem::path& path);
[[nodiscard]] Result<Checkpoint> load_checkpoint(const std::filesystem::path& path);

// kBadStore, naming the option that differs, unless the checkpoint is of this run.
[[nodiscard]] Status check_same_run(const Checkpoint& checkpoint, const std::string& options,
                                    uint64_t data_hash, const std::string& where);

}  // namespace edgesage
