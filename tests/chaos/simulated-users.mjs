// Simulated users: each signs in again and again and checks that a login ends with the user's name at the service provider. Some
// logins need a code by mail, which may be entered wrong, twice, or in another login. Some continue with single sign-on, a revocation, a logout, or a code that is sent twice.
// The users run in a worker, so that they don't delay the faults of chaos.mjs.
import { parentPort, workerData } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import { Browser, parseForms, random } from '../peers/harness.mjs';
import { citizen, mailAddress } from './cluster.mjs';
import { startMailboxes } from './mailbox.mjs';

const { base, providerBase, sp, users, rate, real, seed, receivesLogoutTokens, mail, mailPort, citizens } = workerData;
const mailboxes = mailPort && await startMailboxes(mailPort);
const issuer = `${base}/api/v2`;
const counts = {};
const count = (name, by = 1) => { counts[name] = (counts[name] ?? 0) + by; };
const send = (message) => parentPort.postMessage(message);
/** Reports a token whose revocation, by its service provider or by a logout, the hub has just acknowledged. */
const reportRevoked = (token, issuedAt) => send({ kind: 'tokenRevoked', token, issuedAt, at: Date.now() });
let stopping = false;

// A seeded generator (mulberry32), so that a run is reproducible.
let state = seed >>> 0;
const randomFraction = () => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

// A failover can take long on a slow machine.
const MAX_RETRIES = 300;
class LoginLostError extends Error {}

/** Repeats a request, as a user reloads a page, while there is no response or the status is 429 or 502 to 504. */
async function retry(kind, attempt) {
  for (let retries = 0; ; retries += 1) {
    const response = await attempt().catch((error) => ({ status: 0, html: String(error.cause ?? error) }));
    const isTemporary = response.status === 0 || response.status === 429 || (response.status >= 502 && response.status <= 504);
    if (!isTemporary) return response;
    count(`retried: ${response.status === 0 ? 'connection' : response.status}`);
    if (retries === MAX_RETRIES) throw new LoginLostError(`${kind}: ${response.status} ${MAX_RETRIES} times`);
    await sleep(100 + 150 * randomFraction());
  }
}

/** A browser that reloads. It follows redirects one by one and repeats only the request that failed. */
class RetryingBrowser extends Browser {
  /** Whom the sandbox signs in. */
  person = 'angela';

  step(url, request) {
    return retry(new URL(url).pathname.replace(/[\w-]{20,}/g, '…'), () => super.step(url, request));
  }
}

const post = (path, fields) => retry(path, async () => {
  const response = await fetch(`${issuer}${path}`, { method: 'POST', body: new URLSearchParams(fields) });
  return { status: response.status, json: await response.json().catch(() => ({})) };
});
const client = { client_id: sp.id, client_secret: sp.secret };
const userinfo = (token) => retry('/userinfo', async () => {
  const response = await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, jwt: await response.text() };
});

const authorizeUrl = (more = {}) => `${issuer}/authorize?${new URLSearchParams({
  client_id: sp.id, redirect_uri: sp.redirectUri, response_type: 'code', scope: 'openid profile', acr_values: 'eidas1',
  state: random(32), nonce: random(32), ...more,
})}`;

/** The codes by mail that each person has read. */
const readCodes = new Map();
const isCodeForm = (form) => form.action.endsWith('/mail') && form.buttons.some((button) => button.value === 'code');
const isCodePage = (page) => parseForms(page.html, page.url).some(isCodeForm);
const isConsentForm = (form) => form.action.endsWith('/consent');

/** Reads the person's mailbox. Without a mail, because a hub was killed before it queued one, the user has another one sent. */
async function readMailCode(browser, page) {
  const address = mailAddress(browser.person);
  const used = readCodes.get(address) ?? new Set();
  readCodes.set(address, used);
  for (let attempts = 0; attempts < 3; attempts += 1) {
    const code = await mailboxes.nextCode(address, used, 62);
    if (code) {
      used.add(code);
      return { code, page };
    }
    page = await browser.open(page.url);
    page = await browser.submit(page, { pick: (form) => form.buttons.some((button) => button.value === 'resend'), values: { answer: 'resend' } });
    count('mails sent again');
  }
  throw new LoginLostError('no mail with a code');
}

/** Enters a code on its page. `times`: how often at the same time. Returns the pages that follow. */
const enterMailCode = (browser, page, code, times = 1) => Promise.all(Array.from({ length: times }, () => (
  browser.submit(page, { pick: isCodeForm, values: { answer: 'code', code }, stopAt: sp.redirectUri }))));

