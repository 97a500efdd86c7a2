// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/jupyter/kernelspec.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/common/files.hpp"
#include "core/base/json_extent.hpp"
#include "core/base/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <system_error>

namespace genv::ctl {

namespace fs = std::filesystem;

namespace {

constexpr const char* fileName = "kernel.json";
constexpr const char* mark = "genv"; ///< in the metadata
// More than any of them has.
constexpr std::size_t largestSpec = 1U << 20U;
constexpr std::size_t largestLogo = 4U << 20U;
constexpr std::size_t maxLogos = 16;
constexpr std::size_t maxDepth = 64;

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<fs::path> userDataFolder() {
    if (const auto folder = variable("JUPYTER_DATA_DIR"))
        return *folder;
    if (const auto folder = variable("XDG_DATA_HOME"))
        return fs::path(*folder) / "jupyter";
    if (const auto home = variable("HOME"))
        return fs::path(*home) / ".local/share/jupyter";
    return std::nullopt;
}

std::optional<fs::path> activePrefix() {
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        if (const auto prefix = variable(name))
            return *prefix;
    }
    return std::nullopt;
}

std::string inLowerCase(std::string text) {
    for (char& c : text)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

// Jupyter ignores the case of the folder's name.
std::optional<fs::path> kernelspecIn(const fs::path& folder, const std::string& name) {
    std::error_code error;
    std::error_code none;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const fs::path& path = entry->path();
        if (inLowerCase(path.filename().native()) == name && fs::exists(path / fileName, none))
            return path;
    }
    return std::nullopt;
}

// A symbolic link does not count: root may be able to read its target and would copy it for all
// users.
bool isLogo(const fs::path& file) {
    std::error_code none;
    return file.filename().native().starts_with("logo") &&
           fs::is_regular_file(fs::symlink_status(file, none));
}

std::vector<fs::path> logosIn(const fs::path& folder) {
    std::vector<fs::path> logos;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (isLogo(entry->path()) && logos.size() < maxLogos)
            logos.push_back(entry->path());
    }
    return logos;
}

void requireWords(const Kernelspec& spec) {
    const auto argv = spec.document.is_object() ? spec.document.find("argv") : spec.document.end();
    if (!spec.document.is_object() || argv == spec.document.end() || !argv->is_array() ||
        argv->empty() ||
        !std::all_of(argv->begin(), argv->end(), [](const Json& word) { return word.is_string(); }))
        throw Failure(ExitStatus::Failed, fmt::format("{} does not say how to start a kernel",
                                                      (spec.folder / fileName).native()));
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

bool isBarePython(const std::string& program) {
    return program.starts_with("python") &&
           program.find_first_not_of("0123456789.", 6) == std::string::npos;
}

// Jupyter replaces a bare "python", as the first word only, with its own interpreter. This returns
// the interpreter of the installation that contains the kernelspec.
std::string program(const Kernelspec& base, const std::string& word) {
    const fs::path kernels = base.folder.parent_path();
    const fs::path share = kernels.parent_path().parent_path();
    if (!isBarePython(word) || kernels.filename() != "kernels" || share.filename() != "share")
        return word;
    const fs::path candidate = share.parent_path() / "bin" / word;
    return access(candidate.c_str(), X_OK) == 0 ? candidate.native() : word;
}

// The option of IPython's kernel that loads the extension of the Python package, which resumes a
// parked environment before a cell runs. It does nothing without the package, or with that of
// genv 1. Unlike the list of extensions, it leaves the user's configuration in force.
constexpr const char* codeOption = "--IPKernelApp.code_to_run=";
constexpr const char* loadingCode = "if __import__('importlib.util').util.find_spec('genv'): "
                                    "get_ipython().extension_manager.load_extension('genv')";

bool isOfIPython(const Json& argv) {
    bool isIPython = false;
    for (std::size_t at = 0; at < argv.size(); ++at) {
        const auto& word = argv[at].get_ref<const std::string&>();
        if (word.starts_with(codeOption))
            return false; // it has code of its own
        isIPython |=
            at > 0 && argv[at - 1] == "-m" && (word == "ipykernel_launcher" || word == "ipykernel");
    }
    return isIPython;
}

bool isDerivedIn(const fs::path& folder) {
    try {
        return isDerived(loadKernelspec(folder).document);
    } catch (const Failure&) {
        return false;
    }
}

void requireOwn(const fs::path& folder, bool force) {
    std::error_code none;
    if (!fs::exists(fs::symlink_status(folder, none)) || force)
        return;
    if (fs::is_symlink(folder, none) || !isDerivedIn(folder))
        throw Failure(
            ExitStatus::Failed,
            fmt::format("{} is a kernelspec that genvctl did not write, or something else",
                        folder.native()),
            "Choose another --name, or replace it with --force.");
}

[[noreturn]] void failed(const fs::path& path, const char* why, const std::error_code& error) {
    throw Failure(ExitStatus::Failed,
                  fmt::format("{} {}: {}", path.native(), why, error.message()));
}

// Creates the folder. Returns whether it is new.
bool makeFolder(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(folder, error)) &&
        !fs::is_directory(fs::symlink_status(folder)))
        fs::remove(folder, error); // the user passed --force, which requireOwn() has checked
    const bool isNew = fs::create_directories(folder, error);
    if (error)
        failed(folder, "cannot be made", error);
    return isNew;
}

