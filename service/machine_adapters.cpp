// SPDX-License-Identifier: LGPL-2.1-or-later
#include "service/machine_adapters.hpp"

#include <string>
#include <utility>

namespace genv::service {

MachineAdapters::MachineAdapters(GlibLoop& loop, core::Log& log, std::unique_ptr<core::Gpus> gpus,
                                 ProcProgram procProgram, std::unique_ptr<core::Slurm> ofSlurm,
                                 std::unique_ptr<core::Parker> withParker)
    : MachineAdapters(loop, log, std::move(gpus),
                      ProcAccess{std::move(procProgram),
                                 std::make_shared<HungProcesses>(
                                     [&log](const std::string& line) { log.warning("{}", line); })},
                      std::move(ofSlurm), std::move(withParker)) {}

MachineAdapters::MachineAdapters(GlibLoop& loop, core::Log& log, std::unique_ptr<core::Gpus> gpus,
                                 const ProcAccess& procAccess, std::unique_ptr<core::Slurm> ofSlurm,
                                 std::unique_ptr<core::Parker> withParker)
    : processes(procAccess, &GlibLoop::post), users(clock, loop, log, &GlibLoop::post),
      jupyterKernels(procAccess, &GlibLoop::post),
      observer(std::move(gpus), procAccess, clock, loop, &GlibLoop::post), history(&GlibLoop::post),
      jobCgroups(&GlibLoop::post), hostMemory(&GlibLoop::post), slurm(std::move(ofSlurm)),
      parker(std::move(withParker)), loop_(loop) {}

void MachineAdapters::watchProcesses(std::function<void(const core::ProcessIdentity&)> exited) {
    processes.onExit(std::move(exited));
    processExits_ =
        GlibLoop::onReadable(processes.descriptor(), [this] { processes.noticeExits(); });
    verifyProcesses();
}

void MachineAdapters::verifyProcesses() {
    if (!processes.hasUnverified())
        return;
    processes.verify();
    verifying_ = loop_.after(HungProcesses::retryAfter, [this] {
        loop_.soon([this] { verifyProcesses(); }); // this starts the timer again
    });
}

} // namespace genv::service
