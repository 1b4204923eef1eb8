// Client certificates through HAProxy, as docs/sender-constrained-tokens.md sets it up.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { testClientCertificates } from './client-certificates.mjs';

testClientCertificates(({ folder, tlsPort, hubPort }) => {
  const at = (name) => path.join(folder, name);
  writeFileSync(at('haproxy.cfg'), `defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend tls
  bind 127.0.0.1:${tlsPort} ssl crt ${at('login.pem')} verify optional ca-file ${at('ca.crt')} crt-ignore-err all ca-ignore-err all
  http-request del-header client-cert
  http-request set-header client-cert ":%[ssl_c_der,base64]:" if { ssl_c_used }
  default_backend hub
backend hub
  server hub 127.0.0.1:${hubPort}
`);
  return spawn('/usr/sbin/haproxy', ['-db', '-f', at('haproxy.cfg')], { stdio: 'ignore' });
});
