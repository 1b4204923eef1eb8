// The participants of the chaos run: hubs that share a store, a Redis with replicas and Sentinels, a load balancer and a real
// identity provider.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { configure, freePorts, oidcConnector, program, random, tomlString } from '../peers/harness.mjs';
import { ManagedProcess, waitUntil } from './managed-process.mjs';
import { startRedis } from './redis.mjs';

/** Starts HAProxy: no sticky sessions, health checks by /readyz. It retries only requests that it has not sent. */
async function startBalancer(folder, [port, statistics], hubs) {
  const file = path.join(folder, 'haproxy.cfg');
  // The log format has the path alone: the query contains codes and states.
  writeFileSync(file, `global
  maxconn 4000
  log stdout format raw local0
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  timeout http-request 10s
  retries 3
  option redispatch
  retry-on conn-failure
frontend public
  bind 127.0.0.1:${port}
  log global
  log-format "%HM %HPO %ST %s"
  default_backend hubs
frontend statistics
  bind 127.0.0.1:${statistics}
  stats enable
  stats uri /
  stats refresh 2s
backend hubs
  balance roundrobin
  option httpchk GET /readyz
  http-response set-header X-Served-By %s
  default-server inter 200ms fall 1 rise 1
${hubs.map((hub) => `  server ${hub.name} 127.0.0.1:${hub.port} check port ${hub.privatePort}`).join('\n')}
`);
  const balancer = new ManagedProcess('haproxy', 'haproxy', ['-db', '-f', file]).start();
  await waitUntil('the balancer', () => fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false));
  return balancer;
}

const SANDBOX = `name = { en = "Sandbox", fr = "Bac à sable" }
levels = { lowest = "eidas1", highest = "eidas1" }
[kind.persona]
`;

/** Persons of the sandbox: Angela, and citizens, of whom one user signs in as `count`, each with a mailbox of its own. */
export const citizen = (user, number) => `citizen-${user}-${number}`;
export const mailAddress = (person) => `${person}@example.org`;
function citizens(users, count) {
  const letters = (number) => String.fromCharCode(65 + Math.floor(number / 26), 65 + (number % 26));
  const shared = { gender: 'female', birthplace: '75107', birthcountry: '99100' };
  return [
    { id: 'angela', given_names: 'Angela Claire Louise', family_name: 'DUBOIS', birthdate: '1962-08-24', ...shared },
    ...Array.from({ length: users * count }, (_, index) => ({
      id: citizen(Math.floor(index / count), index % count), given_names: 'Camille', family_name: `MARTIN ${letters(index)}`, birthdate: '1980-01-01', ...shared,
    })),
  ];
}

/** What a hub needs for codes by mail to these persons, through an SMTP server on loopback. */
function mailConfiguration(mailPort, persons) {
  const columns = ['given_names', 'family_name', 'birthdate', 'gender', 'birthplace', 'birthcountry'];
  return {
    settings: `[mail]
url = "smtp://localhost:${mailPort}"
insecure_smtp = true
internal_hosts = ["localhost"]
from = "hub@example.org"
mails_per_person = 100
mails_per_address = 100
[level_names."eidas1-mail"]
level = "eidas1"
mail = true
`,
    register: '[register.file]\npath = "citizens.csv"',
    files: {
      'citizens.csv': [[...columns, 'status'].join(','), ...persons.map((person) => [...columns.map((name) => person[name]), 'active'].join(','))].join('\n'),
      'persons.toml': persons.map(({ id, given_names: given, ...claims }) => ['[[person]]', ...Object.entries({ id, label: id, given_name: given, email: mailAddress(id), ...claims }).map(([name, value]) => `${name} = ${tomlString(value)}`)].join('\n')).join('\n'),
    },
    personas: 'persons = "persons.toml"\n',
    extra: 'level_names = ["eidas1-mail"]\n',
  };
}

async function startIdentityProvider(port, base) {
  const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 'idp.mjs');
  const provider = new ManagedProcess('provider', process.execPath, [script, port, `${base}/api/v2/callback/real`, `${base}/api/v2/session/end/real`]).start();
  await waitUntil('the identity provider', () => fetch(`http://localhost:${port}/.well-known/openid-configuration`).then((response) => response.ok, () => false));
  return provider;
}

