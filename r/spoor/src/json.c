/* SPDX-License-Identifier: Apache-2.0 */
#include "spoor.h"

#include <R.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, FIRST_ELEMENTS = 16 };

struct reader {
    const char *at; /* terminated by a NUL */
    int depth;
};

static SEXP read_value(struct reader *reader);

static void NORET fail(const struct reader *reader)
{
    Rf_error("invalid JSON at '%.20s'", reader->at);
}

static char next_character(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
    return *reader->at;
}

static void expect(struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(reader->at, word, length) != 0)
        fail(reader);
    reader->at += length;
}

/* ---- strings ------------------------------------------------------------- */

static uint32_t read_hex(struct reader *reader)
{
    char digits[5] = { 0 }, *end;
    uint32_t number;

    strncpy(digits, reader->at, 4);
    number = (uint32_t)strtoul(digits, &end, 16);
    if (end != digits + 4)
        fail(reader);
    reader->at += 4;
    return number;
}

/* Reads the character of "\u", as UTF-8. Returns its length. */
static size_t read_unicode(struct reader *reader, char *ret)
{
    uint32_t code = read_hex(reader);

    if (code >= 0xd800 && code < 0xdc00 && strncmp(reader->at, "\\u", 2) == 0) {
        reader->at += 2;
        code = 0x10000 + ((code - 0xd800) << 10) + ((read_hex(reader) - 0xdc00) & 0x3ff);
    }
    if (code == 0)
        fail(reader); /* R strings cannot contain NUL */
    if (code < 0x80) {
        ret[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = more; i > 0; i--, code >>= 6)
        ret[i] = (char)(0x80 | (code & 0x3f));
    ret[0] = (char)(first[more] | code);
    return more + 1;
}

/* An escape sequence is never shorter than its character. */
static SEXP read_string(struct reader *reader)
{
    static const char escapes[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    const void *memory = vmaxget();
    size_t length = 0;
    SEXP string;
    char *text;

    expect(reader, "\"");
    for (const char *end = reader->at; *end != '"'; end++, length++) {
        if (*end == '\\' && end[1] != '\0')
            end++, length++;
        if (*end == '\0')
            fail(reader);
    }
    text = R_alloc(length + 1, 1);
    length = 0;
    while (*reader->at != '"') {
        const char *escape;

        if (*reader->at != '\\') {
            text[length++] = *reader->at++;
            continue;
        }
        reader->at += 2;
        escape = strchr(escapes, reader->at[-1]);
        if (reader->at[-1] == 'u')
            length += read_unicode(reader, text + length);
        else if (escape)
            text[length++] = characters[escape - escapes];
        else
            fail(reader);
    }
    reader->at++;
    string = Rf_mkCharLenCE(text, (int)length, CE_UTF8);
    vmaxset(memory);
    return string;
}

/* ---- arrays and objects --------------------------------------------------- */

/* Converts a list to a vector, if all elements are numbers or null, or all are strings. */
static SEXP simplify(SEXP list)
{
    R_xlen_t length = Rf_xlength(list), numbers = 0, strings = 0;
    SEXP vector;

    for (R_xlen_t i = 0; i < length; i++) {
        SEXP element = VECTOR_ELT(list, i);

        numbers += Rf_isReal(element) ? Rf_xlength(element) == 1 : Rf_isNull(element);
        strings += Rf_isString(element) && Rf_xlength(element) == 1;
    }
    if (length == 0 || (numbers < length && strings < length))
        return list;
    vector = PROTECT(Rf_allocVector(strings == length ? STRSXP : REALSXP, length));
    for (R_xlen_t i = 0; i < length; i++) {
        SEXP element = VECTOR_ELT(list, i);

        if (strings == length)
            SET_STRING_ELT(vector, i, STRING_ELT(element, 0));
        else
            REAL(vector)[i] = Rf_isNull(element) ? NA_REAL : REAL(element)[0];
    }
    UNPROTECT(1);
    return vector;
}

/* Reads the members after '{' or '['. */
static SEXP read_members(struct reader *reader, char end)
{
    PROTECT_INDEX list_index, names_index;
    R_xlen_t length = 0, capacity = FIRST_ELEMENTS;
    SEXP list = Rf_allocVector(VECSXP, capacity), names;

    PROTECT_WITH_INDEX(list, &list_index);
    PROTECT_WITH_INDEX(names = Rf_allocVector(STRSXP, capacity), &names_index);
    while (next_character(reader) != end) {
        if (length == capacity) {
            capacity *= 2;
            REPROTECT(list = Rf_xlengthgets(list, capacity), list_index);
            REPROTECT(names = Rf_xlengthgets(names, capacity), names_index);
        }
        if (end == '}') {
            SET_STRING_ELT(names, length, read_string(reader));
            next_character(reader);
            expect(reader, ":");
        }
        SET_VECTOR_ELT(list, length++, read_value(reader));
        if (next_character(reader) == ',')
            reader->at++;
        else if (*reader->at != end)
            fail(reader);
    }
    reader->at++;
    REPROTECT(list = Rf_xlengthgets(list, length), list_index);
    REPROTECT(names = Rf_xlengthgets(names, length), names_index);
    if (end == '}')
        Rf_setAttrib(list, R_NamesSymbol, names);
    else
        list = simplify(list);
    UNPROTECT(2);
    return list;
}

/* ---- values --------------------------------------------------------------- */

static SEXP read_word(struct reader *reader, const char *word, SEXP value)
{
    expect(reader, word);
    return value;
}

static SEXP read_number(struct reader *reader)
{
    char *end;
    double number = R_strtod(reader->at, &end);

    if (end == reader->at)
        fail(reader);
    reader->at = end;
    return Rf_ScalarReal(number);
}

static SEXP read_value(struct reader *reader)
{
    char first = next_character(reader);
    SEXP value;

    switch (first) {
    case '{':
    case '[':
        if (++reader->depth > DEPTH_MAX)
            fail(reader);
        reader->at++;
        value = read_members(reader, first == '{' ? '}' : ']');
        reader->depth--;
        return value;
    case '"':
        value = PROTECT(read_string(reader));
        value = Rf_ScalarString(value);
        UNPROTECT(1);
        return value;
    case 'n':
        return read_word(reader, "null", R_NilValue);
    case 't':
        return read_word(reader, "true", Rf_ScalarLogical(TRUE));
    case 'f':
        return read_word(reader, "false", Rf_ScalarLogical(FALSE));
    default:
        return read_number(reader);
    }
}

SEXP spoor_json(SEXP text)
{
    struct reader reader = { .at = CHAR(STRING_ELT(text, 0)) };
    SEXP value = PROTECT(read_value(&reader));

    if (next_character(&reader) != '\0')
        fail(&reader);
    UNPROTECT(1);
    return value;
}
