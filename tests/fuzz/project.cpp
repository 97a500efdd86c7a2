// SPDX-License-Identifier: LGPL-2.1-or-later
// A folder `.genv`, which may come with a foreign project: the name, the number of GPUs and the
// memory, one line each. Also the command line with which Jupyter starts a kernel.
#include "client/genvctl/options/project.hpp"

#include "client/genvctl/common/exit_status.hpp"
#include "client/genvctl/jupyter/kernelspec.hpp"
#include "core/base/text.hpp"
#include "tests/fuzz/target.hpp"

#include <filesystem>

namespace genv::fuzz::project {

GENV_FUZZ_TARGET(project) {
    static const ForeignFolder folder;
    std::vector<std::string_view> lines = linesIn(input);
    std::vector<std::string> words{lines.begin(), lines.end()};
    if (const auto jupyterKernel = ctl::jupyterKernelIdAmong(words))
        expect(core::isIdentifier(*jupyterKernel), "a kernel has an id");
    lines.resize(3);
    folder.fill("name", lines[0]);
    folder.fill("gpus", lines[1]);
    folder.fill("gpu-memory", lines[2]);
    try {
        const Configuration read = ctl::loadProject(folder.path());
        expect(!read.name || isShowable(*read.name), "a name can be shown");
        expect(!read.gpuMemoryBytes || *read.gpuMemoryBytes > 0, "no share is empty");
        ctl::saveProject(folder.path(), read,
                         {std::begin(ctl::allFields), std::end(ctl::allFields)});
        const Configuration again = ctl::loadProject(folder.path());
        expect(again.name == read.name && again.gpus == read.gpus &&
                   again.gpuMemoryBytes == read.gpuMemoryBytes,
               "a configuration is read as it was saved");
    } catch (const ctl::Failure& failure) {
        expectShowable(failure.what(), "why a configuration is refused can be shown");
    }
}

} // namespace genv::fuzz::project
