// Attack: an identity provider that wants to know which service its users come from, by the `state` that it gets; and identity
// providers whose answers carry no usable one.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { discoverHub, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, answerConsent, parseForms, random, readText } from './harness.mjs';

let federation, client;
before(async () => {
  federation = await startFederation('hub-attack-state');
  client = await discoverHub(federation.hub, federation.sp);
});
after(() => federation?.stop());

async function leave(browser = new Browser()) {
  const authorization = await buildAuthorizationRequest(client, federation.sp);
  const choice = await browser.open(authorization.url, { stopAt: federation.sp.redirectUri });
  // What the identity provider is sent: the redirect itself.
  const form = parseForms(choice.html, choice.url).find((f) => f.buttons.some((b) => b.value === 'real'));
  const fields = new URLSearchParams([...form.fields, ['provider', 'real']]);
  const left = await browser.step(form.action, { method: 'POST', body: fields, headers: { 'content-type': 'application/x-www-form-urlencoded' } });
  assert.equal(left.status, 303);
  return { browser, choice, left };
}

test('what the identity provider gets says nothing about the interaction, and opens no page that names the service', async () => {
  const { choice, left } = await leave();
  const address = choice.url.split('/interaction/')[1];
  const sent = decodeURIComponent(left.location);
  const state = new URL(left.location).searchParams.get('state');
  assert.match(state, /^[A-Za-z0-9_-]{43}$/, '256 bits');
  for (let start = 0; start + 8 <= address.length; start += 1) {
    assert.ok(!sent.includes(address.slice(start, start + 8)), `a part of the address at ${start}`);
  }
  for (const probe of [
    `${federation.hub.issuer}/interaction/${state}`,
    `${federation.hub.issuer}/interaction/${state.slice(0, 43)}`,
    `${federation.hub.issuer}/callback/real?code=x&state=${state}`,
    `${federation.hub.issuer}/callback/real?code=x`,
    choice.url,
  ]) {
    const page = await new Browser().open(probe);
    assert.ok(page.status >= 400 && page.status < 500, `${probe}: ${page.status}`);
    assert.ok(!/Service alpha|\/home|alpha/.test(page.html), `${probe} names the service:\n${page.html}`);
    const ways = [...page.html.matchAll(/<(?:a href|form)[^>]*>/g)].filter(([tag]) => !tag.includes('#') && !tag.includes('class="language"'));
    assert.deepEqual(ways, [], `${probe}: no link or form but the choice of a language`);
  }
});

test('answers without, with empty, repeated or unknown state say whose fault it is, and lead back to the login', async () => {
  const { browser, choice, left } = await leave();
  const state = new URL(left.location).searchParams.get('state');
  for (const [query, code] of [
    ['code=x', 'Y020330'], ['code=x&state=', 'Y020330'], [`code=x&state=${state}&state=${state}`, 'Y020330'], [`code=x&state=${random(32)}`, 'Y420003'],
  ]) {
    const page = await browser.open(`${federation.hub.issuer}/callback/real?${query}`);
    assert.equal(page.status, 400, query);
    assert.ok(page.html.includes(code) && page.html.includes(code === 'Y420003' ? 'You went on in another tab.' : 'not the service’s fault'), readText(page.html));
    assert.ok(page.html.includes(`href="${new URL(choice.url).pathname}"`), `${query}: the way back`);
  }
  // The attempt is untouched: the real answer still counts.
  const upstream = await browser.open(left.location);
  const consent = await browser.submit(upstream, { values: { login: 'angela' } });
  assert.ok((await answerConsent(browser, consent, 'yes', federation.sp.redirectUri)).stopped);
});

test('three logins at once in one browser: each callback finds its own', async () => {
  const browser = new Browser();
  const logins = [];
  for (let n = 0; n < 3; n += 1) logins.push(await leave(browser));
  for (const { left } of logins.toReversed()) {
    let page = await browser.open(left.location);
    if (parseForms(page.html, page.url).some((f) => f.fields.some(([name]) => name === 'login') || /login/.test(f.action))) {
      page = await browser.submit(page, { values: { login: 'angela' } });
    }
    const back = await answerConsent(browser, page, 'yes', federation.sp.redirectUri);
    assert.ok(back.stopped && new URL(back.url).searchParams.get('code'), `${back.status} ${back.url}`);
  }
});
