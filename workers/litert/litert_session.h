// One model, prepared to run with seeded random inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "workers/litert/litert_api.h"

namespace worker {

// A request that cannot be answered; `code` is the protocol's.
struct Refused : std::runtime_error {
  Refused(std::string code_, const std::string& message)
      : std::runtime_error(message), code(std::move(code_)) {}
  std::string code;
};

// LiteRT with its environment; one a process.
class Runtime {
 public:
  // Throws std::runtime_error when the library cannot be used.
  explicit Runtime(const std::string& library);
  const LiteRtApi& api() const { return api_; }
  LiteRtEnvironmentT* environment() const { return environment_; }

 private:
  LiteRtApi api_{};
  LiteRtEnvironmentT* environment_ = nullptr;
};

// The first signature of a model, compiled for the CPU. Throws Refused from every function.
class Session {
 public:
  Session(const Runtime& runtime, const std::string& model, int threads, uint64_t seed);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void run() {
    const LiteRtStatus status = api_.RunCompiledModel(compiled_, 0, inputs_.size(), inputs_.data(),
                                                      outputs_.size(), outputs_.data());
    if (status != kOk) [[unlikely]]
      fail("an inference failed", status);
  }
  // Bytes of all inputs together, and all of them anew from as many bytes, one after the other.
  size_t input_bytes() const;
  void write_inputs(const std::byte* bytes);
  // Bytes of all outputs, one after the other; and of each.
  void read_outputs(std::vector<std::byte>& bytes) const;
  std::vector<size_t> output_bytes() const;
  // Whether every operator went to the delegate.
  bool fully_delegated() const;

 private:
  void compile(int threads);
  void make_inputs(LiteRtSignatureT* signature, uint64_t seed);
  void make_outputs(LiteRtSignatureT* signature);
  size_t size_of(LiteRtTensorBufferT* buffer) const;
  void check(LiteRtStatus status, const char* what) const {
    if (status != kOk) fail(what, status);
  }
  [[noreturn]] void fail(const char* what, LiteRtStatus status) const;
  void close();

  const LiteRtApi& api_;
  LiteRtEnvironmentT* environment_;
  LiteRtModelT* model_ = nullptr;
  LiteRtOptionsT* options_ = nullptr;
  LiteRtCompiledModelT* compiled_ = nullptr;
  std::vector<LiteRtTensorBufferT*> inputs_, outputs_;
};

}  // namespace worker
