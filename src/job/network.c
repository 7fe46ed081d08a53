/* SPDX-License-Identifier: Apache-2.0 */
#include "job/network.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/reserve.h"
#include "job/job.h"
#include "source/host/devices.h"
#include "source/proc/pid_files.h"

/* Special positions, of sockets that are not known to belong to the job. A candidate was in a
 * list of sockets, but not among the job's open files, which were listed afterwards. If a
 * candidate still exists after both, it is foreign. */
#define FOREIGN UINT32_MAX
#define CANDIDATE (UINT32_MAX - 1)
/* A socket of the tracker that was created to be destroyed: see send_markers(). */
#define MARKER (UINT32_MAX - 2)

enum {
    OWNERS_MAX = 1 << 17,
    CHECKED_MAX = 64,     /* more candidates than this are not looked up */
    FINAL_WAIT_MS = 1000, /* the longest wait for reports at the end */
    FINAL_STEP_MS = 2,
};

/* These gaps are short enough to see a connection of 20 ms. While the job has no TCP socket,
 * looks are made together with the sentinel, and less and less often until the job starts a
 * process. */
#define LOOK_GAP_NS (10 * NS_PER_MS)
#define EMPTY_GAP_NS (20 * NS_PER_MS)
#define EMPTY_GAP_MOST_NS (160 * NS_PER_MS)
/* Time of the first look: a shorter job has barely been loaded. */
#define FIRST_LOOK_NS (5 * NS_PER_MS)
/* A look that costs more is not made on credit. */
#define CREDIT_MOST_NS (200 * NS_PER_US)
/* Looks take at most 1/LOOK_SHARE of the time. The tokens must suffice for LOOK_RESERVE looks:
 * the memory of a job with many processes needs tokens first. */
enum { LOOK_SHARE = 32, LOOK_RESERVE = 4 };
/* A socket that is not connected yet does not appear in the kernel's list, so the list is read
 * again, at growing intervals. If a list can only identify foreign sockets, it narrows the bounds
 * but does not change the value: it is read less often. */
#define LIST_GAP_NS (5 * NS_PER_MS)
#define LIST_GAP_MOST_NS NS_PER_SECOND
#define LIST_GAP_UNSETTLED_NS (60 * NS_PER_SECOND)
/* Expected costs, until they are measured. */
#define PROCESS_COST_NS (15 * NS_PER_US)
#define LIST_COST_NS (500 * NS_PER_US)
#define FILTER_COST_NS (2 * NS_PER_MS)
#define FIND_COST_NS (1500)

/* ---- owners by cookie ------------------------------------------------------- */

static size_t slot_of(const struct job_network *network, uint64_t cookie)
{
    size_t mask = network->owners.slot_count - 1;
    size_t at = (size_t)(cookie * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;

    while (network->owners.slots[at].cookie != 0 && network->owners.slots[at].cookie != cookie)
        at = (at + 1) & mask;
    return at;
}

static struct network_owner *find_owner(const struct job_network *network, uint64_t cookie)
{
    struct network_owner *owner = network->owners.slot_count > 0
                                      ? &network->owners.slots[slot_of(network, cookie)]
                                      : NULL;

    return owner && owner->cookie != 0 ? owner : NULL;
}

static int grow_owners(struct job_network *network)
{
    struct network_owner *old = network->owners.slots;
    size_t old_count = network->owners.slot_count;
    size_t count = old_count > 0 ? 2 * old_count : 64;
    struct network_owner *slots = calloc(count, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    network->owners.slots = slots;
    network->owners.slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].cookie != 0)
            slots[slot_of(network, old[i].cookie)] = old[i];
    }
    free(old);
    return 0;
}

static int set_owner(struct job_network *network, uint64_t cookie, uint32_t position)
{
    struct network_owner *owner = find_owner(network, cookie);

    if (owner) {
        owner->position = position;
        return 0;
    }
    if (network->owners.count >= OWNERS_MAX ||
        (2 * network->owners.count >= network->owners.slot_count && grow_owners(network) < 0))
        return -ENOMEM;
    network->owners.slots[slot_of(network, cookie)] =
        (struct network_owner){ cookie, position };
    network->owners.count++;
    return 0;
}