void writeKernelspec(const fs::path& folder, const Json& document, const Kernelspec& base) {
    std::vector<fs::path> old = logosIn(folder);
    for (const fs::path& logo : logosIn(base.folder)) {
        replaceFile(folder / logo.filename(), readFile(logo, largestLogo, Links::Refused));
        std::erase(old, folder / logo.filename());
    }
    std::error_code none;
    for (const fs::path& logo : old)
        fs::remove(logo, none);
    // Written last: without this file, the folder is not a kernelspec.
    replaceFile(folder / fileName, jsonText(document, true));
}

} // namespace

fs::path jupyterKernelFolderBelow(const fs::path& prefix) {
    return fs::absolute(prefix) / "share/jupyter/kernels";
}

fs::path userJupyterKernelFolder() {
    const auto folder = userDataFolder();
    if (!folder)
        throw Failure(ExitStatus::Failed, "There is no home folder: HOME is not set",
                      "Say where with --prefix.");
    return fs::absolute(*folder) / "kernels";
}

fs::path activeJupyterKernelFolder() {
    const auto prefix = activePrefix();
    if (!prefix)
        throw Failure(ExitStatus::Failed, "No virtual or conda environment is active",
                      "Activate it, or say where it is with --prefix.");
    return jupyterKernelFolderBelow(*prefix);
}

std::vector<fs::path> jupyterKernelFolders() {
    std::vector<fs::path> folders;
    std::string rest = variable("JUPYTER_PATH").value_or("");
    while (!rest.empty()) {
        const std::string one = rest.substr(0, rest.find(':'));
        rest.erase(0, one.size() + 1);
        if (!one.empty())
            folders.push_back(fs::absolute(one) / "kernels");
    }
    if (const auto folder = userDataFolder())
        folders.push_back(fs::absolute(*folder) / "kernels");
    if (const auto prefix = activePrefix())
        folders.push_back(jupyterKernelFolderBelow(*prefix));
    for (const char* prefix : {"/usr/local", "/usr"})
        folders.push_back(jupyterKernelFolderBelow(prefix));
    return folders;
}

fs::path findKernelspec(const std::string& name) {
    std::string searched;
    for (const fs::path& folder : jupyterKernelFolders()) {
        if (const auto found = kernelspecIn(folder, name))
            return *found;
        searched += (searched.empty() ? "" : ", ") + folder.native();
    }
    throw Failure(ExitStatus::Failed, fmt::format("There is no kernelspec \"{}\"", name),
                  "Looked in " + searched);
}

