// SPDX-License-Identifier: LGPL-2.1-or-later
// The saved configuration: a folder `.genv` with a file for each field (name, gpu-memory, gpus)
// that holds the value and nothing else. The folder may come with a project, so it is read with
// caps, its values are checked as if they were typed, and no link in it is followed.
#pragma once

#include "genv/types.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

/// The fields of a configuration.
enum class Field { Name, Gpus, GpuMemory };

/// All of them, in the order they are shown.
inline constexpr Field allFields[] = {Field::Name, Field::Gpus, Field::GpuMemory};

/// As it is typed and as its file is named.
const char* fieldName(Field field);
/// The field of that name; nothing for another word.
std::optional<Field> fieldOf(const std::string& name);

/// A field as text; nothing when it is unset.
std::optional<std::string> fieldText(const Configuration& configuration, Field field);
/// Sets a field from text. Throws Failure(Usage) that says what would be right.
void setField(Configuration& configuration, Field field, const std::string& text);

/// The folder in use: .genv in the working folder, else in the home folder; nothing where there is
/// neither.
std::optional<std::filesystem::path> projectFolder();
/// The same, but throws Failure that says where to create one.
std::filesystem::path requireProjectFolder();
/// The same, but makes .genv in the working folder where there is neither. Throws Failure.
std::filesystem::path makeProjectFolder();

/// What is saved in a folder. Throws Failure that names the file that makes no sense.
Configuration loadProject(const std::filesystem::path& folder);

/// Saves these fields; a file appears whole or not at all, and that of an unset field is removed.
/// Throws Failure.
void saveProject(const std::filesystem::path& folder, const Configuration& configuration,
                 const std::vector<Field>& fields);

} // namespace genv::ctl