/* Moves up later entries of the same run of slots, so that all of them are still found. */
static void drop_owner(struct job_network *network, struct network_owner *owner)
{
    struct network_owner *slots = network->owners.slots;
    size_t mask = network->owners.slot_count - 1;

    network->owners.count--;
    owner->cookie = 0;
    for (size_t at = (size_t)(owner - slots + 1) & mask; slots[at].cookie != 0;
         at = (at + 1) & mask) {
        struct network_owner moved = slots[at];

        slots[at].cookie = 0;
        slots[slot_of(network, moved.cookie)] = moved;
    }
}

/* ---- connections of the job ------------------------------------------------- */

static void add_bytes(uint64_t counts[NETWORK_COUNTS], const struct tcp_socket *tcp,
                      uint64_t received, uint64_t sent)
{
    int at = tcp_socket_is_local(tcp) ? NETWORK_LOOPBACK_RECEIVED : NETWORK_RECEIVED;

    counts[at] += received;
    counts[at + 1] += sent;
}

/* Returns the entry of the remote address; the last entry collects those that do not fit. */
static size_t find_peer(struct job_network *network, const struct tcp_socket *tcp)
{
    struct network_peer new = { .family = tcp->family };
    size_t i = 0;

    memcpy(new.address, tcp->id.idiag_dst, sizeof(new.address));
    while (i < network->peer_count && i < NETWORK_PEERS_MAX - 1 &&
           (network->peers[i].family != new.family ||
            memcmp(network->peers[i].address, new.address, sizeof(new.address)) != 0))
        i++;
    if (i == NETWORK_PEERS_MAX - 1)
        new = (struct network_peer){ 0 };
    if (i == network->peer_count) {
        network->peers[i] = new;
        network->peer_count++;
    }
    return i;
}

static void update_socket(struct job_network *network, struct network_socket *socket,
                          const struct tcp_socket *tcp)
{
    uint64_t received = sub_floor0(tcp->received_bytes, socket->tcp.received_bytes);
    uint64_t sent = sub_floor0(tcp->sent_bytes, socket->tcp.sent_bytes);

    add_bytes(network->bytes, &socket->tcp, received, sent);
    network->peers[socket->peer].received_bytes += received;
    network->peers[socket->peer].sent_bytes += sent;
    raise_to(&socket->tcp.received_bytes, tcp->received_bytes);
    raise_to(&socket->tcp.sent_bytes, tcp->sent_bytes);
    socket->tcp.inode = tcp->inode;
    socket->tcp.is_closing = tcp->is_closing;
    socket->tcp.may_count_fin = tcp->may_count_fin;
}

/* Adds a socket of the job. `is_older`: its counts may include bytes from before the job. */
static void add_socket(struct job_network *network, const struct tcp_socket *tcp, bool is_older)
{
    struct network_socket socket = { .tcp = *tcp };

    if (reserve(&network->sockets.list, &network->sockets.capacity, network->sockets.count + 1,
                sizeof(socket)) < 0 ||
        set_owner(network, tcp->cookie, (uint32_t)network->sockets.count) < 0) {
        network->is_bounded = false;
        return;
    }
    socket.peer = find_peer(network, tcp);
    network->peers[socket.peer].connections++;
    network->connections++;
    if (!is_older)
        socket.tcp.received_bytes = socket.tcp.sent_bytes = 0;
    update_socket(network, &socket, tcp);
    network->sockets.list[network->sockets.count++] = socket;
}

static void end_socket(struct job_network *network, struct network_owner *owner,
                       const struct tcp_socket *tcp)
{
    size_t position = owner->position;
    struct network_socket *socket = &network->sockets.list[position];

    update_socket(network, socket, tcp);
    add_bytes(network->mark_bytes, tcp, tcp->may_count_fin, 0);
    drop_owner(network, owner);
    if (position != --network->sockets.count) {
        *socket = network->sockets.list[network->sockets.count];
        /* Cannot fail: the entry exists. */
        (void)set_owner(network, socket->tcp.cookie, (uint32_t)position);
    }
}

