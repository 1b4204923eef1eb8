// What every peer test stands on: free ports, a hub with a configuration of its own, and a browser without a screen.
//
// HUB_BIN names the program (tests/run sets it); HUB_ARTIFACTS the folder for logs and screenshots.
import { spawn, execFileSync } from 'node:child_process';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { cpSync, createWriteStream, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { createServer as createSocket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const artifacts = process.env.HUB_ARTIFACTS ?? path.join(root, 'tests/artifacts');
export const program = process.env.HUB_BIN ?? path.join(root, 'target/debug/passerelle');
mkdirSync(artifacts, { recursive: true });

/** Random bits as base64url: 32 bytes are 43 characters. */
export const random = (bytes = 32) => randomBytes(bytes).toString('base64url');
export const sha256 = (text) => createHash('sha256').update(text).digest();

// Ports that freePorts() has returned are not returned again: their servers may start later.
let nextPort = randomInt(11_000, 32_000);

/**
 * Returns `count` different free ports of loopback. They are below the range from which outgoing
 * connections get theirs, so that none takes one before its server does.
 */
export async function freePorts(count) {
  const sockets = [];
  while (sockets.length < count) {
    const socket = createSocket();
    const listening = new Promise((resolve) => socket.once('error', () => resolve(false)).once('listening', () => resolve(true)));
    nextPort = nextPort < 32_000 ? nextPort + 1 : 11_000;
    socket.listen(nextPort, '127.0.0.1');
    if (await listening) sockets.push(socket);
  }
  const ports = sockets.map((socket) => socket.address().port);
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.close(resolve))));
  return ports;
}

/** A server on a free port of loopback that answers every request with `answer(request, response)`. */
export async function serve(answer, host = '127.0.0.1') {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, host, resolve));
  return { port: server.address().port, close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) };
}

