/* SPDX-License-Identifier: Apache-2.0 */
/* json_gpu.h - GPUs in the JSON report: the keys beside the measures of the figure table. */
#ifndef OUTPUT_JSON_GPU_H
#define OUTPUT_JSON_GPU_H

#include "job/gpu/gpu_view.h"
#include "text/json_writer.h"

/* "count" and "selected" of the section gpu, and "devices" of its end. */
void json_gpu_begin(struct json_writer *json, const struct gpu_view *view);
void json_gpu_end(struct json_writer *json, const struct gpu_view *view);

/* "index" and "part", which is null for a whole GPU. */
void json_gpu_add_place(struct json_writer *json, struct gpu_place place);

/* What GPUs the host has, as an array. */
void json_gpu_add_list(struct json_writer *json, const char *key, const struct gpu_view *view);

/* Names of those that are the job's, as an array. */
void json_gpu_add_selected(struct json_writer *json, const char *key,
                           const struct gpu_view *view);

#endif
