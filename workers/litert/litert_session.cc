#include "workers/litert/litert_session.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "workers/litert/random_inputs.h"

namespace worker {

Runtime::Runtime(const std::string& library) {
  if (const std::string missing = load_api(library, api_); !missing.empty())
    throw std::runtime_error(missing);
  if (const LiteRtStatus status = api_.CreateEnvironment(0, nullptr, &environment_); status != kOk)
    throw std::runtime_error("LiteRT has no environment: " + status_name(status));
}

Session::Session(const Runtime& runtime, const std::string& model, int threads, uint64_t seed)
    : api_(runtime.api()), environment_(runtime.environment()) {
  try {
    if (const LiteRtStatus status = api_.CreateModelFromFile(environment_, model.c_str(), &model_);
        status != kOk)
      throw Refused("bad_model", "LiteRT cannot read the model: " + status_name(status));
    compile(threads);
    size_t signatures = 0;
    check(api_.GetNumModelSignatures(model_, &signatures), "no signatures");
    if (signatures == 0) throw Refused("device_failed", "the model has no signature to run");
    LiteRtSignatureT* signature = nullptr;
    check(api_.GetModelSignature(model_, 0, &signature), "no first signature");
    make_inputs(signature, seed);
    make_outputs(signature);
  } catch (...) {
    close();
    throw;
  }
}

Session::~Session() { close(); }

void Session::close() {
  for (LiteRtTensorBufferT* buffer : inputs_) api_.DestroyTensorBuffer(buffer);
  for (LiteRtTensorBufferT* buffer : outputs_) api_.DestroyTensorBuffer(buffer);
  if (compiled_ != nullptr) api_.DestroyCompiledModel(compiled_);
  if (options_ != nullptr) api_.DestroyOptions(options_);
  if (model_ != nullptr) api_.DestroyModel(model_);
}

void Session::fail(const char* what, LiteRtStatus status) const {
  throw Refused("device_failed", fmt::format("{}: {}", what, status_name(status)));
}

void Session::compile(int threads) {
  check(api_.CreateOptions(&options_), "no options");
  check(api_.SetOptionsHardwareAccelerators(options_, kCpuAccelerator), "no CPU accelerator");
  // The delegate's options are a text in TOML that the runtime frees by the function given.
  char* text = strdup(fmt::format("num_threads = {}\n", threads).c_str());
  LiteRtOpaqueOptionsT* delegate = nullptr;
  check(api_.CreateOpaqueOptions("xnnpack", text, std::free, &delegate), "no XNNPACK options");
  check(api_.AddOpaqueOptions(options_, delegate), "no XNNPACK options");
  check(api_.CreateCompiledModel(environment_, model_, options_, &compiled_),
        "LiteRT cannot prepare the model");
}

bool Session::fully_delegated() const {
  bool full = false;
  return api_.CompiledModelIsFullyAccelerated(compiled_, &full) == kOk && full;
}

void Session::make_inputs(LiteRtSignatureT* signature, uint64_t seed) {
  size_t count = 0;
  check(api_.GetNumSignatureInputs(signature, &count), "no inputs");
  InputGenerator generator(seed);
  for (size_t i = 0; i < count; ++i) {
    LiteRtTensorT* tensor = nullptr;
    RankedTensorType type{};
    check(api_.GetSignatureInputTensorByIndex(signature, i, &tensor), "no input tensor");
    check(api_.GetRankedTensorType(tensor, &type), "an input has no shape");
    // A signature may say -1 where the compiled model knows better.
    check(api_.GetCompiledModelInputTensorLayout(compiled_, 0, i, &type.layout),
          "an input has no layout");
    LiteRtTensorBufferRequirementsT* requirements = nullptr;
    check(api_.GetCompiledModelInputBufferRequirements(compiled_, 0, i, &requirements),
          "an input has no buffer requirements");
    LiteRtTensorBufferT* buffer = nullptr;
    check(
        api_.CreateManagedTensorBufferFromRequirements(environment_, &type, requirements, &buffer),
        "no buffer for an input");
    inputs_.push_back(buffer);
    void* memory = nullptr;
    size_t bytes = 0;
    check(api_.GetTensorBufferPackedSize(buffer, &bytes), "an input has no size");
    check(api_.LockTensorBuffer(buffer, &memory, kLockWrite), "an input cannot be written");
    const bool known = generator.fill(type.element_type, memory, bytes);
    check(api_.UnlockTensorBuffer(buffer), "an input cannot be released");
    if (!known)
      throw Refused("device_failed",
                    fmt::format("input {} has element type {}, for which no random "
                                "values are defined",
                                i, type.element_type));
  }
}

void Session::make_outputs(LiteRtSignatureT* signature) {
  size_t count = 0;
  check(api_.GetNumSignatureOutputs(signature, &count), "no outputs");
  std::vector<Layout> layouts(count);
  if (count > 0)
    check(api_.GetCompiledModelOutputTensorLayouts(compiled_, 0, count, layouts.data(), true),
          "the outputs have no layouts");
  for (size_t i = 0; i < count; ++i) {
    LiteRtTensorT* tensor = nullptr;
    RankedTensorType type{};
    check(api_.GetSignatureOutputTensorByIndex(signature, i, &tensor), "no output tensor");
    check(api_.GetRankedTensorType(tensor, &type), "an output has no shape");
    type.layout = layouts[i];
    LiteRtTensorBufferRequirementsT* requirements = nullptr;
    check(api_.GetCompiledModelOutputBufferRequirements(compiled_, 0, i, &requirements),
          "an output has no buffer requirements");
    LiteRtTensorBufferT* buffer = nullptr;
    check(
        api_.CreateManagedTensorBufferFromRequirements(environment_, &type, requirements, &buffer),
        "no buffer for an output");
    outputs_.push_back(buffer);
  }
}

size_t Session::size_of(LiteRtTensorBufferT* buffer) const {
  size_t bytes = 0;
  check(api_.GetTensorBufferPackedSize(buffer, &bytes), "a tensor has no size");
  return bytes;
}

size_t Session::input_bytes() const {
  size_t bytes = 0;
  for (LiteRtTensorBufferT* buffer : inputs_) bytes += size_of(buffer);
  return bytes;
}

std::vector<size_t> Session::output_bytes() const {
  std::vector<size_t> bytes;
  for (LiteRtTensorBufferT* buffer : outputs_) bytes.push_back(size_of(buffer));
  return bytes;
}

void Session::write_inputs(const std::byte* bytes) {
  for (LiteRtTensorBufferT* buffer : inputs_) {
    const size_t size = size_of(buffer);
    void* memory = nullptr;
    check(api_.LockTensorBuffer(buffer, &memory, kLockWrite), "an input cannot be written");
    std::memcpy(memory, bytes, size);
    check(api_.UnlockTensorBuffer(buffer), "an input cannot be released");
    bytes += size;
  }
}

void Session::read_outputs(std::vector<std::byte>& bytes) const {
  bytes.clear();
  for (LiteRtTensorBufferT* buffer : outputs_) {
    void* memory = nullptr;
    check(api_.LockTensorBuffer(buffer, &memory, kLockRead), "an output cannot be read");
    const auto* begin = static_cast<const std::byte*>(memory);
    bytes.insert(bytes.end(), begin, begin + size_of(buffer));
    check(api_.UnlockTensorBuffer(buffer), "an output cannot be released");
  }
}

}  // namespace worker
