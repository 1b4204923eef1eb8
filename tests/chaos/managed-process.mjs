// A process that the run starts, stops by any signal and starts again. All its output is appended to one log.
import { spawn } from 'node:child_process';
import { openSync, closeSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifacts } from '../peers/harness.mjs';

process.setMaxListeners(50);

export class ManagedProcess {
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
    }).then((exit) => { if (this.child === child) this.child = null; return exit; });
    return this;
  }

  /** Suspends the process by SIGSTOP until `resume`. */
  suspend() { this.child.kill('SIGSTOP'); }
  resume() { this.child?.kill('SIGCONT'); }

  /**
   * Sends `signal`, and SIGKILL after `timeoutSeconds`. Returns the exit code or the name of the signal, `null` if the process
   * does not run.
   */
  async stop(signal = 'SIGTERM', timeoutSeconds = 60) {
    if (!this.child) return null;
    this.child.kill(signal);
    const timer = setTimeout(() => this.child?.kill('SIGKILL'), timeoutSeconds * 1000);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }
}

/** Waits until `condition()` is true. `what` names the condition in the error. */
export async function waitUntil(what, condition, seconds = 60) {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(50)) {
    if (await condition()) return;
  }
  throw new Error(`${what}: not within ${seconds} s; see ${artifacts}/chaos-*.log`);
}
