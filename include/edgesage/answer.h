// Answers about several subjects: one that fails does not spoil the others.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "edgesage/result.h"

namespace edgesage {

// What was found out about one model (or device), or why not.
template <class T>
struct Answer {
  std::string subject;  // as the caller named it
  std::string device;   // empty where the question names none
  Result<T> result;
};

template <class T>
using Answers = std::vector<Answer<T>>;

// The highest code of all failures, 0 where there are none: the exit code of a command.
template <class T>
[[nodiscard]] int exit_code(const Answers<T>& answers) {
  int code = 0;
  for (const Answer<T>& answer : answers)
    if (!answer.result) code = std::max(code, static_cast<int>(answer.result.error().code));
  return code;
}

}  // namespace edgesage
