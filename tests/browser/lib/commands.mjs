// Commands to a browser and its answers: JSON messages, over two pipes (the Chrome DevTools Protocol) or a WebSocket
// (WebDriver BiDi).
//
// Replies carry the command's number; everything else is an event and goes to the one listener.
// When the browser dies, all pending commands fail at once with the reason.

import { randomBytes } from "node:crypto";
import { connect } from "node:net";

class Commands {
	#send;
	#waiting = new Map();
	#nextId = 1;
	#closed = null;
	onEvent = () => {};

	constructor(send) {
		this.#send = send;
	}

	receive(text) {
		const message = JSON.parse(text);
		if (message.id === undefined || message.id === null) {
			this.onEvent(message.method, message.params, message.sessionId);
			return;
		}
		const waiter = this.#waiting.get(message.id);
		if (!waiter)
			return;
		this.#settle(message.id);
		if (message.error)
			waiter.reject(new Error(`${waiter.method}: ${message.error.message ?? message.message}`));
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
			this.#send(JSON.stringify({ id, method, params, sessionId }));
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

// Each message is ended by a NUL byte.
export class PipeCommands extends Commands {
	#received = [];

	constructor(input, output) {
		super((text) => output.write(text + "\0"));
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
			this.receive(text);
		}
		if (start < bytes.length)
			this.#received.push(bytes.subarray(start));
	}
}

const OP_CONTINUE = 0;
const OP_TEXT = 1;
const OP_PING = 9;
const OP_PONG = 10;

// The part of RFC 6455 that a client of a local browser needs: node has no WebSocket of its own before version 22.
export class SocketCommands extends Commands {
	#socket;
	#received = []; // chunks without a complete frame
	#nrReceived = 0;
	#parts = []; // of a message in several frames

	// Returns when the browser has accepted the connection.
	static async connect(port, path) {
		const socket = connect(port, "127.0.0.1");
		const key = randomBytes(16).toString("base64");
		socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
			`Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`);
		let head = Buffer.alloc(0);
		const rest = await new Promise((resolve, reject) => {
			const take = (bytes) => {
				head = Buffer.concat([head, bytes]);
				const end = head.indexOf("\r\n\r\n");
				if (end < 0)
					return;
				socket.off("data", take);
				if (/^HTTP\/1.1 101 /.test(head.toString("latin1")))
					resolve(head.subarray(end + 4));
				else
					reject(new Error(`no WebSocket: ${head.toString("latin1").split("\r\n")[0]}`));
			};
			socket.on("data", take);
			socket.on("error", reject);
			socket.on("close", () => reject(new Error("no WebSocket: the connection was closed")));
		});
		return new SocketCommands(socket, rest);
	}

	constructor(socket, rest) {
		super((text) => this.#write(OP_TEXT, Buffer.from(text)));
		this.#socket = socket;
		socket.on("data", (bytes) => this.#receive(bytes));
		socket.on("error", () => {});
		this.#receive(rest);
	}

	// A client's frames are masked, and their lengths have the shortest form.
	#write(operation, payload) {
		const mask = randomBytes(4);
		const { length } = payload;
		const size = Buffer.alloc(length < 126 ? 0 : length < 65536 ? 2 : 8);
		if (size.length)
			size.writeUIntBE(length, Math.max(0, size.length - 6), Math.min(6, size.length));
		const head = [0x80 | operation, 0x80 | (size.length === 0 ? length : size.length === 2 ? 126 : 127)];
		this.#socket.write(Buffer.concat([Buffer.from(head), size, mask, payload.map((byte, i) => byte ^ mask[i & 3])]));
	}

	// Returns the first frame's payload and number of bytes, if all of it has arrived.
	static #frameOf(bytes) {
		if (bytes.length < 2)
			return null;
		const short = bytes[1] & 127;
		const head = short < 126 ? 2 : short === 126 ? 4 : 10;
		if (bytes.length < head)
			return null;
		const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
		return bytes.length < head + length ? { needed: head + length }
			: { isLast: bytes[0] >= 0x80, operation: bytes[0] & 15, payload: bytes.subarray(head, head + length), end: head + length };
	}

	#needed = 0;
	#receive(bytes) {
		this.#received.push(bytes);
		this.#nrReceived += bytes.length;
		if (this.#nrReceived < this.#needed)
			return;
		let all = Buffer.concat(this.#received);
		let frame;
		for (frame = SocketCommands.#frameOf(all); frame?.payload; frame = SocketCommands.#frameOf(all)) {
			all = all.subarray(frame.end);
			this.#take(frame);
		}
		this.#needed = frame?.needed ?? 0;
		this.#received = [all];
		this.#nrReceived = all.length;
	}

	#take({ isLast, operation, payload }) {
		if (operation === OP_PING)
			this.#write(OP_PONG, payload);
		if (operation !== OP_TEXT && operation !== OP_CONTINUE)
			return;
		this.#parts.push(payload);
		if (!isLast)
			return;
		const text = Buffer.concat(this.#parts).toString();
		this.#parts = [];
		this.receive(text);
	}

	end() {
		this.#socket.destroy();
	}
}
