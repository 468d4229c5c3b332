/* Asks the server. Without the right to look, asks the user for the token first. */
"use strict";

const TOKEN_IN_ADDRESS = /(?:^#|&)token=([^&]+)/;

function addressFor(path, parameters) {
	const parts = new URLSearchParams();
	for (const [name, value] of Object.entries(parameters))
		if (value !== null && value !== undefined && value !== "") parts.set(name, value);
	return `${path}?${parts}`;
}

/* True if the server took the token; from now on, the browser has a cookie. */
async function sendToken(token) {
	const answer = await fetch("/api/session", { headers: { Authorization: `Bearer ${token}` } });
	return answer.ok;
}

async function takeTokenFromAddress() {
	const found = TOKEN_IN_ADDRESS.exec(location.hash);
	if (!found) return;
	history.replaceState(null, "", location.pathname + location.search);
	await sendToken(decodeURIComponent(found[1]));
}

let login = null; /* a promise while the user is asked */

function askForToken() {
	login = login || new Promise((resolve) => {
		const send = async () => {
			byId("login-failed").textContent = "";
			if (await sendToken(byId("token").value).catch(() => false)) {
				login = null;
				byId("token").value = "";
				byId("login").close();
				resolve();
			} else {
				byId("login-failed").textContent = "The server refused this token.";
			}
		};
		byId("login-go").onclick = send;
		byId("token").onkeydown = (event) => {
			if (event.key === "Enter") send();
		};
		/* Escape closes it, but there is nothing to see behind it. Browsers let it be prevented once only. */
		byId("login").onclose = () => {
			if (login) byId("login").showModal();
		};
		byId("login").showModal();
	});
	return login;
}

/* Returns the JSON of an answer; throws an Error with the server's words, or of a proxy's page with the status. */
async function askServer(path, parameters, signal) {
	const answer = await fetch(addressFor(path, parameters), { signal });
	if (answer.status === 401) {
		await askForToken();
		return askServer(path, parameters, signal);
	}
	const body = await answer.json().catch((error) => {
		if (signal?.aborted) throw error;
	});
	if (answer.ok && body) return body;
	const error = new Error(body?.error
		? body.hint ? `${body.error} (${body.hint})` : body.error
		: `The server answered with status ${answer.status}.`);
	error.status = answer.status;
	error.isOfServer = Boolean(body);
	throw error;
}