static void take_report(const struct tcp_socket *tcp, void *data)
{
    struct job_network *network = data;
    struct network_owner *owner = find_owner(network, tcp->cookie);

    if (owner && owner->position < MARKER) {
        end_socket(network, owner, tcp);
        return;
    }
    network->pending_markers -= owner && owner->position == MARKER;
    if ((!owner || owner->position == CANDIDATE) &&
        tcp->received_bytes + tcp->sent_bytes + tcp->may_count_fin > 0) {
        add_bytes(network->uncertain_bytes, tcp, tcp->received_bytes + tcp->may_count_fin,
                  tcp->sent_bytes);
        network->uncertain_connections++;
    }
    if (owner)
        drop_owner(network, owner);
}

static void drain(struct job_network *network)
{
    if (tcp_diag_drain(network->reports_fd, take_report, network) > 0)
        network->is_bounded = false;
}

/* ---- sockets that processes hold ---------------------------------------------- */

static int compare_inodes(const void *a, const void *b)
{
    return compare_u64(((const struct network_inode *)a)->inode,
                       ((const struct network_inode *)b)->inode);
}

static struct network_inode *find_inode(const struct network_inodes *inodes, uint64_t inode)
{
    const struct network_inode key = { .inode = inode };

    return inodes->count > 0 ? bsearch(&key, inodes->list, inodes->count, sizeof(*inodes->list),
                                       compare_inodes)
                             : NULL;
}

static void add_inode(struct network_inodes *inodes, struct network_inode entry)
{
    if (reserve(&inodes->list, &inodes->capacity, inodes->count + 1, sizeof(entry)) == 0)
        inodes->list[inodes->count++] = entry;
}

static void sort_inodes(struct network_inodes *inodes)
{
    if (inodes->count > 0)
        qsort(inodes->list, inodes->count, sizeof(*inodes->list), compare_inodes);
}

static void add_inherited(pid_t fd, void *data)
{
    struct job *job = data;
    uint64_t inode = fd_socket_inode(job->root, getpid(), fd);

    if (inode != 0)
        add_inode(&job->network.inherited, (struct network_inode){ .inode = inode });
}

static void add_file(pid_t fd, void *data)
{
    struct job *job = data;
    struct job_network *network = &job->network;
    struct network_inode entry = { .inode =
                                       fd_socket_inode(job->root, network->listed_pid, fd) };
    const struct network_inode *before;

    if (entry.inode == 0)
        return;
    before = find_inode(&network->previous, entry.inode);
    entry.is_awaited = before ? before->is_awaited : fd_is_tcp(network->listed_pid, fd);
    network->has_new |= !before && entry.is_awaited;
    network->has_awaited |= entry.is_awaited;
    add_inode(&network->inodes, entry);
}

/* Adds the traffic of a namespace since the last call. Earlier traffic may have been the job's:
 * it is uncertain. */
static void read_namespace(struct job *job, struct network_namespace *namespace, pid_t pid)
{
    struct job_network *network = &job->network;
    uint64_t *to = namespace->counts.fd < 0 ? network->uncertain_bytes : network->bytes;
    struct device_bytes loopback, others;
    char text[16384];

    if (cached_file_read(&namespace->counts, job->root, READ_START, text, sizeof(text),
                         "proc/%d/net/dev", (int)pid) < 0 ||
        net_dev_sum(text, &loopback, &others) < 0) {
        network->is_bounded = false;
        return;
    }
    for (int i = 0; i < NETWORK_COUNTS; i++) {
        const struct device_bytes *bytes = i < NETWORK_LOOPBACK_RECEIVED ? &others : &loopback;
        uint64_t now = i % 2 == 0 ? bytes->in : bytes->out;

        to[i] += sub_floor0(now, namespace->bytes[i]);
        namespace->bytes[i] = now;
    }
}

/* Whether the process is in another network namespace. */
static bool has_own_namespace(struct job *job, pid_t pid)
{
    struct job_network *network = &job->network;
    struct network_namespace new = { .counts = CACHED_FILE_CLOSED };
    size_t i = 0;

    if (root_read_link(job->root, new.name, sizeof(new.name), "proc/%d/ns/net", (int)pid) < 0 ||
        strcmp(new.name, network->own_namespace) == 0)
        return false;
    while (i < network->namespace_count && strcmp(network->namespaces[i].name, new.name) != 0)
        i++;
    if (i == NETWORK_NAMESPACES_MAX)
        network->is_bounded = false;
    if (i == NETWORK_NAMESPACES_MAX || i < network->namespace_count)
        return true;
    network->namespaces[network->namespace_count++] = new;
    read_namespace(job, &network->namespaces[i], pid);
    return true;
}

