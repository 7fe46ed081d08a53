/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - resource-tracker agent-request: one HTTP request for the Python package, which then needs no
 * client and no signatures itself. Standard input has a JSON object; only the URL is required:
 *
 *     {"url": "https://...", "method": "PUT", "timeout": 30, "headers": ["Accept: text/plain"],
 *      "body": "text", "body_file": "/path", "wanted_header": "x-amz-bucket-region",
 *      "signature": {"access_key": "", "secret_key": "", "session_token": null, "region": ""}}
 *
 * The answer is one too; bytes of the body that are not UTF-8 are escaped in it:
 *
 *     {"status": 200, "header": null, "body": ""}
 *     {"error": "https://...: Connection refused"}
 *
 * The signature is that of S3. With "s3_uri": "s3://BUCKET/KEY" instead of the URL, the file is uploaded to
 * S3 (see services/upload/s3.h); then the region may be missing, and any status but success is an error.
 * Exit code: 0 if there is a status.
 */
#ifndef COMPAT_RESOURCE_TRACKER_REQUEST_H
#define COMPAT_RESOURCE_TRACKER_REQUEST_H

#include "front/program.h"

int tracker_request_main(const struct command *command, int argc, char **argv);

#endif
