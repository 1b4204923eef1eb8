// The helpers of all peer tests: free ports, hubs with a generated configuration, and a browser made of fetch.
//
// HUB_BIN names the program (tests/run sets it); HUB_ARTIFACTS the folder for logs and screenshots.
import { spawn, execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { cpSync, createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { connect, createServer as createSocket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const artifacts = process.env.HUB_ARTIFACTS ?? path.join(root, 'tests/artifacts');
export const program = process.env.HUB_BIN ?? path.join(root, 'target/debug/passerelle');
mkdirSync(artifacts, { recursive: true });
/** Whether the run includes what takes minutes: every case of a matrix, builds and downloads of products. `tests/run --all` sets TESTS=all. */
export const includesAll = process.env.TESTS === 'all';
/** The reason to skip a case of a matrix of which the run has another one, or false. */
export const skipUnlessAll = includesAll ? false : 'tests/run --all runs it';

/** Random bits as base64url: 32 bytes are 43 characters. */
export const random = (bytes = 32) => randomBytes(bytes).toString('base64url');
export const sha256 = (tomlString) => createHash('sha256').update(tomlString).digest();

// Ports that freePorts() has returned are not returned again: their servers may start later. Two test files at the same time have
// different ones, because their processes have different numbers.
let nextPort = 11_000 + (process.pid % 525) * 40;

/**
 * Returns `count` different free ports of loopback. They are below the range from which outgoing
 * connections get theirs: no outgoing connection takes a port before its server listens.
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

/** Starts a server on a free port of loopback that handles every request with `answer(request, response)`. */
export async function startServer(answer, host = '127.0.0.1') {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, host, resolve));
  return { port: server.address().port, close: () => new Promise((done) => { server.close(done); server.closeAllConnections(); }) };
}

/** Whether a server listens on a port. */
export const listens = (port, host = '127.0.0.1') => new Promise((resolve) => {
  const socket = connect(port, host, () => { socket.destroy(); resolve(true); }).once('error', () => resolve(false));
});

/** Calls `condition` until it returns a truthy value, and returns that. Fails after `seconds`. `what` is named in the error. */
export async function waitUntil(condition, what, seconds = 30) {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > deadline) throw new Error(`${what} did not happen in ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Starts the program and saves its output in the artifacts. */
export function startProgram(name, args, environment = {}) {
  const log = createWriteStream(path.join(artifacts, `${name}.log`));
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1', ...environment } });
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
    /** Resolves to the exit status, or to the name of the signal that ended the program. */
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

export const tomlString = (value) => JSON.stringify(value); // a TOML basic string for the values used here
const list = (values) => `[${values.map(tomlString).join(', ')}]`;

const REGISTER = `given_names,family_name,birthdate,gender,birthplace,birthcountry,status
Angela Claire Louise,DUBOIS,1962-08-24,female,75107,99100,active
`;

/** The register's table of each platform. On high, the identity providers supply the identities. */
const REGISTERS = { standard: '[register.file]\npath = "register.csv"', high: '' };

/**
 * Creates a folder with a complete configuration.
 * sps: [{ id, secret, redirectUris, postLogoutUris, scopes, extra }], without `secret` for a client that authenticates by key · connectors: { id: TOML text } ·
 * base: the public address, of a proxy in front of the hub · limits, publicListener: further lines of these tables ·
 * replace: [from, to] in passerelle.toml · register: the register's table; the default is register.csv on standard and none on high · files: { name: content }.
 */
export function configure({ port, privatePort, sps, connectors, settings = '', limits = '', publicListener = '', base = `http://localhost:${port}`, platform = 'standard', register = REGISTERS[platform], files = {}, replace = [] }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-peers-'));
  const write = (name, content, mode = 0o600) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content, { mode });
  };
  write('passerelle.toml', `platform = ${tomlString(platform)}
base_url = ${tomlString(base)}
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
    write(`service-providers/${sp.id}.toml`, `client_id = ${tomlString(sp.id)}
name = { fr = ${tomlString(`Service ${sp.id}`)}, en = ${tomlString(`Service ${sp.id}`)} }
home_page = "http://localhost:${port}/home"
redirect_uris = ${list(sp.redirectUris)}
post_logout_redirect_uris = ${list(sp.postLogoutUris ?? [])}
scopes = ${list(sp.scopes ?? ['openid', 'profile', 'birth', 'email', 'identite_pivot'])}
${sp.secret ? `secrets = [{ sha256 = ${tomlString(sha256(sp.secret).toString('hex'))} }]` : ''}
${sp.extra ?? ''}
`);
  }
  mkdirSync(path.join(folder, 'connectors'), { recursive: true });
  for (const [id, content] of Object.entries(connectors)) writeConnector(folder, id, content);
  mkdirSync(path.join(folder, 'keys'), { recursive: true, mode: 0o700 });
  execFileSync(program, ['keys', 'new', '--dir', path.join(folder, 'keys')], { stdio: 'pipe' });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Writes a connector's file, or another TOML file. Replaces `idp.secret` by ID.secret, because a connector may only refer to its own secret. */
export function writeConnector(folder, id, content, file = `connectors/${id}.toml`) {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  if (content.includes('"idp.secret"')) writeFileSync(path.join(folder, `${id}.secret`), IDP_SECRET, { mode: 0o600 });
  writeFileSync(path.join(folder, file), content.replaceAll('"idp.secret"', tomlString(`${id}.secret`)), { mode: 0o600 });
}

export const IDP_SECRET = 'upstream-secret-of-forty-characters-0123';
export const IDP_CLIENT = 'passerelle-hub';

/** Returns the file of a connector for an OpenID Provider on loopback, with the levels of one platform. */
export const oidcConnector = (issuer, extra = '', { secret = 'client_secret = { file = "idp.secret" }', levels = ['eidas1'] } = {}) => `name = { fr = "Fournisseur réel", en = "Real provider" }
identity = "verified"
levels = { lowest = ${tomlString(levels[0])}, highest = ${tomlString(levels.at(-1))} }
acr = { ${levels.map((level) => `${level} = [${tomlString(level)}]`).join(', ')} }
[kind.oidc]
issuer = ${tomlString(issuer)}
client_id = ${tomlString(IDP_CLIENT)}
${secret}
insecure_http = true
internal_hosts = ["localhost", "127.0.0.1"]
${extra}
`;

/** Starts a hub and waits `readySeconds` until it is ready. `options` are those of `configure`. */
export async function startHub(name, { port, privatePort, readySeconds = 30, ...options }) {
  const config = configure({ port, privatePort, ...options });
  const base = options.base ?? `http://localhost:${port}`;
  const ready = () => fetch(`http://127.0.0.1:${privatePort}/readyz`).then((r) => r.ok, () => false);
  let hub, starts = 0;
  const stop = async () => { await hub.stop(); config.remove(); };
  const start = async () => {
    starts += 1;
    hub = startProgram(starts === 1 ? name : `${name}-${starts}`, ['serve', '--config', config.folder]);
    try {
      await hub.until(ready, 'readiness', readySeconds);
    } catch (error) {
      await stop();
      throw error;
    }
  };
  await start();
  return {
    folder: config.folder, base, issuer: `${base}/api/v2`, privateBase: `http://127.0.0.1:${privatePort}`, stop,
    log: () => hub.state.output, get pid() { return hub.pid; }, signal: (signal) => hub.signal(signal), get exited() { return hub.exited; },
    /** Stops the hub by a signal and starts it again in the same folder. `between` runs while it is stopped. */
    async restart(signal, between = () => {}) {
      hub.signal(signal);
      await hub.exited;
      await hub.stop();
      await between();
      await start();
    },
  };
}

