# SPDX-License-Identifier: LGPL-2.1-or-later
"""On a Slurm cluster, whose jobs only genvctl knows."""

import pytest

import genv
from genv import cluster


@pytest.fixture(autouse=True)
def _outside_jobs(monkeypatch, tmp_path):
    for name in ("GENV_CLUSTER", "SLURM_JOB_ID", "SLURMD_NODENAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GENV_CONF", str(tmp_path / "genv.conf"))


def test_jobs_of_a_cluster_are_refused_with_the_command_to_use(monkeypatch):
    monkeypatch.setenv("GENV_CLUSTER", "slurm")
    with pytest.raises(genv.NotSupported, match='use "genvctl submit", or GENV_CLUSTER=none'):
        genv.submit(["true"])
    with pytest.raises(genv.NotSupported, match='use "genvctl --json jobs"'):
        genv.jobs()
    with pytest.raises(genv.NotSupported):
        genv.Job(17).describe()


def test_the_variable_comes_before_the_file(monkeypatch, tmp_path):
    assert not cluster.is_chosen()
    (tmp_path / "genv.conf").write_text("# Cluster=none\n[Client]\n Cluster = slurm \n", encoding="utf-8")
    assert cluster.is_chosen()
    monkeypatch.setenv("GENV_CLUSTER", "none")
    assert not cluster.is_chosen()


def test_in_a_job_on_its_node_the_node_is_meant(monkeypatch):
    monkeypatch.setenv("GENV_CLUSTER", "slurm")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    assert cluster.is_chosen()
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    assert not cluster.is_chosen()
