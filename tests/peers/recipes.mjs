// Helpers of the tests of docs/recipes/. A test takes the files of a page, replaces addresses and secrets, and signs a user in with
// the real product. Hub and product are on loopback, so each connector's file gets `insecure_http` and `internal_hosts`.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as oidc from 'openid-client';
import { Browser, IDP_CLIENT, IDP_SECRET, artifacts, chooseProvider, freePorts, includesAll, oidcConnector, program, random, readText, root, sha256, skipUnlessAll, startHub } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

/** The hub's and the service provider's addresses in every page. */
export const HUB = 'https://login.example.org';
export const APP = 'https://app.example.org';

/** The folder for downloaded and built products. */
export const productCache = path.join(process.env.CARGO_TARGET_DIR ?? path.join(root, 'target'), 'recipes');
const folders = [process.env.RECIPE_PRODUCTS, productCache].filter(Boolean);

/** A page of docs/recipes/: `file(name)` is the fenced block under the line that holds only that name, as code, and a colon. */
export function readRecipe(name) {
  const page = readFileSync(path.join(root, `docs/recipes/${name}.md`), 'utf8');
  const blocks = new Map([...page.matchAll(/^`([^`\n]+)`:\n\n```\w*\n([\s\S]*?)^```$/gm)].map(([, title, body]) => [title, body]));
  return {
    file(title) {
      assert.ok(blocks.has(title), `docs/recipes/${name}.md has no block ${title}: ${[...blocks.keys()]}`);
      return blocks.get(title);
    },
  };
}

/** `text` with each key of `pairs` replaced by its value; fails if the page does not contain a key. */
export function replaceAll(text, pairs) {
  return Object.entries(pairs).reduce((whole, [from, to]) => {
    assert.ok(whole.includes(from), `the page does not hold ${from}:\n${whole}`);
    return whole.replaceAll(from, to);
  }, text);
}

/** Adds the settings for an identity provider on loopback to a connector's file. */
export const allowLoopback = (text) => {
  assert.match(text, /^\[kind\.(oidc|saml)\]$/m);
  return text.replace(/^\[kind\.(oidc|saml)\]$/m, '$&\ninsecure_http = true\ninternal_hosts = ["localhost", "127.0.0.1"]');
};

/** The hub's settings and scopes of the index, which declare the claim `groups`. */
const index = readRecipe('README');
const GROUPS = index.file('passerelle.toml').slice(index.file('passerelle.toml').indexOf('[claims.groups]'));
const SETTINGS = `identity_source = "provider"\nsubject = "provider"\n${GROUPS}`;
const SCOPES = { 'scopes.toml': index.file('scopes.toml') };
const SERVICE = 'recipe-service';

/**
 * Starts a hub for ordinary identity providers, with a service provider (openid-client).
 * ports: the hub's two · connectors: { id: text } · files: as for `configure`.
 */
export async function startHubForIdp(name, { ports: [port, privatePort], connectors, files }) {
  const sp = { id: SERVICE, secret: random(32), redirectUri: `http://localhost:${port}/sp/callback`, postLogoutUri: `http://localhost:${port}/sp/out` };
  const hub = await startHub(name, {
    port, privatePort, register: '', settings: SETTINGS, connectors, files: { ...SCOPES, ...files },
    sps: [{
      ...sp, redirectUris: [sp.redirectUri], postLogoutUris: [sp.postLogoutUri], scopes: ['openid', 'profile', 'email', 'groups'],
      extra: 'rules = "openid"\nconsent = "none"',
    }],
  });
  const client = await oidc.discovery(new URL(hub.issuer), sp.id, undefined, oidc.ClientSecretBasic(sp.secret), {
    execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
  });
  const authorizationUrl = (more) => oidc.buildAuthorizationUrl(client, {
    redirect_uri: sp.redirectUri, scope: 'openid profile email groups', state: random(32), nonce: random(32), claims: '{"id_token":{"amr":{"essential":true}}}',
    code_challenge: random(32), code_challenge_method: 'S256', ...more,
  }).href;
  return {
    ...hub,
    authorizationUrl,
    /**
     * Performs a login: `authenticate(browser, page)` fills in the identity provider's pages and returns the redirect back to the service.
     * Returns { claims, person, idToken }, or { code } where `authenticate` never was asked for, because the browser came back at once.
     */
    async signIn(connector, authenticate, { browser = new Browser(), more = {} } = {}) {
      const [state, nonce, verifier] = [random(32), random(32), oidc.randomPKCECodeVerifier()];
      const url = authorizationUrl({ state, nonce, code_challenge: await oidc.calculatePKCECodeChallenge(verifier), ...more });
      let page = await browser.open(url, { stopAt: sp.redirectUri });
      if (!page.stopped) page = await chooseProvider(browser, page, connector, sp.redirectUri);
      const asked = !page.stopped;
      if (asked) page = await authenticate(browser, page, sp.redirectUri);
      assert.ok(page.stopped, `no return to the service: ${page.status} ${page.url}\n${readText(page.html)}\n${browser.trail.join('\n')}\n${hub.log().slice(-3000)}`);
      const tokens = await oidc.authorizationCodeGrant(client, new URL(page.url), { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce });
      const claims = tokens.claims();
      return { asked, claims, person: await oidc.fetchUserInfo(client, tokens.access_token, claims.sub), idToken: tokens.id_token };
    },
    signOutUrl: (idToken) => oidc.buildEndSessionUrl(client, { id_token_hint: idToken, post_logout_redirect_uri: sp.postLogoutUri, state: random(32) }).href,
    postLogoutUri: sp.postLogoutUri,
  };
}

/** Fails unless `passerelle check connector --online` finds nothing wrong with a connector of a running hub, apart from a test's certificate or its lack. */
export async function checkOnline(hub, connector) {
  const { out, err } = await runProgram(program, ['check', 'connector', path.join(hub.folder, `connectors/${connector}.toml`), '--config', hub.folder, '--online', '--json']);
  const { diagnostics } = JSON.parse(out || assert.fail(err));
  assert.deepEqual(diagnostics.filter(({ name, status }) => name !== 'certificate' && !['ok', 'skipped'].includes(status)), []);
}

/** Starts a hub with the service provider of a page, whose file is in `files`, and a real identity provider. */
export async function startHubForSp(name, { files }) {
  const [port, privatePort, idpPort] = await freePorts(3);
  const idp = await startIdp({
    port: idpPort, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, ordinary: true, redirectUris: [`http://localhost:${port}/api/v2/callback/real`],
    client: { post_logout_redirect_uris: [`http://localhost:${port}/api/v2/session/end/real`] },
  });
  const real = oidcConnector(idp.issuer, 'scopes = ["openid", "profile", "email", "groups"]', { secret: 'client_secret = { file = "real.secret" }' })
    .replace(/^acr = .*$/m, 'assumed_level = "eidas1"');
  try {
    const hub = await startHub(name, { port, privatePort, register: '', settings: SETTINGS, sps: [], connectors: { real }, files: { 'real.secret': IDP_SECRET, ...SCOPES, ...files } });
    return { ...hub, idp, stop: async () => { await hub.stop(); await idp.close(); } };
  } catch (error) {
    await idp.close();
    throw error;
  }
}

/** Claims of the user who signs in by `throughHub`. */
export const JANE = { name: 'Jane Marie Doe', email: 'jane@people.example', preferred_username: 'jane' };
/** Jane's groups, which a service provider with the scope `groups` receives. */
export const GROUPS_OF_JANE = ['editors', 'staff'];

/** Deletes the hub's cookies in a browser. The session at the identity provider remains. */
export function deleteHubCookies(browser) {
  for (const jar of browser.jar.values()) for (const name of jar.keys()) if (name.includes('passerelle')) jar.delete(name);
}

/** Signs Jane in from the hub's choice page. Returns the page of the service provider, or the redirect to `stopAt`. */
export async function signInThroughHub(browser, choice, stopAt, login = 'jane') {
  const page = await chooseProvider(browser, choice, 'real', stopAt);
  return page.stopped ? page : browser.submit(page, { values: { login, password: 'any' }, stopAt });
}

/** Signs out from the service provider's address, and confirms at the identity provider. */
export const signOutThroughHub = async (browser, address, stopAt) =>
  browser.submit(await browser.open(address, { stopAt }), { pick: (form) => form.action.includes('/session/end'), values: { logout: 'yes' }, stopAt });

/** Signs out at the hub itself, which then informs its service providers. */
export const signOutAtHub = async (browser, hub) =>
  browser.submit(await browser.open(`${hub.issuer}/session/end`), { pick: (form) => form.action.endsWith('/session/end/confirm'), values: { logout: 'yes' } });

/** Creates a folder for a product's configuration. Node.js programs in it find the packages of the tests. */
export function createFolder(files) {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-recipe-'));
  symlinkSync(path.join(root, 'tests/peers/node_modules'), path.join(folder, 'node_modules'));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content, { mode: 0o600 });
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The path of a program, or undefined: in RECIPE_PRODUCTS, the cache, or on the PATH. */
export function findProgram(program) {
  const places = [...folders, ...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin'];
  return places.map((place) => path.join(place, program)).find((file) => existsSync(file));
}

/** Returns the reason to skip a test that needs `program`, or false. `how` says how to install it. */
export const skipWithout = (program, how) => (findProgram(program) ? false : `${program} is not there. ${how} Found on the PATH, or in the folder that RECIPE_PRODUCTS names.`);

/** The interpreter of a product that PyPI has: tests/install makes an environment of recipes/NAME/requirements.txt with TESTS=all. */
export const productPython = (name) => findProgram(`${name}/bin/python`);
/** Returns the reason to skip a test of such a product, or false. */
export const skipWithoutPython = (name) => (productPython(name) ? skipUnlessAll : `${name} is not there: TESTS=all tests/install peers installs it.`);

/** Keycloak, from a folder keycloak-VERSION in RECIPE_PRODUCTS or target/recipes/; with TESTS=all Maven brings it there (150 MB). */
const KEYCLOAK = 'keycloak-26.4.7';
const hasKeycloak = () => findProgram(`${KEYCLOAK}/bin/kc.sh`);
/** Returns the reason to skip a test of Keycloak, or false. */
export const skipWithoutKeycloak = () => skipWithout('java', 'Install a Java 17 runtime or later.')
  || (!hasKeycloak() && !(includesAll && findProgram('mvn')) && `${KEYCLOAK} is not there: TESTS=all and Maven bring it, or unpack it as ${KEYCLOAK} in the folder that RECIPE_PRODUCTS names.`);
/** Returns the folder of Keycloak, which Maven brings if it is not there. */
export async function keycloakFolder() {
  if (!hasKeycloak()) {
    const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK.replace('keycloak-', '')}:zip`;
    mkdirSync(productCache, { recursive: true });
    await runSuccessfully('mvn', ['-q', '-ntp', 'dependency:get', `-Dartifact=${artifact}`, '-Dtransitive=false']);
    await runSuccessfully('mvn', ['-q', '-ntp', 'dependency:unpack', `-Dartifact=${artifact}`, `-DoutputDirectory=${productCache}`], { cwd: productCache });
  }
  return path.dirname(path.dirname(hasKeycloak()));
}

// Uses the installed Go toolchain and downloads no other.
export const goEnv = { ...process.env, GOTOOLCHAIN: 'local' };
/** Returns the reason to skip a test of a Go program, or false. */
export function skipWithoutGo() {
  const version = findProgram('go') && spawnSync(findProgram('go'), ['env', 'GOVERSION'], { encoding: 'utf8', env: goEnv }).stdout.match(/^go1\.(\d+)/)?.[1];
  return skipWithout('go', 'Install Go 1.26 or later.') || (Number(version) < 26 && `go is of version 1.${version}. Install Go 1.26 or later.`);
}

/** Runs a program to its end. Returns { status, out, err }. */
export function runProgram(program, args, { input = '', ...options } = {}) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
  const output = { out: '', err: '' };
  child.stdout.on('data', (chunk) => { output.out += chunk; });
  child.stderr.on('data', (chunk) => { output.err += chunk; });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...output }));
  });
}

/** Runs a program and returns its output. Fails if the program fails. */
export async function runSuccessfully(program, args, options) {
  const { status, out, err } = await runProgram(program, args, options);
  assert.equal(status, 0, `${program} ${args.join(' ')}\n${out.slice(-4000)}\n${err.slice(-4000)}`);
  return out;
}

/** Starts a product and waits until `ready` answers: an address, or a function that returns whether it does. Saves its output in the artifacts. stop() ends it and its children. */
export async function startProduct(name, program, args, { ready, seconds = 60, ...options }) {
  const log = createWriteStream(path.join(artifacts, `recipe-${name}.log`));
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options });
  let [output, ended] = ['', null];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { output = (output + chunk).slice(-20_000); log.write(chunk); });
  const exit = new Promise((resolve) => {
    child.once('error', (error) => { ended = String(error); resolve(); });
    child.once('exit', (code, signal) => { ended = signal ?? code; resolve(); });
  });
  const kill = (signal) => { try { process.kill(-child.pid, signal); } catch { /* it has ended */ } };
  const orphan = () => kill('SIGKILL');
  process.once('exit', orphan);
  const stop = async () => {
    if (child.pid !== undefined) kill('SIGTERM');
    const late = setTimeout(orphan, 20_000);
    await exit;
    clearTimeout(late);
    process.off('exit', orphan);
    log.end();
  };
  const answers = typeof ready === 'function' ? ready : () => fetch(ready, { redirect: 'manual' }).then((response) => response.status < 500, () => false);
  const deadline = performance.now() + seconds * 1000;
  while (!(await answers())) {
    if (ended !== null || performance.now() > deadline) {
      await stop();
      throw new Error(`${name} does not answer at ${ready} (ended: ${ended})\n${output}`);
    }
    await new Promise((done) => { setTimeout(done, 100); });
  }
  return { stop, output: () => output };
}

/** Starts a program that prints lines and reads replies. line() returns its next line, say() sends a reply, failure() returns the errors of a program that failed. */
export function startDialogue(program, args, options = {}) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
  const stop = () => child.kill('SIGKILL');
  process.once('exit', stop);
  let errors = '';
  child.stderr.on('data', (chunk) => { errors += chunk; });
  const exit = new Promise((resolve) => { child.once('close', resolve); });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    say: (text) => child.stdin.write(`${text}\n`),
    async line() {
      const { value } = await lines.next();
      if (value === undefined) await exit;
      return value ?? assert.fail(errors);
    },
    async failure() {
      assert.notEqual(await exit, 0, `${program} did not fail`);
      return errors;
    },
    stop: () => { stop(); process.off('exit', stop); },
  };
}

/**
 * A Spring Boot application of recipes/NAME/, or of the folder `from`, with `files` of a page beside its own. build() makes its jar by Maven,
 * which brings 60 MB the first time: with TESTS=all, else only where that jar is in the cache already.
 */
export function springApplication(name, files = {}, from = path.join(root, 'tests/peers/recipes', name)) {
  const own = ['pom.xml', 'src/main/java/app/Application.java'].map((file) => [file, readFileSync(path.join(from, file), 'utf8')]);
  const sources = { ...Object.fromEntries(own), ...files };
  // The folder's name depends on the sources, so a jar is never older than the page.
  const folder = path.join(productCache, `${name}-${sha256(JSON.stringify(sources)).toString('hex').slice(0, 12)}`);
  const jar = path.join(folder, `target/${name}.jar`);
  const skip = !findProgram('java') ? 'java is not there: install a JDK 17 or later.'
    : existsSync(jar) || (includesAll && findProgram('mvn')) ? false
    : includesAll ? 'mvn is not there: install Maven.' : `${name}.jar is not built: TESTS=all, a JDK and Maven build it once.`;
  return {
    skip,
    async build() {
      if (existsSync(jar)) return jar;
      for (const [file, content] of Object.entries(sources)) {
        mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
        writeFileSync(path.join(folder, file), content);
      }
      await runSuccessfully('mvn', ['-q', '-ntp', '-DskipTests', 'package'], { cwd: folder });
      return jar;
    },
  };
}
