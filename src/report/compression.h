// The table of the compression study.
#pragma once

#include <string>

#include "edgesage/compression.h"

namespace edgesage::report {

[[nodiscard]] std::string compression_text(const CompressionTable& table);
[[nodiscard]] std::string compression_json(const CompressionTable& table);
[[nodiscard]] std::string compression_csv(const CompressionTable& table);
[[nodiscard]] std::string compression_markdown(const CompressionTable& table);

}  // namespace edgesage::report
