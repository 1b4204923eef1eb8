// docs/recipes/idp-active-directory.md, by Debian's packages samba and samba-ad-provision: Samba as a domain controller.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { freePorts, listens, random, skipUnlessAll } from './harness.mjs';
import { checkOnline, createFolder, findProgram, readRecipe, replaceAll, runSuccessfully, skipWithout, startHubForIdp, startProduct } from './recipes.mjs';

const skip = skipWithout('samba', 'apt-get install samba samba-ad-dc samba-ad-provision.') || skipUnlessAll
  || (process.getuid() !== 0 && 'samba listens on the ports of LDAP, which only root may open');
// Samba has the fixed ports of LDAP: an address of loopback of its own avoids conflicts.
const HOST = `127.81.${process.pid % 250}.${1 + Math.floor(process.pid / 250) % 250}`;
const [ACCOUNT, PASSWORD] = [`Hub-1-${random(12)}`, `Jane-1-${random(12)}`];

test('a person of Active Directory signs in with the files of its recipe, with the groups', { skip }, async (t) => {
  const page = readRecipe('idp-active-directory');
  const [port, privatePort] = await freePorts(2);
  const { folder, remove } = createFolder({});
  t.after(remove);
  const file = (name) => path.join(folder, name);
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=dc1', '-addext', `subjectAltName=IP:${HOST}`,
    '-addext', 'basicConstraints=critical,CA:FALSE', '-keyout', file('key.pem'), '-out', file('cert.pem'),
  ], { stdio: 'pipe' });
  await runSuccessfully('samba-tool', [
    'domain', 'provision', `--targetdir=${file('dc')}`, '--realm=AD.EXAMPLE.ORG', '--domain=EXAMPLE', '--server-role=dc', '--dns-backend=NONE', `--host-ip=${HOST}`,
    `--adminpass=Admin-1-${random(12)}`, '--option=interfaces=lo', '--option=bind interfaces only=yes',
  ]);
  const configuration = file('dc/etc/smb.conf');
  const written = readFileSync(configuration, 'utf8');
  writeFileSync(configuration, `${written.slice(0, written.indexOf('[homes]'))}
	server services = ldap
	interfaces = ${HOST}/8
	bind interfaces only = yes
	tls certfile = ${file('cert.pem')}
	tls keyfile = ${file('key.pem')}
	tls cafile = ${file('cert.pem')}
	log file = ${file('samba.log')}
	pid directory = ${folder}
`);
  const run = (script) => runSuccessfully('sh', ['-eu', '-c', script.replaceAll(/^samba-tool .*$/gm, `$& --configfile=${configuration}`)]);
  await run(replaceAll(page.file('setup.sh'), { 'THE-PASSWORD': ACCOUNT }));
  await run(`samba-tool user create jane ${PASSWORD} --given-name=Jane --surname=Doe --mail-address=jane@example.org
samba-tool group add editors
samba-tool group add others
samba-tool group addmembers editors jane
samba-tool group addmembers others jane`);
  const samba = await startProduct('active-directory', findProgram('samba'), ['-i', '-M', 'single', '-s', configuration], { ready: () => listens(636, HOST) });
  t.after(samba.stop);
  const hub = await startHubForIdp('hub-recipe-active-directory', {
    ports: [port, privatePort], files: { 'active-directory.secret': ACCOUNT, 'active-directory-ca.pem': readFileSync(file('cert.pem'), 'utf8') },
    connectors: { 'active-directory': replaceAll(page.file('connectors/active-directory.toml'), { 'dc1.ad.example.org': HOST }) },
  });
  t.after(hub.stop);
  await checkOnline(hub, 'active-directory');
  const enter = (username, password) => hub.signIn('active-directory', (browser, login, stopAt) => browser.submit(login, { values: { username, password }, stopAt }));
  const { claims, person } = await enter('jane', PASSWORD);
  assert.deepEqual([person.preferred_username, person.name, person.email, person.groups], ['jane', 'Jane Doe', 'jane@example.org', ['editors']]);
  for (const username of ['EXAMPLE\\jane', 'jane@ad.example.org']) assert.equal((await enter(username, PASSWORD)).claims.sub, claims.sub, username);
  await assert.rejects(enter('jane', 'wrong'), /no return to the service: 403/);
});
