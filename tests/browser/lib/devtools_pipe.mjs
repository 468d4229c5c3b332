// The Chrome DevTools Protocol over two pipes: JSON messages, each ended by a NUL byte.
//
// Replies carry the command's number; everything else is an event and goes to the one listener.
// When the browser dies, all pending commands fail at once with the reason.

export class DevtoolsPipe {
	#output;
	#waiting = new Map();
	#nextId = 1;
	#received = [];
	#closed = null;
	onEvent = () => {};

	constructor(input, output) {
		this.#output = output;
		input.on("data", (bytes) => this.#receive(bytes));
		// Ignore broken pipes: the end of the process is reported separately.
		for (const stream of [input, output])
			stream.on("error", () => {});
	}

	// Screenshots are megabytes, so chunks are kept until the terminator and joined once.
	#receive(bytes) {
		let start = 0;
		for (;;) {
			const end = bytes.indexOf(0, start);
			if (end < 0)
				break;
			this.#received.push(bytes.subarray(start, end));
			const text = Buffer.concat(this.#received).toString();
			this.#received = [];
			start = end + 1;
			this.#dispatch(JSON.parse(text));
		}
		if (start < bytes.length)
			this.#received.push(bytes.subarray(start));
	}

	#dispatch(message) {
		if (message.id === undefined) {
			this.onEvent(message.method, message.params, message.sessionId);
			return;
		}
		const waiter = this.#waiting.get(message.id);
		if (!waiter)
			return;
		this.#settle(message.id);
		if (message.error)
			waiter.reject(new Error(`${waiter.method}: ${message.error.message}`));
		else
			waiter.resolve(message.result);
	}

	#settle(id) {
		clearTimeout(this.#waiting.get(id).timer);
		this.#waiting.delete(id);
	}

	call(method, params = {}, { sessionId, limitMs = 30000 } = {}) {
		if (this.#closed)
			return Promise.reject(new Error(`${method}: ${this.#closed.message}`));
		const id = this.#nextId++;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => {
				this.#waiting.delete(id);
				reject(new Error(`${method}: no answer within ${limitMs} ms`));
			}, limitMs);
			this.#waiting.set(id, { method, resolve, reject, timer });
			this.#output.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
		});
	}

	close(reason) {
		this.#closed ??= reason;
		for (const [id, waiter] of [...this.#waiting]) {
			this.#settle(id);
			waiter.reject(new Error(`${waiter.method}: ${reason.message}`));
		}
	}
}
