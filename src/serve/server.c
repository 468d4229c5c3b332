/*
 * A connection carries one request: there are few clients, near by, and limits are simple that way. evhttp does not
 * report when a connection ends, nor limit their number or the time of slow ones. So the sockets are looked at from
 * time to time: a descriptor and its inode are a connection. Late ones are shut down, which evhttp takes for the
 * client's end.
 *
 * A question to the store may run long, need much memory, or crash on a damaged store. So it is answered by a fork,
 * which gives up the rights to accept and fork, gets the store's files, and writes its answer to a file in memory; the
 * head of the answer comes through a pipe. The store's files are opened anew for each, since locks belong to open
 * files. A relay differs only in what its forks do: they get a connection to the other server instead of the files.
 */
#include "serve/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd_io.h"
#include "base/isolated.h"
#include "serve/api.h"
#include "serve/http.h"
#include "worker/confine.h"

#define MAX_CONNECTIONS	 256
#define MAX_FDS		 512
#define MAX_HEADER_BYTES (16 << 10)
#define MAX_BODY_BYTES	 0 /* of a request */
#define REQUEST_SECONDS	 10
#define LOOK_US		 250000 /* between two looks at the connections */
#define ANSWER_SECONDS	 120	/* of queueing, asking, and sending */

#define MAX_RUNNING	     2 /* questions; more wait */
#define MAX_WAITING	     64
#define MAX_QUESTION_SECONDS 30

/* Shares of the memory of a question, besides it: all together may need 2.5 times as much, see server.h. */
#define ANSWER_SHARE 8 /* an answer's size */
#define UNSENT_SHARE 4 /* of answers: while there are more, questions wait */

/* The page loads nothing from elsewhere, and nothing in a name can become a script. */
#define CONTENT_POLICY                                                                    \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* A socket that was accepted. */
struct connection {
	ino_t inode; /* 0: none */
	uint64_t late_ns;
	uint64_t unsent_bytes; /* of its answer */
};

struct server {
	const struct server_options *options;
	struct sandbox *sandbox;
	struct event_base *base;
	struct evhttp *http;
	struct evconnlistener *listener;
	struct event *host;
	struct event *look;			/* pending while there are connections */
	struct connection connections[MAX_FDS]; /* by descriptor */
	int first_fd;				/* all below are our own */
	size_t nr_connections;			/* at the last look, and those since then */
	struct question *waiting;		/* the oldest first */
	size_t nr_running, nr_waiting;
	char *page; /* a text like those of assets */
};

/* A request that is answered by a process. */
struct question {
	struct question *next;
	struct server *server;
	struct evhttp_request *request; /* NULL: its connection ended */
	const struct api_route *route;
	struct http_request asked; /* without headers */
	pid_t pid;
	int pipe_fd, body_fd;
	struct event *ended;
};

/* What comes through the pipe. */
struct answer_head {
	int32_t err;
	int32_t status;
	char type[64], file[64];
};

/* --- connections ------------------------------------------------------------------------------ */

static void start_questions(struct server *server);

static uint64_t unsent_bytes(const struct server *server)
{
	uint64_t sum = 0;
	size_t fd;

	for (fd = 0; fd < MAX_FDS; fd++)
		sum += server->connections[fd].unsent_bytes;
	return sum;
}

/* Begins to know a connection anew if another one has its descriptor by now, which the inode tells. */
static void see_connection(struct connection *connection, ino_t inode, uint64_t now_ns)
{
	if (connection->inode != inode)
		*connection = (struct connection){
			.inode = inode,
			.late_ns = now_ns + REQUEST_SECONDS * NS_PER_SEC,
		};
}

/* Finds the connections that there are, and shuts late ones down. */
static void look_at_connections(struct server *server)
{
	const uint64_t now_ns = clock_now_ns();
	struct stat status;
	int fd;

	server->nr_connections = 0;
	for (fd = server->first_fd; fd < MAX_FDS; fd++) {
		struct connection *connection = &server->connections[fd];

		if (fstat(fd, &status) < 0 || !S_ISSOCK(status.st_mode)) {
			*connection = (struct connection){0};
			continue;
		}
		see_connection(connection, status.st_ino, now_ns);
		server->nr_connections++;
		if (now_ns > connection->late_ns)
			(void)shutdown(fd, SHUT_RDWR);
	}
}

