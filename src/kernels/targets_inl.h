// Included first by every file with vector code: which instruction sets are built.
#pragma once

// Register tiles are arrays of vectors, which the scalable instruction sets do not allow; such
// machines use NEON or plain code.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
