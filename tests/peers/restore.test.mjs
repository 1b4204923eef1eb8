// Runs the commands of docs/backup.md on a real hub: it is backed up while users sign in, deleted and restored.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { discoverHub, redeemCode, buildAuthorizationRequest, startFederation } from './federation.mjs';
import { Browser, program, root, signIn } from './harness.mjs';

const page = readFileSync(path.join(root, 'docs/backup.md'), 'utf8');
const block = (heading) => page.split(`## ${heading}\n`)[1].match(/```sh\n([\s\S]*?)```/)[1];
const run = (...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

test('a hub that is restored from its backup knows the same people, keys, blocks and audit log', async () => {
  const elsewhere = mkdtempSync(path.join(tmpdir(), 'passerelle-restore-'));
  const folders = { STATE: path.join(elsewhere, 'state'), AUDIT: path.join(elsewhere, 'audit'), BACKUP: path.join(elsewhere, 'backup') };
  const fed = await startFederation('hub-restore', {}, {
    settings: `state = ${JSON.stringify(folders.STATE)}\naudit.sink = "file"\naudit.path = ${JSON.stringify(path.join(folders.AUDIT, 'audit.jsonl'))}\n`,
  });
  const { hub, sp } = fed;
  const shell = (script) => {
    const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', script], { encoding: 'utf8', env: { ...process.env, ...folders, CONFIG: hub.folder } });
    assert.equal(status, 0, `${script}\n${stdout}${stderr}`);
  };
  /** Signs the same person in, and returns its `sub`. */
  const subject = async () => {
    const client = await discoverHub(hub, sp);
    const authorization = await buildAuthorizationRequest(client, sp);
    const redirect = await signIn(new Browser(), authorization.url, { stopAt: sp.redirectUri });
    const { body } = await redeemCode(hub, sp, { code: new URL(redirect).searchParams.get('code'), code_verifier: authorization.verifier });
    return JSON.parse(Buffer.from(body.id_token.split('.')[1], 'base64url')).sub;
  };
  const kids = async () => (await (await fetch(`${hub.issuer}/jwks`)).json()).keys.map(({ kid }) => kid).sort();
  const starts = () => readFileSync(path.join(folders.AUDIT, 'audit.jsonl'), 'utf8').split('\n').filter((line) => line.includes('"event":"start"')).map((line) => JSON.parse(line).last_checkpoint);
  try {
    run('keys', 'rotate', '--config', hub.folder);
    run('idp', 'block', 'real', '--sp', fed.other.id, '--reason', 'a test', '--config', hub.folder);
    const before = { sub: await subject(), kids: await kids() };
    const busy = Promise.all([subject(), subject(), subject()]);
    shell(block('Back up'));
    await busy;

    await hub.restart('SIGKILL', () => {
      for (const folder of [folders.STATE, folders.AUDIT]) rmSync(folder, { recursive: true });
      for (const name of readdirSync(hub.folder)) rmSync(path.join(hub.folder, name), { recursive: true });
      shell(block('Restore'));
      run('check', '--config', hub.folder);
    });
    assert.deepEqual({ sub: await subject(), kids: await kids() }, before, 'the person or the keys are others');
    assert.match(run('idp', 'list', '--config', hub.folder), /a test/, 'the block is gone');
    assert.deepEqual(starts(), ['unknown', 'matched'], 'the audit log is not taken for the one that was backed up');
    await hub.restart('SIGTERM');
    const verified = spawnSync(program, ['audit', 'verify', '--running', '--keys', path.join(hub.folder, 'keys'), path.join(folders.AUDIT, 'audit.jsonl'), '--checkpoints', path.join(folders.STATE, 'audit-last-checkpoint.json')], { encoding: 'utf8' });
    // The backup of a running hub has lines that it had not signed yet.
    assert.equal(verified.status, 2, verified.stdout + verified.stderr);
    assert.match(verified.stdout, /No modification was found, but \d+ lines are unproven/);
  } finally {
    await fed.stop();
    rmSync(elsewhere, { recursive: true, force: true });
  }
});

test('a backup that was damaged is not restored', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-damaged-'));
  try {
    const env = { ...process.env };
    for (const name of ['STATE', 'CONFIG', 'AUDIT', 'BACKUP']) {
      env[name] = path.join(folder, name);
      mkdirSync(env[name]);
    }
    const shell = (script) => spawnSync('bash', ['-euo', 'pipefail', '-c', script], { encoding: 'utf8', env });
    assert.equal(shell(block('Back up')).status, 0);
    assert.equal(shell('printf x >> "$BACKUP/audit.tar"').status, 0);
    assert.notEqual(shell(block('Restore')).status, 0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
