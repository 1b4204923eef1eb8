// A real directory (OpenLDAP's slapd) on free ports of loopback. A test authority issues its certificate.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePorts, listens } from './harness.mjs';

export const BASE = 'dc=example,dc=org';
/** The account that may change everything. */
export const ADMIN = { dn: `cn=admin,${BASE}`, password: 'the-administrator' };
export const ACCOUNT = { dn: `cn=hub,${BASE}`, password: 'the-account-of-the-hub' };
/** A password with characters that need escaping. */
export const PASSWORD = 'pässword "with" \\ & %41 +';

const person = (uid, more = '') => `
dn: uid=${uid},ou=people,${BASE}
objectClass: inetOrgPerson
uid: ${uid}
cn: ${uid}
givenName: Angela
sn: Dubois
mail: ${uid}@example.org
userPassword:: ${Buffer.from(PASSWORD).toString('base64')}
${more}`;

const ENTRIES = `dn: ${BASE}
objectClass: organization
objectClass: dcObject
o: Example
dc: example

${['people', 'services', 'groups'].map((name) => `dn: ou=${name},${BASE}
objectClass: organizationalUnit
ou: ${name}
`).join('\n')}
dn: ${ACCOUNT.dn}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: hub
userPassword: ${ACCOUNT.password}
${person('angela')}
${person('star*')}
${person('twin-1', 'employeeNumber: twin')}
${person('twin-2', 'employeeNumber: twin')}`;

/** A policy that locks accounts; `must-change` has a password that was reset, and `expired` one of a year ago with one more sign-in. */
const policy = (lockAfter) => `
dn: cn=policy,${BASE}
objectClass: device
objectClass: pwdPolicy
cn: policy
pwdAttribute: userPassword
pwdLockout: TRUE
pwdMaxFailure: ${lockAfter}
pwdFailureCountInterval: 900
pwdMustChange: TRUE
${person('must-change', 'pwdReset: TRUE')}

dn: cn=short,${BASE}
objectClass: device
objectClass: pwdPolicy
cn: short
pwdAttribute: userPassword
pwdMaxAge: 3600
pwdGraceAuthNLimit: 1
${person('expired', `pwdPolicySubentry: cn=short,${BASE}\npwdChangedTime: 20200101000000Z`)}
`;

/**
 * Returns { port, tlsPort, ca, otherCa, stop }. `ca` and `otherCa` are PEM; only `ca` signed the directory's certificate.
 * `lockAfter`: the number of wrong passwords within 15 minutes that locks an account (ppolicy). `recipe`: { configuration, entries } of
 * docs/recipes/idp-openldap.md, instead of the settings and the account of this file.
 */
export async function startDirectory({ lockAfter, recipe } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'passerelle-slapd-'));
  const file = (name) => path.join(folder, name);
  const [port, tlsPort] = await freePorts(2);
  const request = (name, ...more) => execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', file(`${name}.key`), '-out', file(`${name}.pem`), ...more,
  ], { stdio: 'pipe' });
  request('ca', '-subj', '/CN=Authority of the test');
  request('other-ca', '-subj', '/CN=Another authority');
  request('server', '-subj', '/CN=directory', '-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE');
  mkdirSync(file('db'));
  writeFileSync(file('slapd.conf'), `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
${lockAfter || recipe ? 'moduleload ppolicy' : ''}
${recipe ? 'moduleload memberof' : ''}
pidfile ${file('slapd.pid')}
TLSCACertificateFile ${file('ca.pem')}
TLSCertificateFile ${file('server.pem')}
TLSCertificateKeyFile ${file('server.key')}
database mdb
suffix "${BASE}"
rootdn "${ADMIN.dn}"
rootpw "${ADMIN.password}"
directory ${file('db')}
${recipe?.configuration ?? `${lockAfter ? `overlay ppolicy\nppolicy_default "cn=policy,${BASE}"` : ''}
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${ACCOUNT.dn}" read by * none
`}`);
  writeFileSync(file('entries.ldif'), [ENTRIES, lockAfter ? policy(lockAfter) : recipe?.entries].filter(Boolean).join('\n\n'));
  execFileSync('/usr/sbin/slapadd', ['-f', file('slapd.conf'), '-l', file('entries.ldif')], { stdio: 'pipe' });
  const child = spawn('/usr/sbin/slapd', ['-f', file('slapd.conf'), '-h', `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${tlsPort}`, '-d', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk) => { said += chunk; });
  const exited = new Promise((resolve) => { child.once('exit', resolve); child.once('error', resolve); });
  const orphan = () => child.kill('SIGKILL');
  process.once('exit', orphan);
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    process.off('exit', orphan);
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; !(await listens(tlsPort)); tries += 1) {
    if (tries > 200) {
      await stop();
      throw new Error(`slapd does not listen: ${said}`);
    }
    await new Promise((done) => { setTimeout(done, 50); });
  }
  const pem = (name) => execFileSync('openssl', ['x509', '-in', file(`${name}.pem`)], { encoding: 'utf8' });
  return { port, tlsPort, ca: pem('ca'), otherCa: pem('other-ca'), stop };
}
