// Pieces that pages share.
#pragma once

#include <string>
#include <string_view>

namespace edgesage::report {

// For element content and for attributes in double quotes.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace edgesage::report
