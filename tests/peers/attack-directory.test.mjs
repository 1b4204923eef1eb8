// A directory that locks accounts (slapd with ppolicy, pwdMaxFailure 5), and strangers who know a name and no password.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as oidc from 'openid-client';
import { ACCOUNT, BASE, PASSWORD, startDirectory } from './directory.mjs';
import { Browser, chooseProvider, freePorts, random, startHub } from './harness.mjs';

/** A browser with this client address, which the load balancer in front of the hub states. */
class BrowserAt extends Browser {
  constructor(address) {
    super();
    this.address = address;
  }

  step(url, options = {}) {
    return super.step(url, { ...options, headers: { ...options.headers, 'x-forwarded-for': this.address } });
  }
}

const connector = (more) => `name = { en = "Town hall" }
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.ldap]
url = "ldaps://localhost:${directory.tlsPort}"
bind_dn = "${ACCOUNT.dn}"
bind_password = { file = "town.secret" }
base_dn = "ou=people,${BASE}"
attributes = ["givenName", "sn", "mail"]
internal_hosts = ["localhost"]
ca = "ca.pem"
lockout_after = 5
forgotten_password_url = "https://directory.example.org/password"
${more}
`;

let hub, directory, sp, client;
before(async () => {
  const [port, privatePort] = await freePorts(2);
  directory = await startDirectory({ lockAfter: 5 });
  sp = { id: 'ordinary', secret: random(32), redirectUri: `http://localhost:${port}/sp/ordinary/callback` };
  hub = await startHub('attack-directory', {
    port, privatePort, register: '', settings: 'identity_source = "provider"\nsubject = "provider"',
    files: { 'town.secret': ACCOUNT.password, 'lenient.secret': ACCOUNT.password, 'ca.pem': directory.ca },
    sps: [{ ...sp, redirectUris: [sp.redirectUri], scopes: ['openid'], extra: 'rules = "openid"\nconsent = "none"' }],
    connectors: {
      town: connector(''),
      lenient: connector('must_change_password = "warn"').replace('Town hall', 'Lenient').replace('town.secret', 'lenient.secret'),
    },
  });
  await hub.restart('SIGTERM', () => {
    const file = path.join(hub.folder, 'passerelle.toml');
    const trusts = '[public]\ntrusted_proxies = ["127.0.0.0/8", "::1/128"]\nclient_address_header = "x-forwarded-for"';
    writeFileSync(file, readFileSync(file, 'utf8').replace('[public]', trusts));
  });
  client = await oidc.discovery(
    new URL(`${hub.issuer}/.well-known/openid-configuration`), sp.id, undefined, oidc.ClientSecretPost(sp.secret),
    { execute: [oidc.allowInsecureRequests] },
  );
});
after(async () => { await hub?.stop(); await directory?.stop(); });

const authorize = () => oidc.buildAuthorizationUrl(client, { redirect_uri: sp.redirectUri, scope: 'openid', prompt: 'login' }).href;

/** Returns the response to one attempt from this address. A `stopped` page is a successful login. */
async function tryFrom(address, username, password, provider = 'town') {
  const browser = new BrowserAt(address);
  const page = await chooseProvider(browser, await browser.open(authorize()), provider, sp.redirectUri);
  return browser.submit(page, { values: { username, password }, stopAt: sp.redirectUri });
}

const signsIn = async (address, username = 'angela') => Boolean((await tryFrom(address, username, PASSWORD)).stopped);

test('strangers in ten networks do not lock a person\'s account, nor keep her out where she signs in', async () => {
  assert.ok(await signsIn('203.0.113.7'));
  const statuses = [];
  for (let network = 0; network < 10; network += 1) {
    for (let guess = 0; guess < 3; guess += 1) statuses.push((await tryFrom(`198.51.${network}.9`, 'angela', `guess ${guess}`)).status);
  }
  const judged = statuses.filter((status) => status === 403).length;
  assert.equal(judged, 3, 'of 30 guesses the directory saw 3, and its fifth locks the account');
  assert.equal(statuses.filter((status) => status === 429).length, 27);
  assert.ok(await signsIn('203.0.113.200'), 'her network, another address');
});