/** Answers the page that asks for a code by mail. Some enter a wrong one first, some the right one twice at the same time. */
async function answerMailPage(browser, page) {
  if (randomFraction() < 0.2) {
    // It is the right one in one of a million logins.
    [page] = await enterMailCode(browser, page, '123456');
    if (!isCodePage(page)) throw new LoginLostError(`after a wrong code by mail: ${page.status}`);
  }
  const isTwice = randomFraction() < 0.2;
  // A mail that a hub sent twice may be of the login before: its code is wrong.
  for (let tries = 0; tries < 3; tries += 1) {
    const read = await readMailCode(browser, page);
    const enteredAt = Date.now();
    const pages = await enterMailCode(browser, read.page, read.code, isTwice ? 2 : 1);
    if (pages.some(isCodePage)) [page] = pages;
    else {
      browser.mailCode = read.code;
      return isTwice ? consentTwice(browser, pages, enteredAt) : pages[0];
    }
  }
  throw new LoginLostError('three codes by mail were refused');
}

/** Consents on both pages to which one code led. Both give the same authorization code. Returns the page that one leads to. */
async function consentTwice(browser, pages, from) {
  count('mail codes entered again');
  const consent = { pick: isConsentForm, values: { answer: 'yes' }, stopAt: sp.redirectUri };
  const canConsent = (page) => parseForms(page.html, page.url).some(isConsentForm);
  const answered = await Promise.all(pages.map((page) => (canConsent(page) ? browser.submit(page, consent) : page)));
  const codes = new Set(answered.filter(({ stopped }) => stopped).map(({ url }) => new URL(url).searchParams.get('code')).filter(Boolean));
  if (codes.size > 1) send({ kind: 'violation', what: 'mail code counted twice', why: 'two authorization codes', from, at: Date.now() });
  return answered.find(({ stopped }) => stopped) ?? answered[0];
}

/** Enters the code of a finished login in the next login of the same person. */
async function replayMailCode(browser) {
  const next = new RetryingBrowser();
  Object.assign(next, { person: browser.person, replayedCode: browser.mailCode });
  const response = await authorize(next, { acr_values: 'eidas1-mail' }, 'sandbox');
  if (!response.get('code')) throw new LoginLostError(`after a replayed code by mail: ${response.get('error')}`);
}

/** Opens an authorization URL and answers all pages. Returns the query of the redirect to the service provider. */
async function signIn(browser, url, provider = 'sandbox') {
  let page = await browser.open(url, { stopAt: sp.redirectUri });
  for (let pages = 0; !page.stopped; pages += 1) {
    if (page.status !== 200 || pages > 8) throw new LoginLostError(`a page ${page.status} ${page.html.match(/Y\d{6}/)?.[0] ?? ''}`);
    const current = page.url;
    const hasForm = (ending) => parseForms(page.html, current).some((form) => form.action.endsWith(ending));
    const options = { stopAt: sp.redirectUri };
    if (isCodePage(page) && browser.replayedCode) {
      const from = Date.now();
      [page] = await enterMailCode(browser, page, browser.replayedCode);
      if (!isCodePage(page)) send({ kind: 'violation', what: 'mail code counted twice', why: 'in another login', from, at: Date.now() });
      count('mail codes entered again');
      browser.replayedCode = undefined;
      continue;
    }
    if (isCodePage(page)) {
      page = await answerMailPage(browser, page);
      continue;
    }
    if (hasForm('/provider')) page = await browser.submit(page, { ...options, pick: (form) => form.action.endsWith('/provider'), values: { provider } });
    else if (hasForm('/consent')) page = await browser.submit(page, { ...options, pick: (form) => form.action.endsWith('/consent'), values: { answer: 'yes' } });
    else if (current.startsWith(providerBase)) page = await browser.submit(page, { ...options, values: { login: 'angela', password: 'any' } });
    else if (current.includes('/sandbox/')) page = await browser.submit(page, { ...options, values: { person: browser.person } });
    else if (parseForms(page.html, current).some((form) => form.method === 'GET' && /\/interaction\//.test(form.action))) page = await browser.submit(page, options);
    else throw new LoginLostError(`a page without a known form: ${page.html.match(/<h1>(.*?)<\/h1>/)?.[1]} ${page.html.match(/Y\d{6}/)?.[0] ?? ''}`);
  }
  return new URL(page.url).searchParams;
}

/** Opens an authorization request, and repeats it while the hub answers `temporarily_unavailable`. */
async function authorize(browser, parameters, provider) {
  for (let retries = 0; ; retries += 1) {
    const response = await signIn(browser, authorizeUrl(parameters), provider);
    if (response.get('error') !== 'temporarily_unavailable' || retries === MAX_RETRIES) return response;
    count('retried: temporarily_unavailable');
    await sleep(100 + 150 * randomFraction());
  }
}

/** Exchanges a code for tokens. If the response to an earlier attempt was lost, the code may be used: the user signs in again. */
async function redeem(browser, code, provider) {
  for (let logins = 0; ; logins += 1) {
    const response = await post('/token', { ...client, grant_type: 'authorization_code', code, redirect_uri: sp.redirectUri });
    if (response.status === 200) return { ...response.json, code, issuedAt: Date.now() };
    if (response.json.error !== 'invalid_grant' || logins === 5) throw new LoginLostError(`token: ${response.status} ${response.json.error}`);
    count('repeated logins');
    code = (await authorize(browser, {}, provider)).get('code');
    if (!code) throw new LoginLostError('no code from the repeated login');
  }
}

/** Sends one code twice at the same time. At most one request may succeed. */
async function redeemTwice(code) {
  const redeemOnce = () => post('/token', { ...client, grant_type: 'authorization_code', code, redirect_uri: sp.redirectUri })
    .then((response) => ({ ...response, at: Date.now() }));
  const responses = await Promise.all([redeemOnce(), redeemOnce()]);
  const successes = responses.filter(({ status }) => status === 200);
  count('codes sent twice');
  // The second request revokes the tokens of the first one (RFC 6749 §4.1.2).
  for (const { json, at } of successes) reportRevoked(json.access_token, at);
  if (successes.length > 1) send({ kind: 'violation', what: 'code redeemed twice', from: Math.min(...successes.map(({ at }) => at)), at: Date.now() });
}

async function logOut(browser, tokens, provider) {
  const query = new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: sp.postLogoutUri, state: random(32) });
  let page = await browser.open(`${issuer}/session/end?${query}`, { stopAt: sp.postLogoutUri });
  if (!page.stopped && page.url.startsWith(providerBase)) {
    page = await browser.submit(page, { pick: (form) => form.action.endsWith('/session/end/confirm'), values: { logout: 'yes' }, stopAt: sp.postLogoutUri });
  }
  if (!page.stopped) throw new LoginLostError(`logout ${page.status}`);
  const at = Date.now();
  reportRevoked(tokens.access_token, tokens.issuedAt);
  if (receivesLogoutTokens) send({ kind: 'loggedOut', idToken: tokens.id_token, from: at, at });
  const response = await authorize(browser, { prompt: 'none' }, provider);
  if (response.get('code')) send({ kind: 'violation', what: 'session active after its logout', from: at, at: Date.now() });
  count('logouts');
}

