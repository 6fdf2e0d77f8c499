#include "src/kernels/gemm_bf16.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/kernels/targets_inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/kernels/gemm_bf16.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef EDGESAGE_KERNELS_GEMM_BF16_ONCE
#define EDGESAGE_KERNELS_GEMM_BF16_ONCE

#if HWY_ARCH_X86_64 && !HWY_COMPILER_MSVC
#include <immintrin.h>
#endif

namespace edgesage::kernels {

constexpr int64_t kPairPanel = PackedBf16::kPanelWidth;

// `count` rows of a panel of columns, at most as many as the instruction set's tile is high.
struct PairTile {
  const uint32_t* a;
  int64_t pairs;
  const uint32_t* b;
  const float* initial;  // a panel's width, for every row
  bool relu;
  float* c;  // a panel's width apart
};

inline uint32_t round_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

#if HWY_ARCH_X86_64 && !HWY_COMPILER_MSVC
#define EDGESAGE_HAS_BF16_CODE 1

// Highway 1.0 has no operation for these instructions.
template <int kRows>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void native_rows(
    const PairTile& t) {
  __m512 sums[kRows * 2];
#pragma GCC unroll 16
  for (int i = 0; i < kRows * 2; ++i) sums[i] = _mm512_loadu_ps(t.initial + i % 2 * 16);
  const uint32_t* a = t.a;
  const uint32_t* b = t.b;
  for (int64_t k = 0; k < t.pairs; ++k, ++a, b += kPairPanel) {
    const __m512i right[2] = {_mm512_load_si512(b), _mm512_load_si512(b + 16)};
#pragma GCC unroll 16
    for (int i = 0; i < kRows * 2; ++i) {
      const __m512i left = _mm512_set1_epi32(static_cast<int>(a[i / 2 * t.pairs]));
      sums[i] = _mm512_dpbf16_ps(sums[i], (__m512bh)left, (__m512bh)right[i % 2]);
    }
  }
  const __m512 zero = _mm512_setzero_ps();
#pragma GCC unroll 16
  for (int i = 0; i < kRows * 2; ++i)
    _mm512_storeu_ps(t.c + i / 2 * kPairPanel + i % 2 * 16,
                     t.relu ? _mm512_maskz_max_ps(0xffff, sums[i], zero) : sums[i]);
}

template <int kRows = 8>
void native_tile(const PairTile& t, int64_t rows) {
  if (rows == kRows) return native_rows<kRows>(t);
  if constexpr (kRows > 1) native_tile<kRows - 1>(t, rows);
}
#endif

}  // namespace edgesage::kernels
#endif  // EDGESAGE_KERNELS_GEMM_BF16_ONCE

HWY_BEFORE_NAMESPACE();
namespace edgesage::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of `from` after `before` numbers of each row of `to`, which has `stride` numbers a row.
void RoundRows(const ConstMatrix& from, int64_t before, int64_t stride, uint16_t* to) {
  for (int64_t i = 0; i < from.rows; ++i) {
    const float* row = from.row(i);
    uint16_t* out = to + i * stride + before;
    for (int64_t j = 0; j < from.cols; ++j) out[j] = static_cast<uint16_t>(round_to_bf16(row[j]));
  }
}

// Even and odd terms one after the other, a vector of columns at a time.
void PlainTile(const PairTile& t, int64_t rows) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto upper = hn::Set(du, 0xffff0000u);
  for (int64_t i = 0; i < rows; ++i) {
    const uint32_t* a = t.a + i * t.pairs;
    for (int64_t j = 0; j < kPairPanel; j += lanes) {
      auto sum = hn::LoadU(d, t.initial + j);
      for (int64_t k = 0; k < t.pairs; ++k) {
        const auto left = hn::Set(du, a[k]), right = hn::Load(du, t.b + k * kPairPanel + j);
        sum = hn::MulAdd(hn::BitCast(d, hn::ShiftLeft<16>(left)),
                         hn::BitCast(d, hn::ShiftLeft<16>(right)), sum);
        sum = hn::MulAdd(hn::BitCast(d, hn::And(left, upper)),
                         hn::BitCast(d, hn::And(right, upper)), sum);
      }
      if (t.relu) sum = hn::Max(sum, hn::Zero(d));
      hn::StoreU(sum, d, t.c + i * kPairPanel + j);
    }
  }
}

