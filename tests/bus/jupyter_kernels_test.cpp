// SPDX-License-Identifier: LGPL-2.1-or-later
// A Jupyter kernel keeps an environment alive as a shell does. The service finds it by its
// connection file, and only among its owner's processes.
#include "tests/bus/support/fixture.hpp"

#include <signal.h>

namespace genv::tests {
namespace {

class JupyterKernels : public BusTest {
  protected:
    static ProcessOptions jupyterKernelOf(core::Uid uid, const char* id) {
        return ProcessOptions{.uid = uid, .jupyterKernel = id};
    }
    Answer activateJupyterKernel(Client& client, const char* jupyterKernel) {
        return client.manager("Activate", "a{sv}", 1, "kernel", "s", jupyterKernel);
    }
    std::string jupyterKernelsOf(const std::string& id) {
        return asRoot->property(environmentPath(id), environmentInterface, "Kernels");
    }
    void waitForEnd() {
        waitUntil([this] { return environmentCount() == "0"; }, "the end of the environment");
    }
};

TEST_F(JupyterKernels, KeepAnEnvironmentAliveAndEndItWithThem) {
    UserProcess jupyterKernel(jupyterKernelOf(alice, "abc"));
    const Answer answer =
        asAlice->manager("Activate", "a{sv}", 2, "kernel", "s", "abc", "gpus", "u", 1U);
    ASSERT_EQ(answer.error, "") << answer.text;
    const std::string id = answer.readString();
    EXPECT_EQ(id, std::to_string(jupyterKernel.pid()));
    EXPECT_EQ(jupyterKernelsOf(id), "abc");
    EXPECT_EQ(devicesOf(id), "0");
    jupyterKernel.kill(SIGKILL);
    jupyterKernel.wait();
    waitForEnd();
}

TEST_F(JupyterKernels, JoinAndLeaveAnEnvironment) {
    const UserProcess shell(alice);
    const UserProcess first(jupyterKernelOf(alice, "abc"));
    const UserProcess second(jupyterKernelOf(alice, "def"));
    const std::string id = activate(*asAlice, shell);
    std::vector<std::string> changed;
    const Slot slot =
        asBob->listen("type='signal',interface='org.freedesktop.DBus.Properties',path='" +
                          environmentPath(id) + "'",
                      [&](sd_bus_message*) { changed.push_back(jupyterKernelsOf(id)); });
    ASSERT_EQ(asAlice->environment(id, "AddKernel", "s", "abc").error, "");
    asBob->processUntil([&] { return !changed.empty(); }, "the change of the kernels");
    const Answer joined =
        asAlice->manager("Activate", "a{sv}", 2, "kernel", "s", "def", "id", "s", id.c_str());
    ASSERT_EQ(joined.error, "") << joined.text;
    EXPECT_EQ(jupyterKernelsOf(id), "abc,def");
    ASSERT_EQ(asAlice->environment(id, "RemoveKernel", "s", "abc").error, "");
    EXPECT_EQ(jupyterKernelsOf(id), "def");
    ASSERT_EQ(asAlice->environment(id, "RemoveProcess", "u", shell.pid()).error, "");
    EXPECT_EQ(environmentCount(), "1") << "the other kernel keeps it";
    ASSERT_EQ(asAlice->environment(id, "RemoveKernel", "s", "def").error, "");
    waitForEnd();
}

TEST_F(JupyterKernels, AreRefusedWhereNoneIsMeant) {
    const UserProcess shell(alice);
    const UserProcess one(jupyterKernelOf(alice, "twice"));
    const UserProcess other(jupyterKernelOf(alice, "twice"));
    const UserProcess bobs(jupyterKernelOf(bob, "bobs"));
    const std::string id = activate(*asAlice, shell);
    for (const char* jupyterKernel : {"none", "twice", "bobs"}) {
        EXPECT_EQ(asAlice->environment(id, "AddKernel", "s", jupyterKernel).error,
                  error::noSuchProcess)
            << jupyterKernel;
        EXPECT_EQ(activateJupyterKernel(*asAlice, jupyterKernel).error, error::noSuchProcess)
            << jupyterKernel;
    }
    EXPECT_EQ(asAlice->environment(id, "RemoveKernel", "s", "none").error, error::noSuchProcess);
    EXPECT_EQ(jupyterKernelsOf(id), "");
    EXPECT_EQ(environmentCount(), "1");
}

} // namespace
} // namespace genv::tests
