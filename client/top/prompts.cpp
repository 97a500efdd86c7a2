// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/top/prompts.hpp"

#include "client/top/cell_text.hpp"
#include "client/top/parked_rows.hpp"
#include "client/top/view.hpp"
#include "core/base/duration.hpp"
#include "core/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace genv::top {

namespace {

void showError(Choice& choice, std::string text) {
    choice.message = std::move(text);
    choice.isBadNews = true;
}

template <typename Row>
const Row* selectedRow(const std::vector<Row>& rows, const Choice& choice) {
    const auto found =
        std::ranges::find_if(rows, [&](const Row& row) { return choice.selected == itemOf(row); });
    return found == rows.end() ? nullptr : &*found;
}

const Gpu* selectedGpu(Choice& choice, const Frame& frame) {
    const Gpu* gpu = selectedRow(frame.gpus, choice);
    if (gpu == nullptr)
        showError(choice, "Select a GPU first");
    return gpu;
}

struct Hold {
    const Gpu& gpu;
    const GpuHolder& holder;
};

// Returns the selected GPU and the holder in its row.
std::optional<Hold> selectedHold(Choice& choice, const Frame& frame) {
    const Gpu* gpu = selectedGpu(choice, frame);
    if (gpu == nullptr)
        return std::nullopt;
    const GpuHolder* holder = firstHolder(frame, *gpu);
    if (holder == nullptr) {
        showError(choice, fmt::format("GPU {} is attached to no environment", gpu->index));
        return std::nullopt;
    }
    return Hold{*gpu, *holder};
}

std::string quoted(const Choice& choice, std::string_view foreign) {
    return safe(foreign, choice.charset);
}

// Returns the default environment: that of this shell, or else the oldest.
const OwnEnvironment* ownEnvironment(Choice& choice, const Frame& frame) {
    if (frame.own.empty()) {
        showError(choice, "You have no environment: start one with \"genv activate\"");
        return nullptr;
    }
    const auto active = std::ranges::find_if(frame.own, &OwnEnvironment::isActive);
    return active == frame.own.end() ? &frame.own.front() : &*active;
}

std::string detachQuestion(const Choice& choice, const Hold& hold) {
    return fmt::format("Detach GPU {} from {} of {}?", hold.gpu.index,
                       quoted(choice, hold.holder.environment), quoted(choice, hold.holder.user));
}

void askToDetach(Choice& choice, const Frame& frame) {
    const auto hold = selectedHold(choice, frame);
    if (!hold)
        return;
    const DetachRequest request{hold->holder.environment, hold->gpu.index};
    if (hold->gpu.holders.size() == 1)
        choice.prompt = {Prompt::Kind::Confirm, detachQuestion(choice, *hold), "", request};
    else
        choice.prompt = {Prompt::Kind::Environment,
                         fmt::format("Detach GPU {} from environment:", hold->gpu.index),
                         hold->holder.environment, request};
}

void askToTerminate(Choice& choice, const Frame& frame) {
    const Process* process = selectedRow(frame.processes, choice);
    if (process == nullptr)
        return showError(choice, "Select a process first");
    if (!choice.mayTerminate)
        return showError(choice, "GENV_TERMINATE_PROCESSES=0 forbids ending processes");
    choice.prompt = {Prompt::Kind::Confirm,
                     fmt::format("Terminate process {} ({}) of {}?", process->pid,
                                 quoted(choice, process->program), quoted(choice, process->user)),
                     "", TerminateRequest{process->pid}};
}

void askToExtend(Choice& choice, const Frame& frame) {
    const auto hold = selectedHold(choice, frame);
    if (!hold)
        return;
    const std::string& environment = hold->holder.environment;
    if (!hold->holder.expires)
        return showError(choice, fmt::format("GPU {} has no lease to extend", hold->gpu.index));
    choice.prompt = {
        Prompt::Kind::Time,
        fmt::format("Extend the lease of {} to this long from now:", quoted(choice, environment)),
        "1h", ExtendRequest{environment, {}}};
}

std::string attachQuestion(const Choice& choice, const AttachGpuRequest& request) {
    return fmt::format("Attach GPU {} to {}?", request.gpu, quoted(choice, request.environment));
}

void askToAttach(Choice& choice, const Frame& frame) {
    const Gpu* gpu = selectedGpu(choice, frame);
    if (gpu == nullptr)
        return;
    if (!gpu->holders.empty())
        return showError(choice,
                         fmt::format("GPU {} is held by {}: wait for a GPU with \"w\"", gpu->index,
                                     quoted(choice, firstHolder(frame, *gpu)->user)));
    const OwnEnvironment* own = ownEnvironment(choice, frame);
    if (own == nullptr)
        return;
    const AttachGpuRequest request{own->id, gpu->index};
    if (frame.own.size() == 1)
        choice.prompt = {Prompt::Kind::Confirm, attachQuestion(choice, request), "", request};
    else
        choice.prompt = {Prompt::Kind::Environment,
                         fmt::format("Attach GPU {} to environment:", gpu->index), own->id,
                         request};
}

void askToWait(Choice& choice, const Frame& frame) {
    const OwnEnvironment* own = ownEnvironment(choice, frame);
    if (own != nullptr)
        choice.prompt = {Prompt::Kind::Count, "Number of GPUs to wait for:", "1",
                         WaitRequest{own->id, 1}};
}

void askToLeave(Choice& choice, const Frame& frame) {
    const Waiter* waiter = selectedRow(frame.waiters, choice);
    if (waiter == nullptr) {
        const auto isMine = [&](const Waiter& w) { return w.uid == frame.uid; };
        if (std::ranges::count_if(frame.waiters, isMine) != 1)
            return showError(choice, "Select a row of the queue first");
        waiter = &*std::ranges::find_if(frame.waiters, isMine);
    }
    choice.prompt = {Prompt::Kind::Confirm,
                     fmt::format("Cancel the wait of {} of {} for {}?",
                                 quoted(choice, waiter->environment), quoted(choice, waiter->user),
                                 quoted(choice, waiter->wanted)),
                     "", LeaveRequest{waiter->ticket, waiter->environment}};
}

void askToPark(Choice& choice, const Frame& frame) {
    const auto hold = selectedHold(choice, frame);
    if (!hold)
        return;
    const std::string& environment = hold->holder.environment;
    choice.prompt = {Prompt::Kind::Confirm,
                     fmt::format("Park {} of {}, so that its programs stand still and its GPUs are "
                                 "free?",
                                 quoted(choice, environment), quoted(choice, hold->holder.user)),
                     "", ParkRequest{environment}};
}

void askToResume(Choice& choice, const Frame& frame) {
    const Parked* parked = selectedRow(frame.parked, choice);
    if (parked == nullptr) {
        const auto isMine = [&](const Parked& each) { return each.uid == frame.uid; };
        if (std::ranges::count_if(frame.parked, isMine) != 1)
            return showError(choice, "Select a parked environment first");
        parked = &*std::ranges::find_if(frame.parked, isMine);
    }
    choice.prompt = {Prompt::Kind::Confirm,
                     fmt::format("Resume {} of {} on GPU {}?", quoted(choice, parked->environment),
                                 quoted(choice, parked->user), parkedGpus(*parked)),
                     "", ResumeRequest{parked->environment}};
}

std::optional<std::uint32_t> parseCount(std::string_view text) {
    std::uint32_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stop == end && number > 0 ? std::optional(number) : std::nullopt;
}

std::optional<Request> answerEnvironment(Choice& choice, Prompt prompt) {
    if (auto* wait = std::get_if<WaitRequest>(&prompt.request)) {
        wait->environment = prompt.input;
        return prompt.request;
    }
    // The input may belong to another question.
    if (auto* attach = std::get_if<AttachGpuRequest>(&prompt.request)) {
        attach->environment = prompt.input;
        prompt.question = attachQuestion(choice, *attach);
    } else if (auto* detach = std::get_if<DetachRequest>(&prompt.request)) {
        detach->environment = prompt.input;
        prompt.question =
            fmt::format("Detach GPU {} from {}?", detach->gpu, quoted(choice, prompt.input));
    }
    prompt.kind = Prompt::Kind::Confirm;
    choice.prompt = std::move(prompt);
    return std::nullopt;
}

std::optional<Request> answerCount(Choice& choice, const Frame& frame, Prompt prompt) {
    const auto count = parseCount(prompt.input);
    if (!count) {
        showError(choice, fmt::format("Invalid number \"{}\": expected 1 or more",
                                      quoted(choice, prompt.input)));
        return std::nullopt;
    }
    auto& wait = std::get<WaitRequest>(prompt.request);
    wait.count = *count;
    if (frame.own.size() <= 1)
        return prompt.request;
    choice.prompt = {Prompt::Kind::Environment, "Environment that waits:", wait.environment,
                     prompt.request};
    return std::nullopt;
}

std::optional<Request> answerTime(Choice& choice, Prompt prompt) {
    try {
        const auto span = core::parseTypedDuration(prompt.input);
        std::get<ExtendRequest>(prompt.request).lifetime =
            std::chrono::ceil<std::chrono::seconds>(span);
        return prompt.request;
    } catch (const core::Error& error) {
        showError(choice, quoted(choice, error.what()));
        return std::nullopt;
    }
}

} // namespace

