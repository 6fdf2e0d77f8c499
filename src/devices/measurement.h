// The record of one measurement belongs to the store; this name remains for includes by device.
#pragma once

#include "src/store/measurement.h"  // IWYU pragma: export
