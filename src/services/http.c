/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - sends one request at a time with libcurl, which is loaded when it is first
 * needed. */
#include "services/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/loading.h"
#include "text/number.h"

enum { REDIRECTS_MAX = 3, TIMEOUT_MAX_SECONDS = 60 };

/* The header wraps curl_easy_setopt() and curl_easy_getinfo() in macros of the same names. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

struct curl {
    void *library;
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_reset) *easy_reset;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_easy_perform) *easy_perform;
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_slist_append) *slist_append;
    __typeof__(curl_slist_free_all) *slist_free_all;
};

struct http {
    struct curl curl;
    CURL *easy;
    char message[CURL_ERROR_SIZE];
};

/* Debian builds libcurl with three TLS libraries; other systems have only the first name. */
static const char *const library_names[] = { "libcurl.so.4", "libcurl-gnutls.so.4",
                                             "libcurl-nss.so.4" };

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    { "curl_global_init", offsetof(struct curl, global_init) },
    { "curl_easy_init", offsetof(struct curl, easy_init) },
    { "curl_easy_reset", offsetof(struct curl, easy_reset) },
    { "curl_easy_cleanup", offsetof(struct curl, easy_cleanup) },
    { "curl_easy_setopt", offsetof(struct curl, easy_setopt) },
    { "curl_easy_getinfo", offsetof(struct curl, easy_getinfo) },
    { "curl_easy_perform", offsetof(struct curl, easy_perform) },
    { "curl_easy_strerror", offsetof(struct curl, easy_strerror) },
    { "curl_slist_append", offsetof(struct curl, slist_append) },
    { "curl_slist_free_all", offsetof(struct curl, slist_free_all) },
};

static const struct {
    CURLcode code;
    int error;
} errors[] = {
    { CURLE_OPERATION_TIMEDOUT, ETIMEDOUT },
    { CURLE_COULDNT_CONNECT, ECONNREFUSED },
    { CURLE_COULDNT_RESOLVE_HOST, ECONNREFUSED },
    { CURLE_COULDNT_RESOLVE_PROXY, ECONNREFUSED },
    { CURLE_OUT_OF_MEMORY, ENOMEM },
    { CURLE_URL_MALFORMAT, EINVAL },
    { CURLE_UNSUPPORTED_PROTOCOL, EINVAL },
};

static int load(struct http *http, struct spoor_error *err)
{
    struct curl *curl = &http->curl;

    for (size_t i = 0; i < ARRAY_SIZE(library_names) && !curl->library; i++)
        curl->library = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    if (!curl->library)
        return error_set(err, ENOSYS,
                         "libcurl.so.4" LOADING_FAILED(
                             " is not installed") ", so nothing can be "
                                                  "fetched or sent over the network");
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
        void *address = dlsym(curl->library, symbols[i].name);

        if (!address)
            return error_set(err, ENOSYS, "libcurl has no %s()", symbols[i].name);
        memcpy((char *)curl + symbols[i].offset, &address, sizeof(address));
    }
    if (curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_set(err, ENOSYS, "libcurl cannot be initialized");
    http->easy = curl->easy_init();
    return http->easy ? 0 : error_set(err, ENOMEM, "out of memory");
}

void http_response_done(struct http_response *response)
{
    buffer_done(&response->body);
}

struct http *http_close(struct http *http)
{
    if (!http)
        return NULL;
    if (http->easy)
        http->curl.easy_cleanup(http->easy);
    /* libcurl stays loaded: its TLS library may have registered exit handlers. */
    free(http);
    return NULL;
}

int http_open(struct http **ret, struct spoor_error *err)
{
    struct http *http = calloc(1, sizeof(*http));
    int r;

    if (!http)
        return error_set(err, ENOMEM, "out of memory");
    r = load(http, err);
    if (r < 0) {
        http_close(http);
        return r;
    }
    *ret = http;
    return 0;
}