static void look_at_files(struct job *job)
{
    struct job_network *network = &job->network;
    struct network_inodes previous = network->previous;

    network->previous = network->inodes;
    network->inodes = previous;
    network->inodes.count = 0;
    network->has_awaited = network->is_denied = false;
    if (!*network->own_namespace &&
        root_read_link(job->root, network->own_namespace, sizeof(network->own_namespace),
                       "proc/self/ns/net") < 0)
        return;
    for (size_t i = 0; i < job->roster.slot_count; i++) {
        const struct process *process = roster_slot(&job->roster, i);
        struct pid_stat stat;

        if (!process || process->is_foreign ||
            (process->threads == 0 && process->member == 0) ||
            has_own_namespace(job, process->pid))
            continue;
        network->listed_pid = process->pid;
        if (proc_each_fd(job->root, process->pid, add_file, job) == -EACCES)
            network->is_denied |= pid_stat_read(NULL, job->root, process->pid, &stat) == 0 &&
                                  !pid_stat_is_zombie(&stat);
    }
    sort_inodes(&network->inodes);
}

/* ---- lists of sockets -------------------------------------------------------- */

static void take_listed(const struct tcp_socket *tcp, void *data)
{
    struct job_network *network = data;
    const struct network_owner *owner = find_owner(network, tcp->cookie);

    if (owner && owner->position < MARKER) {
        update_socket(network, &network->sockets.list[owner->position], tcp);
        network->sockets.list[owner->position].is_gone = false;
        return;
    }
    /* A foreign socket may have been passed to the job, for example over a Unix socket. */
    if (owner && owner->position != CANDIDATE && !find_inode(&network->inodes, tcp->inode))
        return;
    if (reserve(&network->found.list, &network->found.capacity, network->found.count + 1,
                sizeof(*tcp)) == 0)
        network->found.list[network->found.count++] = *tcp;
}

static void stop_awaiting(struct job_network *network, uint64_t inode)
{
    struct network_inode *held = find_inode(&network->inodes, inode);

    /* Several descriptors may refer to one socket: find_inode() returns any of them. */
    for (; held && held > network->inodes.list && held[-1].inode == inode; held--)
        ;
    for (; held && held < network->inodes.list + network->inodes.count && held->inode == inode;
         held++)
        held->is_awaited = false;
}

/* Adds a socket that the job holds. Some of its bytes may be from before the job. */
static void add_held(struct job *job, const struct tcp_socket *tcp, bool is_first)
{
    struct job_network *network = &job->network;
    bool is_inherited = job->is_spawned && find_inode(&network->inherited, tcp->inode);

    if (is_inherited)
        add_bytes(network->uncertain_bytes, tcp, tcp->received_bytes, tcp->sent_bytes);
    add_socket(network, tcp, is_inherited || (is_first && !job->is_spawned));
}

/* Attributes the sockets of a list to the job if its processes hold them, or if they were
 * created in its cgroup. */
static void take_held(struct job *job, bool is_first)
{
    struct job_network *network = &job->network;
    size_t kept = 0;

    for (size_t i = 0; i < network->found.count; i++) {
        struct tcp_socket tcp = network->found.list[i];

        if ((tcp.inode == 0 || !find_inode(&network->inodes, tcp.inode)) &&
            (network->cgroup_id == 0 || tcp.cgroup_id != network->cgroup_id)) {
            network->found.list[kept++] = tcp;
            continue;
        }
        stop_awaiting(network, tcp.inode);
        if (!tcp.is_listening)
            add_held(job, &tcp, is_first);
    }
    network->found.count = kept;
    network->has_awaited = false;
    for (size_t i = 0; i < network->sockets.count; i++)
        stop_awaiting(network, network->sockets.list[i].tcp.inode);
    for (size_t i = 0; i < network->inodes.count; i++)
        network->has_awaited |= network->inodes.list[i].is_awaited;
}