constexpr bool kIsAvx512 = HWY_TARGET == HWY_AVX3;
bool IsAvx512() { return kIsAvx512; }

}  // namespace HWY_NAMESPACE
}  // namespace edgesage::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgesage::kernels {

HWY_EXPORT(RoundRows);
HWY_EXPORT(PlainTile);
HWY_EXPORT(IsAvx512);

void PackedBf16::pack(ConstMatrix source) {
  rows_ = source.rows;
  cols_ = source.cols;
  data_.assign(static_cast<size_t>(panels() * pairs() * kPanelWidth), 0);
  for (int64_t k = 0; k < rows_; ++k)
    for (int64_t j = 0; j < cols_; ++j) {
      const int64_t at = (j / kPanelWidth * pairs() + k / 2) * kPanelWidth + j % kPanelWidth;
      data_[static_cast<size_t>(at)] |= round_to_bf16(source.row(k)[j]) << (k % 2 * 16);
    }
}

bool has_bf16_instructions() {
#if EDGESAGE_HAS_BF16_CODE
  static const bool cpu_has = __builtin_cpu_supports("avx512bf16") != 0;
  return cpu_has && HWY_DYNAMIC_DISPATCH(IsAvx512)();
#else
  return false;
#endif
}

void gemm_bf16(ConstMatrix left, ConstMatrix right, const PackedBf16& b, const GemmOptions& options,
               AlignedPairs& rounded, Matrix c) {
  constexpr int64_t kTileRows = 8;
  const int64_t pairs = b.pairs();
  const auto needed = static_cast<size_t>(c.rows * pairs);
  if (rounded.size() < needed) rounded.resize(needed);
  // Pairs are seen as single numbers here; the order in a word is that of a little-endian machine.
  auto* numbers = reinterpret_cast<uint16_t*>(rounded.data());
  if (b.rows() % 2 != 0)
    for (int64_t i = 0; i < c.rows; ++i) numbers[i * 2 * pairs + b.rows()] = 0;
  HWY_DYNAMIC_DISPATCH(RoundRows)(left, 0, 2 * pairs, numbers);
  HWY_DYNAMIC_DISPATCH(RoundRows)(right, left.cols, 2 * pairs, numbers);
  alignas(64) float initial[kPairPanel], tile[kTileRows * kPairPanel];
  const bool native = has_bf16_instructions();
  for (int64_t p = 0; p < b.panels(); ++p) {
    const int64_t column = p * kPairPanel, width = std::min(kPairPanel, b.cols() - column);
    std::fill_n(initial, kPairPanel, 0.0f);
    if (options.bias != nullptr) std::copy_n(options.bias + column, width, initial);
    int64_t first = 0;
    for (int64_t tiles = (c.rows + kTileRows - 1) / kTileRows; tiles > 0; --tiles) {
      const int64_t rows = (c.rows - first + tiles - 1) / tiles;
      const PairTile t{
          rounded.data() + first * pairs, pairs, b.panel(p), initial, options.relu, tile};
#if EDGESAGE_HAS_BF16_CODE
      if (native) {
        native_tile(t, rows);
      } else {
        HWY_DYNAMIC_DISPATCH(PlainTile)(t, rows);
      }
#else
      HWY_DYNAMIC_DISPATCH(PlainTile)(t, rows);
#endif
      for (int64_t i = 0; i < rows; ++i)
        std::copy_n(tile + i * kPairPanel, width, c.row(first + i) + column);
      first += rows;
    }
  }
}

}  // namespace edgesage::kernels
#endif  // HWY_ONCE
