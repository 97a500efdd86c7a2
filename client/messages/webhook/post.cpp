// SPDX-License-Identifier: LGPL-2.1-or-later
#include "client/messages/webhook/post.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cstddef>
#include <memory>
#include <stdexcept>

namespace genv::messages {

namespace {

// What a receiver may answer. Its body is not read further than that.
constexpr std::size_t maxHeaders = std::size_t{64} << 10U;
constexpr std::size_t maxBody = std::size_t{64} << 10U;

struct EndTransfer {
    void operator()(CURL* transfer) const noexcept { curl_easy_cleanup(transfer); }
};
using Transfer = std::unique_ptr<CURL, EndTransfer>;

struct FreeList {
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

struct Received {
    std::size_t headers = 0; ///< bytes
    std::size_t body = 0;
};

std::size_t onHeader(char* /*data*/, std::size_t size, std::size_t count, void* received) {
    auto& bytes = static_cast<Received*>(received)->headers;
    bytes += size * count;
    return bytes <= maxHeaders ? size * count : 0;
}

std::size_t onBody(char* /*data*/, std::size_t size, std::size_t count, void* received) {
    auto& bytes = static_cast<Received*>(received)->body;
    bytes += size * count;
    return bytes <= maxBody ? size * count : 0;
}

template <typename Value>
void set(const Transfer& transfer, CURLoption option, Value value) {
    if (const CURLcode code = curl_easy_setopt(transfer.get(), option, value); code != CURLE_OK)
        throw std::runtime_error(fmt::format("libcurl: {}", curl_easy_strerror(code)));
}

List listOf(const std::vector<std::string>& headers) {
    List list;
    for (const std::string& header : headers) {
        curl_slist* const longer = curl_slist_append(list.get(), header.c_str());
        if (longer == nullptr)
            throw std::bad_alloc();
        static_cast<void>(list.release());
        list.reset(longer);
    }
    return list;
}

void prepare(const Transfer& transfer, const std::string& url, const WebhookRequest& request,
             const List& headers, std::chrono::milliseconds timeout) {
    set(transfer, CURLOPT_URL, url.c_str());
    set(transfer, CURLOPT_PROTOCOLS_STR, "http,https");
    set(transfer, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    set(transfer, CURLOPT_FOLLOWLOCATION, 0L);
    set(transfer, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    set(transfer, CURLOPT_NOSIGNAL, 1L);
    set(transfer, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    set(transfer, CURLOPT_USERAGENT, "genv/" GENV_VERSION);
    set(transfer, CURLOPT_HTTPHEADER, headers.get());
    set(transfer, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    set(transfer, CURLOPT_POSTFIELDS, request.body.c_str());
    set(transfer, CURLOPT_HEADERFUNCTION, &onHeader);
    set(transfer, CURLOPT_WRITEFUNCTION, &onBody);
}

// Once the status says so, the receiver has the message, however the rest of its answer ends.
std::optional<std::string> judge(CURLcode code, long status, const Received& received) {
    if (received.headers > maxHeaders)
        return "its answer is too large";
    if (status == 0)
        return fmt::format("it cannot be reached: {}", curl_easy_strerror(code));
    if (status >= 300 && status < 400)
        return fmt::format("it answered {}: redirects are not followed", status);
    if (status < 200 || status >= 300)
        return fmt::format("it answered {}", status);
    return std::nullopt;
}

} // namespace

std::optional<std::string> post(const std::string& url, const WebhookRequest& request,
                                std::chrono::milliseconds timeout) {
    const Transfer transfer(curl_easy_init());
    if (!transfer)
        throw std::runtime_error("libcurl cannot be used");
    std::vector<std::string> lines = request.headers;
    lines.emplace_back("Expect:"); // the body is small: it is sent without a question
    const List headers = listOf(lines);
    Received received;
    prepare(transfer, url, request, headers, timeout);
    set(transfer, CURLOPT_HEADERDATA, &received);
    set(transfer, CURLOPT_WRITEDATA, &received);
    const CURLcode code = curl_easy_perform(transfer.get());
    long status = 0;
    curl_easy_getinfo(transfer.get(), CURLINFO_RESPONSE_CODE, &status);
    return judge(code, status, received);
}

} // namespace genv::messages