static void look(evutil_socket_t fd, short what, void *context)
{
	static const struct timeval soon = {.tv_usec = LOOK_US};
	struct server *server = context;

	look_at_connections(server);
	if (server->nr_connections < MAX_CONNECTIONS)
		(void)evconnlistener_enable(server->listener);
	if (server->nr_connections)
		(void)event_add(server->look, &soon);
	start_questions(server);
}

/* For evhttp: a new connection, whose socket is set later. */
static struct bufferevent *begin_connection(struct event_base *base, void *context)
{
	static const struct timeval soon = {.tv_usec = LOOK_US};
	struct server *server = context;

	if (++server->nr_connections >= MAX_CONNECTIONS)
		look_at_connections(server);
	if (server->nr_connections >= MAX_CONNECTIONS)
		(void)evconnlistener_disable(server->listener);
	if (!event_pending(server->look, EV_TIMEOUT, NULL))
		(void)event_add(server->look, &soon);
	return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
}

/* The connection of a request. */
static struct connection *find_connection(struct server *server, struct evhttp_request *request)
{
	const int fd = bufferevent_getfd(
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(request)));
	struct stat status;

	if (fd < 0 || fd >= MAX_FDS || fstat(fd, &status) < 0)
		return NULL;
	see_connection(&server->connections[fd], status.st_ino, clock_now_ns());
	return &server->connections[fd];
}

/*
 * True if the client has gone away, which evhttp finds out only when it writes. One that has closed its half only, and
 * reads, looks the same over TCP; over a Unix socket it does not.
 */
static bool is_gone(const struct server *server, struct evhttp_request *request)
{
	struct pollfd polled = {
		.fd = bufferevent_getfd(
			evhttp_connection_get_bufferevent(evhttp_request_get_connection(request))),
		.events = server->options->guard->port ? POLLRDHUP : 0, /* 0: POLLHUP */
	};

	return poll(&polled, 1, 0) > 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void add_header(struct evhttp_request *request, const char *name, const char *value)
{
	if (value && *value)
		(void)evhttp_add_header(evhttp_request_get_output_headers(request), name, value);
}

/* body: NULL: none. */
static void reply(struct evhttp_request *request, const struct http_response *response,
		  struct evbuffer *body)
{
	const bool is_head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
	char disposition[128] = "", length[24] = "";

	/* libevent would send the body of an answer to HEAD, too, and no length. */
	if (is_head && body)
		(void)snprintf(length, sizeof(length), "%zu", evbuffer_get_length(body));
	if (*response->file)
		(void)snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"",
			       response->file);
	add_header(request, "Content-Type", response->type);
	add_header(request, "Content-Length", length);
	add_header(request, "Content-Disposition", disposition);
	add_header(request, "Set-Cookie", response->cookie);
	add_header(request, "Location", response->location);
	add_header(request, "WWW-Authenticate", response->challenge);
	add_header(request, "Content-Security-Policy", CONTENT_POLICY);
	add_header(request, "X-Content-Type-Options", "nosniff");
	add_header(request, "X-Frame-Options", "DENY");
	add_header(request, "Referrer-Policy", "no-referrer");
	add_header(request, "Cross-Origin-Resource-Policy", "same-origin");
	add_header(request, "Cross-Origin-Opener-Policy", "same-origin");
	add_header(request, "Cache-Control", "no-store");
	add_header(request, "Connection", "close");
	evhttp_send_reply(request, response->status, http_reason(response->status),
			  is_head ? NULL : body);
}

static void reply_text(struct evhttp_request *request, struct http_response *response,
		       const char *text)
{
	struct evbuffer *body = evbuffer_new();

	if (body)
		(void)evbuffer_add(body, text, strlen(text));
	reply(request, response, body);
	if (body)
		evbuffer_free(body);
}

