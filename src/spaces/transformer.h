// Small transformers, int8: vision, keyword and sound, text, sensor windows.
//
// Sources as used for small devices: ViT and DeiT (Dosovitskiy et al. 2021, Touvron et al. 2021),
// CCT (Hassani et al. 2021), PVT (Wang et al. 2021), KWT (Berg et al. 2021), BERT and its small
// forms (Turc et al. 2019), SwiGLU (Shazeer 2020), RMSNorm (Zhang and Sennrich 2019).
#pragma once

#include <cstdint>
#include <span>

#include "edgesage/result.h"
#include "src/graph/graph.h"
#include "src/spaces/parameter.h"

namespace edgesage {

[[nodiscard]] std::span<const Parameter* const> transformer_parameters();
[[nodiscard]] Result<Graph> build_transformer(uint64_t seed);

}  // namespace edgesage
