#include "src/kernels/adam.h"

#include "tests/kernels/kernel_test.h"

namespace edgesage::kernels {
namespace {

TEST(Adam, FollowsTheFormulaInDoubleForTenSteps) {
  for_each_target_and_seed([](Rng& rng) {
    const int64_t count = random_size(rng, 70);
    auto weights = random_floats(rng, count);
    std::vector<float> first(weights.size()), second(weights.size());
    std::vector<double> w(weights.begin(), weights.end()), m(w.size()), v(w.size());
    AdamStep step{.learning_rate = 0.01f, .weight_decay = 0.1f, .gradient_scale = 0.5f};
    for (step.step = 1; step.step <= 10; ++step.step) {
      const auto gradient = random_floats(rng, count);
      adam(step, count, gradient.data(), first.data(), second.data(), weights.data());
      for (size_t i = 0; i < w.size(); ++i) {
        const double g = 0.5 * double{gradient[i]};
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        const double corrected1 = m[i] / (1 - std::pow(0.9, step.step));
        const double corrected2 = v[i] / (1 - std::pow(0.999, step.step));
        w[i] -= 0.01 * 0.1 * w[i] + 0.01 * corrected1 / (std::sqrt(corrected2) + 1e-8);
      }
    }
    for (size_t i = 0; i < w.size(); ++i) expect_close(weights[i], w[i], 4, "weight");
  });
}

TEST(Adam, ZeroGradientOnlyDecays) {
  for_each_target_and_seed([](Rng&) {
    std::vector<float> weights(19, 2.0f), zero(19), first(19), second(19);
    adam({.learning_rate = 0.5f, .weight_decay = 0.1f}, 19, zero.data(), first.data(),
         second.data(), weights.data());
    for (const float weight : weights) EXPECT_FLOAT_EQ(weight, 1.9f);
  });
}

}  // namespace
}  // namespace edgesage::kernels
