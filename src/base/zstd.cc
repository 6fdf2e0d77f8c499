#include "src/base/zstd.h"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

namespace edgesage {

std::vector<std::byte> zstd_compress(std::span<const std::byte> bytes, int level) {
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  out.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return out;
}

Result<std::string> zstd_decompress(std::span<const std::byte> bytes, size_t limit,
                                    std::string_view where, ErrorCode code) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  std::string out;
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  size_t left = 1;
  while (left != 0) {
    ZSTD_outBuffer output{chunk.data(), chunk.size(), 0};
    left = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(left) != 0)
      return make_error(code, fmt::format("{}: byte {}", where, input.pos),
                        fmt::format("not valid zstd: {}", ZSTD_getErrorName(left)));
    out.append(chunk.data(), output.pos);
    if (out.size() > limit)
      return make_error(code, std::string(where),
                        fmt::format("decompresses to more than {} bytes", limit));
    if (left != 0 && input.pos == input.size && output.pos < output.size)
      return make_error(code, std::string(where), "the compressed data ends early");
  }
  return out;
}

}  // namespace edgesage