/** Starts the demo on free ports. `url` is the address of the demo service provider. */
export async function startDemo(name = 'demo', environment = {}) {
  const demo = startProgram(name, ['demo', '--port', '0'], environment);
  try {
    const url = await demo.until(() => demo.state.output.match(/Open (http:\/\/\S+)/)?.[1], 'the line `Open http://…`');
    await demo.until(() => fetch(url).then((r) => r.ok, () => false), `an answer of ${url}`);
    return { url, log: () => demo.state.output, stop: () => demo.stop() };
  } catch (error) {
    await demo.stop();
    throw error;
  }
}

const NAMED = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
/** Decodes the character references of HTML that pages with forms use. */
export const decodeHtml = (html) => html.replace(/&(#x[0-9a-f]+|#\d+|[a-z]+);/gi, (whole, name) => {
  if (/^#x/i.test(name)) return String.fromCodePoint(Number.parseInt(name.slice(2), 16));
  if (name.startsWith('#')) return String.fromCodePoint(Number(name.slice(1)));
  return NAMED[name.toLowerCase()] ?? whole;
});

/** Returns the text of a page, for the message of a failed test. */
export const readText = (html) => decodeHtml(html.replace(/<(style|script)\b[\s\S]*?<\/\1>/gi, '').replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ').trim().slice(0, 1500);

function attributes(tag) {
  const found = {};
  for (const [, name, , double, single, bare] of tag.matchAll(/([\w-]+)(\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g)) {
    found[name.toLowerCase()] = decodeHtml(double ?? single ?? bare ?? '');
  }
  return found;
}

/** Returns the forms of a page: action, method, fields and buttons. */
export function parseForms(html, url) {
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

/** A browser made of fetch: stores cookies by host name (regardless of the port), follows redirects itself, submits forms. */
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

  /** Sends one request and follows no redirect. */
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

  /** Follows redirects to a page, or to an address that begins with `stopAt`, which it does not request. */
  async open(url, { stopAt, ...request } = {}) {
    let page = await this.step(url, request);
    for (let hops = 0; page.location && page.status >= 300 && page.status < 400; hops += 1) {
      if (stopAt && page.location.startsWith(stopAt)) return { ...page, url: page.location, stopped: true };
      if (hops > 20) throw new Error(`no end of redirects:\n${this.trail.join('\n')}`);
      page = await this.step(page.location);
    }
    return page;
  }

  /** Submits the first form that `pick(form)` accepts. `values` replace its fields. */
  async submit(page, { pick = () => true, values = {}, stopAt } = {}) {
    const form = parseForms(page.html, page.url).find(pick);
    if (!form) throw new Error(`no such form on ${page.url} (${page.status}):\n${readText(page.html)}\n${this.trail.join('\n')}`);
    const fields = new URLSearchParams(form.fields);
    for (const [name, value] of Object.entries(values)) fields.set(name, value);
    if (form.method === 'GET') return this.open(`${form.action.split('?')[0]}?${fields}`, { stopAt });
    return this.open(form.action, {
      method: 'POST', body: fields, stopAt, headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  }
}

const isChoiceForm = (form) => /\/provider$/.test(form.action);
const isConsentForm = (form) => /\/consent$/.test(form.action);

/** Chooses an identity provider on the choice page. Returns that provider's first page. */
export const chooseProvider = (browser, page, connector, stopAt) =>
  browser.submit(page, { pick: (f) => isChoiceForm(f) && f.buttons.some((b) => b.value === connector), values: { provider: connector }, stopAt });

export const answerConsent = (browser, page, answer, stopAt) =>
  browser.submit(page, { pick: isConsentForm, values: { answer }, stopAt });

/** Performs a login from the authorization URL. Returns the redirect to the service provider. `acr`: the level that the identity provider states. */
export async function signIn(browser, authorizationUrl, { connector = 'real', login = 'angela', acr = '', amr, stopAt }) {
  const choice = await browser.open(authorizationUrl, { stopAt });
  if (choice.stopped) return choice.url;
  const upstream = await chooseProvider(browser, choice, connector, stopAt);
  const consent = await browser.submit(upstream, { values: { login, password: 'any', acr, ...(amr && { amr }) }, stopAt });
  if (consent.stopped) return consent.url;
  const back = await answerConsent(browser, consent, 'yes', stopAt);
  if (!back.stopped) throw new Error(`the login did not come back (${back.status} ${back.url}):\n${readText(back.html)}`);
  return back.url;
}

/** Sends a request that fetch would refuse or change. Returns { status, headers, rawHeaders, text }. */
export const sendRawRequest = (address, { method = 'GET', headers = {}, body } = {}) => new Promise((resolve, reject) => {
  const url = new URL(address);
  const sent = httpRequest({ host: '127.0.0.1', port: url.port, path: url.pathname + url.search, method, headers: { host: url.host, ...headers } }, (response) => {
    const chunks = [];
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, rawHeaders: response.rawHeaders, text: Buffer.concat(chunks).toString() }));
  });
  sent.once('error', reject);
  sent.end(body);
});
