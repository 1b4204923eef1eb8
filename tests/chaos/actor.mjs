// A process that is started, ended in any way, and started again; its output is appended to one log.
import { spawn } from 'node:child_process';
import { openSync, closeSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifacts } from '../peers/harness.mjs';

process.setMaxListeners(50);

export class Actor {
  constructor(name, command, args, env = {}) {
    Object.assign(this, { name, command, args: args.map(String), env, child: null });
    this.log = path.join(artifacts, `chaos-${name}.log`);
    writeFileSync(this.log, '');
    process.prependOnceListener('exit', () => this.child?.kill('SIGKILL'));
  }

  start() {
    const out = openSync(this.log, 'a');
    const child = spawn(this.command, this.args, { stdio: ['ignore', out, out], env: { ...process.env, ...this.env } });
    closeSync(out);
    this.child = child;
    this.exited = new Promise((resolve) => {
      child.once('error', (error) => resolve(String(error)));
      child.once('exit', (code, signal) => resolve(signal ?? code));
    }).then((how) => { if (this.child === child) this.child = null; return how; });
    return this;
  }

  /** Holds it in the middle of whatever it does; `release` lets it go on. */
  hold() { this.child.kill('SIGSTOP'); }
  release() { this.child?.kill('SIGCONT'); }

  /** Ends it, and says how it ended. */
  async end(signal = 'SIGTERM', patience = 60) {
    if (!this.child) return null;
    this.child.kill(signal);
    const late = setTimeout(() => this.child?.kill('SIGKILL'), patience * 1000);
    const how = await this.exited;
    clearTimeout(late);
    return how;
  }
}

export async function until(what, condition, seconds = 60) {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(50)) {
    if (await condition()) return;
  }
  throw new Error(`${what}: not within ${seconds} s; see ${artifacts}/chaos-*.log`);
}
