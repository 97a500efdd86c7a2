// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/gpu/nvml_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace genv::service {

namespace {

void* load(const std::string& file) {
    void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* reason = ::dlerror();
        throw NvmlNotLoaded(reason != nullptr ? reason : "unknown reason");
    }
    return handle;
}

} // namespace

void* findSymbol(void* library, const char* name) {
    return ::dlsym(library, name);
}

void NvmlLibrary::Close::operator()(void* handle) const noexcept {
    ::dlclose(handle);
}

NvmlLibrary::NvmlLibrary(const std::string& file) : handle_(load(file)) {}

std::string NvmlLibrary::describe(nvml::Return result) const {
    using ErrorString = const char* (*)(nvml::Return);
    const auto errorString =
        reinterpret_cast<ErrorString>(findSymbol(handle_.get(), "nvmlErrorString"));
    const char* text = errorString != nullptr ? errorString(result) : nullptr;
    return fmt::format("{} (NVML error {})", text != nullptr ? text : "no description",
                       static_cast<int>(result));
}

} // namespace genv::service
