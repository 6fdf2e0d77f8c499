// Zstandard frames, for label files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

[[nodiscard]] std::vector<std::byte> zstd_compress(std::span<const std::byte> bytes, int level);

// At most `limit` bytes come out; a larger or damaged frame is an error.
[[nodiscard]] Result<std::string> zstd_decompress(std::span<const std::byte> bytes, size_t limit,
                                                  std::string_view where, ErrorCode code);

}  // namespace edgesage