Kernelspec loadKernelspec(const fs::path& folder) {
    Kernelspec spec{fs::absolute(folder).lexically_normal(), {}};
    if (!spec.folder.has_filename())
        spec.folder = spec.folder.parent_path(); // "folder/"
    try {
        const std::string text = readFile(spec.folder / fileName, largestSpec);
        if (core::extentOf(text).depth > maxDepth) // each copy would be as deep
            throw Failure(ExitStatus::Failed,
                          fmt::format("{} is nested too deep", (spec.folder / fileName).native()));
        spec.document = Json::parse(text);
    } catch (const Json::exception& error) {
        throw Failure(
            ExitStatus::Failed,
            fmt::format("{} is not JSON: {}", (spec.folder / fileName).native(), error.what()));
    }
    requireWords(spec);
    return spec;
}

std::string kernelspecName(const std::string& name) {
    const auto isAllowed = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    };
    if (name.empty() || name.size() > core::maxNameLength || name.starts_with('.') ||
        !std::all_of(name.begin(), name.end(), isAllowed))
        throw Failure(ExitStatus::Usage,
                      fmt::format("\"{}\" cannot be a kernelspec's name", core::escaped(name)),
                      "It has 1 to 64 letters, digits, \"-\", \"_\" and \".\", no \".\" first.");
    return inLowerCase(name);
}

bool isDerived(const Json& document) {
    const auto metadata = document.find("metadata");
    return metadata != document.end() && metadata->is_object() && metadata->contains(mark);
}

Json derivedKernelspec(const Kernelspec& base, const std::vector<std::string>& launcher,
                       const std::string& displayName) {
    const auto own = [&](const std::string& text) {
        return replaced(text, "{resource_dir}", base.folder.native());
    };
    Json document = base.document;
    Json argv = launcher;
    argv.push_back("--");
    for (const Json& word : base.document["argv"])
        argv.push_back(own(word.get<std::string>()));
    Json& first = argv[launcher.size() + 1];
    first = program(base, first.get<std::string>());
    if (isOfIPython(base.document["argv"]))
        argv.push_back(std::string(codeOption) + loadingCode);
    document["argv"] = argv;
    document["display_name"] = displayName;
    if (document.contains("env") && document["env"].is_object()) {
        for (Json& value : document["env"]) {
            if (value.is_string())
                value = own(value.get<std::string>());
        }
    }
    if (!document.contains("metadata") || !document["metadata"].is_object())
        document["metadata"] = Json::object();
    document["metadata"][mark] = {{"kernel", base.folder.native()}};
    return document;
}

void installKernelspec(const fs::path& folder, const Json& document, const Kernelspec& base,
                       bool force) {
    requireOwn(folder, force);
    const bool isNew = makeFolder(folder);
    try {
        writeKernelspec(folder, document, base);
    } catch (...) {
        std::error_code none;
        if (isNew)
            fs::remove_all(folder, none);
        throw;
    }
}

void removeKernelspec(const fs::path& folder) {
    std::error_code error;
    if (fs::is_symlink(folder, error) || !isDerivedIn(folder))
        throw Failure(ExitStatus::Failed,
                      fmt::format("{} is not a kernelspec of genvctl", folder.native()),
                      "Remove it with \"jupyter kernelspec uninstall\".");
    // Removed first: without this file, the folder is not a kernelspec.
    fs::remove(folder / fileName, error);
    if (error)
        failed(folder / fileName, "cannot be removed", error);
    for (const fs::path& logo : logosIn(folder))
        fs::remove(logo, error);
    if (!fs::remove(folder, error))
        failed(folder, "is not a kernelspec any more, but cannot be removed", error);
}

std::optional<std::string> jupyterKernelIdAmong(const std::vector<std::string>& words) {
    constexpr std::string_view before = "kernel-";
    constexpr std::string_view after = ".json";
    for (const std::string& word : words) {
        const std::size_t start =
            word.find_last_of(word.starts_with('-') && word.find('=') != word.npos ? "/=" : "/");
        const std::string_view file =
            std::string_view(word).substr(start == word.npos ? 0 : start + 1);
        if (file.size() <= before.size() + after.size() || !file.starts_with(before) ||
            !file.ends_with(after))
            continue;
        const auto id = file.substr(before.size(), file.size() - before.size() - after.size());
        if (core::isIdentifier(id))
            return std::string(id);
    }
    return std::nullopt;
}

} // namespace genv::ctl