/* Returning less than the length ends the transfer with CURLE_WRITE_ERROR. */
static size_t take_body(char *data, size_t size, size_t count, void *user)
{
    struct buffer *body = user;
    size_t length = size * count;

    if (length > HTTP_BODY_MAX - body->length) {
        body->error = -EFBIG;
        return 0;
    }
    buffer_add(body, data, length);
    return buffer_error(body) < 0 ? 0 : length;
}

struct wanted_header {
    const char *name;
    char *value; /* buffer of sizeof(http_response.header) bytes */
};

static size_t take_header(char *line, size_t size, size_t count, void *user)
{
    struct wanted_header *wanted = user;
    size_t length = size * count, name_length = strlen(wanted->name);
    const size_t room = sizeof(((struct http_response *)0)->header);
    size_t start = name_length + 1, end = length;

    if (length <= name_length || line[name_length] != ':' ||
        strncasecmp(line, wanted->name, name_length) != 0)
        return length;
    while (start < end && (line[start] == ' ' || line[start] == '\t'))
        start++;
    while (end > start && strchr(" \t\r\n", line[end - 1]))
        end--;
    if (end - start < room) {
        memcpy(wanted->value, line + start, end - start);
        wanted->value[end - start] = '\0';
    }
    return length;
}

/* Adds a header to a list. Returns 0 or -ENOMEM. */
static int add_header(const struct curl *curl, struct curl_slist **list, const char *header)
{
    struct curl_slist *longer = curl->slist_append(*list, header);

    if (!longer)
        return -ENOMEM;
    *list = longer;
    return 0;
}

/* S3 requires a hash of the body, which older versions of libcurl do not send.
 * UNSIGNED-PAYLOAD replaces it: TLS already protects the body. */
static int add_signed_headers(const struct curl *curl, struct curl_slist **list,
                              const struct http_signature *signature)
{
    CLEANUP(buffer_done) struct buffer header = { 0 };
    const char *token = signature->session_token;
    int r = add_header(curl, list, "x-amz-content-sha256: UNSIGNED-PAYLOAD");

    if (r < 0 || !token)
        return r;
    buffer_format(&header, "x-amz-security-token: %s", token);
    return buffer_error(&header) < 0 ? -ENOMEM : add_header(curl, list, header.text);
}

/* Converts the headers of a request for libcurl. The caller frees *list, even after a
 * failure. */
static int list_headers(const struct curl *curl, const struct http_request *request,
                        struct curl_slist **list)
{
    int r = 0;

    for (size_t i = 0; r == 0 && request->headers && request->headers[i]; i++)
        r = add_header(curl, list, request->headers[i]);
    return r == 0 && request->signature ? add_signed_headers(curl, list, request->signature)
                                        : r;
}

static void describe(struct http *http, const struct http_request *request,
                     struct curl_slist *headers)
{
    __typeof__(curl_easy_setopt) *set = http->curl.easy_setopt;
    CURL *easy = http->easy;

