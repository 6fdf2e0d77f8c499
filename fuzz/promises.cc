#include "fuzz/targets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace edgesage::fuzz {

void must_hold(bool condition, std::string_view promise) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

void check_error(const Error& error, std::initializer_list<ErrorCode> allowed) {
  must_hold(!error.message.empty(), "an error says something");
  must_hold(error.message.find('\n') == std::string::npos, "an error is one line");
  must_hold(std::find(allowed.begin(), allowed.end(), error.code) != allowed.end(),
            "an error is of the code that the header promises: " + error.to_string());
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace edgesage::fuzz
