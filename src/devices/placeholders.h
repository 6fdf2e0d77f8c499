// {name} in the texts of a device description.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

// The value of a placeholder: nullopt is a name that is not known.
using PlaceholderValue = std::function<std::optional<std::string>(std::string_view name)>;

// `text` with every {name} replaced; {sh:name} is the value quoted for a POSIX shell, as that of
// adb and ssh on the other side; {{ and }} are braces. A brace that is not closed stays.
// kInvalidArgument for a name that `value` does not know, with `known` as what is allowed.
[[nodiscard]] Result<std::string> fill_placeholders(std::string_view text,
                                                    const PlaceholderValue& value,
                                                    std::string_view where, std::string_view known);

// The names in `text`, without `sh:`, in order.
[[nodiscard]] std::vector<std::string> placeholder_names(std::string_view text);

// 'it'\''s': one word for a POSIX shell.
[[nodiscard]] std::string shell_quoted(std::string_view text);

}  // namespace edgesage