static void reply_error(struct evhttp_request *request, int status, const char *why)
{
	struct http_response response = {
		.status = status,
		.type = "application/json",
		.challenge = status == 401 ? "Bearer realm=\"stook\"" : NULL,
	};
	char text[256];

	(void)snprintf(text, sizeof(text), "{\"error\": \"%s\", \"hint\": null}\n", why);
	reply_text(request, &response, text);
}

static const char *why_refused(int status)
{
	return status == 421   ? "this name is not one of this host: use an address, or localhost"
	       : status == 403 ? "requests of other sites are refused"
			       : "a token is needed: Authorization: Bearer TOKEN";
}

/* --- the process that answers ----------------------------------------------------------------- */

struct store_fds {
	const char *const *paths;
	int fds[STORE_NR_FILES]; /* or a negative errno */
};

static int open_again(void *context, const char *path)
{
	const struct store_fds *files = context;
	size_t i;

	for (i = 0; i < STORE_NR_FILES; i++)
		if (!strcmp(files->paths[i], path)) {
			int fd = files->fds[i] < 0 ? -1 : dup(files->fds[i]);

			return files->fds[i] < 0 ? files->fds[i] : fd < 0 ? -errno : fd;
		}
	return -ENOENT;
}

static uint64_t bytes_of(const struct store_fds *files)
{
	struct stat status;
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < STORE_NR_FILES; i++)
		if (files->fds[i] >= 0 && fstat(files->fds[i], &status) == 0)
			bytes += (uint64_t)status.st_size;
	return bytes;
}

static bool limit(int resource, uint64_t most)
{
	const struct rlimit limits = {most, most};

	return setrlimit((__rlimit_resource_t)resource, &limits) == 0;
}

/* From here on, this process can do nothing but compute, and read and write what it has open. */
static int confine(const struct question *question, const struct store_fds *files, int pipe_fd,
		   unsigned seconds, struct error *error)
{
	int kept[5 + STORE_NR_FILES] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO,
					question->body_fd, pipe_fd};
	const uint64_t bytes = question->server->options->question_bytes;
	size_t nr = 5, i;

	for (i = 0; i < STORE_NR_FILES; i++)
		if (files->fds[i] >= 0)
			kept[nr++] = files->fds[i];
	isolated_close_others(kept, nr);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    (!ISOLATED_HAS_SHADOW && !limit(RLIMIT_AS, bytes)) ||
	    !limit(RLIMIT_FSIZE, bytes / ANSWER_SHARE) || !limit(RLIMIT_CPU, MAX_QUESTION_SECONDS))
		return -errno;
	(void)alarm(seconds);
	return confine_system_calls(CONFINED_COMMAND, error);
}

__attribute__((noreturn)) static void answer(struct question *question, struct store_fds *files,
					     int pipe_fd)
{
	const struct shared_status *shared = question->server->options->status;
	struct status status;
	const bool has_status = shared && shared_status_read(shared, &status);
	struct http_response response = {0};
	struct answer_head head = {0};
	struct error error;
	FILE *body = NULL;

	head.err = confine(question, files, pipe_fd, MAX_QUESTION_SECONDS, &error);
	if (!head.err)
		body = fdopen(question->body_fd, "w");
	if (body) {
		const struct api api = {
			.path = files->paths[0],
			.open = open_again,
			.context = files,
			.store_bytes = bytes_of(files),
			.wall_ns = clock_read_ns(CLOCK_REALTIME),
			.now_ns = clock_now_ns(),
			.status = has_status ? &status : NULL,
		};

		head.err = api_answer(question->route, &api, &question->asked, &response, body);
		if (fflush(body) != 0 || ferror(body))
			head.err = -EIO;
	}
	head.status = response.status;
	(void)snprintf(head.type, sizeof(head.type), "%s", response.type ? response.type : "");
	(void)snprintf(head.file, sizeof(head.file), "%s", response.file);
	if (body)
		(void)!write(pipe_fd, &head, sizeof(head));
	_exit(0);
}

/* --- questions for another server ------------------------------------------------------------- */

