// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/genvctl/cluster/json_records.hpp"

#include <algorithm>

namespace genv::ctl::cluster {

namespace {

using nlohmann::json;

constexpr const char* errorList = "errors";

bool isAmong(const std::vector<std::string_view>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Builds the selected part of a document, in which each record lives until it has been used.
class RecordReader : public nlohmann::json_sax<json> {
  public:
    using Use = std::function<void(const std::string&, const json&)>;

    RecordReader(const RecordSelection& selection, const Use& use)
        : selection_(selection), use_(use) {}

    RecordsSummary summary;

    bool null() override { return place(nullptr); }
    bool boolean(bool value) override { return place(value); }
    bool number_integer(number_integer_t value) override { return place(value); }
    bool number_unsigned(number_unsigned_t value) override { return place(value); }
    bool number_float(number_float_t value, const string_t& /*text*/) override {
        return place(value);
    }
    bool string(string_t& value) override { return place(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return false; }
    bool start_object(std::size_t /*size*/) override { return open(json::object()); }
    bool start_array(std::size_t /*size*/) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& value) override {
        if (skipped_ == 0) {
            key_ = std::move(value);
            if (open_.size() == atRoot)
                list_ = key_;
        }
        return true;
    }

    bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                     const nlohmann::detail::exception& error) override {
        throw InvalidJson(error.what());
    }

  private:
    // How many containers are open around a value.
    static constexpr std::size_t atRoot = 1;
    static constexpr std::size_t inList = 2;
    static constexpr std::size_t inRecord = 3;

    [[nodiscard]] bool isErrors() const { return list_ == errorList; }

    [[nodiscard]] bool isWanted() const {
        if (open_.size() == atRoot)
            return isErrors() || isAmong(selection_.lists, key_);
        if (open_.size() == inRecord)
            return isErrors() || isAmong(selection_.fields, key_);
        return true;
    }

    json* put(json&& value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        json& parent = *open_.back();
        if (parent.is_array()) {
            parent.push_back(std::move(value));
            return &parent.back();
        }
        json& member = parent[key_];
        member = std::move(value);
        return &member;
    }

    template <typename Value>
    bool place(Value&& value) {
        if (open_.empty())
            throw InvalidJson("the document is no object");
        if (skipped_ == 0 && isWanted())
            put(json(std::forward<Value>(value)));
        return true;
    }

    bool open(json&& container) {
        if (open_.empty() && !container.is_object())
            throw InvalidJson("the document is no object");
        if (skipped_ > 0 || !isWanted()) {
            ++skipped_;
            return true;
        }
        if (open_.size() == atRoot && container.is_array() && !isErrors())
            summary.lists.push_back(key_);
        open_.push_back(put(std::move(container)));
        return true;
    }

    bool close() {
        if (skipped_ > 0) {
            --skipped_;
            return true;
        }
        open_.pop_back();
        if (open_.empty())
            summary.errors = root_.value(errorList, json());
        if (open_.size() == inList && !isErrors() && open_.back()->is_array()) {
            use_(list_, open_.back()->back());
            open_.back()->clear();
        }
        return true;
    }

    const RecordSelection& selection_;
    const Use& use_;
    json root_;
    std::vector<json*> open_;
    std::size_t skipped_ = 0; ///< containers that are open within one that is not wanted
    std::string key_;
    std::string list_;
};

} // namespace

RecordsSummary readRecords(std::string_view text, const RecordSelection& selection,
                           const std::function<void(const std::string&, const json&)>& use) {
    RecordReader reader(selection, use);
    json::sax_parse(text.begin(), text.end(), &reader);
    return std::move(reader.summary);
}

} // namespace genv::ctl::cluster
