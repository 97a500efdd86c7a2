// SPDX-License-Identifier: LGPL-2.1-or-later
// Jupyter's kernelspecs. Each is a folder in one of Jupyter's data folders, with logos and a
// kernel.json that contains the command line of a Jupyter kernel. A kernelspec derived by genvctl
// starts the kernel of another one through "genvctl jupyter run", and contains a mark that
// identifies it. This code runs neither Python nor Jupyter.
#pragma once

#include "client/genvctl/terminal/json.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

struct Kernelspec {
    std::filesystem::path folder;
    Json document; ///< an object whose "argv" is a non-empty list of words
};

/// Returns the folders that Jupyter searches for kernelspecs, in its order: JUPYTER_PATH, the
/// user's, those of the active virtual or conda environment, the machine's.
std::vector<std::filesystem::path> jupyterKernelFolders();
/// Returns the folder of the user's own kernelspecs. Throws Failure if there is no home folder.
std::filesystem::path userJupyterKernelFolder();
/// Returns the folder below the prefix of a Python installation.
std::filesystem::path jupyterKernelFolderBelow(const std::filesystem::path& prefix);
/// Returns the folder of the virtual or conda environment that is active in the shell. Throws
/// Failure.
std::filesystem::path activeJupyterKernelFolder();

/// Returns the kernelspec that Jupyter uses for this name, given in lower case. Throws Failure if
/// there is none.
std::filesystem::path findKernelspec(const std::string& name);
/// Throws Failure if the folder has no valid kernelspec.
Kernelspec loadKernelspec(const std::filesystem::path& folder);

/// Checks a name by Jupyter's rules and converts it to lower case. Throws Failure(Usage).
std::string kernelspecName(const std::string& name);

/// Whether genvctl derived the kernelspec.
bool isDerived(const Json& document);

/// Returns a kernelspec whose command line is `launcher`, then "--", then the command line of
/// `base` with its paths.
Json derivedKernelspec(const Kernelspec& base, const std::vector<std::string>& launcher,
                       const std::string& displayName);

/// Writes a kernelspec and the logos of its base. An existing kernelspec is replaced atomically. If
/// writing fails, no new folder is left. Throws Failure, also for an existing kernelspec that
/// genvctl did not derive, unless `force` is set.
void installKernelspec(const std::filesystem::path& folder, const Json& document,
                       const Kernelspec& base, bool force);
/// Removes a kernelspec that genvctl derived. Throws Failure for any other.
void removeKernelspec(const std::filesystem::path& folder);

/// Returns the id of the Jupyter kernel from its connection file, kernel-<id>.json, among the words
/// that start it. Returns nothing if there is no such file name or if the service does not accept
/// the id.
std::optional<std::string> jupyterKernelIdAmong(const std::vector<std::string>& words);

} // namespace genv::ctl
