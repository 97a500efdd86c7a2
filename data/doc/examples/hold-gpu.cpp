// SPDX-License-Identifier: LGPL-2.1-or-later
// Attaches a GPU for this program, waiting for at most a minute, and lists the holders of all GPUs.
// Then does its work under the GPU's lock: other users of the GPU that also take the lock wait.
//
//   g++ -std=c++20 -o hold-gpu hold-gpu.cpp $(pkg-config --cflags --libs genv)
#include <genv/client.hpp>

#include <cstdlib>
#include <iostream>

namespace {

// Activates an environment that lives as long as this process, so no call must release it.
std::string takeGpu(genv::Client& client) {
    const auto options =
        genv::ActivateOptions().setName("example").setGpus(1).setWait(true).setTimeout(
            std::chrono::minutes{1});
    const auto waiting = genv::Waiting().setChanged(
        [&client] { std::cerr << "requests in the queue: " << client.queue().size() << '\n'; });
    return client.activate(options, waiting).value(); // nothing cancels this wait
}

// Sets CUDA's variable. CUDA knows devices by UUID and by index, but MIG instances only by UUID.
void showToCuda(const std::vector<genv::Device>& machine, const genv::Environment& environment) {
    std::string visible;
    for (const std::uint32_t index : environment.devices) {
        for (const genv::Device& device : machine) {
            if (device.index == index)
                visible += (visible.empty() ? "" : ",") + device.uuid;
        }
    }
    setenv("CUDA_VISIBLE_DEVICES", visible.c_str(), 1);
}

void printHolders(const std::vector<genv::Device>& machine, genv::Client& client) {
    const std::vector<genv::Attachment> attachments = client.attachments();
    for (const genv::Device& device : machine) {
        std::cout << "GPU " << device.index << ", " << device.model << ':';
        for (const genv::Attachment& attachment : attachments) {
            if (attachment.device == device.index)
                std::cout << ' ' << attachment.environmentName.value_or(attachment.environment);
        }
        std::cout << '\n';
    }
}

} // namespace

int main() {
    try {
        genv::Client client;
        const std::string id = takeGpu(client);
        const std::vector<genv::Device> machine = client.devices();
        showToCuda(machine, client.environment(id));
        printHolders(machine, client);

        const std::optional<genv::Lock> lock = client.lock(id);
        std::cout << "working on " << std::getenv("CUDA_VISIBLE_DEVICES") << '\n';
        return 0;
    } catch (const genv::ServiceUnavailable& error) {
        std::cerr << "there is no service: " << error.what() << '\n';
        return 6;
    } catch (const genv::Error& error) {
        std::cerr << error.name() << ": " << error.what() << '\n';
        return error.name() == "org.freedesktop.DBus.Error.Timeout" ? 5 : 1;
    }
}
