// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiled with only the folder of the public headers as include path: the headers include only
// each other and the standard library.
#include "genv/client.hpp"
#include "genv/error.hpp"
#include "genv/export.hpp"
#include "genv/isolation.hpp"
#include "genv/lock.hpp"
#include "genv/machine.hpp"
#include "genv/options.hpp"
#include "genv/types.hpp"
#include "genv/waiting.hpp"

#include <type_traits>

static_assert(std::is_nothrow_move_constructible_v<genv::ActivateOptions>);

// Sizes that are compiled into programs. From the first release on, a change of any of them
// requires a new ABI version: SOVERSION in client/CMakeLists.txt, GENV_1 in exports.map, and
// data/doc/libgenv.md.
#if defined(__x86_64__) && defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
static_assert(sizeof(genv::Configuration) == 64);
static_assert(sizeof(genv::Environment) == 240);
static_assert(sizeof(genv::EnvironmentEntry) == 144);
static_assert(sizeof(genv::Device) == 80);
static_assert(sizeof(genv::Attachment) == 104);
static_assert(sizeof(genv::DeviceUse) == 24);
static_assert(sizeof(genv::ComputeProcess) == 72);
static_assert(sizeof(genv::ServiceStatus) == 40);
static_assert(sizeof(genv::Notice) == 112);
static_assert(sizeof(genv::QueueEntry) == 56);
static_assert(sizeof(genv::Event) == 264);
static_assert(sizeof(genv::IsolationState) == 184);
static_assert(sizeof(genv::RefusedOpen) == 104);
static_assert(sizeof(genv::OverviewWithRefusals) == 96);
static_assert(sizeof(genv::Reading) == 56);
static_assert(sizeof(genv::ProcessUse) == 32);
static_assert(sizeof(genv::ProcessDescription) == 152);
static_assert(sizeof(genv::AttachedDevice) == 24);
static_assert(sizeof(genv::MachineDevice) == 328);
static_assert(sizeof(genv::MachineEnvironment) == 344);
static_assert(sizeof(genv::Machine) == 112);
static_assert(sizeof(genv::ActivateOptions) == 16);
static_assert(sizeof(genv::AttachOptions) == 16);
static_assert(sizeof(genv::EnforceOptions) == 16);
static_assert(sizeof(genv::EnforcementAction) == 200);
static_assert(sizeof(genv::Limit) == 24);
static_assert(sizeof(genv::ConfigurationChange) == 16);
static_assert(sizeof(genv::HistoryDetails) == 128);
static_assert(sizeof(genv::HistoryQuery) == 16);
static_assert(sizeof(genv::Waiting) == 16);
static_assert(sizeof(genv::Lock) == 4);
static_assert(sizeof(genv::Error) == 48);
static_assert(sizeof(genv::ServiceUnavailable) == 48);
static_assert(sizeof(genv::Client) == 8);
#endif