/* Marks sockets that are not among the files of the job, which were listed after the sockets.
 * accept() makes a socket visible just before the process has its descriptor: take_listed()
 * corrects that. */
static void mark_foreign(struct job *job)
{
    struct job_network *network = &job->network;
    bool is_complete =
        !network->is_denied && job->process_events.source && job->process_events.is_complete;

    network->has_unsettled = false;
    for (size_t i = 0; is_complete && i < network->found.count; i++) {
        const struct tcp_socket *tcp = &network->found.list[i];
        bool is_known = find_owner(network, tcp->cookie);
        struct tcp_socket now;

        if (network->found.count <= CHECKED_MAX)
            is_known = tcp_diag_find(network->requests_fd, tcp, &now) == 0 && now.inode != 0;
        network->has_unsettled |= !is_known || tcp->inode == 0;
        if (tcp->inode != 0) /* the socket was accepted */
            (void)set_owner(network, tcp->cookie, is_known ? FOREIGN : CANDIDATE);
    }
}

/* Prepares the first list. Called as late as that because not every job has a TCP socket. */
static void prepare_lists(struct job *job)
{
    struct job_network *network = &job->network;
    const struct job_cgroup *cgroup = &job->meters.job_cgroup;
    const struct cgroup *own =
        cgroup->is_adopted ? &cgroup->adopted : &cgroup->folders[CGROUP_UNIFIED].own;
    struct stat stat;

    network->requests_fd = tcp_diag_open();
    (void)proc_each_fd(job->root, getpid(), add_inherited, job);
    sort_inodes(&network->inherited);
    if (job_cgroup_has(cgroup, CGROUP_UNIFIED) && !cgroup->is_surrounding) {
        AUTO_CLOSE int fd = root_open_dir(job->root, "%s", own->path);

        if (own->is_v2 && fd >= 0 && fstat(fd, &stat) == 0) /* its inode number is its ID */
            network->cgroup_id = stat.st_ino;
    }
}

static void list_sockets(struct job *job, uint64_t now_ns)
{
    struct job_network *network = &job->network;
    bool is_first = network->requests_fd < 0;
    /* If there are many foreign sockets, listing those created in the job cgroup is enough. */
    bool is_filtered = network->has_new && network->list_cost_ns > FILTER_COST_NS;

    if (is_first)
        prepare_lists(job);
    network->found.count = 0;
    network->listed_ns = now_ns;
    network->list_gap_ns =
        network->has_new
            ? LIST_GAP_NS
            : smaller(2 * network->list_gap_ns,
                      network->has_awaited ? LIST_GAP_MOST_NS : LIST_GAP_UNSETTLED_NS);
    network->has_new = false;
    if (network->requests_fd < 0 ||
        tcp_diag_list(network->requests_fd, is_filtered ? network->cgroup_id : 0, take_listed,
                      network) < 0) {
        network->is_bounded = false;
        return;
    }
    job_take_events(job, now_ns, false); /* a forked process may hold one of them */
    look_at_files(job);
    take_held(job, is_first);
    mark_foreign(job);
}

/* ---- when to look and when to list --------------------------------------------- */

void job_open_network(struct job *job, unsigned disabled, uint64_t now_ns)
{
    struct job_network *network = &job->network;

    network->list_gap_ns = LIST_GAP_NS;
    network->due_ns = now_ns + FIRST_LOOK_NS;
    network->process_cost_ns = PROCESS_COST_NS;
    network->list_cost_ns = LIST_COST_NS;
    network->reason = disabled & SOURCE_NETWORK ? "disabled by SPOOR_DISABLE"
                      : !job->root->is_live     ? "sockets are read on a live machine only"
                                                : job->root->proc_fault;
    if (network->reason)
        return;
    network->reports_fd = tcp_diag_listen();
    if (network->reports_fd < 0)
        network->reason = "the kernel does not report TCP sockets (SOCK_DIAG)";
    network->is_bounded = true;
    if (!network->reason && !job->is_spawned)
        list_sockets(job, 1);
}

