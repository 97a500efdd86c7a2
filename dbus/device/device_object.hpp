// SPDX-License-Identifier: LGPL-2.1-or-later
// dev.genv.Device on the bus: a view of one device in the ledger, identified by its index. The
// Publisher creates and destroys it, but never from within one of its own handlers.
#pragma once

#include "dbus/adaptors.hpp"
#include "dbus/calls/bus_context.hpp"
#include "dbus/calls/handlers.hpp"
#include "dbus/calls/managed_objects.hpp"
#include "dbus/calls/unknown.hpp"
#include "dbus/properties.hpp"

#include <sdbus-c++/sdbus-c++.h>

#include <string>
#include <vector>

namespace genv::dbus {

class DeviceObject
    : public sdbus::AdaptorInterfaces<DeviceSensorAdaptor, sdbus::ManagedObject_adaptor,
                                      sdbus::Properties_adaptor> {
  public:
    /// All referenced objects must outlive this one.
    DeviceObject(sdbus::IConnection& connection, core::Ledger& ledger,
                 const core::RefusalWatch& refusals, const Calls& calls, core::DeviceIndex index);
    virtual ~DeviceObject();
    DeviceObject(const DeviceObject&) = delete;
    DeviceObject& operator=(const DeviceObject&) = delete;

    /// Writes the object with all its properties.
    void write(ManagedObjectsWriter& writer);

    /// Emit the signals that the object was added, that it is removed, or that these properties
    /// changed.
    void emitAdded();
    void emitRemoved();
    void emitChanged(const std::vector<std::string>& properties);

  private:
    friend DeviceProperties;
    friend ManagedObjectsWriter;

    void Detach(sdbus::Result<>&& result, std::string environment) override;

    uint32_t Index() override { return index_; }
    std::string UUID() override {
        return readProperty([this] { return self().facts.uuid; });
    }
    std::string Model() override {
        return readProperty([this] { return self().facts.model; });
    }
    std::string PCIAddress() override {
        return readProperty([this] { return self().pciAddress; });
    }
    uint64_t TotalMemory() override {
        return readProperty([this] { return orMaximum(self().facts.knownMemory()); });
    }
    uint64_t AvailableMemory() override {
        return readProperty([this] { return orMaximum(self().knownAvailableMemory()); });
    }
    bool Free() override {
        return readProperty([this] { return self().isFree(); });
    }
    uint64_t UnaccountedMemory() override {
        return readProperty([this] { return self().unaccounted.amount().count; });
    }
    std::vector<sdbus::Struct<std::string, uint64_t, uint64_t>> Attachments() override;
    std::string LockedBy() override;
    std::string Health() override {
        return readProperty([this] { return core::toString(self().health); });
    }
    std::string ReservedFor() override {
        return readProperty([this] { return std::string(self().reservedForSlurm ? "slurm" : ""); });
    }
    uint64_t UsedMemory() override {
        return readProperty([this] { return orMaximum(self().reading.usedMemory); });
    }
    uint64_t RefusedOpens() override {
        return readProperty([this] { return refusals_.countOf(self().facts.uuid); });
    }
    uint64_t SampledAt() override;

    [[nodiscard]] const core::DeviceReading& reading() const override { return self().reading; }
    [[nodiscard]] const core::TableDevice& self() const { return ledger_.device(index_); }

    core::Ledger& ledger_;
    const core::RefusalWatch& refusals_;
    const Calls& calls_;
    const core::DeviceIndex index_;
};

} // namespace genv::dbus
