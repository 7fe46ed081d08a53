/* SPDX-License-Identifier: Apache-2.0 */

#include "job/job.h"
#include "unit_test.h"

#define NOW_NS NS_PER_SECOND

/* A job with a TCP socket that no list of sockets has contained yet. */
static void prepare(struct job *job, const struct root *root)
{
    *job = (struct job){ .root = root, .network = JOB_NETWORK_CLOSED };
    budget_init(&job->budget, BUDGET_MILLIONTHS, NOW_NS);
    job->network.has_awaited = true;
    job->network.connections = 1;
}

TEST(a_socket_reading_refused_by_the_budget_is_made_later)
{
    const struct root root = ROOT_CLOSED;
    static struct job job;
    uint64_t due_ns;

    prepare(&job, &root);
    budget_charge(&job.budget, SPENT_NETWORK, 100 * NS_PER_MS);
    assert_false(job_look_at_network(&job, NOW_NS, false));
    due_ns = job_network_due_ns(&job);
    assert_true(due_ns >= NOW_NS + 10 * NS_PER_MS);
    budget_earn(&job.budget, due_ns, 0);
    assert_false(job_look_at_network(&job, due_ns - 1, false));
    assert_true(job_look_at_network(&job, due_ns, false));
}

TEST(an_idle_job_without_sockets_causes_no_wake_up)
{
    const struct root root = ROOT_CLOSED;
    static struct job job;

    prepare(&job, &root);
    job.network.has_awaited = false;
    job.activity.is_at_rest = true;
    assert_true(job_network_due_ns(&job) == UINT64_MAX);
}

TEST(remote_hosts_are_sorted_by_their_bytes)
{
    static struct job job;
    struct network_remotes remotes;

    for (size_t i = 0; i < 25; i++)
        job.network.peers[job.network.peer_count++] =
            (struct network_peer){ .connections = i, .received_bytes = (i * 7) % 25 };
    job_list_remotes(&job, &remotes);
    assert_int_equal(remotes.count, 10);
    for (size_t i = 0; i < remotes.count; i++)
        assert_int_equal(remotes.list[i].received_bytes, 24 - i);
}