/* Copies the value of a header, up to the end of its line; nothing if it does not fit. */
static void take_header(const char *head, const char *name, char *to, size_t nr)
{
	const char *value = strcasestr(head, name);
	size_t bytes;

	if (!value)
		return;
	value += strlen(name);
	bytes = strcspn(value, "\"\r\n");
	if (bytes < nr) {
		memcpy(to, value, bytes);
		to[bytes] = '\0';
	}
}

/* Reads the head of an answer; what follows goes to the body. 0 or a negative errno. */
static int take_relayed(int fd, int body_fd, struct answer_head *ret)
{
	char bytes[MAX_HEADER_BYTES + 1], *end = NULL;
	size_t nr = 0;
	ssize_t step = 1;

	while (!end && step > 0 && nr < MAX_HEADER_BYTES) {
		step = read(fd, bytes + nr, MAX_HEADER_BYTES - nr);
		nr += step > 0 ? (size_t)step : 0;
		bytes[nr] = '\0';
		end = strstr(bytes, "\r\n\r\n");
	}
	if (!end || sscanf(bytes, "HTTP/1.%*1d %d", &ret->status) != 1)
		return -EPROTO;
	end += 4;
	nr -= (size_t)(end - bytes);
	if (write(body_fd, end, nr) != (ssize_t)nr)
		return -EIO;
	end[-2] = '\0';
	take_header(bytes, "\r\nContent-Type: ", ret->type, sizeof(ret->type));
	take_header(bytes, "\r\nContent-Disposition: attachment; filename=\"", ret->file,
		    sizeof(ret->file));
	while ((step = read(fd, bytes, sizeof(bytes))) > 0)
		if (write(body_fd, bytes, (size_t)step) != step)
			return -EIO;
	return step < 0 ? -errno : 0;
}

/* Asks the other server, which has checked who may connect, over the first of these files. */
__attribute__((noreturn)) static void relay(struct question *question, struct store_fds *files,
					    int pipe_fd)
{
	const int fd = files->fds[0];
	struct answer_head head = {0};
	struct error error;

	if (fd >= 0 && confine(question, files, pipe_fd, ANSWER_SECONDS, &error) == 0) {
		(void)dprintf(fd, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n",
			      evhttp_request_get_uri(question->request));
		head.err = take_relayed(fd, question->body_fd, &head);
		(void)!write(pipe_fd, &head, sizeof(head));
	}
	_exit(0);
}

/* --- questions -------------------------------------------------------------------------------- */

static void question_free(struct question *question)
{
	if (question->ended)
		event_free(question->ended);
	cleanup_close_fd(&question->pipe_fd);
	cleanup_close_fd(&question->body_fd);
	free(question);
}

static void send_answer(struct question *question, const struct answer_head *head)
{
	struct http_response response = {.status = head->status, .type = head->type};
	struct connection *connection = find_connection(question->server, question->request);
	struct evbuffer *body = evbuffer_new();
	struct stat status;

	(void)snprintf(response.file, sizeof(response.file), "%s", head->file);
	if (!body || fstat(question->body_fd, &status) < 0 ||
	    (status.st_size && evbuffer_add_file(body, question->body_fd, 0, status.st_size) < 0)) {
		reply_error(question->request, 500, "out of memory");
	} else {
		if (status.st_size)
			question->body_fd = -1; /* the buffer's */
		if (connection)
			connection->unsent_bytes = (uint64_t)status.st_size;
		reply(question->request, &response, body);
	}
	if (body)
		evbuffer_free(body);
}

/* The process has ended, or was killed: nothing it wrote is trusted. */
static void take_answer(evutil_socket_t fd, short what, void *context)
{
	struct question *question = context;
	struct server *server = question->server;
	struct answer_head head;
	const bool is_whole = read(fd, &head, sizeof(head)) == sizeof(head);

	while (waitpid(question->pid, NULL, 0) < 0 && errno == EINTR)
		;
	server->nr_running--;
	head.type[sizeof(head.type) - 1] = head.file[sizeof(head.file) - 1] = '\0';
	if (question->request)
		evhttp_connection_set_closecb(evhttp_request_get_connection(question->request),
					      NULL, NULL);
	if (!question->request)
		; /* nobody waits */
	else if (!is_whole)
		reply_error(question->request, 503,
			    server->options->is_relay
				    ? "the server does not answer"
				    : "the answer took too long, or too much memory: ask for less");
	else if (head.err || head.status < 200 || head.status > 599)
		reply_error(question->request, 500, "the answer could not be made");
	else
		send_answer(question, &head);
	question_free(question);
	start_questions(server);
}

