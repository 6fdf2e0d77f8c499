// Pieces that pages share.
#pragma once

#include <string>
#include <string_view>

namespace edgesage::report {

// For element content and for attributes in double quotes.
[[nodiscard]] std::string escaped(std::string_view text);

// A whole page with the look of all pages: `body` between the headings' style (and `style`) and the
// script. Its content policy lets nothing be asked of elsewhere.
[[nodiscard]] std::string page(std::string_view title, std::string_view body,
                               std::string_view style, std::string_view script);

// A figure with its label, for a row of them (<div class="cards">).
void card(std::string& text, std::string_view value, std::string_view label);

}  // namespace edgesage::report