/** Starts the program, keeps its output in the artifacts, and stops it by its own id. */
export function launch(name, args) {
  const log = createWriteStream(path.join(artifacts, `${name}.log`));
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1' } });
  const state = { output: '', ended: null };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => { state.output += chunk; log.write(chunk); });
  }
  const exit = new Promise((resolve) => {
    child.once('error', (error) => { state.ended = String(error); resolve(state.ended); });
    child.once('exit', (code, signal) => { state.ended = signal ?? code; resolve(state.ended); });
  });
  const orphan = () => child.kill('SIGKILL');
  process.once('exit', orphan);
  return {
    state,
    /** Settles with the exit status, or with the name of the signal that ended it. */
    exited: exit,
    signal: (signal) => child.kill(signal),
    pid: child.pid,
    async until(condition, what, seconds = 30) {
      const deadline = performance.now() + seconds * 1000;
      for (;;) {
        const value = await condition();
        if (value) return value;
        if (state.ended !== null || performance.now() > deadline) {
          throw new Error(`${name}: ${what} did not happen (ended: ${state.ended})\n${state.output.slice(-4000)}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async stop() {
      if (state.ended === null) child.kill('SIGTERM');
      const late = setTimeout(orphan, 25_000);
      await exit;
      clearTimeout(late);
      process.off('exit', orphan);
      log.end();
    },
  };
}

export const text = (value) => JSON.stringify(value); // a TOML basic string for the values used here
const list = (values) => `[${values.map(text).join(', ')}]`;

export const REGISTER = `given_names,family_name,birthdate,gender,birthplace,birthcountry,status
Angela Claire Louise,DUBOIS,1962-08-24,female,75107,99100,active
`;

/** Where identities come from; on high from the identity providers. */
const REGISTERS = { standard: '[register.file]\npath = "register.csv"', high: '' };

/**
 * A folder with a whole configuration.
 * sps: [{ id, secret, redirectUris, postLogoutUris, scopes, extra }], without `secret` for one that signs · connectors: { id: TOML text } ·
 * base: the public address, where a proxy stands before the hub · limits, publicListener: lines more of these tables ·
 * replace: [from, to] in passerelle.toml · register: its table, instead of register.csv's on standard and of none on high · files: { name: content }.
 */
export function configure({ port, privatePort, sps, connectors, settings = '', limits = '', publicListener = '', base = `http://localhost:${port}`, platform = 'standard', register = REGISTERS[platform], files = {}, replace = [] }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-peers-'));
  const write = (name, content, mode = 0o600) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content, { mode });
  };
  write('passerelle.toml', `platform = ${text(platform)}
base_url = ${text(base)}
subject_key = { file = "subject.key", derivation = 2 }
keys = "keys"
connectors = "connectors"
${settings}
[public]
listen = "127.0.0.1:${port}"
${publicListener}
[private]
listen = "127.0.0.1:${privatePort}"
admin_token = { file = "admin.token" }
${register}
[limits]
workers = 1
reload_seconds = 1
${limits}
`.replace(...(replace.length ? replace : ['', ''])));
  for (const [name, content] of Object.entries(files)) {
    if (name.endsWith('.toml')) writeConnector(folder, path.parse(name).name, String(content), name);
    else write(name, content);
  }
  write('subject.key', random(48));
  write('admin.token', random(32));
  write('register.csv', REGISTER);
  if (!files['scopes.toml']) cpSync(path.join(root, 'config/scopes.toml'), path.join(folder, 'scopes.toml'));
  for (const sp of sps) {
    write(`service-providers/${sp.id}.toml`, `client_id = ${text(sp.id)}
name = { fr = ${text(`Service ${sp.id}`)}, en = ${text(`Service ${sp.id}`)} }
home_page = "http://localhost:${port}/home"
redirect_uris = ${list(sp.redirectUris)}
post_logout_redirect_uris = ${list(sp.postLogoutUris ?? [])}
scopes = ${list(sp.scopes ?? ['openid', 'profile', 'birth', 'email', 'identite_pivot'])}
${sp.secret ? `secrets = [{ sha256 = ${text(sha256(sp.secret).toString('hex'))} }]` : ''}
${sp.extra ?? ''}
`);
  }
  mkdirSync(path.join(folder, 'connectors'), { recursive: true });
  for (const [id, content] of Object.entries(connectors)) writeConnector(folder, id, content);
  mkdirSync(path.join(folder, 'keys'), { recursive: true, mode: 0o700 });
  execFileSync(program, ['keys', 'new', '--dir', path.join(folder, 'keys')], { stdio: 'pipe' });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Writes a file of a connector, or another TOML file. In its text `idp.secret` stands for its own secret, ID.secret, for it may refer to no other. */
export function writeConnector(folder, id, content, file = `connectors/${id}.toml`) {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  if (content.includes('"idp.secret"')) writeFileSync(path.join(folder, `${id}.secret`), IDP_SECRET, { mode: 0o600 });
  writeFileSync(path.join(folder, file), content.replaceAll('"idp.secret"', text(`${id}.secret`)), { mode: 0o600 });
}

export const IDP_SECRET = 'upstream-secret-of-forty-characters-0123';
export const IDP_CLIENT = 'passerelle-hub';

/** A connector file for an OpenID Provider on loopback, at the levels of one platform. */
export const oidcConnector = (issuer, extra = '', { secret = 'client_secret = { file = "idp.secret" }', levels = ['eidas1'] } = {}) => `name = { fr = "Fournisseur réel", en = "Real provider" }
identity = "verified"
levels = { lowest = ${text(levels[0])}, highest = ${text(levels.at(-1))} }
acr = { ${levels.map((level) => `${level} = [${text(level)}]`).join(', ')} }
[kind.oidc]
issuer = ${text(issuer)}
client_id = ${text(IDP_CLIENT)}
${secret}
insecure_http = true
internal_hosts = ["localhost", "127.0.0.1"]
${extra}
`;

/** A hub that is ready; `options` as for `configure`, without the ports. */
export async function startHub(name, { port, privatePort, ...options }) {
  const config = configure({ port, privatePort, ...options });
  const base = options.base ?? `http://localhost:${port}`;
  const ready = () => fetch(`http://127.0.0.1:${privatePort}/readyz`).then((r) => r.ok, () => false);
  let hub, starts = 0;
  const stop = async () => { await hub.stop(); config.remove(); };
  const start = async () => {
    starts += 1;
    hub = launch(starts === 1 ? name : `${name}-${starts}`, ['serve', '--config', config.folder]);
    try {
      await hub.until(ready, 'readiness');
    } catch (error) {
      await stop();
      throw error;
    }
  };
  await start();
  return {
    folder: config.folder, base, issuer: `${base}/api/v2`, privateBase: `http://127.0.0.1:${privatePort}`, stop,
    log: () => hub.state.output, get pid() { return hub.pid; }, signal: (signal) => hub.signal(signal), get exited() { return hub.exited; },
    /** Ends it by a signal, and starts it again in its folder; `between` runs while there is none. */
    async restart(signal, between = () => {}) {
      hub.signal(signal);
      await hub.exited;
      await hub.stop();
      await between();
      await start();
    },
  };
}

/** The demo on free ports: `url` is the demo service provider's address. */
export async function startDemo(name = 'demo') {
  const demo = launch(name, ['demo', '--port', '0']);
  try {
    const url = await demo.until(() => demo.state.output.match(/Open (http:\/\/\S+)/)?.[1], 'the line `Open http://…`');
    await demo.until(() => fetch(url).then((r) => r.ok, () => false), `an answer of ${url}`);
    return { url, log: () => demo.state.output, stop: () => demo.stop() };
  } catch (error) {
    await demo.stop();
    throw error;
  }
}

export const programExists = () => existsSync(program);

const NAMED = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
/** Character references of HTML, as far as pages of forms use them. */
export const decodeHtml = (html) => html.replace(/&(#x[0-9a-f]+|#\d+|[a-z]+);/gi, (whole, name) => {
  if (/^#x/i.test(name)) return String.fromCodePoint(Number.parseInt(name.slice(2), 16));
  if (name.startsWith('#')) return String.fromCodePoint(Number(name.slice(1)));
  return NAMED[name.toLowerCase()] ?? whole;
});

function attributes(tag) {
  const found = {};
  for (const [, name, , double, single, bare] of tag.matchAll(/([\w-]+)(\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g)) {
    found[name.toLowerCase()] = decodeHtml(double ?? single ?? bare ?? '');
  }
  return found;
}

/** The forms of a page: where they go, what they carry, and their buttons. */
export function formsOf(html, url) {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)].map(([, head, body]) => {
    const form = attributes(head);
    const tags = (name) => [...body.matchAll(new RegExp(`<${name}\\b([^>]*)>`, 'gi'))].map(([, tag]) => attributes(tag));
    const fields = tags('input')
      .filter((i) => i.name && i.type !== 'submit' && !(['radio', 'checkbox'].includes(i.type) && !('checked' in i)))
      .map((i) => [i.name, i.value ?? '']);
    const buttons = [...tags('button'), ...tags('input').filter((i) => i.type === 'submit')];
    return { action: new URL(form.action ?? url, url).href, method: (form.method ?? 'get').toUpperCase(), fields, buttons };
  });
}

/** A browser made of fetch: keeps cookies by host name (ports don't part them), follows redirects by hand, submits forms. */
export class Browser {
  constructor({ language = 'en' } = {}) {
    this.language = language;
    this.jar = new Map(); // host name → Map(cookie name → value)
    this.trail = [];
  }

  cookies(url) {
    return this.jar.get(new URL(url).hostname) ?? new Map();
  }

  #keep(url, response) {
    const { hostname } = new URL(url);
    const jar = this.jar.get(hostname) ?? new Map();
    for (const line of response.headers.getSetCookie()) {
      const [pair, ...rest] = line.split(';');
      const name = pair.slice(0, pair.indexOf('=')).trim();
      const value = pair.slice(pair.indexOf('=') + 1).trim();
      const gone = rest.some((a) => /^\s*max-age=0\s*$/i.test(a) || (/^\s*expires=/i.test(a) && Date.parse(a.split('=')[1]) <= Date.now()));
      if (gone) jar.delete(name);
      else jar.set(name, value);
    }
    this.jar.set(hostname, jar);
  }

  /** One request, no redirect followed. */
  async step(url, { method = 'GET', body, headers = {} } = {}) {
    const cookie = [...this.cookies(url)].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      method,
      body,
      redirect: 'manual',
      headers: { 'accept': 'text/html', 'accept-language': this.language, ...(cookie && { cookie }), ...headers },
    });
    this.#keep(url, response);
    const location = response.headers.get('location');
    const html = await response.text();
    const page = { url, status: response.status, headers: response.headers, html, location: location && new URL(location, url).href };
    this.trail.push(`${method} ${url.split('?')[0]} ${response.status}`);
    return page;
  }

  /** Follows redirects until a page, or until an address beginning with `stopAt`, which is not asked for. */
  async open(url, { stopAt, ...request } = {}) {
    let page = await this.step(url, request);
    for (let hops = 0; page.location && page.status >= 300 && page.status < 400; hops += 1) {
      if (stopAt && page.location.startsWith(stopAt)) return { ...page, url: page.location, stopped: true };
      if (hops > 20) throw new Error(`no end of redirects:\n${this.trail.join('\n')}`);
      page = await this.step(page.location);
    }
    return page;
  }

  /** Submits the first form that `pick(form)` accepts, with `values` over its fields. */
  async submit(page, { pick = () => true, values = {}, stopAt } = {}) {
    const form = formsOf(page.html, page.url).find(pick);
    if (!form) throw new Error(`no such form on ${page.url} (${page.status}):\n${page.html.slice(0, 3000)}\n${this.trail.join('\n')}`);
    const fields = new URLSearchParams(form.fields);
    for (const [name, value] of Object.entries(values)) fields.set(name, value);
    if (form.method === 'GET') return this.open(`${form.action.split('?')[0]}?${fields}`, { stopAt });
    return this.open(form.action, {
      method: 'POST', body: fields, stopAt, headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  }
}

const choosing = (form) => /\/provider$/.test(form.action);
const consenting = (form) => /\/consent$/.test(form.action);

/** From the choice page to the upstream's first page. */
export const choose = (browser, page, connector, stopAt) =>
  browser.submit(page, { pick: (f) => choosing(f) && f.buttons.some((b) => b.value === connector), values: { provider: connector }, stopAt });

export const answerConsent = (browser, page, answer, stopAt) =>
  browser.submit(page, { pick: consenting, values: { answer }, stopAt });

/** A whole login: authorization URL in, the redirect back to the service provider out. `acr`: what the provider proves. */
export async function signIn(browser, authorizationUrl, { connector = 'real', login = 'angela', acr = '', amr, stopAt }) {
  const choice = await browser.open(authorizationUrl, { stopAt });
  if (choice.stopped) return choice.url;
  const upstream = await choose(browser, choice, connector, stopAt);
  const consent = await browser.submit(upstream, { values: { login, password: 'any', acr, ...(amr && { amr }) }, stopAt });
  if (consent.stopped) return consent.url;
  const back = await answerConsent(browser, consent, 'yes', stopAt);
  if (!back.stopped) throw new Error(`the login did not come back (${back.status} ${back.url}):\n${back.html.slice(0, 3000)}`);
  return back.url;
}

/** A raw request, for what fetch would not send: { status, headers, rawHeaders, text }. */
export const raw = (address, { method = 'GET', headers = {}, body } = {}) => new Promise((resolve, reject) => {
  const url = new URL(address);
  const sent = httpRequest({ host: '127.0.0.1', port: url.port, path: url.pathname + url.search, method, headers: { host: url.host, ...headers } }, (response) => {
    const chunks = [];
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, rawHeaders: response.rawHeaders, text: Buffer.concat(chunks).toString() }));
  });
  sent.once('error', reject);
  sent.end(body);
});
