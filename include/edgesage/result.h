// How every fallible function of edgesage answers.
//
// Expected failures (files, options, devices) are values: `Result<T>` holds a T or an Error.
// The library never prints, exits or throws on input. Errors of our own making (broken
// invariants) are `ErrorCode::kInternal`.
//
//   Result<Graph> graph = io::read_model(path);
//   if (!graph) return tl::unexpected(graph.error());
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace edgesage {

// The values are the exit codes of the command line.
enum class ErrorCode : int {
  kInvalidArgument = 2,  // the caller's options or arguments
  kBadModel = 3,         // a model file that cannot be read
  kUnsupported = 4,      // read, but not supported under --strict
  kDeviceFailed = 5,     // measurement or device failed
  kBadStore = 6,         // a predictor or store that is damaged or of another version
  kInternal = 70,        // our bug
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string where;    // file, byte offset, node name or field; may be empty
  std::string message;  // one line: what came, what is allowed, what to do about it

  // "where: message", or the message alone.
  [[nodiscard]] std::string to_string() const {
    return where.empty() ? message : where + ": " + message;
  }
  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> make_error(ErrorCode code, std::string where,
                                                      std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(where), std::move(message)});
}

}  // namespace edgesage

#define EDGESAGE_CONCAT_INNER(a, b) a##b
#define EDGESAGE_CONCAT(a, b) EDGESAGE_CONCAT_INNER(a, b)

// Return the error of a Status or Result expression to the caller.
#define EDGESAGE_RETURN_IF_ERROR(expression)                                        \
  do {                                                                              \
    if (auto edgesage_status = (expression); !edgesage_status)                      \
      return tl::unexpected<::edgesage::Error>(std::move(edgesage_status).error()); \
  } while (false)

// `EDGESAGE_ASSIGN_OR_RETURN(auto graph, read(path));`
#define EDGESAGE_ASSIGN_OR_RETURN(declaration, expression)                                  \
  EDGESAGE_ASSIGN_OR_RETURN_INNER(EDGESAGE_CONCAT(edgesage_result_, __LINE__), declaration, \
                                  expression)
#define EDGESAGE_ASSIGN_OR_RETURN_INNER(result, declaration, expression)            \
  auto result = (expression);                                                       \
  if (!result) return tl::unexpected<::edgesage::Error>(std::move(result).error()); \
  declaration = std::move(*result)
