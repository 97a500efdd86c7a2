// SPDX-License-Identifier: LGPL-2.1-or-later
// The saved configuration: a folder `.genv` with one file for each field (name, gpu-memory, gpus)
// that contains only the value. The folder may belong to a foreign project. Its files are therefore
// read with size limits, the values are checked as if they were typed, and symbolic links in it are
// not followed.
#pragma once

#include "genv/types.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// The fields of a configuration.
enum class Field { Name, Gpus, GpuMemory };

/// All fields, in the order in which they are shown.
inline constexpr Field allFields[] = {Field::Name, Field::Gpus, Field::GpuMemory};

/// Returns the name of a field, as it is typed and as its file is named.
const char* fieldName(Field field);
/// Returns the field with this name; nothing for any other word.
std::optional<Field> fieldOf(const std::string& name);

/// Returns a field as text; nothing if it is unset.
std::optional<std::string> fieldText(const Configuration& configuration, Field field);
/// Sets a field from text. Throws Failure(Usage) with the expected form.
void setField(Configuration& configuration, Field field, const std::string& text);

/// Returns the folder in use: .genv in the working folder, else in the home folder. Returns nothing
/// if neither exists.
std::optional<std::filesystem::path> projectFolder();
/// The same, but throws Failure with a hint on how to create one.
std::filesystem::path requireProjectFolder();
/// The same, but creates .genv in the working folder if neither exists. Throws Failure.
std::filesystem::path makeProjectFolder();

/// Returns whether the caller owns a folder, and thus decided what it says.
bool isOwnFolder(const std::filesystem::path& folder);

/// Returns the configuration saved in a folder. Throws Failure with the name of an invalid file.
Configuration loadProject(const std::filesystem::path& folder);

/// Saves these fields. Each file is written atomically, and the file of an unset field is removed.
/// Throws Failure.
void saveProject(const std::filesystem::path& folder, const Configuration& configuration,
                 const std::vector<Field>& fields);

} // namespace genv::ctl
