// SPDX-License-Identifier: LGPL-2.1-or-later
// The document of the users' use: JSON, with the version of the schema. A document may come from
// another version of the service, be cut, or be forged. A wrong one is refused as a whole.
#pragma once

#include "core/ports/use_store.hpp"

#include <string>
#include <string_view>

namespace genv::core {

/// The version that encodeUse() writes. Others are refused.
inline constexpr int useVersion = 1;

/// Encodes a record as a document.
std::string encodeUse(const UseRecord& record);

/// Decodes a document. Throws StateError, whose text quotes nothing from the document.
UseRecord decodeUse(std::string_view document);

} // namespace genv::core
