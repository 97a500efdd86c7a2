# SPDX-License-Identifier: LGPL-2.1-or-later
"""The package uses the same names on the bus as the service: methods, signals, properties and errors."""

import os
import re
import xml.etree.ElementTree as ElementTree

import pytest

import genv
from genv import contract, errors

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..")


def interface(name):
    tree = ElementTree.parse(os.path.join(ROOT, "dbus", f"{name}.xml"))
    (found,) = [each for each in tree.iter("interface") if each.get("name") == name]
    return found


def signature(member, direction):
    return "".join(arg.get("type") for arg in member.iter("arg") if arg.get("direction", direction) == direction)


def source(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


METHODS = [value for value in vars(contract).values() if isinstance(value, contract.Method)]
NAMES = dict(re.findall(r'constexpr const char\* (\w+) =\s+"([^"]+)"', source("dbus", "contract", "names.hpp") +
                        source("dbus", "contract", "jobs_names.hpp")))


class TestContract:
    def test_there_are_methods(self):
        assert len([method for method in METHODS if method.interface.startswith("dev.genv.")]) >= 9

    @pytest.mark.parametrize("method", [m for m in METHODS if m.interface.startswith("dev.genv.")],
                             ids=lambda method: method.member)
    def test_methods_have_the_signatures_of_the_xml(self, method):
        (member,) = [each for each in interface(method.interface).iter("method") if each.get("name") == method.member]
        assert (method.takes, method.gives) == (signature(member, "in"), signature(member, "out"))

    def test_every_signal_of_the_manager_is_told_but_the_one_for_its_caller_alone(self):
        signals = {each.get("name"): signature(each, "out") for each in interface(contract.MANAGER).iter("signal")}
        del signals["Enforced"]
        assert contract.SIGNALS == signals

    def test_properties_have_the_types_of_the_xml(self):
        properties = {each.get("name"): each.get("type") for each in interface(contract.ENVIRONMENT).iter("property")}
        assert contract.ENVIRONMENT_PROPERTIES.items() <= properties.items()
        manager = {each.get("name"): each.get("type") for each in interface(contract.MANAGER).iter("property")}
        assert manager[contract.ISOLATION] == "s"

    def test_names_and_paths_are_those_of_the_service(self):
        assert contract.BUS_NAME == NAMES["busName"]
        assert contract.MANAGER_PATH == NAMES["managerPath"]
        assert (contract.JOBS_BUS_NAME, contract.JOBS_PATH) == (NAMES["jobsBusName"], NAMES["jobsPath"])
        assert contract.ENVIRONMENT_PREFIX == NAMES["environmentPathPrefix"]

    def test_every_error_of_the_service_is_an_exception_of_its_name(self):
        known = {name for name in NAMES.values() if ".Error." in name}
        assert set(errors.BUS_ERRORS) == known
        for name, kind in errors.BUS_ERRORS.items():
            expected = "StorageFailed" if name.endswith(".IOError") else name.rpartition(".")[2]
            assert (kind.__name__, kind.name) == (expected, name)
            assert getattr(genv, expected) is kind
            error = errors.error_for(name, "a sentence")
            assert type(error) is kind and isinstance(error, RuntimeError) and str(error) == "a sentence"

    def test_who_is_not_there_is_unavailable_as_in_the_library(self):
        library = source("client", "libgenv", "connection.cpp")
        tables = library[library.index("unavailableNames{"):library.index("bool meansUnavailable")]
        for name in re.findall(r'"(org\.[^"]+)"', tables):
            error = errors.error_for(name + ("ExecFailed" if name.endswith(".") else ""), "x")
            assert isinstance(error, genv.ServiceUnavailable), name
        assert type(errors.error_for("org.example.Other", "x")) is genv.Error

    @pytest.mark.parametrize("text, label", [("58", "_358"), ("a.b:c@d-e_f", "a_2eb_3ac_40d_2de_5ff"), ("", "_"),
                                             ("ü", "_c3_bc"), ("a1", "a1")])
    def test_ids_are_escaped_as_the_bus_does(self, text, label):
        assert contract.path_label(text) == label
