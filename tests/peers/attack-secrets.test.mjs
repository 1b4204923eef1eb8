// A connector's file that tries to have the hub send its secrets away; secrets that everybody can read; a sandbox in public.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { freePorts, oidcConnector, program, random, startServer, startDemo, startHub, tomlString, waitUntil } from './harness.mjs';

const OTHERS_SECRET = `secret-of-another-connector-${random(24)}`;
const ENVIRONMENT = { HUB_BEARER: `variable-of-the-hub-${random(24)}`, CONNECTOR_OTHER__SECRET: `variable-of-another-${random(24)}` };
Object.assign(process.env, ENVIRONMENT);

/** An attacker's identity provider, which keeps every byte that it is sent. */
async function startAttacker() {
  const received = [];
  const server = await startServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${decodeURIComponent(body)}`);
    const issuer = `http://127.0.0.1:${server.port}`;
    const document = {
      issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`, response_types_supported: ['code'], subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'], token_endpoint_auth_methods_supported: ['client_secret_post'],
    };
    const answers = { '/.well-known/openid-configuration': document, '/jwks': { keys: [] } };
    const answer = answers[request.url] ?? { error: 'invalid_grant' };
    response.writeHead(request.url in answers ? 200 : 400, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  return { issuer: `http://127.0.0.1:${server.port}`, received, close: server.close };
}

let hub, attacker, secrets;
before(async () => {
  const [port, privatePort] = await freePorts(2);
  attacker = await startAttacker();
  const sp = { id: 'alpha', secret: random(), redirectUris: [`http://localhost:${port}/sp/callback`] };
  hub = await startHub('hub-secrets', {
    port, privatePort, sps: [sp],
    connectors: { real: oidcConnector(attacker.issuer), other: oidcConnector(attacker.issuer, '', { secret: 'client_secret = { file = "secrets/connectors/other/client.secret" }' }) },
    files: { 'secrets/connectors/other/client.secret': OTHERS_SECRET, 'register.bearer': random() },
  });
  const read = (name) => readFileSync(path.join(hub.folder, name), 'utf8').trim();
  secrets = { 'the subject key': read('subject.key'), 'the admin token': read('admin.token'), 'the other connector’s secret': OTHERS_SECRET, ...ENVIRONMENT };
});
after(async () => {
  await hub?.stop();
  await attacker?.close();
});

/** Without blocking: connections that the hub closes meanwhile are noticed. */
const run = (args, options) => new Promise((resolve) => {
  execFile(program, args, { encoding: 'utf8', ...options }, (error, stdout, stderr) => resolve({ status: error ? error.code : 0, output: stdout + stderr }));
});
const silent = (output, what) => {
  for (const [name, secret] of Object.entries(secrets)) assert.ok(!output.includes(secret), `${what} repeats ${name}`);
};
const fetchReadiness = async () => JSON.stringify(await (await fetch(`${hub.privateBase}/readyz`)).json());
/** Puts a whole file in place at once. */
const put = (name, content) => {
  writeFileSync(path.join(hub.folder, `${name}.new`), content, { mode: 0o600 });
  renameSync(path.join(hub.folder, `${name}.new`), path.join(hub.folder, name));
};

const own = (name) => path.join('secrets/connectors/evil', name);
const link = (target) => (folder) => {
  rmSync(path.join(folder, own('key')), { force: true });
  symlinkSync(target, path.join(folder, own('key')));
};
const ATTACKS = [
  ['the subject key by file', '{ file = "subject.key" }'],
  ['the admin token by file', '{ file = "admin.token" }'],
  ['the admin token by its whole path', (folder) => `{ file = ${tomlString(path.join(folder, 'admin.token'))} }`],
  ['another connector’s secret by file', '{ file = "secrets/connectors/other/client.secret" }'],
  ['another connector’s secret by ..', '{ file = "secrets/connectors/evil/../other/client.secret" }'],
  ['the subject key by ..', '{ file = "secrets/connectors/evil/../../../subject.key" }'],
  ['the subject key by a link', `{ file = "${own('key')}" }`, link('../../../subject.key')],
  ['another connector’s secret by a link', `{ file = "${own('key')}" }`, link('../other/client.secret')],
  ['a signing key by a link', `{ file = "${own('key')}" }`, link('../../../keys')],
  ['a variable of the hub', '{ env = "HUB_BEARER" }'],
  ['a variable of another connector', '{ env = "CONNECTOR_OTHER__SECRET" }'],
  ['a variable that sets a key', '{ env = "PASSERELLE_HOME_COUNTRY" }'],
];

for (const [name, reference, prepare = () => {}] of ATTACKS) {
  test(`a connector that names ${name} is refused by the running hub and by check, and nothing is sent`, async () => {
    mkdirSync(path.join(hub.folder, 'secrets/connectors/evil'), { recursive: true });
    prepare(hub.folder);
    const secret = `client_secret = ${typeof reference === 'function' ? reference(hub.folder) : reference}`;
    const file = 'connectors/evil.toml';
    try {
      put(file, oidcConnector(attacker.issuer, '', { secret }));
      await waitUntil(async () => (await fetchReadiness()).includes('evil.toml'), 'the finding', 60);
      const output = await fetchReadiness();
      assert.match(output, /client_secret\.(file|env) references (a file|an environment variable) that (this file may not|only passerelle\.toml may) reference/, output);
      assert.match(output, /secrets\/connectors\/evil|CONNECTOR_EVIL__/, 'it says what is allowed');
      silent(output, 'the probe');
      const checked = await run(['check', '--config', hub.folder]);
      assert.equal(checked.status, 1, checked.output);
      assert.match(checked.output, /evil\.toml:\d+: kind\.oidc\.client_secret/);
      silent(checked.output, 'check');
      const alone = await run(['check', 'connector', path.join(hub.folder, file), '--config', hub.folder, '--online']);
      assert.equal(alone.status, 1, alone.output);
      silent(alone.output, 'check connector');
      const next = await run(['serve', '--config', hub.folder], { timeout: 30_000 });
      assert.equal(next.status, 1, `another hub must not start: ${next.output}`);
      silent(next.output, 'serve');
    } finally {
      rmSync(path.join(hub.folder, file), { force: true });
    }
    await waitUntil(async () => !(await fetchReadiness()).includes('evil.toml'), 'the end of the finding', 60);
    silent(attacker.received.join('\n'), 'the attacker');
    silent(hub.log(), 'the log');
  });
}

test('a good connector that is turned into an attack keeps its last good version', async () => {
  const file = 'connectors/real.toml';
  const good = readFileSync(path.join(hub.folder, file), 'utf8');
  try {
    put(file, good.replace('"real.secret"', '"admin.token"'));
    await waitUntil(async () => (await fetchReadiness()).includes('real.toml'), 'the finding', 60);
    const list = JSON.parse((await run(['idp', 'list', '--json', '--config', hub.folder])).output);
    assert.ok(list.connectors.some(({ id }) => id === 'real'), 'the last good version counts');
  } finally {
    put(file, good);
  }
  await waitUntil(async () => !(await fetchReadiness()).includes('real.toml'), 'the end of the finding', 60);
});

test('a connector gets the secret of its own, by file and by name', async () => {
  for (const [secret, name] of [['{ file = "fair.secret" }', 'fair.secret'], ['{ file = "secrets/connectors/fair/client.secret" }', 'secrets/connectors/fair/client.secret']]) {
    mkdirSync(path.join(hub.folder, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(hub.folder, name), 'the fair one’s own secret', { mode: 0o600 });
    writeFileSync(path.join(hub.folder, 'fair.toml'), oidcConnector(attacker.issuer, '', { secret: `client_secret = ${secret}` }));
    const checked = await run(['check', 'connector', path.join(hub.folder, 'fair.toml'), '--config', hub.folder]);
    assert.equal(checked.status, 0, checked.output);
  }
});

test('secret files with a mode wider than 0600 fail check, and a hub that starts warns of them', async () => {
  const [token, key] = ['admin.token', 'subject.key'].map((name) => path.join(hub.folder, name));
  assert.equal((await run(['check', '--config', hub.folder])).status, 0);
  for (const mode of [0o644, 0o604, 0o602, 0o640]) {
    chmodSync(token, mode);
    const checked = await run(['check', '--config', hub.folder]);
    assert.equal(checked.status, 1, checked.output);
    assert.match(checked.output, new RegExp(`private\\.admin_token\\.file: .*mode 0${mode.toString(8)}[\\s\\S]*chmod 600.*admin\\.token`));
    silent(checked.output, 'check');
  }
  chmodSync(key, 0o644);
  await hub.restart('SIGTERM');
  assert.match(hub.log(), /WARN.*rejected by `passerelle check`.*subject_key/);
  chmodSync(key, 0o600);
  chmodSync(token, 0o600);
});

test('the demo writes its admin token for its own user alone', async () => {
  const demo = await startDemo('demo-secrets');
  try {
    const tokens = [...demo.log().matchAll(/with the token in (\S+)/g)].map(([, file]) => file);
    assert.equal(tokens.length, 2);
    for (const file of tokens) assert.equal(statSync(file).mode & 0o777, 0o600, file);
  } finally {
    await demo.stop();
  }
});

test('a sandbox at a public https address is refused, unless sandbox_public says so', async () => {
  const settings = path.join(hub.folder, 'passerelle.toml');
  const good = readFileSync(settings, 'utf8');
  try {
    const open = good.replace(/^base_url = .*$/m, 'base_url = "https://login.example.org"\nsandbox = true');
    writeFileSync(settings, open);
    for (const command of ['check', 'serve']) {
      const refused = await run([command, '--config', hub.folder], { timeout: 30_000 });
      assert.equal(refused.status, 1, refused.output);
      assert.match(refused.output, /sandbox: .*\n\s+fix: .*sandbox_public = true/);
    }
    writeFileSync(settings, open.replace('sandbox = true', 'sandbox = true\nsandbox_public = true'));
    assert.equal((await run(['check', '--config', hub.folder])).status, 0);
  } finally {
    writeFileSync(settings, good);
  }
});

test('keys rotate has the running hub read the keys before it returns', async () => {
  const kids = async () => (await (await fetch(`${hub.issuer}/jwks`)).json()).keys.map(({ kid }) => kid);
  const before = await kids();
  const rotated = await run(['keys', 'rotate', '--config', hub.folder]);
  assert.equal(rotated.status, 0, rotated.output);
  assert.match(rotated.output, /the hub at http:\S+ has loaded them/);
  const made = [...rotated.output.matchAll(/created (\S+) \(tokens\)/g)].map(([, kid]) => kid);
  assert.equal(made.length, 2);
  const after = await kids();
  for (const kid of made) assert.ok(after.includes(kid) && !before.includes(kid), kid);
});

test('keys rotate without an admin token says when a hub reads the keys, and keeps the lead that is set', async () => {
  const folder = path.join(hub.folder, 'alone');
  mkdirSync(folder);
  assert.equal((await run(['keys', 'new', '--dir', path.join(folder, 'keys')])).status, 0);
  const settings = readFileSync(path.join(hub.folder, 'passerelle.toml'), 'utf8').replace(/^admin_token = .*$/m, '').replace('"keys"', '"keys"\nlifetimes.signing_key_lead_seconds = 7200');
  writeFileSync(path.join(folder, 'passerelle.toml'), settings);
  const rotated = await run(['keys', 'rotate', '--dir', path.join(folder, 'keys')]);
  assert.equal(rotated.status, 0, rotated.output);
  assert.match(rotated.output, /within 30 s/);
  const listed = (await run(['keys', 'list', '--dir', path.join(folder, 'keys')])).output.split('\n');
  assert.match(listed[0], /^KID +USE +ALG +STATE +SINCE +UNTIL +LOCATION$/);
  const next = listed.filter((line) => / tokens .* next /.test(line));
  assert.equal(next.length, 2, listed.join('\n'));
  for (const line of next) {
    const [since, until] = line.match(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/g).map((at) => Date.parse(at.replace(' ', 'T')));
    assert.ok(Math.abs(until - since - 7_200_000) <= 1000, line);
  }
  const columns = new Set(listed.filter(Boolean).map((line) => line.search(/\S+$/) && line.indexOf(line.split(/ {2,}/)[1])));
  assert.equal(columns.size, 1, 'the columns are aligned');
});

test('a refused authorization request is logged with the client_id that is registered, and with no other', async () => {
  const ask = async (client_id, more = {}) => {
    const before = hub.log().length;
    const query = new URLSearchParams({ client_id, redirect_uri: `${hub.base}/sp/callback`, response_type: 'code', scope: 'openid', state: random(), nonce: random(), ...more });
    await fetch(`${hub.issuer}/authorize?${query}`, { redirect: 'manual' });
    await waitUntil(() => /request rejected/.test(hub.log().slice(before)), 'a line', 60);
    return hub.log().slice(before);
  };
  assert.match(await ask('alpha'), /client_id="alpha"/, 'on a page: acr_values is missing');
  assert.match(await ask('alpha', { redirect_uri: 'https://evil.example/' }), /client_id="alpha"/, 'on a page: another redirect URI');
  assert.match(await ask('alpha', { acr_values: 'eidas9' }), /client_id="alpha"/, 'by redirect');
  const unknown = await ask('evil" level="error');
  assert.ok(!unknown.includes('evil') && !unknown.includes('client_id='), unknown);
});

test('commands that ask a running hub end with an error where their output meets a full device, and quietly where it meets a closed pipe', async () => {
  const shell = (line) => new Promise((resolve) => {
    execFile('bash', ['-c', line, program, hub.folder], { encoding: 'utf8' }, (error, stdout, stderr) => resolve({ status: error ? error.code : 0, stderr }));
  });
  for (const command of ['status', 'status --json', 'idp list', 'idp list --json']) {
    const full = await shell(`"$0" ${command} --config "$1" > /dev/full`);
    assert.equal(full.status, 74, `${command}: ${full.stderr}`);
    assert.match(full.stderr, /^passerelle: standard output can't be written: .*\n$/);
    assert.deepEqual(await shell(`"$0" ${command} --config "$1" | true; exit "\${PIPESTATUS[0]}"`), { status: 0, stderr: '' }, command);
  }
});
