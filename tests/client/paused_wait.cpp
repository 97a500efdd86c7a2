// SPDX-License-Identifier: LGPL-2.1-or-later
// A program on libgenv that waits for four GPUs and is told of a change only once, for
// library-test.
#include <genv/client.hpp>

#include <chrono>
#include <iostream>

int main() {
    genv::Client client;
    const auto waiting =
        genv::Waiting().setChanged([] { std::cout << "changed" << std::endl; }).setPause([] {
            return std::chrono::hours{1};
        });
    client.activate(genv::ActivateOptions().setGpus(4).setWait(true), waiting);
    std::cout << "granted" << std::endl;
}
