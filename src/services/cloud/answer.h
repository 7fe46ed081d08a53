/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - what an answer of a metadata service says. Pure: text in, facts out. */
#ifndef SERVICES_CLOUD_ANSWER_H
#define SERVICES_CLOUD_ANSWER_H

#include "services/cloud/cloud.h"
#include "services/cloud/vendor.h"

/* Adds what an answer says to the facts. -EBADMSG: it is not an answer to this request, or not one of
 * this cloud; then the facts are as before. */
int cloud_answer_parse(const struct cloud_request *request, const char *text,
                       struct cloud_facts *facts);

/* Copies a value: the part after its last '/', without blanks around it. -EBADMSG: it is empty, does not
 * fit, or is not made of letters, digits and the punctuation of identifiers. */
int cloud_value_copy(const char *text, size_t length, char *buf, size_t size);

#endif
