// Redraws a page of what changes by itself: every five seconds it asks for the page again, and puts in what is
// different. Nothing is asked for while the page is hidden, or while its box is not ticked. Without this script the
// page is as it was when it was opened, and says of when that is.
"use strict";
(() => {
	const every = 5000, patience = 20000;
	const byId = (id) => document.getElementById(id);
	const box = byId("live-on"), tick = byId("live-tick"), late = byId("live-late"), out = byId("live-out");
	let timer = 0, asking = false, over = false, leaving = false;

	// same reports whether an old node can become a new one. Forms are kept as they are, with what was typed.
	const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName &&
		(a.id ?? "") === (b.id ?? "") && (a.nodeName !== "FORM" || a.getAttribute("action") === b.getAttribute("action"));

	// become makes an old node what the new one is, and leaves alone what is the same: the focus and what is marked stay.
	const become = (old, now) => {
		if (old.nodeType !== Node.ELEMENT_NODE) {
			if (old.data !== now.data) old.data = now.data;
			return;
		}
		if (old.nodeName === "FORM") return;
		for (const { name } of [...old.attributes])
			if (!now.hasAttribute(name) && name !== "open") old.removeAttribute(name);
		for (const { name, value } of now.attributes)
			if (old.getAttribute(name) !== value) old.setAttribute(name, value);
		let at = old.firstChild;
		for (const next of [...now.childNodes]) {
			let match = at;
			while (match && !same(match, next)) match = match.nextSibling;
			if (!match) {
				old.insertBefore(document.importNode(next, true), at);
				continue;
			}
			while (at !== match) {
				const gone = at;
				at = at.nextSibling;
				gone.remove();
			}
			become(match, next);
			at = match.nextSibling;
		}
		while (at) {
			const gone = at;
			at = at.nextSibling;
			gone.remove();
		}
	};

	const address = () => {
		const url = new URL(location.href);
		url.searchParams.delete("done");
		url.searchParams.set("format", "part");
		url.hash = "";
		return url;
	};

	const draw = (text) => {
		const now = new DOMParser().parseFromString(text, "text/html");
		if (!now.getElementById("as-of")) { // it does not change any more, and is another page
			over = true;
			location.reload();
			return;
		}
		if (document.querySelector("a:active, button:active")) return; // nothing moves under a finger
		for (const next of now.querySelectorAll("[data-live]")) {
			const old = byId(next.id);
			if (old) become(old, next);
		}
		late.hidden = true;
	};

	const ask = async () => {
		clearTimeout(timer);
		if (asking || over || leaving || document.hidden || !tick.checked) return;
		asking = true;
		try {
			const answer = await fetch(address(), { signal: AbortSignal.timeout(patience), redirect: "error" });
			const text = await answer.text();
			if (leaving) return;
			if (answer.status === 401) {
				over = true;
				out.hidden = false;
				box.hidden = late.hidden = true;
			} else if (!answer.ok) late.hidden = false;
			else draw(text);
		} catch {
			late.hidden = leaving;
		} finally {
			asking = false;
			soon();
		}
	};

	const soon = () => {
		clearTimeout(timer);
		if (!over) timer = setTimeout(ask, every);
	};

	box.hidden = false;
	document.addEventListener("visibilitychange", ask);
	document.addEventListener("submit", () => { leaving = true; });
	addEventListener("pagehide", () => { leaving = true; });
	addEventListener("pageshow", () => {
		leaving = false;
		soon();
	});
	tick.addEventListener("change", ask);
	soon();
})();
