// The picture of an arena over time, as a part of a page.
#pragma once

#include <string>

#include "edgesage/inspect.h"

namespace edgesage::report {

// Style of the picture, to go into the page's <style>.
[[nodiscard]] std::string_view arena_style();

// Script that shows what the pointer is on; the picture says the same in its titles without it.
[[nodiscard]] std::string_view arena_script();

// Sizes, picture, the tensors at the peak and what would lower it. `id` tells several plans of one
// page apart.
[[nodiscard]] std::string arena_section(const ArenaPlan& plan, const Inspection& model,
                                        std::string_view id);

}  // namespace edgesage::report