test('a stranger in one network leaves a person who is new everywhere a try elsewhere', async () => {
  const statuses = [];
  for (let guess = 0; guess < 12; guess += 1) statuses.push((await tryFrom('198.51.100.9', 'star*', `guess ${guess}`)).status);
  assert.deepEqual([statuses.filter((status) => status === 403).length, statuses.filter((status) => status === 429).length], [2, 10]);
  const waits = await tryFrom('198.51.100.9', 'star*', PASSWORD);
  assert.equal(waits.status, 429, 'a right password is not judged there either');
  assert.ok(Number(waits.headers.get('retry-after')) > 0);
  assert.ok(await signsIn('192.0.2.44', 'star*'));
});

test('one person with many made-up names makes the hub fail 20 binds, and no more', async () => {
  const statuses = [];
  for (let name = 0; name < 30; name += 1) statuses.push((await tryFrom('100.64.3.9', `made-up-${name}`, 'guess')).status);
  assert.deepEqual([statuses.filter((status) => status === 403).length, statuses.filter((status) => status === 429).length], [20, 10]);
  assert.ok(await signsIn('203.0.113.7'), 'others do not wait for that');
});

test('sign-ins between guesses at other accounts allow no more of these, and the guesses do not keep the person out', async () => {
  assert.ok(await signsIn('100.64.4.7'));
  const statuses = [];
  for (let name = 0; name < 25; name += 1) {
    statuses.push((await tryFrom('100.64.4.9', `guessed-${name}`, 'guess')).status);
    assert.ok(await signsIn('100.64.4.7'), `after ${statuses.length} guesses`);
  }
  assert.deepEqual([statuses.filter((status) => status === 403).length, statuses.filter((status) => status === 429).length], [20, 5]);
});

test('a password that was reset does not sign in, or does so after a page that says so', async () => {
  const refused = await tryFrom('192.0.2.60', 'must-change', PASSWORD);
  assert.equal(refused.status, 403, refused.html);
  assert.match(refused.html, /Y020127/);
  assert.match(refused.html, /href="https:\/\/directory\.example\.org\/password"[^>]*>Set a new password/);
  assert.equal((await tryFrom('192.0.2.60', 'must-change', 'wrong')).status, 403);

  const browser = new BrowserAt('192.0.2.61');
  const page = await chooseProvider(browser, await browser.open(authorize()), 'lenient', sp.redirectUri);
  const notice = await browser.submit(page, { values: { username: 'must-change', password: PASSWORD }, stopAt: sp.redirectUri });
  assert.equal(notice.status, 200);
  assert.match(notice.html, /you must change it/);
  const [, href] = notice.html.match(/<a class="button main" href="([^"]+)"/);
  const back = await browser.open(new URL(href.replaceAll('&#38;', '&').replaceAll('&amp;', '&'), notice.url).href, { stopAt: sp.redirectUri });
  assert.ok(back.stopped, back.html);
});

test('an expired password signs in as often as the directory allows, and then differs from a wrong one', async () => {
  const grace = await tryFrom('192.0.2.62', 'expired', PASSWORD);
  assert.equal(grace.status, 200);
  assert.match(grace.html, /Your password has expired/);
  const refused = await tryFrom('192.0.2.62', 'expired', PASSWORD);
  assert.equal(refused.status, 403);
  assert.match(refused.html, /Y020127/);
  assert.doesNotMatch((await tryFrom('192.0.2.62', 'expired', 'wrong')).html, /Y020127/);
});

test('the check compares lockout_after with the policy of the directory', async () => {
  const file = path.join(hub.folder, 'connectors/town.toml');
  const lockout = async () => {
    const args = ['check', 'connector', file, '--config', hub.folder, '--online', '--json'];
    const out = await new Promise((done) => { execFile(process.env.HUB_BIN, args, (error, stdout) => done(stdout)); });
    return JSON.parse(out).diagnostics.find(({ name }) => name === 'lockout');
  };
  assert.equal((await lockout()).status, 'ok');
  writeFileSync(file, readFileSync(file, 'utf8').replace('lockout_after = 5', 'lockout_after = 10'));
  const { status, fix } = await lockout();
  assert.equal(status, 'error');
  assert.match(fix, /lockout_after = 5/);
});
