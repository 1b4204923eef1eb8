// The mailboxes of the simulated users: an SMTP server on loopback that defers one mail in twenty, as greylisting does.
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Returns { counts, nextCode }. */
export async function startMailboxes(port) {
  const counts = { received: 0, deferred: 0 };
  const codes = new Map(); // address → codes in the order of their arrival

  function answer(line, mail) {
    const [, address] = /^RCPT TO:<([^>]+)>/i.exec(line) ?? [];
    if (address) {
      if (Math.random() < 0.05) {
        counts.deferred += 1;
        return '451 4.7.1 Greylisted';
      }
      mail.address = address;
    }
    if (/^EHLO/i.test(line)) return '250 localhost';
    if (/^DATA/i.test(line)) return '354 Go on';
    return '250 OK';
  }

  function receive(text, { address }) {
    counts.received += 1;
    codes.set(address, [...codes.get(address) ?? [], /^ {4}(\d{6})\r?$/m.exec(text)[1]]);
  }

  const server = createServer((socket) => {
    const mail = {};
    let [unread, inData] = ['', false];
    socket.on('error', () => {}).on('data', (chunk) => {
      unread += chunk;
      for (;;) {
        const end = inData ? '\r\n.\r\n' : '\r\n';
        const at = unread.indexOf(end);
        if (at < 0) return;
        const text = unread.slice(0, at);
        unread = unread.slice(at + end.length);
        if (inData) {
          receive(text, mail);
          inData = false;
          socket.write('250 OK\r\n');
        } else {
          inData = /^DATA/i.test(text);
          socket.write(`${answer(text, mail)}\r\n`);
        }
      }
    });
    socket.write('220 localhost\r\n');
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  server.unref();
  return {
    counts,
    /** Returns the first code at an address that is not in `used`, `undefined` if none arrives in so many seconds. */
    async nextCode(address, used, seconds) {
      for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(50)) {
        const code = codes.get(address)?.find((one) => !used.has(one));
        if (code) return code;
      }
      return undefined;
    },
  };
}
