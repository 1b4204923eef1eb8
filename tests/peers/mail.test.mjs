// `passerelle check --online` sends a mail through a real SMTP server (mail-server/server.py), which has faults. PYTHON names an
// interpreter with python-sp/requirements.txt (tests/install makes one).
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { configure, freePorts, listens, program, random, root, waitUntil } from './harness.mjs';

const python = process.env.PYTHON ?? 'python3';
const certificates = mkdtempSync(path.join(tmpdir(), 'passerelle-mail-'));
const at = (name) => path.join(certificates, name);
const servers = {};

function issue(name) {
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', at(`${name}.key`), '-out', at(`${name}.crt`), '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE'], { stdio: 'pipe' });
}

before(async () => {
  issue('server');
  issue('stranger');
  const ports = await freePorts(3);
  for (const [index, security] of ['starttls', 'implicit', 'none'].entries()) {
    const server = { port: ports[index], output: '' };
    server.child = spawn(python, [path.join(root, 'tests/peers/mail-server/server.py'), server.port, security, at('server.crt'), at('server.key')]);
    server.child.stdout.on('data', (chunk) => { server.output += chunk; });
    servers[security] = server;
  }
  for (const { port } of Object.values(servers)) await waitUntil(() => listens(port), 'the start of the mail server');
});
after(() => {
  for (const { child } of Object.values(servers)) child.kill();
  rmSync(certificates, { recursive: true });
});

/** The exit code of `check --online` with this table, and its line about mail. */
async function check(url, { to = 'operator', ca = 'server', password = 'right', more = '' } = {}) {
  const [port, privatePort] = await freePorts(2);
  const account = password && 'username = "hub"\npassword = { file = "mail.password" }';
  const settings = `[mail]\nurl = "${url}"\n${account}\nfrom = "hub@example.org"\ntest_recipient = "${to}@example.org"\nca = "${at(`${ca}.crt`)}"\ninternal_hosts = ["localhost"]\n${more}`;
  const sps = [{ id: 'sp', secret: random(), redirectUris: ['http://localhost:1/callback'] }];
  const { folder, remove } = configure({ port, privatePort, sps, connectors: {}, settings, files: { 'mail.password': password } });
  return new Promise((resolve) => {
    execFile(program, ['check', '--config', folder, '--online'], (error, stdout, stderr) => {
      remove();
      resolve({ code: error?.code ?? 0, line: /^mail: .*$/m.exec(stdout)?.[0] ?? stdout + stderr });
    });
  });
}

for (const [security, scheme] of [['starttls', 'smtp'], ['implicit', 'smtps']]) {
  test(`a mail arrives over TLS: ${security}`, async () => {
    const server = servers[security];
    const { code, line } = await check(`${scheme}://localhost:${server.port}`);
    assert.match(line, /accepted the mail/);
    assert.equal(code, 0, line);
    const mail = JSON.parse(server.output.trim().split('\n').at(-1));
    assert.deepEqual([mail.from, mail.to, mail.tls], ['hub@example.org', ['operator@example.org'], true]);
    assert.match(mail.content, /^Subject: /m);
    assert.match(mail.content, /^Content-Type: multipart\/alternative/m);
  });
}

test('every fault of a mail server is named, and no mail goes out without TLS', async () => {
  const [closed] = await freePorts(1);
  const starttls = `smtp://localhost:${servers.starttls.port}`;
  const before = Object.values(servers).map(({ output }) => output);
  for (const [url, options, expected] of [
    [starttls, { to: 'greylisted' }, /defers the mail with 451/],
    [starttls, { to: 'busy' }, /defers the mail with 452/],
    [starttls, { to: 'unknown' }, /rejects the mail with 550/],
    [starttls, { to: 'slow' }, /did not answer in time/],
    [starttls, { password: 'wrong' }, /answers the account with 535/],
    [starttls, { ca: 'stranger' }, /TLS failed/],
    [`smtp://localhost:${servers.none.port}`, {}, /offers no STARTTLS, so nothing was sent/],
    [`smtp://localhost:${closed}`, {}, /can't be reached/],
    [`smtp://mail.example.org`, { more: 'insecure_smtp = true' }, /another machine without TLS/],
  ]) {
    const { code, line } = await check(url, options);
    assert.match(line, expected);
    assert.equal(code, 1, line);
  }
  assert.deepEqual(Object.values(servers).map(({ output }) => output), before, 'a mail was accepted');
  const loopback = await check(`smtp://localhost:${servers.none.port}`, { password: '', more: 'insecure_smtp = true' });
  assert.match(loopback.line, /accepted the mail/);
});