    set(easy, CURLOPT_URL, request->url);
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    /* Redirects must not change from HTTPS to HTTP. */
    set(easy, CURLOPT_REDIR_PROTOCOLS_STR,
        strncasecmp(request->url, "https:", 6) == 0 ? "https" : "http,https");
    set(easy, CURLOPT_HTTPHEADER, headers);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    set(easy, CURLOPT_USERAGENT, "spoor");
    /* Before a large body libcurl sends "Expect: 100-continue" and waits a second: too long
     * if the server does not support it. (The header "Expect:" would disable it, but libcurl
     * would sign that header without sending it.) */
    set(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    if (request->is_local)
        set(easy, CURLOPT_PROXY, "");
    if (!request->is_local && !request->signature && !request->has_secrets) {
        set(easy, CURLOPT_FOLLOWLOCATION, 1L);
        set(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
        /* Redirect a POST with its body: by default, libcurl changes it to a GET, as browsers
         * do. */
        set(easy, CURLOPT_POSTREDIR, (long)(CURL_REDIR_POST_301 | CURL_REDIR_POST_302));
    }
    if (request->body) {
        set(easy, CURLOPT_POSTFIELDS, request->body);
        set(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
    }
    if (request->method && strcmp(request->method, "HEAD") == 0)
        set(easy, CURLOPT_NOBODY, 1L);
    else if (request->method)
        set(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static int sign(struct http *http, const struct http_signature *signature)
{
    CLEANUP(buffer_done) struct buffer scope = { 0 };
    __typeof__(curl_easy_setopt) *set = http->curl.easy_setopt;
    const char *region = signature->region;

    buffer_format(&scope, "aws:amz:%s:s3", region);
    if (buffer_error(&scope) < 0)
        return -ENOMEM;
    set(http->easy, CURLOPT_AWS_SIGV4, scope.text); /* libcurl copies texts */
    set(http->easy, CURLOPT_USERNAME, signature->access_key);
    set(http->easy, CURLOPT_PASSWORD, signature->secret_key);
    return 0;
}

static int describe_failure(const struct http *http, const struct http_request *request,
                            CURLcode code, const struct http_response *response,
                            struct spoor_error *err)
{
    const char *message = *http->message ? http->message : http->curl.easy_strerror(code);

    if (response->body.error == -EFBIG)
        return error_set(err, EFBIG, "%s: the answer is longer than %d MiB", request->url,
                         HTTP_BODY_MAX >> 20);
    if (response->body.error < 0)
        return error_set(err, ENOMEM, "out of memory");
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (errors[i].code == code)
            return error_set(err, errors[i].error, "%s: %s", request->url, message);
    return error_set(err, EIO, "%s: %s", request->url, message);
}

/* Rejects line breaks, which would begin another header: the values come from a server. */
static bool is_safe(const struct http_signature *signature)
{
    const char *const texts[] = { signature->access_key, signature->session_token,
                                  signature->region };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        for (const char *c = texts[i]; c && *c; c++)
            if (*c <= ' ' || *c >= 127)
                return false;
    return true;
}

int http_send(struct http *http, const struct http_request *request, struct http_response *ret,
              struct spoor_error *err)
{
    __typeof__(curl_easy_setopt) *set = http->curl.easy_setopt;
    struct wanted_header wanted = { request->wanted_header, ret->header };
    struct curl_slist *headers = NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    long status = 0;

    if (request->signature && !is_safe(request->signature))
        return error_set(err, EINVAL,
                         "the credentials for %s hold characters that are not allowed",
                         request->url);
    buffer_done(&ret->body);
    ret->status = 0;
    ret->header[0] = http->message[0] = '\0';
    buffer_add(&ret->body, "", 0);
    http->curl.easy_reset(http->easy); /* keeps connections open */
    /* Reserve memory for the response first: a retry would send the request twice. */
    if (buffer_error(&ret->body) == 0 && list_headers(&http->curl, request, &headers) == 0 &&
        (!request->signature || sign(http, request->signature) == 0)) {
        describe(http, request, headers);
        set(http->easy, CURLOPT_ERRORBUFFER, http->message);
        set(http->easy, CURLOPT_WRITEFUNCTION, take_body);
        set(http->easy, CURLOPT_WRITEDATA, &ret->body);
        if (wanted.name) {
            set(http->easy, CURLOPT_HEADERFUNCTION, take_header);
            set(http->easy, CURLOPT_HEADERDATA, &wanted);
        }
        code = http->curl.easy_perform(http->easy);
    }
    http->curl.slist_free_all(headers);
    if (code != CURLE_OK)
        return describe_failure(http, request, code, ret, err);
    http->curl.easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
    ret->status = (int)status;
    return 0;
}

int http_timeout_read(environment_get *get, const char *variable, double least,
                      uint64_t *ret_ms, struct spoor_error *err)
{
    const char *text = get(variable);
    double seconds;

    if (!text || !*text)
        return 0;
    if (decimal_parse(text, &seconds) < 0 ||
        !(seconds >= least && seconds <= TIMEOUT_MAX_SECONDS))
        return error_set(err, EINVAL, "%s: expected %g to %d seconds", variable, least,
                         TIMEOUT_MAX_SECONDS);
    *ret_ms = (uint64_t)(seconds * 1000);
    return 0;
}
