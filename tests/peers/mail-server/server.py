"""A real SMTP server (aiosmtpd) with faults, for tests/peers/mail.test.mjs.

Arguments: port, security (starttls, implicit or none), certificate, key. The account is hub with the password "right". Each
accepted mail is a line of JSON. The name of a recipient is a fault: greylisted, busy, unknown, slow.
"""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

FAULTS = {"greylisted": "451 4.7.1 Greylisted", "busy": "452 4.3.1 Busy", "unknown": "550 5.1.1 No such mailbox"}


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name == "slow":
            await asyncio.sleep(600)
        if name in FAULTS:
            return FAULTS[name]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "content": envelope.content.decode(),
                "tls": session.ssl is not None or server.transport.get_extra_info("sslcontext") is not None}
        print(json.dumps(mail), flush=True)
        return "250 OK"


def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"hub", b"right"), handled=False)


async def main(port, security, certificate, key):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    def connection():
        starttls = security == "starttls"
        return SMTP(Handler(), hostname="localhost", tls_context=context if starttls else None, require_starttls=starttls,
                    authenticator=authenticate, auth_required=security != "none", auth_require_tls=starttls)

    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, "127.0.0.1", int(port), ssl=context if security == "implicit" else None)
    await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
