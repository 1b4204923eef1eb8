// A thread that sends requests at a fixed rate, whatever becomes of them, over connections that it keeps.
import http from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

const { port, host, rate, seconds, kind, sp, networks } = workerData;
const agent = new http.Agent({ keepAlive: true, maxSockets: 512 });
const text = (length) => Array.from({ length }, () => 'abcdefghijklmnopqrstuvwxyz234567'[Math.floor(Math.random() * 32)]).join('');
const number = (below) => Math.floor(Math.random() * below);
const address = () => (networks === 'one' ? `203.0.113.${number(250)}` : `${11 + number(80)}.${number(250)}.${number(250)}.${number(250)}`);

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const authorize = (more = {}) => `/api/v2/authorize?${new URLSearchParams({
  response_type: 'code', client_id: sp.id, redirect_uri: sp.redirectUri, scope: 'openid', acr_values: 'eidas1', state: text(32), nonce: text(32), ...more,
})}`;
const post = (path, fields) => ({ method: 'POST', path, headers: form, body: String(new URLSearchParams(fields)) });
const code = () => ({ grant_type: 'authorization_code', code: text(43), redirect_uri: sp.redirectUri });

/** One request of each kind of attack. */
const REQUESTS = {
  'authorize, logins that no one looks at': () => ({ path: authorize() }),
  'authorize, as large as may be': () => ({ path: authorize({ state: text(1024), nonce: text(1024), login_hint: text(1024), ui_locales: 'fr '.repeat(100).trim() }) }),
  'authorize, unknown client': () => ({ path: authorize({ client_id: text(16) }) }),
  'callback, forged state': () => ({ path: `/api/v2/callback/trial?code=${text(43)}&state=${text(43)}` }),
  'login page, 100 forged cookies': () => ({ path: `/api/v2/interaction/${text(43)}`, headers: { cookie: Array.from({ length: 100 }, () => `passerelle-login-${text(8)}=${text(43)}`).join('; ') } }),
  'token, wrong secret': () => post('/api/v2/token', { ...code(), client_id: sp.id, client_secret: text(43) }),
  'token, unknown client': () => post('/api/v2/token', { ...code(), client_id: text(16), client_secret: text(43) }),
  'userinfo, forged token': () => ({ path: '/api/v2/userinfo', headers: { authorization: `Bearer ${text(43)}` } }),
  'introspection, wrong secret': () => post('/api/v2/checktoken', { token: text(43), client_id: text(16), client_secret: text(43) }),
  'logout, forged hint': () => ({ path: `/api/v2/session/end?${new URLSearchParams({ id_token_hint: `${text(40)}.${text(400)}.${text(86)}`, state: text(32) })}` }),
  'logout token, forged': () => post('/api/v2/backchannel-logout/trial', { logout_token: `${text(40)}.${text(400)}.${text(86)}` }),
  'unknown path': () => ({ path: `/${text(32)}` }),
  'key set': () => ({ path: '/api/v2/jwks' }),
};

const counts = { sent: 0, failed: 0, status: {} };
function send() {
  const { headers, body, ...rest } = REQUESTS[kind]();
  counts.sent += 1;
  const request = http.request({ host: '127.0.0.1', port, agent, ...rest, headers: { host, 'x-forwarded-for': address(), ...headers } }, (response) => {
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
    // At most a fifth of a second at once.
    for (let due = Math.min(Math.floor((elapsed / 1000) * rate) - counts.sent, rate / 5); due > 0; due -= 1) send();
    if (performance.now() - start < seconds * 1000) return;
    clearInterval(timer);
    parentPort.postMessage(counts);
    agent.destroy();
  }, 5);
} else {
  parentPort.postMessage(Object.keys(REQUESTS));
}
