package browser

// The scripts run in an isolated world, where a page cannot have changed the language's own functions.

// scriptScroll scrolls on by most of a window, and tells whether that was the end.
const scriptScroll = `(() => {
	const e = document.scrollingElement || document.documentElement;
	if (!e) return true;
	const before = e.scrollTop;
	window.scrollBy({top: Math.max(200, window.innerHeight * 0.8), behavior: 'instant'});
	return e.scrollTop === before || e.scrollTop + window.innerHeight >= e.scrollHeight - 1;
})()`

const scriptTop = `window.scrollTo({top: 0, behavior: 'instant'})`

// scriptLook returns what the page shows: links, the text, the title, the size. It also reads frames of the same
// site. Its result is bounded.
const scriptLook = `(() => {
	const links = [], texts = [];
	let room = 4000000, textRoom = 2000000, frames = 0;
	const look = (d) => {
		for (const e of d.querySelectorAll('a[href], area[href]')) {
			const to = typeof e.href === 'string' ? e.href : (e.href && e.href.baseVal) || '';
			if (links.length >= 10000 || !/^https?:/i.test(to) || to.length > 8192 || (room -= to.length) < 0) continue;
			links.push({url: to, from: e.localName + '/@href'});
		}
		const text = d.body ? d.body.innerText.slice(0, textRoom) : '';
		textRoom -= text.length;
		texts.push(text);
		for (const f of d.querySelectorAll('iframe, frame')) {
			try { if (frames++ < 100 && f.contentDocument) look(f.contentDocument); } catch (e) {}
		}
	};
	look(document);
	return {links: links, text: texts.filter(t => t).join('\n\n'), title: document.title.slice(0, 1000)};
})()`
