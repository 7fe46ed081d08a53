/* SPDX-License-Identifier: Apache-2.0 */
#include "services/cloud/metadata.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/error.h"
#include "services/cloud/answer.h"
#include "services/http.h"

#define TOKEN_PATH "/latest/api/token"

enum { ANSWER_MAX = 256 << 10, TOKEN_MAX = 1024, NOT_FOUND = 404 };

struct conversation {
    const struct cloud_vendor *vendor;
    const char *url;
    uint64_t until_ns;
    struct http *http;
    struct http_response response;
    struct buffer token; /* the header that carries it */
};

static int refuse(const struct conversation *talk, const char *path, struct spoor_error *err)
{
    return error_set(err, EBADMSG,
                     "the metadata service of %s gave an unexpected answer to '%s'",
                     talk->vendor->name, path);
}

/* Sends one request. 0: there is an answer, of any status. */
static int send_request(struct conversation *talk, const char *method, const char *path,
                        const char *header, struct spoor_error *err)
{
    const char *headers[] = { header, talk->token.text, NULL }, *base = talk->url;
    uint64_t now_ns = clock_now().monotonic_ns;
    CLEANUP(buffer_done) struct buffer url = { 0 };
    struct http_request request = { .method = method,
                                    .headers = header ? headers : headers + 1,
                                    .is_local = true,
                                    .wanted_header = talk->vendor->answer_header };
    int r;

    buffer_format(&url, "%s%s", base, path);
    if (buffer_error(&url) < 0 || buffer_error(&talk->token) < 0)
        return error_set(err, ENOMEM, "out of memory");
    request.url = url.text;
    request.timeout_ms = talk->until_ns > now_ns ? (talk->until_ns - now_ns) / NS_PER_MS : 0;
    r = request.timeout_ms == 0 ? -ETIMEDOUT
                                : http_send(talk->http, &request, &talk->response, err);
    if (r == -ETIMEDOUT)
        return error_set(err, ETIMEDOUT, "the metadata service of %s did not answer in time",
                         talk->vendor->name);
    return r < 0 ? error_prefix(err, r, "the metadata service of %s", talk->vendor->name) : 0;
}

static bool is_token(const struct buffer *text)
{
    if (text->length == 0 || text->length > TOKEN_MAX)
        return false;
    for (size_t i = 0; i < text->length; i++) {
        if (!isascii(text->text[i]) || !isgraph((unsigned char)text->text[i]))
            return false;
    }
    return true;
}

/* A service that gives no tokens may be of a version that needs none. */
static int ask_token(struct conversation *talk, struct spoor_error *err)
{
    const char *name = talk->vendor->token_header;
    int r = send_request(talk, "PUT", TOKEN_PATH, talk->vendor->token_request_header, err);

    if (r < 0 || !http_is_success(talk->response.status))
        return r;
    if (!is_token(&talk->response.body))
        return refuse(talk, TOKEN_PATH, err);
    buffer_format(&talk->token, "%s: %s", name, talk->response.body.text);
    return 0;
}

static int ask(struct conversation *talk, const struct cloud_request *request,
               struct cloud_facts *facts, struct spoor_error *err)
{
    const struct cloud_vendor *vendor = talk->vendor;
    const struct http_response *response = &talk->response;
    int r = send_request(talk, NULL, request->path, vendor->header, err);

    if (r < 0)
        return r;
    if (!http_is_success(response->status))
        return error_set(err, response->status == NOT_FOUND ? ENOENT : EPROTO,
                         "the metadata service of %s answered '%s' with status %d",
                         vendor->name, request->path, response->status);
    if (response->body.length > ANSWER_MAX ||
        strlen(response->body.text) != response->body.length ||
        (vendor->answer_header && strcmp(response->header, vendor->answer_value) != 0) ||
        cloud_answer_parse(request, response->body.text, facts) < 0)
        return refuse(talk, request->path, err);
    return 0;
}

int metadata_ask(const struct cloud_vendor *vendor, const char *url, uint64_t timeout_ms,
                 struct cloud_facts *facts, struct spoor_error *err)
{
    struct conversation talk = { .vendor = vendor, .url = url };
    int r = http_open(&talk.http, err);

    if (r < 0)
        return r;
    /* Counts from here: loading the library is no waiting. */
    talk.until_ns = clock_now().monotonic_ns + timeout_ms * NS_PER_MS;
    if (vendor->token_header)
        r = ask_token(&talk, err);
    for (size_t i = 0; r == 0 && i < CLOUD_REQUESTS_MAX && vendor->requests[i].path; i++) {
        const struct cloud_request *request = &vendor->requests[i];

        r = ask(&talk, request, facts, err);
        if (r == -ENOENT && request->is_optional)
            r = 0;
        if (r == 0)
            memcpy(facts->vendor, vendor->name, strlen(vendor->name) + 1);
    }
    buffer_done(&talk.token);
    http_response_done(&talk.response);
    http_close(talk.http);
    return r;
}
