/*
 * The built-in table of waits: what a thread off its CPU waits for, by the functions that wait: of the kernel, 5.10 to
 * 7.x, and of libraries. Only functions that wait have rows, not whole families: any function of a stack may decide.
 *
 * The first row that matches decides, so order matters where both a kernel's and a library's function match: a page
 * fault inside of pthread_mutex_lock() waits for the disk; a futex is a lock or a condition by what the library does
 * with it, and is "futex" only if no such function is known.
 *
 * Waiting for work is what threads of a pool and event loops do when there is none. A thread that polls for one answer
 * looks the same.
 */
#include "view/categories.h"

const char wait_categories[] =
	/* By the frame with the state, or with the kind of lock. */
	"running: \\[running\\]\n"
	"run queue: \\[runnable\\]\n"
	"stopped: \\[stopped\\]\n"
	"kernel idle: \\[idle\\]\n"
	"kernel locks: \\[spinlock\\] \\[rwlock*\\] \\[mutex\\] \\[rwsem:?\\] \\[rt-mutex\\]\n"
	"kernel locks: \\[pcpu-sem:?\\] \\[semaphore\\]\n"

	"memory: throttle_direct_reclaim@kernel shrink_lruvec@kernel shrink_node*@kernel\n"
	"memory: try_to_free_*pages@kernel __alloc_pages_slowpath*@kernel do_swap_page@kernel\n"
	"memory: mem_cgroup_handle_over_high@kernel __mem_cgroup_handle_over_high@kernel\n"
	"memory: reclaim_throttle@kernel compact_zone*@kernel handle_userfault@kernel\n"

	"disk: io_schedule*@kernel blk_io_schedule@kernel submit_bio_wait@kernel\n"
	"disk: bio_await*@kernel wait_on_page_bit*@kernel __wait_on_page*@kernel\n"
	"disk: folio_wait_*@kernel __folio_lock*@kernel __lock_page*@kernel\n"
	"disk: put_and_wait_on_page*@kernel\n"
	"disk: wait_on_buffer@kernel __wait_on_buffer@kernel rq_qos_wait@kernel wbt_wait@kernel\n"
	"disk: blk_mq_get_tag@kernel blk_execute_rq*@kernel blkdev_issue_*@kernel\n"
	"disk: balance_dirty_pages*@kernel filemap_fdatawait*@kernel\n"
	"disk: wb_wait_for_completion@kernel\n"
	"disk: jbd2_log_wait_commit@kernel jbd2_journal_commit_transaction@kernel\n"
	"disk: wait_transaction_locked@kernel add_transaction_credits@kernel\n"
	"disk: do_get_write_access@kernel xlog_wait*@kernel xfs_log_force*@kernel\n"
	"disk: xfs_buf_iowait@kernel btrfs_wait_*@kernel btrfs_commit_transaction@kernel\n"
	"disk: rpc_wait_bit_killable@kernel fuse_simple_request@kernel\n"
	"disk: __fuse_simple_request@kernel\n"
	"disk: request_wait_answer@kernel wait_on_commit*@kernel dm_wait*@kernel md_flush*@kernel\n"

	"kernel locks: rwsem_down_*@kernel __mutex_lock*@kernel __ww_mutex_lock*@kernel\n"
	"kernel locks: rt_mutex_lock*@kernel rt_mutex_slowlock@kernel rtlock_slow*@kernel\n"
	"kernel locks: __down@kernel __down_*@kernel ___down_common@kernel rwbase_*lock*@kernel\n"
	"kernel locks: percpu_rwsem_wait@kernel __percpu_down_read@kernel __lock_sock@kernel\n"
	"rcu: synchronize_rcu*@kernel synchronize_srcu*@kernel __synchronize_srcu*@kernel\n"
	"rcu: __wait_rcu_gp@kernel rcu_barrier*@kernel\n"

	"file locks: locks_lock_inode_wait@kernel flock_lock_inode_wait@kernel\n"
	"file locks: fcntl_setlk*@kernel\n"
	"locks: *pthread_mutex_lock* *pthread_mutex_timedlock* *pthread_mutex_clocklock*\n"
	"locks: *pthread_rwlock_*rdlock* *pthread_rwlock_*wrlock* *lll_*lock_wait*\n"
	"locks: futex_lock_pi*@kernel\n"
	"locks: *::lock_contended* *RawMutex::lock_slow* *RawRwLock::lock_*_slow* runtime.lock2\n"
	"locks: *absl::*Mutex::LockSlow* ObjectMonitor::enter* ObjectMonitor::EnterI*\n"
	"locks: Monitor::lock*\n"
	"locks: Mutex::lock*@libjvm* *java*concurrent?locks*::lock* take_gil* *PyMutex_Lock*\n"
	"locks: LWLockAcquire* LWLockWaitForVar ProcSleep s_lock perform_spin_delay\n"

	"processes: do_wait@kernel __do_wait@kernel wait_for_vfork_done@kernel\n"
	"processes: kernel_clone@kernel\n"
	"processes: _do_fork@kernel ptrace_stop@kernel *pthread_*join* *thrd_join*\n"

	"work: ep_poll@kernel do_epoll_wait@kernel do_sys_poll@kernel do_poll*@kernel\n"
	"work: do_select@kernel core_sys_select@kernel poll_schedule_timeout*@kernel\n"
	"work: inet_csk_accept@kernel inet_accept@kernel unix_accept@kernel vsock_accept@kernel\n"
	"work: io_cqring_wait*@kernel io_wq_worker@kernel io_sq_thread@kernel read_events@kernel\n"
	"work: eventfd_read@kernel inotify_read@kernel fanotify_read@kernel timerfd_read*@kernel\n"
	"work: do_sigtimedwait@kernel signalfd_read*@kernel sigsuspend@kernel *_sys_pause@kernel\n"
	"work: do_msgrcv@kernel do_mq_timedreceive@kernel wq_sleep@kernel n_tty_read@kernel\n"
	"work: *pthread_cond_*wait* *cnd_*wait* *sem_wait* *sem_timedwait* *sem_clockwait*\n"
	"work: *Condvar::wait* *thread::park* *Parker::park* ObjectMonitor::wait* Monitor::wait*\n"
	"work: runtime.findRunnable* runtime.stopm* runtime.mPark* runtime.notesleep*\n"
	"work: runtime.notetsleep* WaitLatch* WaitEventSetWait* ConditionVariableSleep*\n"

	"network: sk_wait_data@kernel tcp_recvmsg*@kernel tcp_sendmsg*@kernel\n"
	"network: sk_stream_wait_*@kernel\n"
	"network: inet_wait_for_connect@kernel inet_stream_connect@kernel\n"
	"network: __skb_wait_for_more_packets@kernel\n"
	"network: wait_for_more_packets@kernel skb_recv_*@kernel __skb_recv_*@kernel\n"
	"network: unix_stream_read_generic@kernel unix_stream_data_wait@kernel\n"
	"network: unix_wait_for_peer@kernel\n"
	"network: sock_alloc_send_pskb@kernel sock_wait_for_wmem@kernel vsock_*_wait*@kernel\n"
	"network: vsock_connectible_recvmsg@kernel vsock_connectible_sendmsg@kernel\n"
	"network: netlink_recvmsg@kernel packet_recvmsg@kernel lock_sock_nested@kernel\n"

	"pipes: *pipe_read@kernel *pipe_write@kernel pipe_wait*@kernel wait_for_partner@kernel\n"
	"pipes: fifo_open@kernel\n"

	"timers: *nanosleep*@kernel schedule_hrtimeout*@kernel msleep*@kernel\n"
	"timers: usleep_range*@kernel\n"
	"timers: *nanosleep@user usleep@user\n"

	"futex: futex_wait*@kernel futex_do_wait@kernel do_futex@kernel\n"

	/* Threads of the kernel that wait for nothing of the above. */
	"kernel threads: kthread@kernel\n";
