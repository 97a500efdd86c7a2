// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/top/frames.hpp"

#include <clocale>

namespace genv::top::tests {

namespace {

constexpr std::uint64_t gibi = std::uint64_t{1} << 30;
constexpr Time now{std::chrono::hours{500000}};

GpuHolder holderOf(std::uint32_t gpu) {
    const bool isAlices = gpu % 4 == 0;
    GpuHolder holder;
    holder.environment = std::to_string(7000 + gpu);
    holder.user = isAlices ? "alice" : "bob";
    holder.uid = isAlices ? aliceUid : bobUid;
    holder.since = now - std::chrono::hours{1};
    if (isAlices) {
        holder.name = "training";
        holder.expires = now + std::chrono::minutes{90};
    }
    return holder;
}

Gpu gpuOf(std::uint32_t index) {
    Gpu gpu;
    gpu.index = index;
    gpu.label = std::to_string(index);
    gpu.uuid = "GPU-" + gpu.label;
    gpu.model = "NVIDIA A100-SXM4-80GB";
    gpu.totalMemoryBytes = 80 * gibi;
    gpu.usedMemoryBytes = index % 4 < 2 ? 20 * gibi + index * gibi / 2 : 0;
    gpu.sensors.utilizationPercent = index % 4 < 2 ? 90 - index : 0;
    gpu.sensors.temperatureCelsius = 40 + static_cast<std::int32_t>(index % 40);
    gpu.sensors.powerMilliwatts = 100000 + index * 1000;
    gpu.sensors.powerLimitMilliwatts = 400000;
    gpu.sampledAt = now;
    for (std::size_t step = 0; step < historySteps; ++step) {
        const std::size_t percent = (step * 7 + std::size_t{index} * 13) % 101;
        gpu.history.at(step) = static_cast<std::uint8_t>(percent);
    }
    if (index % 4 < 2)
        gpu.holders.push_back(holderOf(index));
    gpu.isFree = gpu.holders.empty();
    return gpu;
}

Process processOn(const Gpu& gpu) {
    const GpuHolder& holder = gpu.holders.front();
    Process process;
    process.pid = 4000 + gpu.index;
    process.uid = holder.uid;
    process.user = holder.user;
    process.program = "python3";
    process.environment = holder.environment;
    process.gpus = {gpu.index};
    process.memoryBytes = 20 * gibi;
    process.utilizationPercent = 70;
    process.started = now - std::chrono::minutes{45};
    return process;
}

} // namespace

Frame frameWith(std::uint32_t gpus) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
    Frame frame;
    frame.when = now;
    frame.driver = "550.54.15";
    frame.isolation = "user";
    frame.uid = aliceUid;
    frame.isEmpty = false;
    for (std::uint32_t i = 0; i < gpus; ++i) {
        frame.gpus.push_back(gpuOf(i));
        if (frame.gpus.back().holders.empty())
            continue;
        ++frame.environments;
        frame.processes.push_back(processOn(frame.gpus.back()));
    }
    if (gpus > 2) {
        Process outsider = processOn(frame.gpus.front());
        outsider.pid = 9999;
        outsider.uid = 1003;
        outsider.user = "dave";
        outsider.program = "miner";
        outsider.environment.reset();
        outsider.gpus = {2};
        frame.gpus[2].isFree = false;
        frame.processes.push_back(outsider);
    }
    frame.waiters = {
        {11, 1, "8001", "sweep", "carol", 1002, "4 GPUs", now - std::chrono::minutes{3}, ""},
        {12, 2, "7000", "training", "alice", aliceUid, "1 GPU", now - std::chrono::minutes{1}, ""}};
    frame.own = {{"7000", "training", true}};
    return frame;
}

Parked parkedOf(std::uint32_t number, std::uint32_t uid) {
    Parked parked;
    parked.environment = std::to_string(9000 + number);
    parked.key = number;
    parked.name = "training";
    parked.user = uid == aliceUid ? "alice" : "bob";
    parked.uid = uid;
    parked.state = "parked";
    parked.gpus = {2, 3};
    parked.memoryBytes = 12 * gibi;
    parked.since = now - std::chrono::minutes{5};
    return parked;
}

JobRows jobsWith(std::uint32_t count) {
    std::vector<jobs::JobRow> rows;
    for (std::uint32_t number = 1; number <= count; ++number) {
        jobs::JobRow job;
        job.number = number;
        job.command = "python train.py";
        job.gpus = 1;
        job.tasks = 1;
        const std::uint32_t kind = number % 3;
        (kind == 0 ? job.done : kind == 1 ? job.running : job.waiting) = 1;
        job.state = kind == 0 ? "done" : kind == 1 ? "running" : "waiting";
        job.reason = kind == 2 ? "waits for free GPUs" : "";
        rows.push_back(std::move(job));
    }
    if (count > 1) {
        jobs::JobRow& sweep = rows[1];
        sweep.name = "sweep";
        sweep.isArray = true;
        sweep.tasks = 200;
        sweep.waiting = 57;
        sweep.done = 137;
        sweep.running = 4;
        sweep.failed = 2;
    }
    return std::make_shared<std::vector<jobs::JobRow>>(std::move(rows));
}

std::vector<std::string> textOf(const std::vector<PageLine>& lines) {
    std::vector<std::string> texts;
    for (const PageLine& line : lines) {
        std::string text;
        for (const Span& span : line.spans)
            text += span.text;
        texts.push_back(std::move(text));
    }
    return texts;
}

std::string joined(const std::vector<PageLine>& lines) {
    std::string all;
    for (const std::string& text : textOf(lines))
        all += text + "\n";
    return all;
}

} // namespace genv::top::tests