void job_close_network(struct job *job)
{
    struct job_network *network = &job->network;

    if (network->reports_fd >= 0)
        close(network->reports_fd);
    if (network->requests_fd >= 0)
        close(network->requests_fd);
    for (size_t i = 0; i < network->namespace_count; i++)
        cached_file_close(&network->namespaces[i].counts);
    free(network->sockets.list);
    free(network->owners.slots);
    free(network->inodes.list);
    free(network->previous.list);
    free(network->inherited.list);
    free(network->found.list);
    *network = (struct job_network)JOB_NETWORK_CLOSED;
}

/* Whether another list may show a socket that was not connected or accepted yet. */
static bool is_incomplete(const struct job_network *network)
{
    return network->has_awaited || network->has_unsettled;
}

static bool has_sockets(const struct job_network *network)
{
    return network->sockets.count > 0 || is_incomplete(network);
}

/* Whether the job may have new sockets. A job that has not run since the last look has none.
 * While the job is idle, only its CPU time is read. */
static bool may_have_changed(struct job *job)
{
    uint64_t cpu_ns;

    if (is_incomplete(&job->network) || !job->activity.is_at_rest)
        return true;
    cpu_ns = job_quick_cpu_ns(job);
    return !is_known(cpu_ns) || cpu_ns != job->network.looked_cpu_ns;
}

uint64_t job_network_due_ns(const struct job *job)
{
    const struct job_network *network = &job->network;

    if (network->reason || !has_sockets(network) ||
        (job->activity.is_at_rest && !is_incomplete(network)))
        return UINT64_MAX;
    return larger(network->due_ns, network->affordable_ns);
}

static bool needs_list(const struct job_network *network, uint64_t now_ns)
{
    return network->has_new ||
           (is_incomplete(network) && now_ns >= network->listed_ns + network->list_gap_ns);
}

/* Assumes that the next look or list costs as much as this one, but at most four times the last
 * expectation: the hypervisor may have had the CPU. */
static void expect_cost(uint64_t *expected_ns, uint64_t cost_ns)
{
    *expected_ns = smaller(cost_ns, 4 * larger(*expected_ns, PROCESS_COST_NS));
}

static uint64_t look_cost_ns(const struct job *job)
{
    return job->network.process_cost_ns * larger(job->roster.process_count, 1);
}

/* Looks for sockets. Returns the CPU time that the look took. */
static uint64_t look(struct job *job, uint64_t now_ns, bool may_list)
{
    struct job_network *network = &job->network;
    uint64_t before_ns = cpu_spent_ns(job->root), looked_ns;

    network->looked_cpu_ns = job_quick_cpu_ns(job);
    look_at_files(job);
    looked_ns = cpu_spent_ns(job->root);
    expect_cost(&network->process_cost_ns,
                (looked_ns - before_ns) / larger(job->roster.process_count, 1));
    if (may_list && needs_list(network, now_ns)) {
        list_sockets(job, now_ns);
        expect_cost(&network->list_cost_ns, cpu_spent_ns(job->root) - looked_ns);
    }
    return cpu_spent_ns(job->root) - before_ns;
}

/* Returns the gap before the next look: longer if looks are expensive or find no TCP socket. */
static uint64_t next_gap_ns(struct job *job)
{
    struct job_network *network = &job->network;
    bool is_empty =
        !has_sockets(network) && job->started_count == network->looked_started_count;
    uint64_t gap_ns;

    network->looked_started_count = job->started_count;
    network->empty_gap_ns =
        is_empty ? smaller(network->empty_gap_ns + network->empty_gap_ns / 4, EMPTY_GAP_MOST_NS)
                 : EMPTY_GAP_NS;
    gap_ns = !has_sockets(network)      ? network->empty_gap_ns
             : job->activity.is_at_rest ? smaller(network->list_gap_ns, LIST_GAP_MOST_NS)
                                        : LOOK_GAP_NS;

    return larger(gap_ns, LOOK_SHARE * look_cost_ns(job));
}

/* Looks if the budget allows it. A sample may look on credit unless the look is expensive.
 * Without credit, samples at short intervals, which cost more than the income, would leave
 * nothing for looks. The first list of a job that has a connection may be made on credit, too:
 * the job may need no other list. A look that finds new sockets is useless if the budget does
 * not allow a list. */
