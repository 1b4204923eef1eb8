// Attack: while the hub is down, an attacker who can write the audit log but can't sign rewrites or truncates it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { freePorts, oidcConnector, program, random, startHub, waitUntil } from './harness.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-attack-audit-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

async function start(name) {
  const file = path.join(folder, `${name}.jsonl`);
  const [port, privatePort] = await freePorts(2);
  const redirectUri = `http://localhost:${port}/sp/callback`;
  const hub = await startHub(name, {
    port, privatePort,
    sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [redirectUri] }],
    connectors: { nowhere: oidcConnector('http://localhost:9') },
    settings: `state = "state"\naudit.sink = "file"\naudit.path = ${JSON.stringify(file)}`,
  });
  const ask = () => fetch(`${hub.issuer}/authorize?${new URLSearchParams({
    client_id: 'alpha', redirect_uri: redirectUri, response_type: 'code', scope: 'openid', acr_values: 'eidas1',
    state: random(32), nonce: random(32),
  })}`, { redirect: 'manual' });
  const lines = () => readFileSync(file, 'utf8').split('\n').filter(Boolean);
  /** Starts logins until the file contains their events. */
  const work = async () => {
    const before = lines().length;
    for (let tries = 0; lines().length < before + 4; tries += 1) {
      assert.ok(tries < 500, 'no line is written');
      await ask();
    }
  };
  return { hub, file, lines, work };
}

const verify = ({ hub, file }, ...more) => {
  const run = (...flags) => spawnSync(program, ['audit', 'verify', ...flags, '--keys', path.join(hub.folder, 'keys'), file, ...more], { encoding: 'utf8' });
  const json = run('--json');
  return { status: json.status, report: JSON.parse(json.stdout || '{}'), text: run().stdout };
};

/** Lines behind these that chain as the hub's do: `count` of them, within so many seconds of the last. */
function forge(genuine, count, seconds) {
  const all = [...genuine];
  for (let number = 0; number < count; number += 1) {
    const last = JSON.parse(all.at(-1));
    const at = Date.parse(JSON.parse(genuine.at(-1)).time) + Math.round((number + 1) * seconds * 1000 / count);
    all.push(JSON.stringify({
      v: 1, seq: last.seq + 1, prev: createHash('sha256').update(`${all.at(-1)}\n`).digest('hex'),
      time: new Date(at).toISOString(), event: 'logout_requested', node: last.node, sp: 'alpha',
    }));
  }
  return `${all.join('\n')}\n`;
}

const startLines = (lines) => lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'start');

test('a log that was rewritten after its first checkpoint while the hub was down is found at the start, and for ever', async () => {
  const log = await start('rewritten');
  try {
    await log.work();
    let known;
    await log.hub.restart('SIGTERM', () => {
      const genuine = log.lines();
      known = genuine.length;
      assert.equal(JSON.parse(genuine[1]).event, 'checkpoint');
      assert.equal(verify(log).status, 0, 'before the attack');
      writeFileSync(log.file, forge(genuine.slice(0, 2), known + 10, 30));
      const forged = verify(log);
      assert.equal(forged.status, 2, 'nothing in the log says so yet, but it is not called whole');
      assert.match(forged.text, new RegExp(`proven to line 1 .*; ${known + 10} lines after the last checkpoint unproven`));
      const copy = path.join(log.hub.folder, 'state/audit-last-checkpoint.json');
      assert.equal(verify(log, '--checkpoints', copy).status, 1, 'but the last checkpoint does');
    });
    const { status, report, text } = verify(log);
    assert.equal(status, 1, text);
    assert.deepEqual(report.findings.map(({ kind, from, to, checkpoint_seq, check }) => ({ kind, from, to, checkpoint_seq, check })), [
      { kind: 'differs_from_last_checkpoint', from: 3, to: known + 12, checkpoint_seq: known, check: 'changed' },
    ]);
    assert.match(text, new RegExp(`lines 3 to ${known + 12} are not as the hub wrote them`));
    assert.match(log.hub.log(), /Y500360/);
    const readyz = await fetch(`${log.hub.privateBase}/readyz`);
    assert.equal(readyz.status, 200, 'a finding keeps no one from signing in');
    assert.match(JSON.stringify((await readyz.json()).degraded.audit), /modified or truncated while the hub was down/);

    await log.work();
    await log.hub.restart('SIGTERM');
    assert.deepEqual(startLines(log.lines()).map(({ last_checkpoint }) => last_checkpoint), ['unknown', 'changed', 'matched']);
    assert.equal(verify(log).status, 1, 'the finding is sealed in the chain');
    assert.equal((await (await fetch(`${log.hub.privateBase}/readyz`)).json()).degraded?.audit, undefined, 'this start found nothing');
  } finally {
    await log.hub.stop();
  }
});