static void close_files(struct store_fds *files)
{
	size_t i;

	for (i = 0; i < STORE_NR_FILES; i++)
		cleanup_close_fd(&files->fds[i]);
}

/* 0 or a negative errno. */
static int start(struct question *question)
{
	struct server *server = question->server;
	struct store_fds files = {.paths = server->options->files};
	int fds[2];
	size_t i;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	question->pipe_fd = fds[0];
	question->body_fd = memfd_create("stook-answer", MFD_CLOEXEC);
	question->ended = event_new(server->base, fds[0], EV_READ, take_answer, question);
	for (i = 0; i < STORE_NR_FILES; i++)
		files.fds[i] =
			files.paths[i] ? sandbox_open(server->sandbox, files.paths[i]) : -ENOENT;
	question->pid = question->body_fd < 0 || !question->ended ? -1 : fork();
	if (question->pid == 0 && server->options->is_relay)
		relay(question, &files, fds[1]);
	if (question->pid == 0)
		answer(question, &files, fds[1]);
	(void)close(fds[1]);
	close_files(&files);
	if (question->pid < 0 || event_add(question->ended, NULL) < 0)
		return -EAGAIN;
	server->nr_running++;
	return 0;
}

static void start_questions(struct server *server)
{
	while (server->waiting && server->nr_running < MAX_RUNNING &&
	       unsent_bytes(server) < server->options->question_bytes / UNSENT_SHARE) {
		struct question *question = server->waiting;

		server->waiting = question->next;
		server->nr_waiting--;
		if (question->request && !is_gone(server, question->request) &&
		    start(question) == 0)
			continue;
		if (question->request)
			evhttp_connection_set_closecb(
				evhttp_request_get_connection(question->request), NULL, NULL);
		if (question->request)
			reply_error(question->request, 503, "the question could not be started");
		question_free(question);
	}
}

/* evhttp frees the request. */
static void forget_request(struct evhttp_connection *connection, void *context)
{
	struct question *question = context;

	question->request = NULL;
}

static void put_question(struct server *server, struct evhttp_request *request,
			 const struct api_route *route)
{
	struct question *question =
		server->nr_waiting < MAX_WAITING ? calloc(1, sizeof(*question)) : NULL;
	struct question **at;

	if (!question) {
		add_header(request, "Retry-After", "1");
		reply_error(request, 503, "too many questions at once");
		return;
	}
	question->server = server;
	question->request = request;
	question->route = route;
	question->pipe_fd = question->body_fd = -1;
	evhttp_connection_set_closecb(evhttp_request_get_connection(request), forget_request,
				      question);
	(void)http_request_parse(&question->asked, evhttp_request_get_uri(request));
	for (at = &server->waiting; *at; at = &(*at)->next)
		;
	*at = question;
	server->nr_waiting++;
	start_questions(server);
}

/* --- requests --------------------------------------------------------------------------------- */

static const char *header(struct evhttp_request *request, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(request), name);
}

/* A browser that came by the link, or with the token, gets the cookie. */
static void begin_session(const struct guard *guard, struct evhttp_request *request, bool is_link)
{
	struct http_response response = {.status = is_link ? 303 : 204};

	response.location = is_link ? "/" : NULL;
	guard_set_cookie(guard, &response);
	reply(request, &response, NULL);
}

