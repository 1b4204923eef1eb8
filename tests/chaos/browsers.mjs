// Persons without pause: each signs in, sees their own name at the service, and now and then does what a hub must not get wrong.
// A worker of its own, so that the misfortunes of chaos.mjs keep their time. What a person would do about a broken page, they do.
import { parentPort, workerData } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser, formsOf, random } from '../peers/harness.mjs';

const { base, providerBase, sp, persons, rate, real, seed, informs } = workerData;
const issuer = `${base}/api/v2`;
const counts = {};
const count = (name, by = 1) => { counts[name] = (counts[name] ?? 0) + by; };
const tell = (message) => parentPort.postMessage(message);
/** A token was revoked, by its service or by a logout, and that was acknowledged just now. */
const ended = (token, bornAt) => tell({ kind: 'ended', token, bornAt, at: Date.now() });
let stopping = false;

// A generator of its own, so that a run can be had again by its seed.
let state = seed >>> 0;
const chance = () => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

// A slow machine may take long over a failover.
const PATIENCE = 300;
class Lost extends Error {}

/** A user whose browser says "no connection", or whose page says "in a moment", presses reload. */
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
async function signIn(person, url, provider = 'sandbox') {
  let page = await person.open(url, { stopAt: sp.redirectUri });
  for (let pages = 0; !page.stopped; pages += 1) {
    if (page.status !== 200 || pages > 8) throw new Lost(`a page ${page.status} ${page.html.match(/Y\d{6}/)?.[0] ?? ''}`);
    const here = page.url;
    const has = (end) => formsOf(page.html, here).some((form) => form.action.endsWith(end));
    const ask = { stopAt: sp.redirectUri };
    if (has('/provider')) page = await person.submit(page, { ...ask, pick: (form) => form.action.endsWith('/provider'), values: { provider } });
    else if (has('/consent')) page = await person.submit(page, { ...ask, pick: (form) => form.action.endsWith('/consent'), values: { answer: 'yes' } });
    else if (here.startsWith(providerBase)) page = await person.submit(page, { ...ask, values: { login: 'angela', password: 'any' } });
    else if (here.includes('/sandbox/')) page = await person.submit(page, { ...ask, values: { person: 'angela' } });
    else if (formsOf(page.html, here).some((form) => form.method === 'GET' && /\/interaction\//.test(form.action))) page = await person.submit(page, ask);
    else throw new Lost(`a page without a way on: ${page.html.match(/<h1>(.*?)<\/h1>/)?.[1]} ${page.html.match(/Y\d{6}/)?.[0] ?? ''}`);
  }
  return new URL(page.url).searchParams;
}

/** A code for tokens. An answer that got lost on the way may have spent the code: then the person is sent around once more. */
async function redeem(person, code, provider) {
  for (let rounds = 0; ; rounds += 1) {
    const answer = await post('/token', { ...client, grant_type: 'authorization_code', code, redirect_uri: sp.redirectUri });
    if (answer.status === 200) return { ...answer.json, code, bornAt: Date.now() };
    if (answer.json.error !== 'invalid_grant' || rounds === 5) throw new Lost(`token: ${answer.status} ${answer.json.error}`);
    count('sent around once more');
    code = (await signInAgain(person, {}, provider)).get('code');
    if (!code) throw new Lost('no code the second time');
  }
}

/** One code at two doors at once: two who have it must not both get something for it. */
async function redeemTwice(code) {
  const ask = () => post('/token', { ...client, grant_type: 'authorization_code', code, redirect_uri: sp.redirectUri })
    .then((answer) => ({ ...answer, at: Date.now() }));
  const answers = await Promise.all([ask(), ask()]);
  const won = answers.filter(({ status }) => status === 200);
  count('codes tried twice');
  // What the one got has been ended by the other.
  for (const { json, at } of won) ended(json.access_token, at);
  if (won.length > 1) tell({ kind: 'wrong', what: 'code redeemed twice', from: Math.min(...won.map(({ at }) => at)), at: Date.now() });
}

async function logOut(person, tokens, provider) {
  const query = new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: sp.postLogoutUri, state: random(32) });
  let out = await person.open(`${issuer}/session/end?${query}`, { stopAt: sp.postLogoutUri });
  if (!out.stopped && out.url.startsWith(providerBase)) {
    out = await person.submit(out, { pick: (form) => form.action.endsWith('/session/end/confirm'), values: { logout: 'yes' }, stopAt: sp.postLogoutUri });
  }
  if (!out.stopped) throw new Lost(`logout ${out.status}`);
  const at = Date.now();
  ended(tokens.access_token, tokens.bornAt);
  if (informs) tell({ kind: 'loggedOut', idToken: tokens.id_token, from: at, at });
  const silent = await signInAgain(person, { prompt: 'none' }, provider);
  if (silent.get('code')) tell({ kind: 'wrong', what: 'session alive after its logout', from: at, at: Date.now() });
  count('logged out');
}

/** While the hub answers that it is unavailable for a moment, the service sends the person there again. */
async function signInAgain(person, more, provider) {
  for (let rounds = 0; ; rounds += 1) {
    const answer = await signIn(person, authorizeUrl(more), provider);
    if (answer.get('error') !== 'temporarily_unavailable' || rounds === PATIENCE) return answer;
    count('retried: temporarily_unavailable');
    await sleep(100 + 150 * chance());
  }
}

async function oneLife(life) {
  const person = new Person();
  const provider = chance() < real ? 'real' : 'sandbox';
  const answer = await signInAgain(person, {}, provider);
  const code = answer.get('code');
  if (!code) throw new Lost(`redirected with ${answer.get('error')}`);
  if (provider === 'real') count('by the real provider');
  const dice = life % 20;
  if (dice === 7) return redeemTwice(code);
  const tokens = await redeem(person, code, provider);
  const reply = await userinfo(tokens.access_token);
  if (reply.status !== 200) throw new Lost(`userinfo ${reply.status}`);
  if (dice % 4 === 1) {
    const again = await signInAgain(person, { prompt: 'none' }, provider);
    if (!again.get('code')) throw new Lost(`the session did not answer: ${again.get('error')}`);
    count('single sign-on');
  }
  if (dice % 5 === 2) {
    const { status } = await post('/token/revocation', { ...client, token: tokens.access_token });
    if (status !== 200) throw new Lost(`revocation ${status}`);
    ended(tokens.access_token, tokens.bornAt);
    count('revoked');
  } else if (dice === 3) await logOut(person, tokens, provider);
  else tell({ kind: 'spent', code: tokens.code, token: tokens.access_token, at: tokens.bornAt });
}

let lives = 0;
async function person() {
  while (!stopping) {
    const life = lives++;
    const [began, from] = [performance.now(), Date.now()];
    count('begun');
    try {
      await oneLife(life);
      count('finished');
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      tell({ kind: 'wrong', what: 'login lost', why: error.message, from, at: Date.now() });
    }
    if (rate) await sleep(Math.max(0, (persons / rate) * 1000 - (performance.now() - began)));
  }
}

parentPort.on('message', (message) => {
  if (message === 'stop') stopping = true;
  if (message === 'counts') tell({ kind: 'counts', counts });
});
await Promise.all(Array.from({ length: persons }, person));
tell({ kind: 'done', counts });
parentPort.close();
