// Functions that a file defines (FunctionProto, IR version 8), put in the place of their calls.
#pragma once

#include <cstdint>
#include <string>

#include "edgesage/result.h"
#include "src/io/onnx/names.h"
#include "src/io/onnx/parsed_file.h"

namespace edgesage::onnx {

// Replaces the nodes of all graphs of the model that call a function of the file by the function's
// nodes, until none is left. A function is known by domain, name and overload, all three; the first
// of several is taken. What a function's attributes leave to the call is filled in: from the call,
// else from the default, else it is left out. Bodies inside of functions become bodies of their
// own, names get the call's name in front.
// Needs settled names and keeps them so. Errors (kBadModel): functions that call each other in a
// circle, more operands than a function has, more than `limit_bytes` of nodes made.
Status inline_functions(ParsedFile& file, FreshNames& fresh, Oddities& oddities,
                        int64_t limit_bytes, const std::string& name);

}  // namespace edgesage::onnx