/**
 * Starts all participants and waits until they are ready.
 *
 * `programs`: the programs of the hubs; they start with the first one, and an upgrade changes to the next. `settings`: further
 * lines of passerelle.toml. `service`: the redirect and logout addresses of the service provider; no server has to listen
 * there. `extra`: further lines of the service provider's file. `mail`: { port, users, citizens }, for codes by mail.
 */
export async function startCluster({ hubCount = 3, programs = [program], settings = '', service, extra = '', mail } = {}) {
  const [port, statistics, providerPort, ...rest] = await freePorts(3 + 2 * hubCount);
  const base = `http://localhost:${port}`;
  const sp = { id: 'town-hall', secret: random(32), redirectUri: `${base}/sp/callback`, postLogoutUri: `${base}/sp/out`, ...service };
  const mailing = mail ? mailConfiguration(mail.port, citizens(mail.users, mail.citizens)) : { settings: '', files: {}, personas: '', extra: '' };
  const config = configure({
    port, privatePort: rest[0], ...(mail && { register: mailing.register }),
    sps: [{ id: sp.id, secret: sp.secret, redirectUris: [sp.redirectUri], postLogoutUris: [sp.postLogoutUri], extra: mailing.extra + extra }],
    connectors: { sandbox: SANDBOX + mailing.personas, real: oidcConnector(`http://localhost:${providerPort}`, 'userinfo_signed_response_alg = "ES256"') },
    settings: `sandbox = true\n${settings}\n${mailing.settings}`,
    files: { 'store.key': random(48), ...mailing.files },
  });
  // Each hub has its own copy of the configuration, because it also writes files of its own.
  const folders = Array.from({ length: hubCount }, (_, index) => `${config.folder}-hub-${index + 1}`);
  // The listeners of ManagedProcess run before this one: the processes end first.
  process.once('exit', () => [config.folder, ...folders].forEach((folder) => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })));
  const store = await startRedis(config.folder);
  const provider = await startIdentityProvider(providerPort, base);
  const main = path.join(config.folder, 'passerelle.toml');
  writeFileSync(main, `${readFileSync(main, 'utf8')}
[store.redis]
mode = "sentinel"
primary = ${tomlString(store.name)}
nodes = [${store.sentinelPorts.map((sentinelPort) => tomlString(`127.0.0.1:${sentinelPort}`)).join(', ')}]
encryption_keys = [{ file = "store.key" }]
`);
  const hubs = folders.map((folder, index) => {
    cpSync(config.folder, folder, { recursive: true, filter: (from) => !/redis-|sentinel-|proxy-|haproxy/.test(path.basename(from)) });
    const [listen, privatePort] = rest.slice(2 * index, 2 * index + 2);
    const hub = new ManagedProcess(`hub-${index + 1}`, programs[0], ['serve', '--config', folder], {
      PASSERELLE_PUBLIC__LISTEN: `127.0.0.1:${listen}`, PASSERELLE_PRIVATE__LISTEN: `127.0.0.1:${privatePort}`, NO_COLOR: '1',
    });
    const isReady = () => fetch(`http://127.0.0.1:${privatePort}/readyz`).then((response) => response.ok, () => false);
    return Object.assign(hub, {
      port: listen, privatePort, programIndex: 0,
      waitUntilReady: () => waitUntil(`${hub.name} ready`, isReady, 120),
      /** Makes the next `start` use the next program. */
      switchProgram() { this.programIndex += 1; this.command = programs[this.programIndex % programs.length]; },
    });
  });
  hubs.forEach((hub) => hub.start());
  await Promise.all(hubs.map((hub) => hub.waitUntilReady()));
  const balancer = await startBalancer(config.folder, [port, statistics], hubs);
  return {
    base, sp, hubs, store, balancer, provider,
    providerBase: `http://localhost:${providerPort}`, statistics: `http://localhost:${statistics}`,
    async stop() {
      await Promise.all([balancer.stop('SIGKILL'), provider.stop('SIGKILL'), ...hubs.map((hub) => hub.stop())]);
      await store.stop();
    },
  };
}
