// SPDX-License-Identifier: LGPL-2.1-or-later
// The commands. Each function adds one command to the command line. The command that was named sets
// Context::command.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace genv::ctl {

class Context;

void addActivate(CLI::App& app, Context& context);
void addDeactivate(CLI::App& app, Context& context);
void addAttach(CLI::App& app, Context& context);
void addDetach(CLI::App& app, Context& context);
void addConfig(CLI::App& app, Context& context);
void addStatus(CLI::App& app, Context& context);
void addDevices(CLI::App& app, Context& context);
void addEnvs(CLI::App& app, Context& context);
void addHome(CLI::App& app, Context& context);
void addShell(CLI::App& app, Context& context);
void addInit(CLI::App& app, Context& context);
void addJupyter(CLI::App& app, Context& context);
void addRun(CLI::App& app, Context& context);
void addSubmit(CLI::App& app, Context& context);
void addJobs(CLI::App& app, Context& context);
void addJob(CLI::App& app, Context& context);
void addLogs(CLI::App& app, Context& context);
void addCancel(CLI::App& app, Context& context);
void addHold(CLI::App& app, Context& context);
void addRelease(CLI::App& app, Context& context);
void addRequeue(CLI::App& app, Context& context);
void addWait(CLI::App& app, Context& context);
void addEnforce(CLI::App& app, Context& context);
void addUsage(CLI::App& app, Context& context);
void addTerminate(CLI::App& app, Context& context);
void addTop(CLI::App& app, Context& context);
void addDoctor(CLI::App& app, Context& context);
void addIsolation(CLI::App& app, Context& context);
void addLimits(CLI::App& app, Context& context);
void addPolicy(CLI::App& app, Context& context);
void addMonitor(CLI::App& app, Context& context);
void addNotify(CLI::App& app, Context& context);
void addEvents(CLI::App& app, Context& context);
void addHistory(CLI::App& app, Context& context);
void addReport(CLI::App& app, Context& context);
void addExtend(CLI::App& app, Context& context);
void addPark(CLI::App& app, Context& context);
void addResume(CLI::App& app, Context& context);
void addLock(CLI::App& app, Context& context);
void addQueue(CLI::App& app, Context& context);
void addRemote(CLI::App& app, Context& context);
void addSlurm(CLI::App& app, Context& context);
/// Hands over the definition of the whole command line.
using WithCommandLine = std::function<void(const std::function<void(const CLI::App&)>& use)>;
void addHelp(CLI::App& app, Context& context, WithCommandLine withCommandLine);
void addVersion(CLI::App& app, Context& context);

} // namespace genv::ctl
