// SPDX-License-Identifier: LGPL-2.1-or-later
// A program on libgenv that waits for four GPUs and prints when it is told of a change, for
// library-test. With the argument "paused", it is told only once; with "without-devices", not of
// the changes of devices.
#include <genv/client.hpp>

#include <chrono>
#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
    const std::string_view how = argc == 2 ? argv[1] : "";
    genv::Waiting waiting;
    waiting.setChanged([] { std::cout << "changed" << std::endl; });
    if (how == "paused")
        waiting.setPause([] { return std::chrono::hours{1}; });
    if (how == "without-devices")
        waiting.setFollowsDevices(false);
    genv::Client client;
    client.activate(genv::ActivateOptions().setGpus(4).setWait(true), waiting);
    std::cout << "granted" << std::endl;
}
