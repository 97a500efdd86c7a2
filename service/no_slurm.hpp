// SPDX-License-Identifier: LGPL-2.1-or-later
// Adapter: a machine on which genvd has no way to Slurm. Every request fails, and says so.
#pragma once

#include "core/ports/slurm.hpp"

namespace genv::service {

class NoSlurm : public core::Slurm {
  public:
    void listDevices(Devices devices) override { devices(none()); }
    void setEnd(core::SlurmJobId /*job*/, core::WallTime /*end*/, Done done) override {
        done(none());
    }
    void cancel(core::SlurmJobId /*job*/, Done done) override { done(none()); }
    void requeue(core::SlurmJobId /*job*/, Done done) override { done(none()); }

  private:
    static core::SlurmFailure none() {
        return {"genvd has no helper that asks Slurm on this machine"};
    }
};

} // namespace genv::service
