/* SPDX-License-Identifier: Apache-2.0 */
#include "services/cloud/answer.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/parse.h"

enum { VALUE_SIZE = 256 };

static bool is_identifier(const char *text)
{
    for (; *text; text++) {
        if (!isascii(*text) || (!isalnum((unsigned char)*text) && !strchr("-_.:+@/", *text)))
            return false;
    }
    return true;
}

int cloud_value_copy(const char *text, size_t length, char *buf, size_t size)
{
    char value[VALUE_SIZE];
    const char *part;

    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    if (length >= sizeof(value))
        return -EBADMSG;
    memcpy(value, text, length);
    value[length] = '\0';
    part = strrchr(value, '/') ? strrchr(value, '/') + 1 : value;
    if (strlen(value) != length || !is_identifier(value) || !*part || strlen(part) >= size)
        return -EBADMSG;
    memcpy(buf, part, strlen(part) + 1);
    return 0;
}

/* ---- where a value stands ------------------------------------------------- */

/* The value at a dotted path, in which a number is the index of a list; NULL: it is not there. */
static const json_t *find_json(const json_t *value, const char *path)
{
    while (value && *path) {
        size_t length = strcspn(path, ".");
        char key[64];
        uint64_t index;

        if (length >= sizeof(key))
            return NULL;
        memcpy(key, path, length);
        key[length] = '\0';
        if (json_is_array(value) && parse_whole_u64(key, &index) == 0)
            value = json_array_get(value, (size_t)index);
        else
            value = json_object_get(value, key); /* NULL if it is not an object */
        path += length + (path[length] == '.');
    }
    return value;
}

static int copy_json(const json_t *document, const char *path, char *buf, size_t size)
{
    const json_t *value = find_json(document, path);

    return json_is_string(value) ? cloud_value_copy(json_string_value(value),
                                                    json_string_length(value), buf, size)
                                 : -EBADMSG;
}

static int copy_line(const char *text, const char *key, char *buf, size_t size)
{
    size_t length = strlen(key);

    for (; *text; text = parse_next_line(text)) {
        if (strncmp(text, key, length) == 0 && text[length] == ':')
            return cloud_value_copy(text + length + 1, strcspn(text + length + 1, "\n"), buf,
                                    size);
    }
    return -EBADMSG;
}

static int copy_field(const struct cloud_request *request, const struct cloud_field *field,
                      const char *text, const json_t *document, char value[VALUE_SIZE])
{
    switch (request->syntax) {
    case CLOUD_JSON:
        return copy_json(document, field->key, value, VALUE_SIZE);
    case CLOUD_LINES:
        return copy_line(text, field->key, value, VALUE_SIZE);
    case CLOUD_TEXT:
        break;
    }
    return cloud_value_copy(text, strlen(text), value, VALUE_SIZE);
}

/* ---- facts ---------------------------------------------------------------- */

/* -EBADMSG: this is not the answer of the right service. */
static int take_value(const struct cloud_field *field, char *value, struct cloud_facts *facts)
{
    char *dash = field->drops_suffix ? strrchr(value, '-') : NULL;

    if (field->expected)
        return strcmp(value, field->expected) == 0 ? 0 : -EBADMSG;
    if (field->unknown && strcmp(value, field->unknown) == 0)
        return 0;
    if (dash)
        *dash = '\0';
    if (strlen(value) >= field->size)
        return -EBADMSG;
    memcpy((char *)facts + field->offset, value, strlen(value) + 1);
    return 0;
}

static bool is_field(const struct cloud_field *field)
{
    return field->size > 0 || field->expected;
}

int cloud_answer_parse(const struct cloud_request *request, const char *text,
                       struct cloud_facts *facts)
{
    struct cloud_facts found = *facts;
    json_t *document = NULL;
    int r = 0;

    if (request->syntax == CLOUD_JSON) {
        document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        if (!document)
            return -EBADMSG;
    }
    for (size_t i = 0; r == 0 && i < CLOUD_FIELDS_MAX && is_field(&request->fields[i]); i++) {
        const struct cloud_field *field = &request->fields[i];
        char value[VALUE_SIZE];

        r = copy_field(request, field, text, document, value);
        if (r == 0)
            r = take_value(field, value, &found);
        if (r < 0 && i > 0 && !field->expected)
            r = 0; /* the service does not say */
    }
    json_decref(document);
    if (r == 0)
        *facts = found;
    return r;
}