static bool look_if_affordable(struct job *job, uint64_t now_ns, bool is_sample)
{
    struct job_network *network = &job->network;
    uint64_t cost_ns = LOOK_RESERVE * look_cost_ns(job) +
                       (needs_list(network, now_ns) ? network->list_cost_ns : 0);
    bool is_allowed = budget_allows(&job->budget, SPENT_NETWORK, cost_ns);
    bool on_credit = !is_allowed &&
                     ((is_sample && look_cost_ns(job) <= CREDIT_MOST_NS) ||
                      (network->connections == 0 && network->has_new)) &&
                     budget_lends(&job->budget, cost_ns);

    if (!is_allowed && !on_credit) {
        network->affordable_ns =
            now_ns + larger(LOOK_GAP_NS, budget_wait_ns(&job->budget, SPENT_NETWORK, cost_ns));
        return false;
    }
    cost_ns =
        look(job, now_ns,
             on_credit || budget_allows(&job->budget, SPENT_NETWORK, network->list_cost_ns));
    (on_credit ? budget_borrow : budget_charge)(&job->budget, SPENT_NETWORK, cost_ns);
    network->due_ns = now_ns + next_gap_ns(job);
    return true;
}

bool job_look_at_network(struct job *job, uint64_t now_ns, bool is_sample)
{
    struct job_network *network = &job->network;

    if (network->reason)
        return false;
    drain(network);
    if (job->started_count != network->looked_started_count)
        network->due_ns = smaller(network->due_ns, now_ns + EMPTY_GAP_NS);
    return now_ns >= network->due_ns && (is_sample || now_ns >= network->affordable_ns) &&
           may_have_changed(job) && look_if_affordable(job, now_ns, is_sample);
}

static void read_sockets(struct job_network *network)
{
    for (size_t i = 0; i < network->sockets.count; i++) {
        struct network_socket *socket = &network->sockets.list[i];
        struct tcp_socket now;

        if (tcp_diag_find(network->requests_fd, &socket->tcp, &now) == 0)
            update_socket(network, socket, &now);
    }
}

/* Destroys a socket of the tracker on each CPU. Its report arrives after the reports of all
 * sockets that the CPU destroyed earlier. */
static void send_markers(struct job_network *network)
{
    cpu_set_t allowed, one;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0) { /* more CPUs than the set has */
        network->is_bounded = false;
        return;
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        AUTO_CLOSE int fd = -1;
        uint64_t cookie;
        socklen_t size = sizeof(cookie);

        if (!CPU_ISSET(cpu, &allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        fd = sched_setaffinity(0, sizeof(one), &one) == 0
                 ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)
                 : -1;
        if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) < 0 ||
            set_owner(network, cookie, MARKER) < 0)
            network->is_bounded = false;
        else
            network->pending_markers++;
    }
    (void)sched_setaffinity(0, sizeof(allowed), &allowed);
}

/* Whether a report is still expected: of a marker, of a destroyed socket of the job, or of a
 * closed one that still sends data. */
static bool awaits_report(struct job_network *network)
{
    bool awaits = network->pending_markers > 0;

    for (size_t i = 0; i < network->sockets.count; i++) {
        struct network_socket *socket = &network->sockets.list[i];
        struct tcp_socket now;

        if (!socket->is_gone && !socket->tcp.is_closing)
            continue;
        socket->is_gone = tcp_diag_find(network->requests_fd, &socket->tcp, &now) < 0;
        if (!socket->is_gone)
            update_socket(network, socket, &now);
        awaits |= socket->is_gone || socket->tcp.is_closing;
    }
    return awaits;
}

/* Waits for reports. Returns false if one has not arrived in time. */
static bool await_reports(struct job_network *network, uint64_t until_ns)
{
    struct pollfd fd = { .fd = network->reports_fd, .events = POLLIN };

    drain(network);
    while (awaits_report(network)) {
        if (clock_now().monotonic_ns >= until_ns)
            return false;
        (void)poll(&fd, 1, FINAL_STEP_MS);
        drain(network);
    }
    return true;
}

/* Makes the final counts. Sockets that no process holds any more may have been the job's: their
 * bytes are uncertain. */
