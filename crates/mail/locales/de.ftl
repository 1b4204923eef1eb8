mail-code-subject = Ihr Anmeldecode
mail-code-lead = Sie melden sich bei { $service } an. Geben Sie diesen Code auf der Seite ein, die danach fragt:
mail-code-valid = { $minutes ->
    [one] Der Code ist eine Minute gültig, und nur auf dieser Seite.
   *[other] Der Code ist { $minutes } Minuten gültig, und nur auf dieser Seite.
}
mail-code-warning = Geben Sie diesen Code niemals weiter. Wenn Sie sich gerade nicht anmelden, ignorieren Sie diese E-Mail und ändern Sie Ihr Passwort beim Anbieter Ihres Kontos: Eine andere Person kennt es.
mail-test-subject = Test-E-Mail
mail-test = Dies ist eine Test-E-Mail von { $hub }. Sie müssen nichts tun.
mail-address-kept = Ihre bestätigte E-Mail-Adresse, verschlüsselt: { $period } ab der letzten Verwendung.