void beginPrompt(Choice& choice, const Frame& frame, char32_t letter) {
    constexpr std::u32string_view letters = U"dtawecpr";
    if (letters.find(letter) == std::u32string_view::npos)
        return;
    if (choice.isReadOnly)
        return showError(choice, "--readonly shows only; nothing is changed");
    if (frame.isCluster)
        return showError(choice, "On a cluster use genvctl: run, activate, extend and deactivate");
    switch (letter) {
    case 'd':
        return askToDetach(choice, frame);
    case 't':
        return askToTerminate(choice, frame);
    case 'a':
        return askToAttach(choice, frame);
    case 'w':
        return askToWait(choice, frame);
    case 'e':
        return askToExtend(choice, frame);
    case 'p':
        return askToPark(choice, frame);
    case 'r':
        return askToResume(choice, frame);
    default:
        return askToLeave(choice, frame);
    }
}

std::optional<Request> answerPrompt(Choice& choice, const Frame& frame, const Key& key) {
    const Prompt prompt = *std::exchange(choice.prompt, std::nullopt);
    if (prompt.kind == Prompt::Kind::Confirm) {
        const bool agrees =
            key.kind == Key::Kind::Character && (key.character == 'y' || key.character == 'Y');
        return agrees ? std::optional(prompt.request) : std::nullopt;
    }
    if (key.kind != Key::Kind::Enter || prompt.input.empty()) {
        // Other keys do not change the question.
        if (key.kind != Key::Kind::Enter && key.kind != Key::Kind::Escape)
            choice.prompt = prompt;
        return std::nullopt;
    }
    switch (prompt.kind) {
    case Prompt::Kind::Environment:
        return answerEnvironment(choice, prompt);
    case Prompt::Kind::Count:
        return answerCount(choice, frame, prompt);
    default:
        return answerTime(choice, prompt);
    }
}

} // namespace genv::top