static void take_request(struct evhttp_request *request, void *context)
{
	struct server *server = context;
	const struct guard *guard = server->options->guard;
	struct connection *connection = find_connection(server, request);
	struct http_request asked = {
		.host = header(request, "Host"),
		.origin = header(request, "Origin"),
		.fetch_site = header(request, "Sec-Fetch-Site"),
		.fetch_mode = header(request, "Sec-Fetch-Mode"),
		.authorization = header(request, "Authorization"),
		.cookie = header(request, "Cookie"),
	};
	const int err = http_request_parse(&asked, evhttp_request_get_uri(request));
	const struct api_route *route = api_find(asked.path);
	const bool is_link = !strcmp(asked.path, "/") && guard_is_link(guard, &asked);
	const int refusal = guard_check(guard, &asked, route && route->is_public);

	if (connection)
		connection->late_ns = clock_now_ns() + ANSWER_SECONDS * NS_PER_SEC;
	if (err) {
		reply_error(request, err == -E2BIG ? 414 : 400, "the request is malformed");
	} else if (refusal) {
		reply_error(request, refusal, why_refused(refusal));
	} else if (is_link || !strcmp(asked.path, API_SESSION)) {
		begin_session(guard, request, is_link);
	} else if (!route) {
		reply_error(request, 404, "there is nothing at this path");
	} else if (route->asset || route->write) {
		struct http_response response = {.status = 200, .type = route->type};

		reply_text(request, &response, route->asset ? route->asset : server->page);
	} else {
		put_question(server, request, route);
	}
}

/* --- the server ------------------------------------------------------------------------------- */

static void stay_silent(int severity, const char *message)
{
}

/* A host that is killed cannot kill the server by PR_SET_PDEATHSIG: it has no rights over the server's user. */
static void end_with_host(evutil_socket_t fd, short what, void *context)
{
	struct server *server = context;

	(void)event_base_loopbreak(server->base);
}

/* No descriptor is left on this host: do not try all the time. */
static void wait_a_little(struct evconnlistener *listener, void *context)
{
	const struct timespec nap = {.tv_nsec = 10 * NS_PER_MS};

	(void)nanosleep(&nap, NULL);
}

/* Once: everybody may ask for the page, and must not fill the queue of questions. */
static int make_page(struct server *server)
{
	size_t nr;
	FILE *out = open_memstream(&server->page, &nr);
	int err = out ? api_find("/")->write(out) : -ENOMEM;

	if (out && fclose(out) != 0)
		err = -ENOMEM;
	return err;
}

static int make(struct server *server)
{
	struct event_config *config = event_config_new();
	struct evhttp_bound_socket *bound = NULL;

	if (config) {
		(void)event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
		server->base = event_base_new_with_config(config);
		event_config_free(config);
	}
	server->http = server->base ? evhttp_new(server->base) : NULL;
	if (server->http)
		bound = evhttp_accept_socket_with_handle(server->http, server->options->listen_fd);
	server->look = server->base ? event_new(server->base, -1, 0, look, server) : NULL;
	if (server->base)
		server->host = event_new(server->base, sandbox_fd(server->sandbox), EV_READ,
					 end_with_host, server);
	if (!server->host || event_add(server->host, NULL) < 0)
		return -ENOMEM;
	/* The lowest free one is that of the first connection. */
	server->first_fd = dup(server->options->listen_fd);
	(void)close(server->first_fd);
	if (!bound || !server->look || server->first_fd < 0)
		return -ENOMEM;
	server->listener = evhttp_bound_socket_get_listener(bound);
	evconnlistener_set_error_cb(server->listener, wait_a_little);
	evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(server->http, MAX_HEADER_BYTES);
	evhttp_set_max_body_size(server->http, MAX_BODY_BYTES);
	evhttp_set_timeout(server->http, ANSWER_SECONDS);
	evhttp_set_bevcb(server->http, begin_connection, server);
	evhttp_set_gencb(server->http, take_request, server);
	return make_page(server);
}

int server_run(const struct server_options *options, struct sandbox *sandbox, struct error *error)
{
	struct server server = {.options = options, .sandbox = sandbox};
	int err;

	event_set_log_callback(stay_silent);
	err = make(&server);
	if (err)
		return error_no_memory(error, "for the server");
	(void)event_base_dispatch(server.base);
	return error_set(error, -EIO, "the server ended");
}
