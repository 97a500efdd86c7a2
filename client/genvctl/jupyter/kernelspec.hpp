// SPDX-License-Identifier: LGPL-2.1-or-later
// Jupyter's kernelspecs: a folder for each kernel below one of Jupyter's data folders, with a
// kernel.json that says how to start it, and logos. One that genvctl derived from another starts
// that one's kernel through "genvctl jupyter run", and carries a mark by which it is known as
// genvctl's own. Nothing of Python or Jupyter is run for any of this.
#pragma once

#include "client/genvctl/terminal/json.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace genv::ctl {

struct Kernelspec {
    std::filesystem::path folder;
    Json document; ///< an object whose "argv" is a list of words that is not empty
};

/// The folders that Jupyter looks for kernelspecs in, first come first: JUPYTER_PATH, the user's,
/// those of the active virtual or conda environment, the machine's.
std::vector<std::filesystem::path> kernelFolders();
/// Where a user's own kernelspecs are. Throws Failure where there is no home folder.
std::filesystem::path userKernelFolder();
/// The one below the prefix of a Python installation.
std::filesystem::path kernelFolderBelow(const std::filesystem::path& prefix);
/// The one of the virtual or conda environment that is active in the shell. Throws Failure.
std::filesystem::path activeKernelFolder();

/// The kernelspec that Jupyter would use by this name, which is in lower case. Throws Failure where
/// there is none.
std::filesystem::path findKernelspec(const std::string& name);
/// Throws Failure for a folder without a kernelspec that makes sense.
Kernelspec loadKernelspec(const std::filesystem::path& folder);

/// A name as Jupyter takes it, in lower case as Jupyter has it. Throws Failure(Usage).
std::string kernelspecName(const std::string& name);

/// Whether genvctl derived it.
bool isDerived(const Json& document);

/// What a kernelspec starts in an environment: `launcher`, then "--", then what `base` starts, with
/// the paths of `base`.
Json derivedKernelspec(const Kernelspec& base, const std::vector<std::string>& launcher,
                       const std::string& displayName);

/// Writes a kernelspec and the logos of its base. Where there is one already it is replaced at
/// once; where it cannot be written nothing is left. Throws Failure, also for one that genvctl did
/// not derive unless `force`.
void installKernelspec(const std::filesystem::path& folder, const Json& document,
                       const Kernelspec& base, bool force);
/// Removes one that genvctl derived. Throws Failure for every other.
void removeKernelspec(const std::filesystem::path& folder);

/// The id of the kernel in the connection file among the words that start it, kernel-<id>.json;
/// nothing where there is none with a name like that, or its id is none that the service takes.
std::optional<std::string> kernelIdAmong(const std::vector<std::string>& words);

} // namespace genv::ctl
