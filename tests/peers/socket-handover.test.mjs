// Sockets that a service manager keeps (python3 plays it): a restart refuses no connection, and the manager is notified of each
// step.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { artifacts, configure, oidcConnector, program, root, startServer } from './harness.mjs';

/** What it said, and a way to wait for more: `next(wanted)` is the first event not yet taken that `wanted` accepts. */
function startManager(names, args) {
  const child = spawn(process.env.PYTHON ?? 'python3', [path.join(root, 'tests/peers/service_manager.py'), names, program, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const log = createWriteStream(path.join(artifacts, 'handover.log'));
  const [events, waiting] = [[], []];
  createInterface({ input: child.stdout }).on('line', (line) => {
    log.write(`${line}\n`);
    // The hub's own log comes the same way.
    const event = line.startsWith('{"ports"') || line.startsWith('{"notified"') || line.startsWith('{"exited"') ? JSON.parse(line) : undefined;
    if (!event) return;
    events.push(event);
    for (const { look } of [...waiting]) look();
  });
  child.stderr.on('data', (text) => log.write(text));
  return {
    say: (line) => child.stdin.write(`${line}\n`),
    /** Takes events up to the one wanted; those before it are `passed`. */
    until: (wanted) => new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`it did not come; there was ${JSON.stringify(events)}`)), 60_000);
      const entry = {
        look() {
          const at = events.findIndex(wanted);
          if (at < 0) return;
          clearTimeout(late);
          waiting.splice(waiting.indexOf(entry), 1);
          const passed = events.splice(0, at + 1);
          resolve({ ...passed.at(-1), passed });
        },
      };
      waiting.push(entry);
      entry.look();
    }),
    async end() { child.stdin.end(); await new Promise((done) => { child.once('exit', done); }); log.end(); },
  };
}

const notified = (name, value) => (event) => event.notified && name in event.notified && (value === undefined || event.notified[name] === value);
const exited = (event) => 'exited' in event;

let manager, config, ports, taken = [];
before(async () => {
  // The configured addresses are taken: a hub that binds them instead of using the inherited sockets can't start.
  taken = await Promise.all([startServer(() => {}), startServer(() => {})]);
  const [elsewhere, privatePort] = taken.map((server) => server.port);
  config = configure({
    port: elsewhere, privatePort, sps: [{ id: 'alpha', secret: 'x'.repeat(40), redirectUris: [`http://localhost:${elsewhere}/sp`] }],
    connectors: { nowhere: oidcConnector('http://localhost:9') },
    // Sockets, notifications and the watchdog work for a confined process.
    settings: '[process]\nconfinement = "required"\n',
  });
  manager = startManager('private:public', ['serve', '--config', config.folder]);
  ({ ports } = await manager.until((event) => event.ports));
  ports.host = elsewhere;
  manager.say('start');
});
after(async () => { await manager?.end(); config?.remove(); await Promise.all(taken.map((server) => server.close())); });

/** One request on a connection of its own: the status, or what broke it. */
const once = () => new Promise((resolve) => {
  let text = '';
  const socket = net.connect(ports.public, '127.0.0.1', () => {
    socket.write(`GET /api/v2/jwks HTTP/1.1\r\nHost: localhost:${ports.host}\r\nConnection: close\r\n\r\n`);
  });
  socket.on('data', (data) => { text += data; });
  socket.on('error', (error) => resolve(error.code));
  socket.on('close', () => resolve(text.match(/^HTTP\/1\.1 (\d+)/)?.[1] ?? 'no answer'));
});

test('the manager hears that the hub is ready, alive, reading its files again', async () => {
  const ready = await manager.until(notified('READY', '1'));
  assert.match(ready.notified.STATUS, /^serving on 127\.0\.0\.1:/);
  assert.equal(await once(), '200', 'the socket named public is the public one');
  assert.equal((await fetch(`http://127.0.0.1:${ports.private}/readyz`)).status, 200, 'and the private one private');
  await manager.until(notified('WATCHDOG', '1'));
  manager.say('SIGHUP');
  const reloading = await manager.until(notified('RELOADING', '1'));
  assert.match(reloading.notified.MONOTONIC_USEC, /^[1-9]\d*$/);
  await manager.until(notified('READY', '1'));
});

test('a restart refuses no connection and cuts none', async () => {
  const outcomes = new Map();
  let going = true;
  const visitor = async () => {
    while (going) {
      const outcome = await once();
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  const visitors = Array.from({ length: 8 }, visitor);
  for (let restarts = 0; restarts < 3; restarts += 1) {
    manager.say('SIGTERM');
    await manager.until(notified('STOPPING', '1'));
    assert.equal((await manager.until(exited)).exited, 0);
    manager.say('start');
    await manager.until(notified('READY', '1'));
    assert.equal(await once(), '200');
  }
  going = false;
  await Promise.all(visitors);
  assert.deepEqual([...outcomes.keys()], ['200'], JSON.stringify([...outcomes]));
});
