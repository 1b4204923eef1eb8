// Persons without pause: each signs in, sees their own name at the service, and now and then does what a hub must not get wrong.
// A worker of its own, so that the misfortunes of chaos.mjs keep their time. What a person would do about a broken page, they do.
import { parentPort, workerData } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser, formsOf, random } from '../peers/harness.mjs';

const { base, sp, persons, rate, seed } = workerData;
const issuer = `${base}/api/v2`;
const counts = {};
const count = (name, by = 1) => { counts[name] = (counts[name] ?? 0) + by; };
/** Tokens that were revoked, by their service or by a logout, and when that was acknowledged. */
const dead = [];
let stopping = false;

// A generator of its own, so that a run can be had again by its seed.
let state = seed >>> 0;
const chance = () => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

const PATIENCE = 60;
class Lost extends Error {}

/** Somebody whose browser says "no connection", or whose page says "in a moment": they press reload. */
async function persist(kind, attempt) {
  for (let tries = 0; ; tries += 1) {
    const answer = await attempt().catch((error) => ({ status: 0, html: String(error.cause ?? error) }));
    const passing = answer.status === 0 || answer.status === 429 || (answer.status >= 502 && answer.status <= 504);
    if (!passing) return answer;
    count(`retried: ${answer.status === 0 ? 'connection' : answer.status}`);
    if (tries === PATIENCE) throw new Lost(`${kind}: ${answer.status} ${PATIENCE} times`);
    await sleep(100 + 150 * chance());
  }
}

/** A browser that reloads. Redirects are followed one by one, so that only what failed is repeated. */
class Person extends Browser {
  step(url, request) {
    return persist(new URL(url).pathname.replace(/[\w-]{20,}/g, '…'), () => super.step(url, request));
  }
}

const post = (path, fields) => persist(path, async () => {
  const response = await fetch(`${issuer}${path}`, { method: 'POST', body: new URLSearchParams(fields) });
  return { status: response.status, json: await response.json().catch(() => ({})) };
});
const client = { client_id: sp.id, client_secret: sp.secret };
const userinfo = (token) => persist('/userinfo', async () => {
  const response = await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, jwt: await response.text() };
});

const authorizeUrl = (more = {}) => `${issuer}/authorize?${new URLSearchParams({
  client_id: sp.id, redirect_uri: sp.redirectUri, response_type: 'code', scope: 'openid profile', acr_values: 'eidas1',
  state: random(32), nonce: random(32), ...more,
})}`;

/** From the address of an authorization to the query of the redirect back. */
async function signIn(person, url) {
  let page = await person.open(url, { stopAt: sp.redirectUri });
  for (let pages = 0; !page.stopped; pages += 1) {
    if (page.status !== 200 || pages > 8) throw new Lost(`a page ${page.status} ${page.html.match(/Y\d{6}/)?.[0] ?? ''}`);
    const here = page.url;
    const has = (end) => formsOf(page.html, here).some((form) => form.action.endsWith(end));
    const ask = { stopAt: sp.redirectUri };
    if (has('/provider')) page = await person.submit(page, { ...ask, pick: (form) => form.action.endsWith('/provider'), values: { provider: 'sandbox' } });
    else if (has('/consent')) page = await person.submit(page, { ...ask, pick: (form) => form.action.endsWith('/consent'), values: { answer: 'yes' } });
    else if (here.includes('/sandbox/')) page = await person.submit(page, { ...ask, values: { person: 'angela' } });
    else if (formsOf(page.html, here).some((form) => form.method === 'GET' && /\/interaction\//.test(form.action))) page = await person.submit(page, ask);
    else throw new Lost(`a page without a way on: ${page.html.match(/<h1>(.*?)<\/h1>/)?.[1]} ${page.html.match(/Y\d{6}/)?.[0] ?? ''}`);
  }
  return new URL(page.url).searchParams;
}

/** A code for tokens. An answer that got lost on the way may have spent the code: then the person is sent around once more. */
async function redeem(person, code) {
  for (let rounds = 0; ; rounds += 1) {
    const answer = await post('/token', { ...client, grant_type: 'authorization_code', code, redirect_uri: sp.redirectUri });
    if (answer.status === 200) return answer.json;
    if (answer.json.error !== 'invalid_grant' || rounds === 5) throw new Lost(`token: ${answer.status} ${answer.json.error}`);
    count('sent around once more');
    code = (await signIn(person, authorizeUrl())).get('code');
    if (!code) throw new Lost('no code the second time');
  }
}

/** One code at two doors at once: two who have it must not both get something for it. */
async function redeemTwice(code) {
  const ask = () => post('/token', { ...client, grant_type: 'authorization_code', code, redirect_uri: sp.redirectUri });
  const answers = await Promise.all([ask(), ask()]);
  const won = answers.filter(({ status }) => status === 200);
  count('codes tried twice');
  if (won.length > 1) count('CODES REDEEMED TWICE');
  for (const { json } of won) dead.push({ token: json.access_token, at: Date.now() });
}

async function oneLife(life) {
  const person = new Person();
  const answer = await signIn(person, authorizeUrl());
  const code = answer.get('code');
  if (!code) throw new Lost(`redirected with ${answer.get('error')}`);
  const dice = life % 20;
  if (dice === 7) return redeemTwice(code);
  const tokens = await redeem(person, code);
  const told = await userinfo(tokens.access_token);
  if (told.status !== 200) throw new Lost(`userinfo ${told.status}`);
  if (dice % 4 === 1) {
    const again = await signIn(person, authorizeUrl({ prompt: 'none' }));
    if (!again.get('code')) throw new Lost(`the session did not answer: ${again.get('error')}`);
    count('single sign-on');
  }
  if (dice % 5 === 2) {
    const { status } = await post('/token/revocation', { ...client, token: tokens.access_token });
    if (status !== 200) throw new Lost(`revocation ${status}`);
    dead.push({ token: tokens.access_token, at: Date.now() });
    count('revoked');
  } else if (dice === 3) {
    const end = `${issuer}/session/end?${new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: sp.postLogoutUri, state: random(32) })}`;
    const out = await person.open(end, { stopAt: sp.postLogoutUri });
    if (!out.stopped) throw new Lost(`logout ${out.status}`);
    dead.push({ token: tokens.access_token, at: Date.now() });
    const silent = await signIn(person, authorizeUrl({ prompt: 'none' }));
    if (silent.get('code')) count('SESSIONS ALIVE AFTER LOGOUT');
    count('logged out');
  }
}

let lives = 0;
async function person() {
  while (!stopping) {
    const life = lives++;
    const began = performance.now();
    count('begun');
    try {
      await oneLife(life);
      count('finished');
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      count(`LOST: ${error.message}`);
    }
    if (rate) await sleep(Math.max(0, (persons / rate) * 1000 - (performance.now() - began)));
  }
}

parentPort.on('message', (message) => {
  if (message === 'stop') stopping = true;
  if (message === 'counts') parentPort.postMessage({ counts });
});
await Promise.all(Array.from({ length: persons }, person));
parentPort.postMessage({ counts, dead, done: true });
