// The part of LiteRT's C API that this worker uses, declared here and looked up at run time: no
// header or library of LiteRT is needed to build. Layouts and values follow LiteRT 2.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace worker {

using LiteRtStatus = int;
inline constexpr LiteRtStatus kOk = 0;
inline constexpr int kCpuAccelerator = 1;
inline constexpr int kLockRead = 0;
inline constexpr int kLockWrite = 1;
inline constexpr size_t kMaxRank = 8;

struct LiteRtEnvironmentT;
struct LiteRtModelT;
struct LiteRtOptionsT;
struct LiteRtOpaqueOptionsT;
struct LiteRtCompiledModelT;
struct LiteRtSignatureT;
struct LiteRtTensorT;
struct LiteRtTensorBufferT;
struct LiteRtTensorBufferRequirementsT;

enum ElementType : int {
  kFloat32 = 1,
  kInt32 = 2,
  kUInt8 = 3,
  kInt64 = 4,
  kString = 5,
  kBool = 6,
  kInt16 = 7,
  kInt8 = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUInt32 = 16,
  kUInt16 = 17,
};

struct Layout {
  unsigned int rank : 7;
  unsigned int has_strides : 1;
  int32_t dimensions[kMaxRank];
  uint32_t strides[kMaxRank];
};
static_assert(sizeof(Layout) == 68);

struct RankedTensorType {
  int element_type;
  Layout layout;
};
static_assert(sizeof(RankedTensorType) == 72);

// The functions, by the names that they have in the library without their prefix `LiteRt`.
struct LiteRtApi {
  LiteRtStatus (*CreateEnvironment)(int, const void*, LiteRtEnvironmentT**);
  LiteRtStatus (*CreateModelFromFile)(LiteRtEnvironmentT*, const char*, LiteRtModelT**);
  void (*DestroyModel)(LiteRtModelT*);
  LiteRtStatus (*GetNumModelSignatures)(LiteRtModelT*, size_t*);
  LiteRtStatus (*GetModelSignature)(LiteRtModelT*, size_t, LiteRtSignatureT**);
  LiteRtStatus (*GetNumSignatureInputs)(LiteRtSignatureT*, size_t*);
  LiteRtStatus (*GetNumSignatureOutputs)(LiteRtSignatureT*, size_t*);
  LiteRtStatus (*GetSignatureInputTensorByIndex)(LiteRtSignatureT*, size_t, LiteRtTensorT**);
  LiteRtStatus (*GetSignatureOutputTensorByIndex)(LiteRtSignatureT*, size_t, LiteRtTensorT**);
  LiteRtStatus (*GetRankedTensorType)(LiteRtTensorT*, RankedTensorType*);
  LiteRtStatus (*CreateOptions)(LiteRtOptionsT**);
  void (*DestroyOptions)(LiteRtOptionsT*);
  LiteRtStatus (*SetOptionsHardwareAccelerators)(LiteRtOptionsT*, int);
  LiteRtStatus (*CreateOpaqueOptions)(const char*, void*, void (*)(void*), LiteRtOpaqueOptionsT**);
  LiteRtStatus (*AddOpaqueOptions)(LiteRtOptionsT*, LiteRtOpaqueOptionsT*);
  LiteRtStatus (*CreateCompiledModel)(LiteRtEnvironmentT*, LiteRtModelT*, LiteRtOptionsT*,
                                      LiteRtCompiledModelT**);
  void (*DestroyCompiledModel)(LiteRtCompiledModelT*);
  LiteRtStatus (*CompiledModelIsFullyAccelerated)(LiteRtCompiledModelT*, bool*);
  LiteRtStatus (*GetCompiledModelInputTensorLayout)(LiteRtCompiledModelT*, size_t, size_t, Layout*);
  LiteRtStatus (*GetCompiledModelOutputTensorLayouts)(LiteRtCompiledModelT*, size_t, size_t,
                                                      Layout*, bool);
  LiteRtStatus (*GetCompiledModelInputBufferRequirements)(LiteRtCompiledModelT*, size_t, size_t,
                                                          LiteRtTensorBufferRequirementsT**);
  LiteRtStatus (*GetCompiledModelOutputBufferRequirements)(LiteRtCompiledModelT*, size_t, size_t,
                                                           LiteRtTensorBufferRequirementsT**);
  LiteRtStatus (*CreateManagedTensorBufferFromRequirements)(LiteRtEnvironmentT*,
                                                            const RankedTensorType*,
                                                            LiteRtTensorBufferRequirementsT*,
                                                            LiteRtTensorBufferT**);
  void (*DestroyTensorBuffer)(LiteRtTensorBufferT*);
  LiteRtStatus (*LockTensorBuffer)(LiteRtTensorBufferT*, void**, int);
  LiteRtStatus (*UnlockTensorBuffer)(LiteRtTensorBufferT*);
  LiteRtStatus (*GetTensorBufferPackedSize)(LiteRtTensorBufferT*, size_t*);
  LiteRtStatus (*RunCompiledModel)(LiteRtCompiledModelT*, size_t, size_t, LiteRtTensorBufferT**,
                                   size_t, LiteRtTensorBufferT**);
};

// Loads the library and fills the table; returns what is missing, or an empty string. The library
// stays loaded.
std::string load_api(const std::string& library, LiteRtApi& api);

// "invalid argument (1)"
std::string status_name(LiteRtStatus status);

}  // namespace worker
