// The tables of a store and their version. Throws SQLite::Exception, which ends in store.cc.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>

#include "edgesage/result.h"

namespace edgesage {

inline constexpr int32_t kStoreSchemaVersion = 1;
inline constexpr int32_t kStoreApplicationId = 0x45445347;  // "EDSG", at byte 68 of the file

// Checks that the database is a store of this version; makes the tables of a new, empty one when
// `create` is set. kBadStore otherwise, with what was found and what to do.
[[nodiscard]] Status prepare_schema(SQLite::Database& database, bool create,
                                    const std::string& where);

}  // namespace edgesage
