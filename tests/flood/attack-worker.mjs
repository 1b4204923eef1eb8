// A worker that sends the requests of one attack at a fixed rate over persistent connections. It does not wait for responses.
import http from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { port, host, rate, seconds, kind, sp, networks } = workerData;
const agent = new http.Agent({ keepAlive: true, maxSockets: 512 });
const randomText = (length) => Array.from({ length }, () => 'abcdefghijklmnopqrstuvwxyz234567'[Math.floor(Math.random() * 32)]).join('');
const randomInteger = (below) => Math.floor(Math.random() * below);
const randomAddress = () => (networks === 'one' ? `203.0.113.${randomInteger(250)}` : `${11 + randomInteger(80)}.${randomInteger(250)}.${randomInteger(250)}.${randomInteger(250)}`);

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const authorizePath = (more = {}) => `/api/v2/authorize?${new URLSearchParams({
  response_type: 'code', client_id: sp.id, redirect_uri: sp.redirectUri, scope: 'openid', acr_values: 'eidas1', state: randomText(32), nonce: randomText(32), ...more,
})}`;
const post = (path, fields) => ({ method: 'POST', path, headers: form, body: String(new URLSearchParams(fields)) });
const codeGrant = () => ({ grant_type: 'authorization_code', code: randomText(43), redirect_uri: sp.redirectUri });

/** Returns one request of each attack. */
const REQUESTS = {
  'authorize, page never fetched': () => ({ path: authorizePath() }),
  'authorize, long parameters': () => ({ path: authorizePath({ state: randomText(1024), nonce: randomText(1024), login_hint: randomText(1024), ui_locales: 'fr '.repeat(100).trim() }) }),
  'authorize, unknown client': () => ({ path: authorizePath({ client_id: randomText(16) }) }),
  'callback, forged state': () => ({ path: `/api/v2/callback/trial?code=${randomText(43)}&state=${randomText(43)}` }),
  'login page, 100 forged cookies': () => ({ path: `/api/v2/interaction/${randomText(43)}`, headers: { cookie: Array.from({ length: 100 }, () => `passerelle-login-${randomText(8)}=${randomText(43)}`).join('; ') } }),
  'token, wrong secret': () => post('/api/v2/token', { ...codeGrant(), client_id: sp.id, client_secret: randomText(43) }),
  'token, unknown client': () => post('/api/v2/token', { ...codeGrant(), client_id: randomText(16), client_secret: randomText(43) }),
  'userinfo, forged token': () => ({ path: '/api/v2/userinfo', headers: { authorization: `Bearer ${randomText(43)}` } }),
  'introspection, wrong secret': () => post('/api/v2/checktoken', { token: randomText(43), client_id: randomText(16), client_secret: randomText(43) }),
  'logout, forged hint': () => ({ path: `/api/v2/session/end?${new URLSearchParams({ id_token_hint: `${randomText(40)}.${randomText(400)}.${randomText(86)}`, state: randomText(32) })}` }),
  'logout token, forged': () => post('/api/v2/backchannel-logout/trial', { logout_token: `${randomText(40)}.${randomText(400)}.${randomText(86)}` }),
  'unknown path': () => ({ path: `/${randomText(32)}` }),
  'key set': () => ({ path: '/api/v2/jwks' }),
};

const counts = { sent: 0, failed: 0, status: {} };
function send() {
  const { headers, body, ...rest } = REQUESTS[kind]();
  counts.sent += 1;
  const request = http.request({ host: '127.0.0.1', port, agent, ...rest, headers: { host, 'x-forwarded-for': randomAddress(), ...headers } }, (response) => {
    counts.status[response.statusCode] = (counts.status[response.statusCode] ?? 0) + 1;
    response.resume();
  });
  request.once('error', () => { counts.failed += 1; });
  request.end(body);
}

if (kind) {
  const start = performance.now();
  const timer = setInterval(() => {
    const elapsed = Math.min(performance.now() - start, seconds * 1000);
    // After a delay, at most the requests of a fifth of a second are sent at once.
    for (let due = Math.min(Math.floor((elapsed / 1000) * rate) - counts.sent, rate / 5); due > 0; due -= 1) send();
    if (performance.now() - start < seconds * 1000) return;
    clearInterval(timer);
    parentPort.postMessage(counts);
    agent.destroy();
  }, 5);
} else {
  parentPort.postMessage(Object.keys(REQUESTS));
}
