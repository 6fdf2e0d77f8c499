#include "workers/litert/litert_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>

namespace worker {
namespace {

template <class Function>
bool look_up(void* library, const char* name, Function& function, std::string& missing) {
  void* address = dlsym(library, name);
  if (address == nullptr) {
    missing = fmt::format("the library has no {}; LiteRT 2.3 is needed", name);
    return false;
  }
  static_assert(sizeof(function) == sizeof(address));
  std::memcpy(&function, &address, sizeof(address));
  return true;
}

}  // namespace

std::string load_api(const std::string& library, LiteRtApi& api) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fmt::format("cannot load LiteRT: {}", dlerror());
  std::string missing;
#define LOOK_UP(name) look_up(handle, "LiteRt" #name, api.name, missing)
  const bool complete =
      LOOK_UP(CreateEnvironment) && LOOK_UP(CreateModelFromFile) && LOOK_UP(DestroyModel) &&
      LOOK_UP(GetNumModelSignatures) && LOOK_UP(GetModelSignature) &&
      LOOK_UP(GetNumSignatureInputs) && LOOK_UP(GetNumSignatureOutputs) &&
      LOOK_UP(GetSignatureInputTensorByIndex) && LOOK_UP(GetSignatureOutputTensorByIndex) &&
      LOOK_UP(GetRankedTensorType) && LOOK_UP(CreateOptions) && LOOK_UP(DestroyOptions) &&
      LOOK_UP(SetOptionsHardwareAccelerators) && LOOK_UP(CreateOpaqueOptions) &&
      LOOK_UP(AddOpaqueOptions) && LOOK_UP(CreateCompiledModel) && LOOK_UP(DestroyCompiledModel) &&
      LOOK_UP(CompiledModelIsFullyAccelerated) && LOOK_UP(GetCompiledModelInputTensorLayout) &&
      LOOK_UP(GetCompiledModelOutputTensorLayouts) &&
      LOOK_UP(GetCompiledModelInputBufferRequirements) &&
      LOOK_UP(GetCompiledModelOutputBufferRequirements) &&
      LOOK_UP(CreateManagedTensorBufferFromRequirements) && LOOK_UP(DestroyTensorBuffer) &&
      LOOK_UP(LockTensorBuffer) && LOOK_UP(UnlockTensorBuffer) &&
      LOOK_UP(GetTensorBufferPackedSize) && LOOK_UP(RunCompiledModel);
#undef LOOK_UP
  return complete ? std::string() : missing;
}

std::string status_name(LiteRtStatus status) {
  const char* name = "error";
  switch (status) {
    case 1:
      name = "invalid argument";
      break;
    case 2:
      name = "out of memory";
      break;
    case 3:
      name = "runtime failure";
      break;
    case 5:
      name = "unsupported";
      break;
    case 6:
      name = "not found";
      break;
    case 500:
      name = "cannot read the file";
      break;
    case 501:
      name = "invalid flatbuffer";
      break;
    case 504:
      name = "compilation failed";
      break;
    default:
      break;
  }
  return fmt::format("{} ({})", name, status);
}

}  // namespace worker