/** One login and what follows it. `number` selects the continuation. */
async function runScenario(user, number) {
  const browser = new RetryingBrowser();
  const provider = randomFraction() < real ? 'real' : 'sandbox';
  const needsMail = provider === 'sandbox' && randomFraction() < mail;
  if (needsMail) browser.person = citizen(user, number % citizens);
  const response = await authorize(browser, needsMail ? { acr_values: 'eidas1-mail' } : {}, provider);
  const code = response.get('code');
  if (!code) throw new LoginLostError(`redirected with ${response.get('error')}`);
  if (provider === 'real') count('logins at the real provider');
  const variant = number % 20;
  if (variant === 7) return redeemTwice(code);
  const tokens = await redeem(browser, code, provider);
  if (needsMail) {
    const { acr } = JSON.parse(Buffer.from(tokens.id_token.split('.')[1], 'base64url'));
    // Tokens of a repeated login, after a lost response, are of one without the level name.
    if (acr !== 'eidas1-mail' && code === tokens.code) throw new LoginLostError(`the code by mail gave the level ${acr}`);
    count('codes by mail');
    if (randomFraction() < 0.3) await replayMailCode(browser);
  }
  const identity = await userinfo(tokens.access_token);
  if (identity.status !== 200) throw new LoginLostError(`userinfo ${identity.status}`);
  if (variant % 4 === 1) {
    const again = await authorize(browser, { prompt: 'none' }, provider);
    if (!again.get('code')) throw new LoginLostError(`no single sign-on: ${again.get('error')}`);
    count('single sign-on');
  }
  if (variant % 5 === 2) {
    const { status } = await post('/token/revocation', { ...client, token: tokens.access_token });
    if (status !== 200) throw new LoginLostError(`revocation ${status}`);
    reportRevoked(tokens.access_token, tokens.issuedAt);
    count('revocations');
  } else if (variant === 3) await logOut(browser, tokens, provider);
  else send({ kind: 'codeRedeemed', code: tokens.code, token: tokens.access_token, at: tokens.issuedAt });
}

let scenarios = 0;
async function runUser(_, user) {
  while (!stopping) {
    const number = scenarios++;
    const [startedAt, from] = [performance.now(), Date.now()];
    count('started');
    try {
      await runScenario(user, number);
      count('completed');
    } catch (error) {
      if (!(error instanceof LoginLostError)) throw error;
      send({ kind: 'violation', what: 'login lost', why: error.message, from, at: Date.now() });
    }
    if (rate) await sleep(Math.max(0, (users / rate) * 1000 - (performance.now() - startedAt)));
  }
}

parentPort.on('message', (message) => {
  if (message === 'stop') stopping = true;
  if (message === 'counts') send({ kind: 'counts', counts });
});
await Promise.all(Array.from({ length: users }, runUser));
if (mailboxes) Object.assign(counts, { 'mails received': mailboxes.counts.received, 'mails deferred': mailboxes.counts.deferred });
send({ kind: 'done', counts });
parentPort.close();