test('a copy of the checkpoint that was set back with the log vouches for nothing', async () => {
  const log = await start('set-back');
  try {
    const copy = path.join(log.hub.folder, 'state/audit-last-checkpoint.json');
    await waitUntil(() => existsSync(copy), 'the first checkpoint');
    const first = readFileSync(copy);
    await log.work();
    await log.hub.restart('SIGTERM', () => {
      writeFileSync(log.file, forge(log.lines().slice(0, 2), 20, 30));
      writeFileSync(copy, first);
    });
    assert.equal(startLines(log.lines()).at(-1).last_checkpoint, 'matched');
    const { status, report, text } = verify(log);
    assert.deepEqual([status, report.result, report.inherited_lines], [2, 'unproven', 20]);
    assert.match(text, /20 lines are unproven/);
    const { degraded } = await (await fetch(`${log.hub.privateBase}/readyz`)).json();
    assert.match(JSON.stringify(degraded.audit), /20 lines of the audit log are unproven/);
  } finally {
    await log.hub.stop();
  }
});

test('a log that was cut while the hub was down, or taken away, is found at the start', async () => {
  const log = await start('cut');
  try {
    await log.work();
    let known;
    await log.hub.restart('SIGTERM', () => {
      known = log.lines().length;
      writeFileSync(log.file, `${log.lines().slice(0, 2).join('\n')}\n`);
    });
    const cut = verify(log);
    assert.equal(cut.status, 1, cut.text);
    assert.deepEqual([cut.report.findings[0].kind, cut.report.findings[0].from, cut.report.findings[0].to], ['differs_from_last_checkpoint', 3, known]);
    await log.hub.restart('SIGTERM', () => rmSync(log.file));
    assert.equal(startLines(log.lines())[0].last_checkpoint, 'missing');
    assert.equal(verify(log).status, 1);
  } finally {
    await log.hub.stop();
  }
});

test('lines that stand for longer than 90 seconds behind the last checkpoint are found without a copy of a checkpoint', async () => {
  const log = await start('spans');
  try {
    await log.work();
    const copy = path.join(log.hub.folder, 'state/audit-last-checkpoint.json');
    let found;
    await log.hub.restart('SIGTERM', () => {
      writeFileSync(log.file, forge(log.lines().slice(0, 2), 20, 600));
      found = verify(log);
      rmSync(copy);
    });
    assert.equal(found.status, 1, found.text);
    assert.deepEqual(found.report.findings.map(({ kind, from, to, seconds }) => [kind, from, to, seconds]), [['not_signed', 3, 22, 600]]);
    assert.match(found.text, /lines 3 to 22 were written up to 600 seconds after the last checkpoint/);
    assert.equal(verify(log).status, 1, 'the start that seals them takes nothing back');
    assert.ok(existsSync(copy), 'and keeps its own copy');
  } finally {
    await log.hub.stop();
  }
});

test('a hub that was killed, or stopped in order, finds its log as it left it', async () => {
  const log = await start('honest');
  try {
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL']) {
      await log.work();
      await log.hub.restart(signal);
    }
    assert.deepEqual(startLines(log.lines()).map(({ last_checkpoint }) => last_checkpoint), ['unknown', 'matched', 'matched', 'matched']);
    const { status, report, text } = verify(log);
    assert.equal(status, 2, text);
    assert.match(text, /the previous process was killed/);
    assert.deepEqual(report.findings, []);
    assert.doesNotMatch(log.hub.log(), /Y500360/);
  } finally {
    await log.hub.stop();
  }
});
