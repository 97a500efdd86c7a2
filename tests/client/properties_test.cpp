// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/libgenv/dictionary.hpp"
#include "client/libgenv/properties.hpp"
#include "tests/fuzz/plain_message.hpp"

#include <gtest/gtest.h>

namespace genv::client {
namespace {

using tests::messageOf;

const Dictionary everyType{
    {"flag", sdbus::Variant(true)},
    {"signed", sdbus::Variant(std::int32_t{-1})},
    {"unsigned", sdbus::Variant(std::uint32_t{7})},
    {"long", sdbus::Variant(~std::uint64_t{0})},
    {"text", sdbus::Variant(std::string("a text"))},
    {"numbers", sdbus::Variant(std::vector<std::uint32_t>{1, 2})},
    {"names", sdbus::Variant(std::vector<std::string>{"a", "b"})},
    {"none", sdbus::Variant(std::vector<std::string>{})},
    {"attachments", sdbus::Variant(BusAttachments{{"7", 400, 5}, {"8", 0, 6}})},
    {"attached", sdbus::Variant(BusAttached{{3, 77}})},
    {"uses", sdbus::Variant(BusUses{{0, 5, 50}})}};

void expectEveryType(const Properties& properties) {
    EXPECT_EQ(properties.size(), everyType.size());
    EXPECT_TRUE(property<bool>(properties, "flag"));
    EXPECT_EQ(property<std::int32_t>(properties, "signed"), -1);
    EXPECT_EQ(property<std::uint32_t>(properties, "unsigned"), 7U);
    EXPECT_EQ(property<std::uint64_t>(properties, "long"), ~std::uint64_t{0});
    EXPECT_EQ(property<std::string>(properties, "text"), "a text");
    EXPECT_EQ(property<std::vector<std::uint32_t>>(properties, "numbers"),
              (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(property<std::vector<std::string>>(properties, "names"),
              (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(property<std::vector<std::string>>(properties, "none").empty());
    EXPECT_EQ(property<BusAttachments>(properties, "attachments"),
              (BusAttachments{{"7", 400, 5}, {"8", 0, 6}}));
    EXPECT_EQ(property<BusAttached>(properties, "attached"), (BusAttached{{3, 77}}));
    EXPECT_EQ(property<BusUses>(properties, "uses"), (BusUses{{0, 5, 50}}));
}

TEST(Properties, AreReadInEveryType) {
    expectEveryType(readProperties(messageOf(everyType)));
    const auto rows = readRows(messageOf(std::vector<Dictionary>{everyType, {}, everyType}));
    ASSERT_EQ(rows.size(), 3U);
    expectEveryType(rows[0]);
    EXPECT_EQ(rows[1].size(), 0U);
    expectEveryType(rows[2]);
}

TEST(Properties, AreReadOfEveryObjectAndInterface) {
    const std::map<sdbus::ObjectPath, std::map<std::string, Dictionary>> objects{
        {sdbus::ObjectPath("/a"), {{"x.One", everyType}, {"x.Two", {}}}},
        {sdbus::ObjectPath("/b"), {}}};
    const ManagedObjects read = readManagedObjects(messageOf(objects));
    ASSERT_EQ(read.size(), 2U);
    ASSERT_EQ(read.at("/a").size(), 2U);
    expectEveryType(read.at("/a").find("x.One")->second);
    EXPECT_EQ(read.at("/a").find("x.Two")->second.size(), 0U);
    EXPECT_TRUE(read.at("/b").empty());
}

TEST(Properties, OfTypesThatNobodyReadsAreLeftOut) {
    Dictionary more = everyType;
    more.emplace("aa", sdbus::Variant(1.5));
    more.emplace("zz", sdbus::Variant(Dictionary{{"key", sdbus::Variant(true)}}));
    expectEveryType(readProperties(messageOf(more)));
}

TEST(Properties, AreNotReadFromAnotherReply) {
    EXPECT_THROW(readProperties(messageOf(std::string("text"))), sdbus::Error);
    EXPECT_THROW(readProperties(messageOf(std::vector<std::string>{"text"})), sdbus::Error);
    EXPECT_THROW(readRows(messageOf(everyType)), sdbus::Error);
    EXPECT_THROW(readManagedObjects(messageOf(everyType)), sdbus::Error);
    sdbus::PlainMessage empty = sdbus::createPlainMessage();
    empty.seal();
    EXPECT_THROW(readProperties(empty), sdbus::Error);
}

TEST(Properties, AreRefusedIfTheyAreMissingOrOfAnotherType) {
    const Properties properties = readProperties(messageOf(everyType));
    EXPECT_THROW(property<std::string>(properties, "missing"), sdbus::Error);
    EXPECT_THROW(property<std::string>(properties, "unsigned"), sdbus::Error);
    EXPECT_THROW(detail<std::string>(properties, "unsigned"), sdbus::Error);
    EXPECT_EQ(detail<std::string>(properties, "missing"), std::nullopt);
}

} // namespace
} // namespace genv::client