static void finish(struct job *job, uint64_t now_ns)
{
    struct job_network *network = &job->network;
    uint64_t until_ns = clock_now().monotonic_ns + FINAL_WAIT_MS * NS_PER_MS;

    send_markers(network);
    (void)await_reports(network, until_ns); /* checked again below */
    for (size_t i = 0; i < network->sockets.count; i++)
        network->sockets.list[i].is_gone = true; /* until the list shows otherwise */
    list_sockets(job, now_ns);
    network->is_bounded &= await_reports(network, until_ns);
    for (size_t i = 0; i < network->sockets.count; i++) {
        const struct tcp_socket *tcp = &network->sockets.list[i].tcp;

        add_bytes(network->mark_bytes, tcp, tcp->may_count_fin, 0);
    }
    for (size_t i = 0; i < network->found.count; i++) {
        const struct tcp_socket *tcp = &network->found.list[i];

        if (tcp->inode == 0)
            add_bytes(network->uncertain_bytes, tcp, tcp->received_bytes, tcp->sent_bytes);
    }
    network->is_finished = network->is_bounded;
}

/* Begins the count at the first sample: sockets that were destroyed before it do not count. */
static void begin_count(struct job_network *network)
{
    memset(network->uncertain_bytes, 0, sizeof(network->uncertain_bytes));
    memset(network->mark_bytes, 0, sizeof(network->mark_bytes));
    network->uncertain_connections = 0;
}

void job_update_network(struct job *job, uint64_t now_ns, bool is_last)
{
    struct job_network *network = &job->network;

    if (network->reason)
        return;
    (void)job_look_at_network(job, now_ns, true);
    if (!job->was_read)
        begin_count(network);
    if (network->requests_fd >= 0 &&
        (is_last || job->is_border ||
         budget_allows(&job->budget, SPENT_NETWORK, network->sockets.count * FIND_COST_NS)))
        read_sockets(network);
    for (size_t i = 0; i < network->namespace_count; i++)
        read_namespace(job, &network->namespaces[i], 0);
    if (is_last && (network->connections > 0 || network->namespace_count > 0 ||
                    network->uncertain_connections > 0 || has_sockets(network)))
        finish(job, now_ns);
}

void job_read_network(const struct job *job, struct job_reading *reading)
{
    const struct job_network *network = &job->network;
    bool has_begun = !reading->is_first;
    bool is_final = network->is_finished && network->sockets.count == 0; /* all were closed */

    for (int i = 0; i < NETWORK_COUNTS; i++) {
        uint64_t uncertain = network->uncertain_bytes[i] + network->mark_bytes[i];
        struct origin *origin = &reading->origin[METRIC_JOB_NETWORK_RECEIVED + i];

        reading->network_bytes[i] = network->reason ? UNKNOWN : network->bytes[i];
        reading->network_bound_bytes[i] = !has_begun || network->is_finished
                                              ? sum_u64(reading->network_bytes[i], uncertain)
                                              : UNKNOWN;
        if (network->namespace_count > 0)
            origin->source = "procfs.net.dev";
        origin->is_exact = !has_begun || (is_final && network->uncertain_bytes[i] == 0);
    }
    reading->network_connections = network->reason ? UNKNOWN : network->connections;
    reading->origin[METRIC_JOB_CONNECTIONS].is_exact =
        !has_begun ||
        (is_final && network->uncertain_connections == 0 && network->namespace_count == 0);
}

static uint64_t peer_bytes(const struct network_peer *peer)
{
    return peer->received_bytes + peer->sent_bytes;
}

void job_list_remotes(const struct job *job, struct network_remotes *ret)
{
    enum { MOST = sizeof(ret->list) / sizeof(ret->list[0]) };

    ret->count = 0;
    for (size_t i = 0; i < job->network.peer_count; i++) {
        const struct network_peer *peer = &job->network.peers[i];
        size_t at = ret->count;

        for (; at > 0 && peer_bytes(&ret->list[at - 1]) < peer_bytes(peer); at--) {
            if (at < MOST)
                ret->list[at] = ret->list[at - 1];
        }
        if (at < MOST)
            ret->list[at] = *peer;
        ret->count += ret->count < MOST;
    }
}
